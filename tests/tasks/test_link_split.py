"""Splits of links: what is held out, that it is hidden in full, and that nobody is left alone unasked."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_cases import linked_communities

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.paths.pairs import cut_paths
from honlearn.sampling.pairs import edge_keys, linked_keys, pair_keys
from honlearn.tasks.link_split import hide_pairs, split_links


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("isolated", ["exclude", "keep"])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_no_edge_joins_the_families_of_a_test_pair(directed: bool, isolated: str, share: float) -> None:
    hon = linked_communities()
    split = split_links(hon, share, seed=1, directed=directed, isolated=isolated, protocol="paper")
    tested = {frozenset(pair) for pair in split.names}
    for source, target in zip(split.network.sources, split.network.indices, strict=True):
        ends = {split.network.nodes[int(node)].split("|")[0] for node in (source, target)}
        assert frozenset(ends) not in tested
    # … and everything else is as it was.
    kept = ~np.isin(edge_keys(hon, False), pair_keys(split.pairs, hon.n_entities, False))
    assert kept.sum() == split.network.n_edges == hon.n_edges - split.counts["hidden_edges"]
    assert np.array_equal(split.network.weights, hon.weights[kept])
    assert np.array_equal(split.network.grams, hon.grams)


@pytest.mark.parametrize("directed", [True, False])
def test_half_of_the_test_pairs_are_linked(directed: bool) -> None:
    hon = linked_communities()
    split = split_links(hon, 0.2, seed=3, directed=directed)
    linked = linked_keys(hon, directed)
    keys = pair_keys(split.pairs, hon.n_entities, directed)
    assert len(np.unique(keys)) == len(keys) == 2 * split.counts["tested"]
    assert split.counts["tested"] == round(0.2 * len(linked)) == split.labels.sum()
    assert np.array_equal(np.isin(keys, linked), split.labels == 1)
    visible = linked_keys(split.network, directed)
    counted = split.counts["tested"] + split.counts["reversed"] + len(visible)
    assert counted == split.counts["positives"] == len(linked)
    assert split.counts["reversed"] > 0 if directed else split.counts["reversed"] == 0


def test_the_seed_decides() -> None:
    hon = linked_communities()
    first, again, other = (split_links(hon, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.pairs, again.pairs)
    assert not np.array_equal(first.pairs, other.pairs)


def test_hidden_frequencies_of_contexts_go_too() -> None:
    hon = linked_communities()
    assert hon.statistics is not None
    split = split_links(hon)
    assert split.network.statistics is None
    assert split.network.parameters == hon.parameters


def chain(length: int) -> hl.HigherOrderNetwork:
    names = [f"n{i:02d}" for i in range(length)]
    ring = list(zip(names, [*names[1:], names[0]], strict=True))
    return from_edges(*zip(*ring, ("leaf", names[0]), strict=True), [1] * (length + 1))


def test_the_last_link_of_an_entity_stays_unless_asked_for() -> None:
    hon = chain(12)
    excluded = sum(split_links(hon, 0.3, seed).counts["excluded"] for seed in range(20))
    assert excluded > 0
    for seed in range(20):
        split = split_links(hon, 0.3, seed)
        assert split.counts["isolated"] == 0
        linked = np.unique(np.concatenate([split.network.sources, split.network.indices]))
        assert len(linked) == hon.n_entities
    kept = [split_links(hon, 0.3, seed, isolated="keep").counts for seed in range(20)]
    assert sum(count["isolated"] for count in kept) > 0
    assert not any(count["excluded"] for count in kept)


def test_shares_that_cannot_be_had_are_refused() -> None:
    hon = chain(12)
    with pytest.raises(
        InputError, match=r"only \d+ of the 10 pairs to test .* smaller share, or pass isolated"
    ):
        split_links(hon, 0.8)
    with pytest.raises(InputError, match=r"0\.01 of 13 linked pairs is 0 test pairs"):
        split_links(hon, 0.01)
    with pytest.raises(
        ParameterError, match="'share' parameter of split_links must be a number greater than 0"
    ):
        split_links(hon, 0)
    with pytest.raises(ParameterError, match=r"'isolated' parameter .* Got 'drop'"):
        split_links(hon, 0.2, isolated="drop")


def test_a_network_with_every_link_has_nothing_to_contrast() -> None:
    names = list("abcde")
    every = [(u, v) for u in names for v in names if u != v]
    with pytest.raises(InputError, match="pairs without a link are needed"):
        split_links(from_edges(*zip(*every, strict=True), [1] * 20), 0.1)


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


@pytest.mark.parametrize("visits", [False, True])
def test_paths_without_an_entity_have_nothing_to_cut(visits: bool) -> None:
    paths = hl.Paths.from_lists([["a", "b"]])
    none = hl.Paths(paths.codes[:0], np.zeros(3, np.int64), paths.vocabulary)
    assert list(cut_paths(none, [("a", "b")], visits)) == []


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


def test_rebuilding_leaves_no_trace_in_any_context() -> None:
    hon = linked_communities()
    split = split_links(hon, 0.1, protocol="paper")
    paths = hl.Paths.from_lists([["A", "C", "D"], ["B", "C", "E"]] * 5)
    grown = hl.grow(cut_paths(paths, [("C", "A")]), order=2)
    assert "C|A" not in grown
    assert "C|B" in hl.grow(paths, order=2)
    assert hide_pairs(hon, split.pairs[:0]) == hon
