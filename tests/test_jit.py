"""The compiler's decorator where nothing can be kept between runs."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest

from honlearn.jit import njit


def double(number: int) -> int:
    return 2 * number


def test_compiles_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit
    # With its first function numba loads the rest of itself, which calls njit in other ways.
    assert real(double)(1) == 2

    def read_only(**options: bool) -> object:
        if options["cache"]:
            raise RuntimeError("cannot cache function 'double': no locator available for file 'x'")
        return real(**options)

    monkeypatch.setattr(numba, "njit", read_only)
    assert njit(double)(21) == 42
    assert njit(inline="always")(double)(4) == 8


def test_other_errors_of_the_compiler_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**options: bool) -> object:
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(RuntimeError, match="no compiler here"):
        njit(double)


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
