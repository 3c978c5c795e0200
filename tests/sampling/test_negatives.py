"""Degree-corrected negatives: never linked, never twice, and drawn in proportion to both degrees."""

from __future__ import annotations

import numpy as np
import pytest

from honlearn.errors import InputError
from honlearn.sampling import negatives
from honlearn.sampling.negatives import draw_by_degree, link_degrees
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


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighed", [True, False])
def test_the_first_pair_is_drawn_in_proportion_to_both_degrees(
    directed: bool, weighed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(negatives, "_ALL", SIZE * SIZE if weighed else 0)
    linked = some_links(directed)
    out, into = link_degrees(linked, SIZE, directed)
    expected = np.zeros((SIZE, SIZE))
    for u in range(SIZE):
        for v in range(SIZE) if directed else range(u):
            pair = np.array([[u, v]])
            if u != v and pair_keys(pair, SIZE, directed)[0] not in linked:
                expected[tuple(pair[0] if directed else pair[0, ::-1])] = out[u] * into[v]
    expected /= expected.sum()
    random, seen, draws = np.random.default_rng(3), np.zeros((SIZE, SIZE)), 4000
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
