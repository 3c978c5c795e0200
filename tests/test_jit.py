"""The compiler's decorator where nothing can be kept between runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from honlearn import jit
from honlearn.jit import njit


def double(number: int) -> int:
    return 2 * number


def test_compiles_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(function: object) -> object:
        raise RuntimeError("cannot cache function 'double': no locator available for file 'x'")

    monkeypatch.setattr(jit, "QuickCache", read_only)
    assert njit(double)(21) == 42
    assert njit(inline="always")(double)(4) == 8


def test_other_errors_of_the_cache_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(function: object) -> object:
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(jit, "QuickCache", broken)
    with pytest.raises(RuntimeError, match="no compiler here"):
        njit(double)


@pytest.mark.slow
def test_kept_code_is_loaded_without_what_only_a_compilation_needs(tmp_path: Path) -> None:
    """The second process loads; it can still compile something new afterwards."""
    (tmp_path / "kept.py").write_text(
        "from honlearn.jit import njit\n@njit\ndef total(values):\n    found = 0\n"
        "    for value in values:\n        found += value\n    return found\n"
    )
    program = """
import sys, numpy as np, kept
print(kept.total(np.arange(4)), "numba.np.arraymath" in sys.modules)
from honlearn.jit import njit
assert njit(lambda a: a[::-1].max())(np.arange(4)) == 3
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        ).stdout.split()
        for _ in range(2)
    ]
    assert runs == [["6", "True"], ["6", "False"]]


@pytest.mark.slow
def test_building_leaves_out_linear_algebra_and_others_still_have_it() -> None:
    program = """
import sys, numba, numpy as np, honlearn as hl
hl.grow([["A", "B", "C"]])
assert "scipy.linalg" not in sys.modules
square = numba.njit(lambda a: a @ a)
spread = numba.njit(lambda a: np.cov(a))
matrix = np.array([[1.0, 2.0], [3.0, 5.0]])
assert np.array_equal(square(matrix), matrix @ matrix)
assert np.allclose(spread(matrix), np.cov(matrix))
assert "scipy.linalg" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
