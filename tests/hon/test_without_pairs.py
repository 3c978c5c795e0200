"""Networks and counts without hidden steps: against paths that are cut and counted anew, and by hand."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from network_cases import edge_lists, network

import honlearn as hl
from honlearn.errors import InputError
from honlearn.hon.invariants import check_nodes
from honlearn.hon.network_updates import with_entities
from honlearn.hon.trie import Level
from honlearn.hon.without_pairs import without_pairs
from honlearn.paths.pairs import cut_paths, known_pairs
from honlearn.paths.vocabulary import Vocabulary

names = st.sampled_from("ABCDEF")
some_paths = st.lists(st.lists(names, min_size=1, max_size=9), min_size=1, max_size=30)
some_pairs = st.lists(st.tuples(names, names), max_size=5)
orders = st.integers(1, 4)


@st.composite
def weighted_paths(draw: st.DrawFn) -> hl.Paths:
    paths = draw(some_paths)
    counts = draw(st.lists(st.integers(1, 9), min_size=len(paths), max_size=len(paths)))
    return hl.Paths.from_lists(paths, counts=counts)


def reduced(counts: hl.GramCounts, pairs: list[tuple[str, str]]) -> hl.GramCounts:
    return counts.without(known_pairs(counts.vocabulary, pairs))


@given(weighted_paths(), some_pairs, orders)
def test_reduced_counts_are_those_of_paths_cut_at_the_hidden_steps(paths, pairs, order) -> None:  # type: ignore[no-untyped-def]
    found = reduced(hl.count_grams(paths, order), pairs)
    expected = hl.count_grams(cut_paths(paths, pairs), order)
    for mine, other in zip(found.levels, expected.levels, strict=True):
        for field in fields(Level):
            assert getattr(mine, field.name).dtype == getattr(other, field.name).dtype
            assert np.array_equal(getattr(mine, field.name), getattr(other, field.name)), field.name
    assert found.vocabulary == paths.vocabulary


rules = st.sampled_from(
    [
        {"tau": 0.2},
        {"tau": 1.0, "min_support": 3},
        {"alpha": 0.5},
        {"alpha": 0.05},
        {"alpha": 1},
    ]
)


@given(weighted_paths(), some_pairs, st.integers(1, 3), rules)
def test_networks_of_reduced_counts_are_grown_as_from_cut_paths(paths, pairs, order, rule) -> None:  # type: ignore[no-untyped-def]
    found = reduced(hl.count_grams(paths, order), pairs).grow(**rule)
    expected = hl.grow(cut_paths(paths, pairs), order, **rule)
    assert found == expected
    assert found.statistics == expected.statistics


def test_the_next_step_after_reduced_counts_ends_at_the_cut() -> None:
    counts = hl.count_grams([["A", "B", "C"]] * 8 + [["B", "D"]] * 2, order=2)
    steps = reduced(counts, [("C", "B")]).next_steps(["B"], top=3, from_start=False)
    again = hl.count_grams([["A", "B"], ["C"]] * 8 + [["B", "D"]] * 2, order=2)
    assert steps.equals(again.next_steps(["B"], top=3, from_start=False))


# --- networks alone ---------------------------------------------------------------------------------


def codes(hon: hl.HigherOrderNetwork, pairs: list[tuple[str, str]]) -> np.ndarray:
    return known_pairs(hon.vocabulary, pairs)


@given(weighted_paths(), some_pairs, st.integers(1, 4), st.integers(1, 3))
def test_a_network_that_keeps_every_context_is_the_one_grown_from_cut_paths(  # type: ignore[no-untyped-def]
    paths, pairs, order, support
) -> None:
    # Whether a context is kept depends here on nothing that a hidden step elsewhere could have changed.
    rule = {"alpha": 1, "min_support": support}
    hon = hl.grow(paths, order, **rule)
    expected = hl.grow(cut_paths(paths, pairs), order, **rule)
    assert without_pairs(hon, codes(hon, pairs)) == with_entities(expected, hon.vocabulary)


@given(edge_lists(), some_pairs)
def test_no_trace_is_left_of_a_pair_in_any_network(edges, pairs) -> None:  # type: ignore[no-untyped-def]
    hon = network(edges)
    found = without_pairs(hon, codes(hon, pairs))
    hidden = {frozenset(pair) for pair in pairs}
    for label in found.nodes:
        gram = label.split("|")
        assert not any(frozenset(step) in hidden for step in pairwise(gram))
    for source, target in zip(found.sources.tolist(), found.indices.tolist(), strict=True):
        ends = (found.nodes[source].split("|")[0], found.nodes[target].split("|")[0])
        assert frozenset(ends) not in hidden
    assert found.vocabulary == hon.vocabulary
    assert found.statistics is None
    assert set(found.nodes) <= set(hon.nodes)
    check_nodes(found)
    assert without_pairs(found, codes(hon, pairs)) == found


@given(edge_lists())
def test_nothing_hidden_changes_nothing(edges) -> None:  # type: ignore[no-untyped-def]
    hon = network(edges)
    assert without_pairs(hon, np.empty((0, 2), np.int32)) == hon


def rows(hon: hl.HigherOrderNetwork) -> list[list[object]]:
    return hon.to_pandas().to_numpy().tolist()


def test_weights_of_a_removed_context_are_not_counted_twice() -> None:
    # A, B, C twice and Z, B, D three times, as GrowHON counts: B's row holds those of its contexts.
    grown = {("A", "B|A"): 2, ("Z", "B"): 3, ("B", "C"): 2, ("B", "D"): 3, ("B|A", "C"): 2}
    found = without_pairs(network(grown), codes(network(grown), [("A", "B")]))
    assert rows(found) == [["B", "C", 2], ["B", "D", 3], ["Z", "B", 3]]


def test_weights_of_a_removed_context_move_where_flow_is_conserved() -> None:
    # The same paths, but B's row lacks what came from A.
    shared = {("A", "B|A"): 2, ("Z", "B"): 3, ("B", "D"): 3, ("B|A", "C"): 2, ("B|A", "D"): 1}
    found = without_pairs(network(shared), codes(network(shared), [("A", "B")]))
    assert rows(found) == [["B", "C", 2], ["B", "D", 4], ["Z", "B", 3]]


def test_moved_edges_know_no_more_of_the_past_than_their_source() -> None:
    shared = {("B|A", "C|B|A"): 2, ("B|A|Z", "C|B|A"): 1, ("C|B|A", "D"): 3, ("C|B", "D"): 1, ("B", "C|B"): 1}
    hon = network(shared)
    found = without_pairs(hon, codes(hon, [("A", "Z")]))
    # B|A|Z is gone, and its edge is one of B|A.
    assert rows(found) == [["B", "C|B", 1], ["B|A", "C|B|A", 3], ["C|B", "D", 1], ["C|B|A", "D", 3]]
    found = without_pairs(hon, codes(hon, [("A", "B")]))
    assert rows(found) == [["B", "C|B", 4], ["C|B", "D", 4]]
    # B|A|Z is gone, and its edge is one of B, which does not know of A.
    shared = {("B|A|Z", "C|B|A"): 2, ("B", "C|B"): 1, ("C|B|A", "D"): 2, ("C|B", "D"): 1}
    hon = network(shared)
    found = without_pairs(hon, codes(hon, [("A", "Z")]))
    assert rows(found) == [["B", "C|B", 3], ["C|B", "D", 1], ["C|B|A", "D", 2]]


def test_a_context_that_lost_its_next_step_is_gone() -> None:
    hon = hl.grow([["A", "C", "D"], ["B", "C", "E"]] * 5, order=2)
    found = without_pairs(hon, codes(hon, [("D", "C")]))
    # C|A without a next step would tell that it had one.
    assert list(found.nodes) == ["A", "B", "C", "D", "E", "C|B"]
    assert rows(found) == [["A", "C", 5], ["B", "C|B", 5], ["C", "E", 5], ["C|B", "E", 5]]


def test_codes_that_are_none_are_refused() -> None:
    counts = hl.count_grams([["A", "B"]], order=1)
    for call in (counts.without, lambda pairs: without_pairs(counts.grow(), pairs)):
        with pytest.raises(InputError, match=r"codes from 0 to 2; give codes of entities, 0 to 1"):
            call(np.array([[0, 2]]))


def test_entities_without_edges_take_their_place_by_name() -> None:
    hon = hl.grow([["b", "d", "e"], ["c", "d", "f"]] * 5, order=2)
    more = with_entities(hon, Vocabulary.from_names(["z", "a", "d", "c2"]))
    assert list(more.nodes)[:8] == ["a", "b", "c", "c2", "d", "e", "f", "z"]
    assert rows(more) == rows(hon)
    assert more.statistics == hon.statistics
    check_nodes(more)
    assert with_entities(hon, hon.vocabulary) is hon
