"""Counts that grow: more paths added to counts give what counting everything at once gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.hon.build import GramCounts
from honlearn.hon.merge import merge_tries
from honlearn.paths.paths import Paths

PARTS = ("newest", "count", "first", "followed", "suffix")
paths_of = st.lists(st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=6), min_size=2, max_size=24)


def assert_same(one: GramCounts, other: GramCounts) -> None:
    assert one.vocabulary == other.vocabulary
    assert one.order == other.order
    for mine, its in zip(one.levels, other.levels, strict=True):
        for part in PARTS:
            np.testing.assert_array_equal(getattr(mine, part), getattr(its, part), part)


@settings(max_examples=60, deadline=None)
@given(paths=paths_of, order=st.integers(1, 4), data=st.data())
def test_parts_one_after_another_are_everything_at_once(paths: list, order: int, data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(paths) - 1))
    updated = hl.count_grams(paths[:place], order).update(paths[place:])
    assert_same(updated, hl.count_grams(paths, order))


@settings(max_examples=40, deadline=None)
@given(paths=paths_of, order=st.integers(1, 3), data=st.data())
def test_any_division_of_the_paths_gives_the_same_network(
    paths: list, order: int, data: st.DataObject
) -> None:
    first = data.draw(st.lists(st.booleans(), min_size=len(paths), max_size=len(paths)))
    first[0], first[-1] = True, False
    some = [path for path, is_first in zip(paths, first, strict=True) if is_first]
    rest = [path for path, is_first in zip(paths, first, strict=True) if not is_first]
    whole = hl.count_grams(paths, order)
    # The codes of the entities are others here; the canonical order of the network is not.
    for updated in (hl.count_grams(some, order).update(rest), hl.count_grams(rest, order).update(some)):
        assert updated.grow(tau=0.5) == whole.grow(tau=0.5)
        assert updated.grow(alpha=1) == whole.grow(alpha=1)


def test_counts_of_paths_that_were_given_once_each(tmp_path: object) -> None:
    paths, times = [["A", "B", "C"], ["B", "A"], ["D", "B", "C"]], [5, 2, 7]
    spelt = [path for path, n in zip(paths, times, strict=True) for _ in range(n)]
    first = hl.count_grams(paths[:1], 2, counts=times[:1])
    assert_same(first.update(paths[1:], counts=times[1:]), hl.count_grams(spelt, 2))


def test_counts_are_added_to_counts_and_do_not_change() -> None:
    one, other = hl.count_grams([["A", "B"]] * 3), hl.count_grams([["B", "A", "C"]] * 2)
    both = one.update(other)
    assert_same(both, hl.count_grams([["A", "B"]] * 3 + [["B", "A", "C"]] * 2))
    assert_same(one, hl.count_grams([["A", "B"]] * 3))
    assert one.update(one).levels[0].count.tolist() == [6, 6]


def test_grams_that_do_not_fit_a_64_bit_key() -> None:
    rng = np.random.default_rng(0)
    paths = [[f"n{i}" for i in rng.integers(0, 300, 12)] for _ in range(30)]
    assert_same(hl.count_grams(paths[:11], 8).update(paths[11:]), hl.count_grams(paths, 8))


def test_entities_that_no_path_holds_keep_their_codes() -> None:
    whole = hl.read_paths([["A", "B"], ["C", "D"], ["B", "A"]])
    some = Paths(whole.codes[:2], whole.offsets[:2], whole.vocabulary)
    updated = hl.count_grams(some).update([["D", "E"]])
    assert list(updated.vocabulary) == ["A", "B", "C", "D", "E"]
    assert list(updated.grow().vocabulary) == ["A", "B", "D", "E"]


def test_another_order_and_counts_with_reader_options_are_refused() -> None:
    counts = hl.count_grams([["A", "B"]], 2)
    with pytest.raises(InputError, match="order 3 cannot be added to those of order 2"):
        counts.update(hl.count_grams([["A", "B"]], 3))
    with pytest.raises(ParameterError, match="leave out memory, delimiter"):
        counts.update(counts, memory="1MB", delimiter=",")


def test_a_sum_that_would_wrap_is_refused() -> None:
    counts = hl.count_grams([["A", "B"]], counts=[2**60])
    with pytest.raises(InputError, match=r"more than 2\*\*62 steps"):
        merge_tries(counts.update(counts).levels, counts.levels, np.arange(2), 2)
