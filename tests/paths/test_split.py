"""Parts of paths: each path once, of the sizes asked for, at random or by time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.paths import split as module


def counted(paths: hl.Paths) -> Counter[tuple[str, ...]]:
    total: Counter[tuple[str, ...]] = Counter()
    for path, count in zip(
        paths, [1] * len(paths) if paths.counts is None else paths.counts.tolist(), strict=True
    ):
        total[path] += count
    return total


rows = st.lists(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=4), min_size=8, max_size=30)


@settings(deadline=None, max_examples=60)
@given(rows, st.booleans(), st.sampled_from([2, 3, 0.7, [0.5, 0.2, 0.3]]), st.integers(0, 9))
def test_every_path_is_in_one_part(lists: list[list[str]], weighted: bool, parts: Any, seed: int) -> None:
    counts = [1 + i % 4 for i in range(len(lists))] if weighted else None
    paths = hl.read_paths(lists, counts=counts)
    found = paths.split(parts, seed=seed)
    assert sum(map(counted, found), Counter()) == counted(paths)
    shares = (
        [1 / parts] * parts
        if isinstance(parts, int)
        else parts
        if isinstance(parts, list)
        else [parts, 1 - parts]
    )
    for part, share in zip(found, shares, strict=True):
        assert abs(part.total - share * paths.total) <= 1
        assert {name for path in part for name in path} == set(part.vocabulary.names)
    again = paths.split(parts, seed=seed)
    assert [list(part) for part in again] == [list(part) for part in found]


def test_paths_keep_their_order_and_seeds_differ() -> None:
    paths = hl.read_paths([[f"n{i}"] for i in range(100)])
    train, test = paths.split()
    assert (len(train), len(test)) == (80, 20)
    for part in (train, test):
        assert [int(path[0][1:]) for path in part] == sorted(int(path[0][1:]) for path in part)
    assert list(paths.split(seed=1)[1]) != list(test)


@pytest.mark.parametrize("exact", [10**9, 1])
def test_counts_are_dealt_without_favour(exact: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EXACT", exact)
    paths = hl.read_paths([["A"], ["B"]], counts=[4000, 12000])
    parts = paths.split(4, seed=0)
    assert sum(map(counted, parts), Counter()) == counted(paths)
    assert chisquare([counted(part)["A",] for part in parts]).pvalue > 1e-3


def test_by_time() -> None:
    paths = hl.read_paths([["A"], ["B"], ["C"], ["D"], ["E"]])
    early, late = paths.split(0.6, times=[5, 1, 4, 2, 2])
    assert (list(early), list(late)) == ([("B",), ("D",), ("E",)], [("A",), ("C",)])
    # Two of one time are not parted.
    early, late = paths.split(0.4, times=pd.to_datetime(["2024-05-05", "2024-05-01", *["2024-05-02"] * 3]))
    assert (list(early), list(late)) == ([("B",), ("C",), ("D",), ("E",)], [("A",)])
    weighted = hl.read_paths([["A"], ["B"], ["C"]], counts=[1, 1, 8]).split(
        0.5, times=np.array([1.5, 2.5, 0.5])
    )
    assert [list(part) for part in weighted] == [[("C",)], [("A",), ("B",)]]


@pytest.mark.parametrize(
    "parts", [1, 0, 1.0, -0.5, 2.5, True, "half", [0.5], [0.5, 0.6], [1.5, -0.5], ["a", "b"], None]
)
def test_parts_refused(parts: Any) -> None:
    with pytest.raises(ParameterError, match="'parts' parameter of split must be a number of parts"):
        hl.read_paths([["A"]] * 9).split(parts)


def test_refused() -> None:
    paths = hl.read_paths([["A"]] * 3)
    with pytest.raises(InputError, match="3 paths are too few for 4 parts"):
        paths.split(4)
    with pytest.raises(InputError, match="too many paths have the same time"):
        paths.split(2, times=[1, 1, 1])
    for times in ([1, 2], ["a", "b", "c"]):
        with pytest.raises(InputError, match="one number or time per row, 3 in all"):
            paths.split(2, times=times)
    for missing in (np.array([1, np.nan, 2]), np.array(["2024", "NaT", "2025"], "datetime64[D]")):
        with pytest.raises(InputError, match="a time is missing"):
            paths.split(2, times=missing)


def test_take() -> None:
    paths = hl.read_paths([["A", "B"], ["B", "C"], ["C"]], counts=[1, 2, 3])
    some = paths.take([2, 0, 2])
    assert list(some) == [("C",), ("A", "B"), ("C",)]
    assert some.counts is not None
    assert some.counts.tolist() == [3, 1, 3]
    assert list(paths.take(np.array([False, True, False]))) == [("B", "C")]
    assert len(paths.take([])) == 0
    for rows in ([3], [-1], [0.5], ["x"], [[0]], [True]):
        with pytest.raises(InputError, match="rows of paths are whole numbers from 0 to 2"):
            paths.take(rows)
