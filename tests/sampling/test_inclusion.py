"""How probable pairs are to be drawn without replacement: against many draws, and against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from honlearn.ensemble.pair_folds import pooled_pairs
from honlearn.ensemble.pair_training import Unlinked
from honlearn.sampling.inclusion import drawing_time, reached, shorter_time
from honlearn.sampling.negatives import draw_by_degree, end_weights, link_degrees
from honlearn.sampling.pairs import keyed_pairs

SIZE = 60


def dense(directed: bool = True) -> np.ndarray:
    """Return the keys of links of which a few entities have most: about 30 % of all pairs."""
    random = np.random.default_rng(1)
    popular = np.exp(random.normal(size=SIZE))
    rate = np.outer(popular, popular)
    linked = random.random((SIZE, SIZE)) < rate * 0.6 * SIZE * SIZE / rate.sum()
    linked = linked if directed else np.triu(linked | linked.T)
    np.fill_diagonal(linked, False)
    return np.flatnonzero(linked.ravel())


def test_times_from_drawn_pairs_are_those_of_all_pairs() -> None:
    linked = dense()
    degrees = link_degrees(linked, SIZE)
    a, b = end_weights(degrees, linked)
    drawn = draw_by_degree(np.random.default_rng(0), 1000, degrees, linked)
    time = drawing_time(a[drawn[:, 0]] * b[drawn[:, 1]])
    every = np.outer(a, b)
    np.fill_diagonal(every, 0)
    every.ravel()[linked] = 0
    assert (1 - np.exp(-time * every)).sum() == pytest.approx(1000, rel=0.05)
    fewer = shorter_time(a[drawn[:, 0]] * b[drawn[:, 1]], time, 100)
    assert (1 - np.exp(-fewer * every)).sum() == pytest.approx(100, rel=0.05)


def test_pairs_that_run_out_are_drawn_for_certain() -> None:
    everything = np.full(10, 0.1)
    assert (reached(everything, drawing_time(everything)) > 1 - 1e-9).all()
    assert drawing_time(np.empty(0)) == 0
    assert shorter_time(everything, 5.0, 11) == 5.0


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("negatives", ["mixed", "degree", "uniform"])
def test_weights_make_a_large_pool_a_small_draw(negatives: str, directed: bool) -> None:
    linked = dense(directed)
    unlinked = Unlinked(SIZE, linked, directed)
    positives = keyed_pairs(linked, SIZE)
    degrees = link_degrees(linked, SIZE, directed)
    product = np.outer(*degrees)

    pool, chance = pooled_pairs(positives, unlinked, negatives, 2, 0)
    free = pool.labels == 0
    pairs, weights = pool.pairs[free], pool.weights[free].astype(float)
    assert weights.mean() == pytest.approx(1, abs=1e-5)
    assert (pool.weights[~free] == 1).all()
    found = np.average(np.log1p(product[tuple(pairs.T)]), weights=weights)

    # One unlinked pair for each linked one, drawn again and again.
    random, some, drawn = np.random.default_rng(5), len(positives), []
    by_degree = {"mixed": some // 2, "degree": some, "uniform": 0}[negatives]
    for _ in range(30):
        drawn += list(draw_by_degree(random, by_degree, degrees, linked, directed))
        drawn += list(unlinked.draw_distinct(random, some - by_degree))
    expected = np.log1p(product[tuple(np.array(drawn).T)])
    assert found == pytest.approx(expected.mean(), abs=0.02 * expected.std() + 0.03)
    if negatives == "mixed":
        # The pool itself is no such draw: popular pairs have run out.
        assert np.log1p(product[tuple(pairs.T)]).mean() < expected.mean() - 0.1

    # In inverse proportion to how likely each was drawn, the pool stands for all unlinked pairs.
    everyone = np.ones((SIZE, SIZE), bool) if directed else np.triu(np.ones((SIZE, SIZE), bool))
    everyone.ravel()[linked] = False
    np.fill_diagonal(everyone, False)
    standing = np.average(np.log1p(product[tuple(pairs.T)]), weights=1 / chance[free])
    if negatives != "degree":
        assert standing == pytest.approx(np.log1p(product[everyone]).mean(), abs=0.08)
