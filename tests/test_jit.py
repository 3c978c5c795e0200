"""The compiler's decorator where nothing can be kept between runs."""

from __future__ import annotations

import numba
import pytest

from honlearn.jit import njit


def double(number: int) -> int:
    return 2 * number


def test_compiles_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

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
