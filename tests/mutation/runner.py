"""Runs the tests of a module against its mutants, each in a forked process that imports the mutant.

The parent imports what is slow to import (NumPy, torch, pytest …) and nothing of honlearn; a child gets the
mutated module from an import hook, so no file is ever changed. A mutant is killed when a test or a
doctest of the module fails, when nothing can be collected, or when the tests take far longer than without it.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
SLOW_IMPORTS = ("hypothesis", "networkx", "numpy", "pandas", "pyarrow.parquet", "pytest", "scipy.stats",
                "sklearn.linear_model", "sklearn.metrics", "sklearn.model_selection", "torch")  # fmt: skip
PASSED, FAILED = 0, 1
LOG = Path(tempfile.gettempdir(), f"honlearn-mutant-{os.getpid()}.log")


@dataclass(frozen=True)
class Target:
    """A module, the tests that have to kill its mutants, and whether it holds compiled functions."""

    module: str
    tests: tuple[str, ...]
    compiled: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant: ``"killed"``, ``"survived"`` or ``"timeout"``."""

    number: int
    mutant: Mutant
    state: str


class _Loader(importlib.abc.Loader):
    def __init__(self, code: CodeType) -> None:
        self.code = code

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


class _Finder(importlib.abc.MetaPathFinder):
    """Gives one module from code that was compiled already."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(self, fullname, path=None, target=None):  # type: ignore[no-untyped-def]
        if fullname != self.name:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(self.code), origin=str(self.path))
        spec.has_location = True
        return spec


def source_of(module: str) -> Path:
    """Return the file of a module, which is found without importing it."""
    for folder in sys.path:
        path = Path(folder or ".", *module.split(".")).with_suffix(".py")
        if path.exists():
            return path.resolve()
    raise ModuleNotFoundError(module)


def run(
    target: Target, most: int | None = None, only: int | None = None, imports: Sequence[str] = SLOW_IMPORTS
) -> Iterator[Outcome]:
    """Yield the outcome of each mutant; `most` of them at most, spread over the module, or `only` one."""
    for name in imports:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    path = source_of(target.module)
    made = list(enumerate(mutants(path.read_text("utf-8"))))
    if only is not None:
        made = [made[only]]
    elif most is not None and len(made) > most:
        made = [made[i * len(made) // most] for i in range(most)]
    began = time.monotonic()
    if _tested(target, path, ast.parse(path.read_text("utf-8")), 600) != PASSED:
        told = LOG.read_text("utf-8", "replace")[-3000:]
        raise RuntimeError(f"{told}\nthe tests of {target.module} fail without any mutant")
    limit = 10 + 10 * (time.monotonic() - began)
    for number, mutant in made:
        code = _tested(target, path, mutant.tree, limit)
        yield Outcome(number, mutant, {PASSED: "survived", None: "timeout"}.get(code, "killed"))


def _tested(target: Target, path: Path, tree: ast.Module, limit: float) -> int | None:
    """Return the exit code of pytest in a process of its own, or None where it took too long."""
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            code = _test(target, path, tree)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _test(target: Target, path: Path, tree: ast.Module) -> int:
    kept = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(kept, 1)
    os.dup2(kept, 2)
    if target.compiled:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    finder = _Finder(target.module, path, compile(tree, str(path), "exec"))
    sys.meta_path.insert(0, finder)
    import pytest

    return int(pytest.main(_arguments(target, path), [_Plugin(finder)]))


class _Plugin:
    """Keeps the finder in front of pytest's own, which reads from disk what the command line names."""

    def __init__(self, finder: _Finder) -> None:
        self.finder = finder

    def pytest_collection(self) -> None:
        sys.meta_path.insert(0, self.finder)


def _arguments(target: Target, path: Path) -> list[str]:
    quiet = (
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-W",
        "ignore:Module already imported",
        "--hypothesis-seed=0",
    )
    # Without the compiler NumPy warns of words that wrap around, as hashes do.
    wraps = ("-W", "ignore:overflow encountered:RuntimeWarning") if target.compiled else ()
    return [*quiet, *wraps, *target.tests, str(path)]
