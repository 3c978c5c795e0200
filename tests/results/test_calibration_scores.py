"""Calibration error, Brier score, abstention and coverage against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from honlearn.results.calibration import (
    abstention_curve,
    calibration_scores,
    coverage_interval,
    expected_error,
    reliability,
    set_scores,
)


@pytest.fixture(scope="module")
def predicted() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.integers(0, 3, 200), random.dirichlet(np.ones(3), 200)


def test_calibration_error_is_a_sum_over_bins(predicted: tuple[np.ndarray, np.ndarray]) -> None:
    truth, proba = predicted
    sure, right, error = proba.max(1), proba.argmax(1) == truth, 0.0
    for low in range(10):
        inside = (sure >= low / 10) & (sure < (low + 1) / 10)
        error += abs(right[inside].sum() - sure[inside].sum()) / 200
    assert reliability(truth, proba).error == pytest.approx(error)


@pytest.mark.parametrize("size", [1, 60, 5000])
def test_the_error_of_noise_is_the_mean_of_drawn_ones(size: int) -> None:
    random = np.random.default_rng(size)
    proba = random.dirichlet(np.full(3, 0.5), size)
    sure, drawn = proba.max(1), []
    for _ in range(400):
        truth = np.where(random.random(size) < sure, proba.argmax(1), (proba.argmax(1) + 1) % 3)
        drawn.append(calibration_scores(truth, proba)["ece"])
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert expected_error(proba) == pytest.approx(np.mean(drawn), abs=4 * error)
    assert calibration_scores(truth, proba)["ece_of_noise"] == expected_error(proba)


def test_brier_score_is_that_of_scikit_learn(predicted: tuple[np.ndarray, np.ndarray]) -> None:
    truth, proba = predicted
    expected = sum(brier_score_loss(truth == c, proba[:, c]) for c in range(3))
    assert calibration_scores(truth, proba)["brier"] == pytest.approx(expected)


def test_the_surest_nodes(predicted: tuple[np.ndarray, np.ndarray]) -> None:
    truth, proba = predicted
    best = np.argsort(-proba.max(1))[:100]
    scores = calibration_scores(truth, proba)
    assert scores["accuracy_of_50"] == pytest.approx((proba.argmax(1) == truth)[best].mean())
    assert abstention_curve(truth, proba)[-1] == pytest.approx((proba.argmax(1) == truth).mean())


def test_coverage_and_size_of_sets() -> None:
    values = np.array([[0.5, 0.15, 0.01], [0.07, 0.9, 0.21], [0.03, 0.02, 1.0]])
    found = set_scores(np.array([1, 0, 0]), values)
    assert [found[f"coverage_{level}"] for level in (80, 90, 95)] == pytest.approx([0, 1 / 3, 2 / 3])
    assert [found[f"set_size_{level}"] for level in (80, 90, 95)] == pytest.approx([4 / 3, 5 / 3, 2])


@pytest.mark.parametrize(("hits", "total"), [(0, 20), (7, 20), (20, 20), (950, 1000)])
def test_the_interval_is_the_exact_binomial_one(hits: int, total: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(hits, total).proportion_ci(0.95, "exact")
    assert coverage_interval(hits, total) == pytest.approx((expected.low, expected.high))
