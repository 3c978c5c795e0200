"""Pairs of relatives follow Eq. 4 where there is an edge and Eq. 3 elsewhere; unlinked pairs are unlinked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from honlearn.errors import InputError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import (
    PairSampler,
    count_unlinked,
    draw_unlinked,
    edge_keys,
    keyed_pairs,
    linked_keys,
    pair_keys,
)
from honlearn.seeds import derive_seed

# B → C is observed as three edges between relatives, and C → B as one; A and C are not linked.
EDGES = [
    ("B", "C|B", 6), ("B|A", "C|B", 3), ("B|A", "C", 1), ("C|B", "B", 4), ("A", "B|A", 5),
    ("C|B", "D", 7), ("C", "D", 2), ("B", "D", 8), ("B", "B", 3),
]  # fmt: skip


def network(*more: tuple[str, str, int]) -> HigherOrderNetwork:
    return from_edges(*zip(*EDGES, *more, strict=True))


def test_links_have_a_direction_unless_told_otherwise() -> None:
    hon = from_edges(["B", "A", "C"], ["A", "B", "A"], [1, 1, 1])
    a, b, c = 0, 1, 2
    assert keyed_pairs(linked_keys(hon), 3).tolist() == [[a, b], [b, a], [c, a]]
    assert keyed_pairs(linked_keys(hon, directed=False), 3).tolist() == [[a, b], [a, c]]
    assert sorted(keyed_pairs(edge_keys(hon), 3).tolist()) == [[a, b], [b, a], [c, a]]
    assert sorted(keyed_pairs(edge_keys(hon, directed=False), 3).tolist()) == [[a, b], [a, b], [a, c]]


def counts(
    hon: HigherOrderNetwork, u: str, v: str, joint: bool, **kwargs: bool
) -> dict[tuple[str, str], int]:
    pair = np.array([[hon.index(u), hon.index(v)]])
    drawn = PairSampler(hon, **kwargs).draw(pair, 3, range(4000), joint=joint)[:, 0]
    found: dict[tuple[str, str], int] = {}
    for a, b in drawn.tolist():
        key = (hon.nodes[a], hon.nodes[b])
        found[key] = found.get(key, 0) + 1
    return found


def test_linked_pairs_follow_the_edges_between_relatives() -> None:
    found = counts(network(), "B", "C", joint=True)
    expected = {("B", "C|B"): 0.6, ("B|A", "C|B"): 0.3, ("B|A", "C"): 0.1}
    assert set(found) == set(expected)
    observed = [found[key] for key in expected]
    assert chisquare(observed, 4000 * np.array(list(expected.values()))).pvalue > 1e-3


def test_without_direction_both_directions_count() -> None:
    found = counts(network(), "B", "C", joint=True, directed=False)
    # B → C|B and C|B → B are the same two relatives.
    expected = {("B", "C|B"): 10 / 14, ("B|A", "C|B"): 3 / 14, ("B|A", "C"): 1 / 14}
    assert set(found) == set(expected)
    assert chisquare([found[k] for k in expected], 4000 * np.array(list(expected.values()))).pvalue > 1e-3


@pytest.mark.parametrize(("u", "v", "joint"), [("B", "C", False), ("C", "B", False), ("A", "C", True)])
def test_other_pairs_draw_each_end_by_its_out_weight(u: str, v: str, joint: bool) -> None:
    hon = network()
    found = counts(hon, u, v, joint)
    chance = {node: p for end in (u, v) for node, p in hon.relatives(end).items()}
    expected = {(a, b): chance[a] * chance[b] for a in hon.relatives(u) for b in hon.relatives(v)}
    expected = {key: p for key, p in expected.items() if p > 0}
    assert set(found) == set(expected)
    assert chisquare([found[k] for k in expected], 4000 * np.array(list(expected.values()))).pvalue > 1e-3


def test_draws_are_spread_over_pairs_as_over_learners() -> None:
    """Two thousand copies of one family pattern, one learner: the hash of the pair is the randomness."""
    edges = []
    for i in range(2000):
        edges += [(f"u{i}", f"v{i}", 3), (f"u{i}|x", f"v{i}", 1), ("x", f"u{i}|x", 1)]
    hon = from_edges(*zip(*edges, strict=True))
    pairs = np.array([[hon.index(f"u{i}"), hon.index(f"v{i}")] for i in range(2000)])
    conditional = (PairSampler(hon).draw(pairs, 0, [0], joint=True)[0, :, 0] >= hon.n_entities).sum()
    assert chisquare([conditional, 2000 - conditional], [500, 1500]).pvalue > 1e-3


def test_a_draw_depends_on_its_learner_and_pair_alone() -> None:
    hon = network()
    sampler = PairSampler(hon)
    pairs = keyed_pairs(linked_keys(hon), hon.n_entities)
    many = sampler.draw(pairs, 5, range(16), joint=True)
    assert np.array_equal(sampler.draw(pairs[::-1], 5, [7], joint=True)[0], many[7][::-1])
    assert np.array_equal(sampler.draw(pairs[2:3], 5, [0, 7], joint=True), many[[0, 7], 2:3])
    assert not np.array_equal(many, sampler.draw(pairs, 6, range(16), joint=True))
    assert not np.array_equal(many, sampler.draw(pairs, 5, range(16), "batch", 1, joint=True))
    assert (hon.base[many] == pairs).all()


def mixed(state: int) -> int:
    """Return the output function of splitmix64 as its authors print it."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return state ^ (state >> 31)


def chosen(weighed: list[tuple[Any, float]], number: float) -> Any:
    for one, weight in weighed:
        number -= weight / sum(weight for _, weight in weighed)
        if number < 0:
            return one
    raise AssertionError("numbers are below 1")


@pytest.mark.parametrize("directed", [True, False])
def test_a_seed_stands_for_the_same_draws_everywhere(directed: bool) -> None:
    # Pair k has three numbers of the learner's stream: at 3k + 1 (first end), 3k + 2 (second), 3k + 3 (both).
    # The first pair has two edges to choose from, as the last one has.
    hon = network(("A", "B", 2))
    size = hon.n_entities
    pairs = np.array([(u, v) for u in range(size) for v in range(size)])
    drawn = PairSampler(hon, directed).draw(pairs, 8, range(30), "batch", 2, joint=True)
    edges = list(hon.to_pandas().itertuples(index=False, name=None))
    edges += [] if directed else [(target, source, weight) for source, target, weight in edges]
    for learner in range(30):
        stream = derive_seed(8, "pair relatives", learner, "batch", 2)
        for k, (u, v) in enumerate(pairs.tolist()):
            numbers = [
                (mixed((stream + (3 * k + i) * 0x9E3779B97F4A7C15) % 2**64) >> 11) / 2**53 for i in (1, 2, 3)
            ]
            ends = [hon.vocabulary[u], hon.vocabulary[v]]
            between = [((a, b), w) for a, b, w in edges if [a.split("|")[0], b.split("|")[0]] == ends]
            if between:
                expected = chosen(between, numbers[2])
            else:
                families = [list(hon.relatives(end).items()) for end in ends]
                expected = chosen(families[0], numbers[0]), chosen(families[1], numbers[1])
            assert tuple(hon.nodes[int(node)] for node in drawn[learner, k]) == expected


def test_without_edges_every_entity_stands_for_itself() -> None:
    hon = network()
    nothing = np.zeros(hon.n_nodes + 1, np.int64)
    hon = HigherOrderNetwork(hon.vocabulary, hon.gram_offsets, hon.grams, nothing, nothing[:0], nothing[:0])
    assert hon.n_conditional > 0
    pairs = np.array([[0, 1], [2, 1]])
    assert (PairSampler(hon).draw(pairs, 0, range(9), joint=True) == pairs).all()


def test_a_sink_stands_for_itself() -> None:
    hon = network()
    pair = np.array([[hon.index("D"), hon.index("A")]])
    assert (PairSampler(hon).draw(pair, 0, range(20), joint=True) == pair).all()


def test_first_order_networks_leave_no_choice() -> None:
    hon = network().first_order()
    pairs = keyed_pairs(linked_keys(hon), hon.n_entities)
    assert (PairSampler(hon).draw(pairs, 0, range(3), joint=True) == pairs).all()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("count", [3, 40, 150])
def test_unlinked_pairs_are_distinct_and_not_taken(directed: bool, count: int) -> None:
    taken = np.unique(pair_keys(np.array([[0, i] for i in range(1, 20)]), 20, directed))
    drawn = draw_unlinked(np.random.default_rng(0), count, 20, taken, directed)
    keys = pair_keys(drawn, 20, directed)
    assert len(np.unique(keys)) == count == len(drawn)
    assert not np.isin(keys, taken).any()
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_unlinked_pairs_are_uniform() -> None:
    taken = pair_keys(np.array([[0, 1], [1, 0]]), 4)
    keys = [pair_keys(draw_unlinked(np.random.default_rng(i), 1, 4, taken), 4)[0] for i in range(2000)]
    _, observed = np.unique(keys, return_counts=True)
    assert len(observed) == 10
    assert chisquare(observed).pvalue > 1e-3


class Lists(np.random.Generator):
    """Cannot try pairs, so that all of them have to be listed."""

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a pair is tried")


def test_all_pairs_are_listed_where_trying_might_take_long() -> None:
    taken, bits = np.empty(0, np.int64), np.random.PCG64(0)
    # Of 6 entities there are 30 pairs, fewer than four times 8.
    assert len(draw_unlinked(Lists(bits), 8, 6, taken)) == 8
    with pytest.raises(AssertionError, match="a pair is tried"):
        draw_unlinked(Lists(bits), 7, 6, taken)
    # Of 5 there are 20, four times 5.
    with pytest.raises(AssertionError, match="a pair is tried"):
        draw_unlinked(Lists(bits), 5, 5, taken)


def test_too_few_unlinked_pairs_is_said() -> None:
    taken = np.array([1])
    assert count_unlinked(3, taken) == 5
    assert str(count_unlinked(4, taken, directed=False)) == "5"
    assert len(draw_unlinked(np.random.default_rng(0), 5, 3, taken)) == 5
    with pytest.raises(InputError, match=r"6 pairs without a link are needed, .* only 5; ask for a smaller"):
        draw_unlinked(np.random.default_rng(0), 6, 3, taken)


def test_every_end_is_drawn_by_its_probabilities_also_of_the_first_and_the_last_family() -> None:
    edges = []
    for i in range(5):
        x, after, before = (f"n{(i + k) % 5}" for k in (0, 1, -1))
        edges += [(x, f"{after}|{x}", 3 + i), (f"{x}|{before}", after, 2 + i)]
    hon = from_edges(*zip(*edges, strict=True))
    pairs = np.array([[i, (i + 2) % 5] for i in range(5)])
    drawn = PairSampler(hon).draw(pairs, 2, range(3000), joint=False)
    for row, pair in enumerate(pairs.tolist()):
        for side, entity in enumerate(pair):
            i = int(hon.vocabulary[entity][1:])
            base = int((drawn[:, row, side] == entity).sum())
            expected = np.array([3 + i, 2 + i]) / (5 + 2 * i) * 3000
            assert chisquare([base, 3000 - base], expected).pvalue > 1e-3
    # The two ends are drawn independently.
    both = (drawn[:, 0] == pairs[0]).astype(float)
    assert abs(np.corrcoef(both.T)[0, 1]) < 4 / np.sqrt(3000)


@pytest.mark.parametrize("joint", [True, False])
def test_what_may_be_drawn_is_told_beforehand(joint: bool) -> None:
    hon = network()
    sampler, pairs = PairSampler(hon), np.array([[hon.index("B"), hon.index("C")]])
    told = sampler.possible(pairs, joint)
    assert told.dtype == np.int32
    drawn = np.unique(sampler.draw(pairs, 0, range(300), joint=joint))
    assert drawn.tolist() == told.tolist() == sorted(hon.index(name) for name in ("B", "B|A", "C", "C|B"))
    # A node without out-edges is drawn with its partner only.
    sink = from_edges(["A", "A", "C"], ["C|A", "B", "B"], [2, 1, 1])
    ends = np.array([[sink.index("A"), sink.index("C")]])
    names = {sink.nodes[int(node)] for node in PairSampler(sink).possible(ends, joint)}
    assert names == ({"A", "C", "C|A"} if joint else {"A", "C"})
