"""Neighbours are drawn with the chance of their edges, on any graph, the same on any number of learners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling import NeighborSampler

EDGES = [
    ("a", "a", 7), ("a", "b", 1), ("a", "c", 2), ("b", "c", 100), ("b", "a", 3), ("hub", "sink", 1),
    *[("hub", f"x{i}", i + 1) for i in range(30)], ("source", "hub", 1), ("source", "a", 1),
]  # fmt: skip


@pytest.fixture(scope="module")
def hon() -> HigherOrderNetwork:
    return from_edges(*zip(*EDGES, strict=True))


def keys(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(2**63, size=count, dtype=np.uint64)


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("name", ["a", "b", "c", "hub", "sink", "source"])
def test_frequencies_follow_edge_weights(hon: HigherOrderNetwork, name: str, direction: str) -> None:
    expected = hon.neighbors(name, direction)
    nodes = np.full((4, 500), hon.index(name), np.int32)
    drawn = NeighborSampler(hon).sample(nodes, 10, direction, keys(4))
    if not expected:
        assert (drawn == -1).all()
        return
    labels, counts = np.unique([hon.nodes[int(node)] for node in drawn.ravel()], return_counts=True)
    assert set(labels) <= set(expected)
    observed = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    weights = np.array(list(expected.values()), float)
    seen = np.array([observed.get(label, 0) for label in expected])
    if len(expected) > 1:
        assert chisquare(seen, weights / weights.sum() * seen.sum()).pvalue > 1e-3


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_a_power_flattens_the_weights(hon: HigherOrderNetwork, power: float) -> None:
    nodes = np.full((1, 5000), hon.index("b"), np.int32)
    drawn = NeighborSampler(hon, power).sample(nodes, 1, "out", keys(1))
    heavy, light = 100**power, 3**power
    seen = int((drawn == hon.index("c")).sum())
    expected = np.array([heavy, light]) / (heavy + light) * 5000
    assert chisquare([seen, 5000 - seen], expected).pvalue > 1e-3


def test_samples_are_independent_of_each_other(hon: HigherOrderNetwork) -> None:
    # Pairs of consecutive draws from a: nine cells with the product of the chances.
    nodes = np.full((1, 20000), hon.index("a"), np.int32)
    drawn = NeighborSampler(hon).sample(nodes, 2, "out", keys(1, 4))[0]
    chance = {hon.index(n): w / 10 for n, w in hon.neighbors("a").items()}
    cells = [(i, j) for i in chance for j in chance]
    seen = [int(((drawn[:, 0] == i) & (drawn[:, 1] == j)).sum()) for i, j in cells]
    assert chisquare(seen, [chance[i] * chance[j] * len(drawn) for i, j in cells]).pvalue > 1e-3


def test_missing_nodes_stay_missing_down_the_tree(hon: HigherOrderNetwork) -> None:
    roots = np.array([[hon.index("sink"), hon.index("source")]], np.int32)
    levels = NeighborSampler(hon).levels(roots, (3, 2), np.stack([keys(1, i) for i in range(4)]))
    assert [level.shape for level in levels] == [(1, 2), (1, 12), (1, 48)]
    first = levels[1].reshape(2, 2, 3)
    hub = hon.index("hub")
    assert (first[0, 0] == hub).all()
    assert (first[0, 1] == -1).all()
    assert (first[1, 0] == -1).all()
    second = levels[2].reshape(2, 2, 3, 2, 2)
    assert (second[0, 1] == -1).all()
    assert (second[0, 0, :, 0] == hon.index("source")).all()


def test_a_learner_draws_alone_as_in_company(hon: HigherOrderNetwork) -> None:
    sampler, four = NeighborSampler(hon), keys(4)
    nodes = np.full((4, 9), hon.index("hub"), np.int32)
    together = sampler.sample(nodes, 5, "out", four)
    assert np.array_equal(sampler.sample(nodes[2:3], 5, "out", four[2:3])[0], together[2])
    assert not np.array_equal(together[0], together[1])


def test_wrong_arguments_are_named(hon: HigherOrderNetwork) -> None:
    sampler = NeighborSampler(hon)
    with pytest.raises(ParameterError, match="'direction' parameter of sample must be one of 'in', 'out'"):
        sampler.sample(np.zeros((1, 1), np.int32), 1, "both", keys(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'fan_outs' parameter of levels must be a whole number"):
        sampler.levels(np.zeros((1, 1), np.int32), (2, 0), np.zeros((4, 1), np.uint64))
