"""Modules that are executed on first use: they are what they would have been."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(program: str, folder: Path) -> list[str]:
    (folder / "late").mkdir()
    (folder / "late/__init__.py").write_text("print('executed')\nfrom late.part import one\ntwo = 2\n")
    (folder / "late/part.py").write_text("import late\none = 1\n")
    (folder / "wrong.py").write_text("raise OSError('no such thing')\n")
    program = "from honlearn.deferred import defer\ndefer('late', 'wrong', 'nowhere')\n" + program
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split("\n")[:-1]


def test_a_module_is_executed_once_when_an_attribute_is_asked_for(tmp_path: Path) -> None:
    program = "import late\nprint('imported')\nprint(late.two, late.one, hasattr(late, 'three'))"
    assert run(program, tmp_path) == ["imported", "executed", "2 1 False"]


def test_a_submodule_or_a_name_executes_its_package_first(tmp_path: Path) -> None:
    program = "import late.part\nprint(late.part.one)\nfrom late import two\nprint(two, late.__path__ != [])"
    assert run(program, tmp_path) == ["executed", "1", "2 True"]


def test_errors_are_those_of_the_module(tmp_path: Path) -> None:
    program = """
import wrong
for what in (lambda: wrong.name, lambda: __import__("nowhere")):
    try:
        what()
    except (OSError, ImportError) as error:
        print(type(error).__name__, error)
"""
    assert run(program, tmp_path) == [
        "OSError no such thing",
        "ModuleNotFoundError No module named 'nowhere'",
    ]


def test_what_was_deferred_works(tmp_path: Path) -> None:
    program = """
import sys
defer("scipy.stats")
import sklearn.base
assert "scipy.stats" in sys.modules and "scipy.stats._stats_py" not in sys.modules
from scipy import stats
print(round(float(stats.norm.cdf(0.0)), 3))
"""
    assert run(program, tmp_path) == ["0.5"]


def test_local_processes_defer_what_their_parent_defers(tmp_path: Path) -> None:
    program = """
from honlearn.executors.processes import LocalProcesses
def names():
    from honlearn.deferred import deferred_names
    return deferred_names()
with LocalProcesses(1) as pool:
    print(*pool.get(pool.submit(names)))
"""
    assert run(program, tmp_path) == ["late nowhere wrong"]
