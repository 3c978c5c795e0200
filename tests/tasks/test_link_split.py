"""Splits of links: what is held out, that it is hidden in full, and that nobody is left alone unasked."""

from __future__ import annotations

import numpy as np
import pytest
from link_cases import linked_communities

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.paths.pairs import cut_paths
from honlearn.sampling.pairs import edge_keys, linked_keys, pair_keys
from honlearn.tasks.link_split import DEGREE, UNIFORM, LinkSplit, hide_pairs, split_links


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
    with pytest.raises(ParameterError, match=r"'share' parameter of split_links .* Got 0\.95"):
        split_links(hon, 0.95)
    with pytest.raises(ParameterError, match=r"'isolated' parameter .* Got 'drop'"):
        split_links(hon, 0.2, isolated="drop")


def test_a_network_with_every_link_has_nothing_to_contrast() -> None:
    names = list("abcde")
    every = [(u, v) for u in names for v in names if u != v]
    with pytest.raises(InputError, match="pairs without a link are needed"):
        split_links(from_edges(*zip(*every, strict=True), [1] * 20), 0.1)


def test_rebuilding_leaves_no_trace_in_any_context() -> None:
    hon = linked_communities()
    split = split_links(hon, 0.1, protocol="paper")
    paths = hl.Paths.from_lists([["A", "C", "D"], ["B", "C", "E"]] * 5)
    grown = hl.grow(cut_paths(paths, [("C", "A")]), order=2)
    assert "C|A" not in grown
    assert "C|B" in hl.grow(paths, order=2)
    assert hide_pairs(hon, split.pairs[:0]) == hon


def test_what_is_held_out_unless_asked_for() -> None:
    hon = linked_communities()
    split = split_links(hon)
    asked = split_links(
        hon, 0.1, 0, directed=True, isolated="exclude", negatives="uniform", protocol="strict"
    )
    assert split.directed
    assert split.names == asked.names
    assert split.network == asked.network
    assert split.counts["hidden_contexts"] == hon.n_nodes - split.network.n_nodes > 0
    assert split.negatives == ("uniform",)
    bare = LinkSplit(split.network, split.pairs, split.labels, split.kinds)
    assert (bare.directed, bare.counts) == (True, {})


@pytest.mark.parametrize("directed", [True, False])
def test_both_kinds_of_negatives_are_those_of_either_kind(directed: bool) -> None:
    hon = linked_communities()
    uniform, degree, both = (
        split_links(hon, 0.1, 2, directed, negatives=kind, protocol="paper")
        for kind in ("uniform", "degree", "both")
    )
    n = uniform.counts["tested"]
    assert [len(split.pairs) for split in (uniform, degree, both)] == [2 * n, 2 * n, 3 * n]
    assert both.negatives == ("uniform", "degree")
    assert (uniform.negatives, degree.negatives) == (("uniform",), ("degree",))
    assert both.directed == directed
    # Files of results hold these numbers.
    assert np.array_equal(both.kinds, np.repeat([0, 1, 2], n))
    # A negative whose hiding would leave an entity alone is passed over; here there is none.
    assert both.counts["excluded"] == uniform.counts["excluded"] == degree.counts["excluded"]
    assert np.array_equal(both.pairs[both.part("uniform")], uniform.pairs)
    assert np.array_equal(both.pairs[both.part("degree")], degree.pairs)
    assert both.labels.tolist() == [1] * n + [0] * 2 * n


def test_negatives_by_degree_have_ends_with_links_and_uniform_ones_any() -> None:
    # From a0 … a9 to b0 … b9, never back.
    links = [(f"a{i}", f"b{(i + k) % 10}") for i in range(10) for k in range(5)]
    hon = from_edges(*zip(*links, strict=True), [1] * 50)
    split = split_links(hon, 0.4, negatives="both", protocol="paper")
    along = np.array([names[0] < "b" <= names[1] for names in split.names])
    assert along[split.kinds == DEGREE].all()
    assert 0 < along[split.kinds == UNIFORM].sum() < 15


@pytest.mark.parametrize(("directed", "share", "tested"), [(True, 0.82, 9), (False, 0.67, 4)])
def test_every_pair_without_a_link_may_be_needed(directed: bool, share: float, tested: int) -> None:
    names = list("abcde")
    every = [(u, v) for u in names for v in names if (u < v if directed else u + v in "ab bc cd de ea ac")]
    every += [("b", "a")] if directed else []
    hon = from_edges(*zip(*every, strict=True), [1] * len(every))
    assert (20 if directed else 10) - len(linked_keys(hon, directed)) == tested
    split = split_links(hon, share, 0, directed, isolated="keep", protocol="paper")
    keys = pair_keys(split.pairs, 5, directed)
    assert len(np.unique(keys)) == len(keys) == 2 * tested


def test_links_that_stay_visible_are_counted_once() -> None:
    triangle = [("a", "b"), ("b", "c"), ("c", "a"), ("leaf", "a")]
    hon = from_edges(*zip(*triangle, strict=True), [1] * 4)
    splits = [split_links(hon, 0.25, seed, directed=False, protocol="paper") for seed in range(20)]
    assert {split.counts["excluded"] for split in splits} == {0, 1}


def test_one_link_is_tested_and_one_is_left_at_least() -> None:
    two = from_edges(["a", "b"], ["b", "c"], [1, 1])
    split = split_links(two, 0.5, isolated="keep", protocol="paper")
    assert (split.counts["tested"], split.counts["isolated"]) == (1, 1)
    assert split.network.n_edges == 1
    with pytest.raises(InputError, match=r"0\.9 of 1 linked pairs is 1 test pairs"):
        split_links(from_edges(["a"], ["b"], [1]), 0.9)


def test_who_had_no_link_to_begin_with_is_not_counted_as_isolated() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("e", "a")]
    hon = from_edges(*zip(*ring, strict=True), [1] * 5)
    hon = hide_pairs(hon, np.array([[hon.index("e"), hon.index("a")]]))
    assert split_links(hon, 0.25, isolated="keep", protocol="paper").counts["isolated"] == 0


@pytest.mark.parametrize(("name", "value"), [("negatives", "random"), ("protocol", "none")])
def test_choices_that_are_none(name: str, value: str) -> None:
    with pytest.raises(ParameterError, match=rf"'{name}' parameter of split_links .* Got '{value}'"):
        split_links(chain(12), 0.2, **{name: value})


def test_negatives_by_degree_need_ends_with_links() -> None:
    # All that a and b link to is c, d and e; the only unlinked pairs whose ends have degrees are few.
    every = [(u, v) for u in "ab" for v in "cde"]
    hon = from_edges(*zip(*every, strict=True), [1] * 6)
    # One less to link, and one other is there.
    fewer = from_edges(*zip(*every[:-1], strict=True), [1] * 5)
    split = split_links(fewer, 0.2, isolated="keep", negatives="degree", protocol="paper")
    assert split.names[1] == ("b", "e")
    with pytest.raises(InputError, match=r"2 unlinked pairs whose ends have .* there are only 0; ask"):
        split_links(hon, 0.3, negatives="degree", protocol="paper")


def test_a_way_back_that_is_the_last_edge_of_an_entity_is_no_negative() -> None:
    # Not linked are (c, a) and (c, b). Without a ↔ b, hiding either would leave a or b alone.
    links = [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")]
    hon, refused = from_edges(*zip(*links, strict=True), [1] * 4), 0
    for seed in range(12):
        held_out = split_links(hon, 0.25, seed, isolated="keep", protocol="paper").names[0]
        if set(held_out) == {"a", "b"}:
            refused += 1
            with pytest.raises(InputError, match=r"only 0 of 1 pairs without a link found \(uniform\)"):
                split_links(hon, 0.25, seed, protocol="paper")
        else:
            assert split_links(hon, 0.25, seed, protocol="paper").names == [held_out, held_out[::-1]]
    assert 0 < refused < 12
