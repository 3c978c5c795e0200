"""The filtered ranking against a brute force over all pairs, and its figures by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honlearn.experiments import link_ranking
from honlearn.experiments.link_ranking import (
    candidate_entities,
    filtered_ranks,
    pair_scorer,
    ranking_scores,
)
from honlearn.sampling.pairs import keyed_pairs, pair_keys

SIZE = 7
ends = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).filter(lambda pair: pair[0] != pair[1])


def by_brute_force(points, links, known, candidates, directed):  # type: ignore[no-untyped-def]
    """Rank one link after the other, entity by entity."""
    ranks = []
    for u, v in [*links, *([] if directed else [(b, a) for a, b in links])]:
        rank = 1.0
        for w in candidates:
            linked = (u, w) in known or (not directed and (w, u) in known)
            if w in (u, v) or linked:
                continue
            mine, other = (points[min(u, x), max(u, x)] if not directed else points[u, x] for x in (v, w))
            rank += 1.0 if other > mine else 0.5 if other == mine else 0.0
        ranks.append(rank)
    return ranks


@settings(max_examples=60)
@given(
    st.sets(ends, min_size=1, max_size=20),
    st.integers(0, 1000),
    st.booleans(),
    st.sets(st.integers(0, SIZE - 1), min_size=1),
)
def test_ranks_are_those_of_a_brute_force(pairs, seed, directed, listed) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(seed)
    points = random.integers(0, 4, (SIZE, SIZE)).astype(float)
    keys = np.unique(pair_keys(np.array(sorted(pairs), np.int32), SIZE, directed))
    known = [tuple(pair) for pair in keyed_pairs(keys, SIZE).tolist()]
    links = known[:: 2 if len(known) > 1 else 1]
    candidates = np.array(sorted(listed), np.int32)

    def score(asked: np.ndarray) -> np.ndarray:
        asked = asked if directed else np.sort(asked, axis=1)
        assert (asked[:, 0] != asked[:, 1]).all()
        return points[asked[:, 0], asked[:, 1]]

    found = filtered_ranks(score, np.array(links, np.int32), keys, candidates, SIZE, directed)
    assert found.tolist() == by_brute_force(points, links, set(known), candidates.tolist(), directed)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    keys = np.unique(pair_keys(random.integers(0, 40, (90, 2), dtype=np.int32), 40))
    keys = keys[keys // 40 != keys % 40]
    points = random.random((40, 40))
    asked = (
        lambda pairs: points[pairs[:, 0], pairs[:, 1]],
        keyed_pairs(keys[::3], 40),
        keys,
        candidate_entities(40, 0),
        40,
        True,
    )
    whole = filtered_ranks(*asked)
    monkeypatch.setattr(link_ranking, "_BLOCK", 50)
    assert np.array_equal(filtered_ranks(*asked), whole)


def test_some_sources_are_scored_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # In a ring of 40 a source has one target and 38 others; 78 pairs are those of two sources.
    ring = np.array([[i, (i + 1) % 40] for i in range(40)], np.int32)
    sizes: list[int] = []

    def score(pairs: np.ndarray) -> np.ndarray:
        sizes.append(len(pairs))
        return np.zeros(len(pairs))

    monkeypatch.setattr(link_ranking, "_BLOCK", 78)
    known = np.sort(pair_keys(ring, 40))
    ranks = filtered_ranks(score, ring, known, candidate_entities(40, 0), 40, True)
    assert sizes == [78] * 20
    assert ranks.tolist() == [20.0] * 40


def test_up_to_20000_entities_are_candidates() -> None:
    assert np.array_equal(candidate_entities(20_000, 0), np.arange(20_000))
    some = candidate_entities(20_001, 0)
    assert len(np.unique(some)) == 20_000
    assert (np.diff(some) > 0).all()


def test_candidates_are_all_entities_or_a_fixed_list(monkeypatch: pytest.MonkeyPatch) -> None:
    assert candidate_entities(9, 3).tolist() == list(range(9))
    monkeypatch.setattr(link_ranking, "CANDIDATES", 5)
    some = candidate_entities(9, 3)
    assert len(np.unique(some)) == 5
    assert np.array_equal(some, candidate_entities(9, 3))
    assert not np.array_equal(some, candidate_entities(9, 4))


def test_figures_by_hand() -> None:
    assert ranking_scores(np.array([1.0, 2.5, 50.0])) == {
        "filtered_mrr": pytest.approx((1 + 0.4 + 0.02) / 3),
        "filtered_hits_at_10": pytest.approx(2 / 3),
        "filtered_hits_at_50": 1.0,
    }
    found = ranking_scores(np.array([10.0, 10.5, 11.0, 50.5]))
    assert (found["filtered_hits_at_10"], found["filtered_hits_at_50"]) == (0.25, 0.75)
    assert set(ranking_scores(None).values()) == {None}


class Named:
    """Scores pairs by name alone."""

    def predict_proba(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        linked = np.array([0.9 if v == "b" else 0.1 for _, v in pairs])
        return np.stack([1 - linked, linked], 1)


class Slow(Named):
    """Cannot score all pairs."""

    scores_all_pairs = False


def test_models_without_codes_are_asked_by_name_and_slow_ones_not_at_all() -> None:
    score = pair_scorer(Named(), ("a", "b", "c"))
    assert score is not None
    assert score(np.array([[0, 1], [0, 2]])).tolist() == [0.9, 0.1]
    assert pair_scorer(Slow(), ("a", "b")) is None
