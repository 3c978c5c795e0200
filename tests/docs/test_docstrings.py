"""The API reference: every public class, function and method has one entry per parameter, and no other."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import honlearn

pytest.importorskip("torch")

API = Path(__file__).parents[2] / "docs" / "api" / "index.md"
CONF = Path(__file__).parents[2] / "docs" / "conf.py"
# Members that the site leaves out (docs/conf.py), and those that scikit-learn has.
(_PATTERN,) = re.findall(r'_INTERNAL = re\.compile\(\s*r"([^"]+)"', CONF.read_text("utf-8"))
INTERNAL = re.compile(_PATTERN)
_SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)


def listed() -> list[str]:
    """Return the full names that docs/api lists, in its order, then those of ``__all__`` that are missing."""
    module, names = "", []
    for line in API.read_text("utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [\w.]+", line):
            names.append(f"{module}.{line.strip()}")
    names += [f"honlearn.{name}" for name in honlearn.__all__ if f"honlearn.{name}" not in names]
    return names


def found(name: str) -> object:
    """Import what a full name stands for."""
    thing: object = honlearn
    for part in name.split(".")[1:]:
        if isinstance(thing, ModuleType) and not hasattr(thing, part):
            importlib.import_module(f"{thing.__name__}.{part}")
        thing = getattr(thing, part)
    return thing


def callables() -> Iterator[tuple[str, object]]:
    """Yield every function, class and method that the reference shows."""
    for name in listed():
        thing = found(name)
        if isinstance(thing, type):
            yield name, thing
            for member, value in ((member, inspect.getattr_static(thing, member)) for member in dir(thing)):
                inner = inspect.unwrap(getattr(value, "__func__", value))
                if member.startswith("_") or INTERNAL.fullmatch(member) or not inspect.isfunction(inner):
                    continue
                if inner.__module__.startswith("honlearn"):
                    yield f"{name}.{member}", inner
        elif inspect.isfunction(thing):
            yield name, thing


def parameters(thing: object) -> list[str]:
    """Return the names of what a call takes; of a dataclass, its fields."""
    if isinstance(thing, type):
        if issubclass(thing, Exception) or thing.__init__ is object.__init__:
            return []
        taken = inspect.signature(thing.__init__).parameters
    else:
        assert callable(thing)
        taken = inspect.signature(thing).parameters
    return [name for name in taken if name not in ("self", "cls", "_cls")]


def entries(thing: object) -> list[str]:
    """Return the names that the docstring has an entry for, in its order."""
    text = inspect.cleandoc(thing.__doc__ or "")
    names: list[str] = []
    parts = _SECTION.split(text)
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        # A result that is not made by users tells its fields as attributes.
        if title in ("Parameters", "Other Parameters") or (
            title == "Attributes" and dataclasses.is_dataclass(thing)
        ):
            lines = body.strip("\n").splitlines()
            for line, below in zip(lines, [*lines[1:], ""], strict=True):
                if line and not line.startswith(" "):
                    names += [name.strip().lstrip("*") for name in line.split(" : ")[0].split(",")]
                    assert below.startswith("    "), f"{line!r} says nothing"
    return names


SURFACE = dict(callables())


def test_the_surface_is_found() -> None:
    assert len(SURFACE) > 120
    assert {"honlearn.learn", "honlearn.DGEClassifier", "honlearn.GramCounts.next_steps"} <= set(SURFACE)


@pytest.mark.parametrize("name", sorted(SURFACE))
def test_one_entry_per_parameter(name: str) -> None:
    thing = SURFACE[name]
    assert thing.__doc__, "no docstring"
    taken, told = parameters(thing), entries(thing)
    assert len(told) == len(set(told)), "an entry twice"
    assert set(told) == set(taken), {
        "without an entry": sorted(set(taken) - set(told)),
        "without a parameter": sorted(set(told) - set(taken)),
    }
