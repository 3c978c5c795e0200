"""Degree-corrected negatives: never linked, never twice, ends in proportion to both degrees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from honlearn.errors import InputError
from honlearn.sampling import negatives
from honlearn.sampling.negatives import draw_by_degree, end_weights, link_degrees
from honlearn.sampling.pairs import pair_keys

LINKS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [2, 0], [3, 1], [4, 0], [4, 5]], np.int32)
SIZE = 6


def some_links(directed: bool) -> np.ndarray:
    return np.unique(pair_keys(LINKS, SIZE, directed))


@pytest.mark.parametrize("directed", [True, False])
def test_degrees_count_partners(directed: bool) -> None:
    out, into = link_degrees(some_links(directed), SIZE, directed)
    distinct = {tuple(pair) if directed else tuple(sorted(pair)) for pair in LINKS.tolist()}
    for entity in range(SIZE):
        leaves, enters = (sum(pair[side] == entity for pair in distinct) for side in (0, 1))
        assert (out[entity], into[entity]) == (
            (leaves, enters) if directed else (leaves + enters, leaves + enters)
        )


def possible_pairs(linked: np.ndarray, size: int, directed: bool) -> np.ndarray:
    """Return which ordered pairs may be drawn, bool [V, V]; of both orders of an undirected pair, both."""
    pairs = np.stack(np.divmod(np.arange(size * size), size), 1)
    free = ~np.isin(pair_keys(pairs, size, directed), linked) & (pairs[:, 0] != pairs[:, 1])
    return free.reshape(size, size)


def fitted_by_hand(linked: np.ndarray, size: int, directed: bool) -> np.ndarray:
    """Return the probability of each pair, fitted to both degrees on a dense table, [V, V]."""
    out, into = link_degrees(linked, size, directed)
    table = possible_pairs(linked, size, directed) * np.outer(out, into).astype(float)
    for _ in range(2000):
        table *= np.divide(out, table.sum(1), out=np.zeros(size), where=table.sum(1) > 0)[:, None]
        table *= np.divide(into, table.sum(0), out=np.zeros(size), where=table.sum(0) > 0)
    return table / table.sum()


@pytest.mark.parametrize("directed", [True, False])
def test_every_entity_has_its_share_of_the_pairs_that_may_be_drawn(directed: bool) -> None:
    random = np.random.default_rng(5)
    ends = random.choice(40, (150, 2), p=(weights := 1.0 / np.arange(3, 43)) / weights.sum())
    linked = np.unique(pair_keys(ends[ends[:, 0] != ends[:, 1]].astype(np.int32), 40, directed))
    degrees = link_degrees(linked, 40, directed)
    a, b = end_weights(degrees, linked, directed)
    found = np.outer(a, b) * possible_pairs(linked, 40, directed)
    np.testing.assert_allclose(found.sum(), 1 if directed else 2, rtol=1e-9)
    found /= found.sum()
    for axis in (0, 1):
        expected = degrees[1 - axis] / degrees[1 - axis].sum()
        np.testing.assert_allclose(found.sum(axis), expected, atol=1e-4)
    np.testing.assert_allclose(found, fitted_by_hand(linked, 40, directed), atol=1e-5)


def test_degrees_tell_nothing_of_links_that_only_degrees_made() -> None:
    degree_alone, weighed = [], []
    for seed in range(4):
        random = np.random.default_rng(seed)
        out, into = (random.pareto(1.5, 200) + 1 for _ in range(2))
        chance = np.minimum(np.outer(out * 8 / out.mean(), into / into.sum()), 0.8)
        np.fill_diagonal(chance, 0)
        linked = np.flatnonzero(random.random(chance.size) < chance.ravel())
        degrees = link_degrees(linked, 200)
        product = np.outer(*degrees).ravel()
        free = possible_pairs(linked, 200, True).ravel()
        for found, ends in ((degree_alone, degrees), (weighed, end_weights(degrees, linked))):
            weights = np.outer(*ends).ravel() * free
            truth = np.repeat([1, 0], [len(linked), len(product)])
            weight = np.concatenate([np.full(len(linked), 1 / len(linked)), weights / weights.sum()])
            scores = np.concatenate([product[linked], product])
            found.append(roc_auc_score(truth, scores, sample_weight=weight))
    assert np.mean(degree_alone) > 0.55
    assert abs(np.mean(weighed) - 0.5) < 0.02


def test_who_is_linked_to_all_others_is_in_no_pair() -> None:
    links = np.array([[0, v] for v in range(1, 8)] + [[v, v + 1] for v in range(1, 7)])
    linked = np.unique(pair_keys(links, 8))
    a, b = end_weights(link_degrees(linked, 8), linked)
    assert np.isfinite([a, b]).all()
    assert a[0] == 0
    assert (draw_by_degree(np.random.default_rng(0), 5, link_degrees(linked, 8), linked)[:, 0] > 0).all()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighed", [True, False])
def test_the_first_pair_is_drawn_in_proportion_to_the_weights_of_its_ends(
    directed: bool, weighed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(negatives, "_ALL", SIZE * SIZE if weighed else 0)
    linked = some_links(directed)
    out, into = link_degrees(linked, SIZE, directed)
    a, b = end_weights((out, into), linked, directed)
    expected = np.outer(a, b) * possible_pairs(linked, SIZE, directed)
    expected = expected if directed else np.triu(expected)
    monkeypatch.setattr(negatives, "end_weights", lambda *given: (a, b))  # fitted once, not for each draw
    random, seen, draws = np.random.default_rng(3), np.zeros((SIZE, SIZE)), 1500
    for _ in range(draws):
        u, v = draw_by_degree(random, 1, (out, into), linked, directed)[0]
        seen[u, v] += 1
    assert not seen[expected == 0].any()
    # Five standard deviations of each binomial share.
    assert (np.abs(seen / draws - expected) <= 5 * np.sqrt(expected / draws)).all()


@pytest.mark.parametrize("weighed", [True, False])
def test_pairs_are_distinct_and_unlinked(weighed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negatives, "_ALL", 4_000_000 if weighed else 0)
    random = np.random.default_rng(0)
    linked = np.unique(pair_keys(random.integers(0, 60, (300, 2), dtype=np.int32), 60))
    drawn = draw_by_degree(random, 500, link_degrees(linked, 60), linked)
    keys = pair_keys(drawn, 60)
    assert len(np.unique(keys)) == len(keys) == 500
    assert not np.isin(keys, linked).any()
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_too_few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    degrees = np.array([2, 1, 0]), np.array([0, 1, 2])
    assert len(draw_by_degree(np.random.default_rng(0), 5, degrees, np.array([1, 2]))) == 1
    monkeypatch.setattr(negatives, "_ALL", 0)
    with pytest.raises(InputError, match="only 1 of 5 unlinked pairs were found by drawing ends by degree"):
        draw_by_degree(np.random.default_rng(0), 5, degrees, np.array([1, 2]))
