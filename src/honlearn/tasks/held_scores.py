"""Scores of a whole model on the examples that its learners held back, with intervals, for its card.

In: probabilities [n, C] and classes [n] of held-back examples. Out: plain numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from honlearn.conformal import ScoreRule, crossed_p_values
from honlearn.tasks.held import log_losses

# Half widths of 95 % intervals are so many standard errors.
_Z = 1.959964
_BINS = 10
# Coverages that sets are asked for, in percent.
LEVELS = (80, 90, 95)


def held_scores(proba: NDArray[np.float32], labels: NDArray[np.int64]) -> dict[str, float]:
    """Return log loss and accuracy with half widths of their 95 % intervals, Brier score, calibration error.

    The calibration error is the mean, over ten bins of confidence, of how far confidence and the share that
    is right are apart, weighted by the examples in each. Empty where nothing was held back.

    >>> found = held_scores(np.array([[0.9, 0.1], [0.6, 0.4]], np.float32), np.array([0, 1]))
    >>> {name: round(value, 3) for name, value in found.items() if "pm" not in name}
    {'examples': 2, 'log_loss': 0.511, 'accuracy': 0.5, 'brier': 0.37, 'calibration_error': 0.35}
    """
    n = len(labels)
    if not n:
        return {}
    exact, rows = proba.astype(np.float64), np.arange(n)
    losses = log_losses(exact[rows, labels])
    right = (exact.argmax(1) == labels).astype(np.float64)
    squares = (exact**2).sum(1) - 2 * exact[rows, labels] + 1
    confidence = exact.max(1)
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    apart = np.abs(np.bincount(bins, confidence - right, _BINS)).sum() / n
    return {
        "examples": n,
        "log_loss": float(losses.mean()),
        "log_loss_pm": _half_width(losses),
        "accuracy": float(right.mean()),
        "accuracy_pm": _half_width(right),
        "brier": float(squares.mean()),
        "calibration_error": float(apart),
    }


def held_set_scores(proba: NDArray[np.floating], labels: NDArray[np.int64]) -> dict[str, float]:
    """Return coverage and mean size of the sets of held-back examples, for each of :data:`LEVELS`.

    A set of one fifth of the examples is calibrated on the other four. This tells how large sets are; that
    held-back examples are like new ones it cannot tell. Empty where fewer than two were held back.

    >>> held_set_scores(np.eye(2)[[0, 1] * 20], np.array([0, 1] * 20))["coverage_90"]
    1.0
    """
    if len(labels) < 2:
        return {}
    scores = ScoreRule("lac").scores(proba, np.zeros(len(proba)))
    values, found = crossed_p_values(scores, labels), {}
    for level in LEVELS:
        inside = values > (100 - level) / 100
        found[f"coverage_{level}"] = float(inside[np.arange(len(labels)), labels].mean())
        found[f"set_size_{level}"] = float(inside.sum(1).mean())
    return found


def _half_width(values: NDArray[np.float64]) -> float:
    return _Z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
