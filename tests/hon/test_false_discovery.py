"""The q-values of Benjamini and Hochberg are those of scipy; lists of suggested links keep their rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from honlearn.errors import InputError, ParameterError
from honlearn.hon.false_discovery import link_q_values, q_values


@given(st.lists(st.floats(0, 1), max_size=40))
def test_q_values_are_those_of_scipy(p: list[float]) -> None:
    expected = false_discovery_control(p) if p else np.empty(0)
    np.testing.assert_allclose(q_values(np.array(p)), expected, atol=1e-12)


def test_tests_that_are_left_out_count() -> None:
    p = np.array([0.001, 0.004])
    np.testing.assert_allclose(q_values(p, 10), q_values(np.append(p, np.ones(8)))[:2])
    assert q_values(np.array([0.5, 0.9]), 10).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_a_list_of_links_keeps_its_false_discovery_rate(rate: float) -> None:
    # 30 links among 100 candidates; the rate of BH is at most 0.7 · rate, and at n = 999 close to it.
    random = np.random.default_rng(0)
    wrong, found = [], []
    for _ in range(400):
        scores = np.concatenate([random.normal(3, 1, 30), random.normal(size=70)])
        kept = link_q_values(scores, random.normal(size=999)) <= rate
        wrong.append(kept[30:].sum() / max(kept.sum(), 1))
        found.append(kept[:30].mean())
    error = np.std(wrong) / np.sqrt(len(wrong))
    assert np.mean(wrong) == pytest.approx(0.7 * rate, abs=4 * error)
    assert np.mean(found) > 0.8


def test_the_best_suggestions_of_many_candidates() -> None:
    random = np.random.default_rng(1)
    unlinked, scores = random.normal(size=200), np.sort(random.normal(1, 1, 60))[::-1]
    whole = link_q_values(scores, unlinked)
    few = link_q_values(scores[:5], unlinked, candidates=60)
    # Without the other candidates the same or a larger q: what they would have pulled down is not known.
    assert (few >= whole[:5] - 1e-12).all()
    np.testing.assert_allclose(few[-1], 60 * (1 + (unlinked >= scores[4]).sum()) / 201 / 5)
    assert len(link_q_values(np.empty(0), unlinked)) == 0


def test_links_refused() -> None:
    with pytest.raises(InputError, match="no unlinked pairs are given"):
        link_q_values(np.ones(2), np.empty(0))
    with pytest.raises(InputError, match="scores must be finite numbers"):
        link_q_values(np.array([1, np.nan]), np.ones(2))
    with pytest.raises(InputError, match="unlinked must be finite numbers, one per pair"):
        link_q_values(np.ones(2), np.ones((2, 2)))
    with pytest.raises(ParameterError, match=r"'candidates' parameter of link_q_values.*at least 2. Got 1"):
        link_q_values(np.ones(2), np.ones(2), candidates=1)
