"""Calibration of link scores: against scikit-learn's weighted logistic regression, and by shares."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from honlearn.tasks.pair_calibration import Calibration, calibrate, for_share


def held(size: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = np.repeat([1, 0], size // 2)
    score = random.normal(np.where(labels == 1, 1.0, -1.0), 1.0)
    probability = (1 / (1 + np.exp(-score))).astype(np.float32)
    return probability, labels, random.uniform(0.5, 4.0, size)


def test_it_is_the_weighted_logistic_regression_on_the_logits() -> None:
    probability, labels, chance = held()
    found = calibrate(probability, labels, 0.02, chance)
    logit = np.log(probability / (1 - probability.astype(float)))
    weights = np.where(labels == 1, 1.0, 1 / chance)
    weights[labels == 1] *= 0.02 / weights[labels == 1].sum()
    weights[labels == 0] *= 0.98 / weights[labels == 0].sum()
    model = LogisticRegression(C=1e12, tol=1e-12, max_iter=1000)
    model.fit(logit[:, None], labels, sample_weight=1e4 * weights)
    assert found.intercept == pytest.approx(float(model.intercept_[0]), abs=1e-3)
    assert found.slope == pytest.approx(float(model.coef_[0, 0]), abs=1e-3)
    # The weighted mean of the probabilities is the share of links.
    assert float((weights * found(probability)).sum()) == pytest.approx(0.02, abs=1e-6)


def test_without_both_kinds_only_the_share_is_corrected() -> None:
    ones = np.ones(5, np.int64)
    assert calibrate(np.full(5, 0.7, np.float32), ones, 0.1, np.ones(5)) == for_share(0.1)
    assert for_share(0.25)(np.array([0.5], np.float32))[0] == pytest.approx(0.25)


def test_scores_that_tell_the_wrong_way_do_not_turn_the_order() -> None:
    probability, labels, chance = held()
    found = calibrate((1 - probability).astype(np.float32), labels, 0.02, chance)
    assert found == for_share(0.02)
    assert Calibration(0.0, 1.0)(np.array([0.3], np.float32))[0] == pytest.approx(0.3)
