"""Common neighbours against a search through all entities; low-rank scores against a full decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.common_neighbors import CommonNeighbors
from honlearn.sampling.pair_factors import RANKS, PairFactors


def random_network(size: int = 30, share: float = 0.2) -> tuple[HigherOrderNetwork, np.ndarray]:
    random = np.random.default_rng(1)
    linked = random.random((size, size)) < share
    np.fill_diagonal(linked, False)
    names = [f"n{i:02d}" for i in range(size)]
    u, v = np.nonzero(linked)
    return from_edges([names[i] for i in u], [names[i] for i in v], random.integers(1, 9, len(u))), linked


@pytest.mark.parametrize("directed", [True, False])
def test_common_neighbors_are_those_that_a_search_finds(directed: bool) -> None:
    network, linked = random_network()
    near = linked | linked.T
    out, into = (linked, linked) if directed else (near, near)
    pairs = np.array([[u, v] for u in range(30) for v in range(30) if u != v], np.int32)
    found = CommonNeighbors(network, directed).of(pairs)
    for row, (u, v) in enumerate(pairs.tolist()):
        wanted = [z for z in range(30) if out[u, z] and into[z, v] and z not in (u, v)]
        some = slice(found.indptr[row], found.indptr[row + 1])
        assert found.entities[some].tolist() == wanted
        np.testing.assert_allclose(found.weights[some], near.sum(1)[wanted] ** -0.5, rtol=1e-6)
    taken = found.take(np.array([7, 3, 7]))
    assert taken.indptr[-1] == sum(np.diff(found.indptr)[[7, 3, 7]])
    assert (
        taken.entities[: taken.indptr[1]].tolist()
        == found.entities[found.indptr[7] : found.indptr[8]].tolist()
    )


def test_low_rank_scores_are_those_of_the_whole_decomposition() -> None:
    network, linked = random_network(60, 0.3)
    a = linked / np.sqrt(linked.sum(1)[:, None] * linked.sum(0))
    left, values, right = np.linalg.svd(a)
    rank = RANKS[0]
    wanted = (left[:, :rank] * values[:rank]) @ right[:rank]
    pairs = np.array([[u, v] for u in range(60) for v in range(0, 60, 7) if u != v], np.int32)
    found = PairFactors(network).at(pairs)[:, 0]
    np.testing.assert_allclose(found, wanted[pairs[:, 0], pairs[:, 1]], atol=0.02)
    # One by one, where no matrix product pays, and together: the same numbers.
    alone = np.concatenate([PairFactors(network).at(pairs[i : i + 1])[:, 0] for i in range(3)])
    np.testing.assert_allclose(alone, found[:3], atol=1e-5)


def test_without_direction_scores_are_symmetric() -> None:
    network, _ = random_network()
    pairs = np.array([[0, 1], [3, 9]], np.int32)
    factors = PairFactors(network, directed=False)
    np.testing.assert_allclose(factors.at(pairs), factors.at(pairs[:, ::-1]), atol=1e-6)
