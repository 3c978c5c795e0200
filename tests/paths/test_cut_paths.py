"""Paths that are cut at the steps between given pairs, against plain Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import honlearn as hl
from honlearn.paths.pairs import cut_paths


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), min_size=1, max_size=30), st.data()
)
def test_cut_paths_lose_the_steps_of_the_pairs_and_nothing_else(paths, data) -> None:  # type: ignore[no-untyped-def]
    pairs = data.draw(st.lists(st.tuples(st.sampled_from("abcdefz"), st.sampled_from("abcdef")), max_size=4))
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(paths), max_size=len(paths)))
    cut = cut_paths(hl.Paths.from_lists(paths, counts=weights), pairs)

    def steps(rows, times) -> dict[tuple[str, str], int]:  # type: ignore[no-untyped-def]
        found: dict[tuple[str, str], int] = {}
        for row, n in zip(rows, times, strict=True):
            for step in pairwise(row):
                found[step] = found.get(step, 0) + int(n)
        return found

    hidden = {frozenset(pair) for pair in pairs}
    expected = {step: n for step, n in steps(paths, weights).items() if frozenset(step) not in hidden}
    assert steps(cut, cut.counts) == expected
    assert [name for row in cut for name in row] == [name for row in paths for name in row]


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), min_size=1, max_size=30),
    st.sets(st.sampled_from(["ab", "cd", "af", "zb"]), max_size=3),
)
def test_both_visits_of_a_hidden_step_are_taken_out(paths: list[list[str]], pairs: set[str]) -> None:
    cut = cut_paths(hl.Paths.from_lists(paths, counts=range(1, 1 + len(paths))), [(*p,) for p in pairs], True)
    hidden, expected = {frozenset(pair) for pair in pairs}, []
    for count, path in enumerate(paths, 1):
        steps = [i for i in range(len(path) - 1) if frozenset(path[i : i + 2]) in hidden]
        gone = {i for step in steps for i in (step, step + 1)}
        row = "".join("|" if i in gone else name for i, name in enumerate(path))
        expected += [(tuple(piece), count) for piece in row.split("|") if piece]
    assert list(zip(cut, cut.counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("visits", [False, True])
def test_paths_without_an_entity_have_nothing_to_cut(visits: bool) -> None:
    paths = hl.Paths.from_lists([["a", "b"]])
    none = hl.Paths(paths.codes[:0], np.zeros(3, np.int64), paths.vocabulary)
    assert list(cut_paths(none, [("a", "b")], visits)) == []
