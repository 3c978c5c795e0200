"""Counts of pairs equal those of loops over walks and paths; rows equal pairs; direction can be ignored."""

from __future__ import annotations

import numpy as np
import pytest
from count_cases import lag_counts, pair_values, random_network, random_paths
from scipy import sparse

from honlearn.hon.edgelist import from_edges
from honlearn.hon.network_updates import with_entities
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary
from honlearn.sampling.lags import PathLags
from honlearn.sampling.pair_counts import PairCounts
from honlearn.sampling.walk_sums import WalkSums

COUNTS = 6  # degrees and common neighbours are counts; all others are shares, times 1000


def every_pair(size: int) -> np.ndarray:
    u, v = np.divmod(np.arange(size * size), size)
    return np.stack([u, v], 1)[u != v].astype(np.int32)


@pytest.mark.parametrize(("seed", "order", "with_paths"), [(0, 1, True), (1, 2, True), (2, 3, False)])
def test_every_count_is_that_of_a_loop_over_all_walks(seed: int, order: int, with_paths: bool) -> None:
    hon = random_network(seed, order)
    assert hon.max_order == order
    paths = random_paths(seed, 14) if with_paths else None
    lags = None if paths is None else PathLags(paths, hon.vocabulary).count()
    pairs = every_pair(hon.n_entities)[::3]
    found = np.expm1(PairCounts(hon, lags).at(pairs).astype(np.float64))
    for row, (u, v) in zip(found, pairs.tolist(), strict=True):
        wanted = pair_values(hon, paths, u, v)
        assert set(wanted) == set(PairCounts.names)
        scale = np.where(np.arange(len(PairCounts.names)) < COUNTS, 1, 1000)
        named = [wanted[name] for name in PairCounts.names]
        np.testing.assert_allclose(row / scale, named, rtol=1e-4, atol=1e-6)


def test_counts_are_of_both_networks() -> None:
    hon = random_network(1)
    first = with_entities(hon.first_order(), hon.vocabulary)
    names, pairs = list(PairCounts.names), every_pair(hon.n_entities)
    whole, alone = PairCounts(hon).at(pairs), PairCounts(first).at(pairs)
    for lag in ("2", "3", "4_back"):
        entities, relatives = names.index(f"entities_{lag}"), names.index(f"relatives_{lag}")
        np.testing.assert_allclose(whole[:, entities], alone[:, relatives], rtol=1e-6)
        # Without memory there is one network.
        np.testing.assert_array_equal(alone[:, entities], alone[:, relatives])
        assert np.abs(whole[:, entities] - whole[:, relatives]).max() > 0.1


@pytest.mark.parametrize("directed", [True, False])
def test_rows_hold_what_pairs_do(directed: bool) -> None:
    hon = random_network(3)
    lags = PathLags(random_paths(3, 14), hon.vocabulary).count()
    counts = PairCounts(hon, lags, directed)
    sources = np.array([5, 0, 3])
    rows = counts.rows(sources)
    assert rows.shape == (3, hon.n_entities, len(PairCounts.names))
    for place, u in enumerate(sources):
        pairs = np.array([[u, v] for v in range(hon.n_entities)])
        np.testing.assert_allclose(rows[place], counts.at(pairs), rtol=1e-5, atol=1e-6)


def test_without_direction_both_orders_have_the_mean() -> None:
    hon = random_network(4)
    pairs = every_pair(hon.n_entities)
    one_way = PairCounts(hon)
    back = np.ascontiguousarray(pairs[:, ::-1])
    np.testing.assert_array_equal(
        PairCounts(hon, directed=False).at(pairs), (one_way.at(pairs) + one_way.at(back)) / 2
    )


def test_a_pair_has_the_same_counts_whoever_is_asked_for_beside_it() -> None:
    hon = random_network(5)
    pairs = every_pair(hon.n_entities)
    order = np.random.default_rng(0).permutation(len(pairs))
    whole = PairCounts(hon).at(pairs)
    np.testing.assert_array_equal(PairCounts(hon).at(pairs[order]), whole[order])
    np.testing.assert_array_equal(PairCounts(hon).at(pairs[7:8]), whole[7:8])
    assert PairCounts(hon).at(pairs[:0]).shape == (0, len(PairCounts.names))


def test_whether_the_pair_itself_is_linked_is_no_part_of_its_degrees_and_neighbours() -> None:
    """Of u → v alone only the degrees of u and v tell; the triangle's other walks are the same."""
    open_one = from_edges(["A", "B", "A"], ["B", "C", "D"])
    row = dict(zip(PairCounts.names, np.expm1(PairCounts(open_one).at(np.array([[0, 2]])))[0], strict=True))
    assert row["common_neighbors"] == pytest.approx(1)
    assert row["allocation_along"] == pytest.approx(1000)
    assert row["three_steps"] == row["allocation_back"] == 0


def test_an_entity_without_edges_has_zeros() -> None:
    hon = from_edges(["A", "B|Z"], ["B|Z", "C"])
    assert "Z" in hon.vocabulary
    lonely = hon.vocabulary.index("Z")
    assert np.isfinite(PairCounts(hon).rows(np.arange(hon.n_entities))).all()
    np.testing.assert_array_equal(PairCounts(hon).at(np.array([[lonely, 0]]))[0, 5:], 0)


@pytest.mark.parametrize("seed", range(4))
def test_lags_are_those_of_a_loop_and_no_window_has_a_visit_of_a_hidden_step(seed: int) -> None:
    paths = random_paths(seed)
    names = sorted(set(paths.vocabulary.names))
    vocabulary = Vocabulary.from_names(names)
    hidden = np.array([[0, 1], [3, 2], [1, 5]])
    by_name = {frozenset((names[u], names[v])) for u, v in hidden}
    for pairs, steps in ((None, set()), (hidden, by_name)):
        for lag, matrix in zip((2, 3, 4), PathLags(paths, vocabulary).count(pairs), strict=True):
            wanted = np.zeros((len(names), len(names)))
            for (u, v), count in lag_counts(paths, steps, lag).items():
                wanted[names.index(u), names.index(v)] = count
            np.testing.assert_array_equal(matrix.toarray(), wanted)


def test_entities_that_the_network_lacks_are_passed_through() -> None:
    paths = Paths.from_lists([["A", "x", "B", "C"], ["A"]])
    two, three, _ = PathLags(paths, Vocabulary.from_names("ABC")).count()
    assert two.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert three.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    nobody = Paths(np.zeros(0, np.int32), np.zeros(1, np.int64), Vocabulary.from_names("A"))
    assert PathLags(nobody, Vocabulary.from_names("AB")).count()[0].nnz == 0


def test_sums_over_walks_are_products_of_matrices() -> None:
    random = np.random.default_rng(1)
    start, onward, last = (
        random.random(shape) * (random.random(shape) < 0.4) for shape in ((5, 9), (9, 9), (9, 5))
    )
    sums = WalkSums(*map(sparse.csr_array, (start, onward, last)), first=1, count=3)
    wanted = np.stack([start @ np.linalg.matrix_power(onward, i) @ last for i in (1, 2, 3)], -1)
    np.testing.assert_allclose(sums.rows(np.arange(5)), wanted, rtol=1e-12)
    np.testing.assert_allclose(sums.reversed().rows(np.arange(5)), wanted.transpose(1, 0, 2), rtol=1e-12)
    pairs = every_pair(5)
    np.testing.assert_allclose(sums.at(pairs), wanted[pairs[:, 0], pairs[:, 1]], rtol=1e-12)
