"""How far probabilities and prediction sets can be relied on, measured on a test part.

In: true classes [B], probabilities [B, C] and, for sets, the p-value of each class [B, C]. Out: numbers:
calibration error and Brier score, accuracy of the surest part of the nodes, coverage and size of sets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating[Any]]
BINS = 10
# Coverages that sets are asked for, and shares of the nodes that are answered, in percent.
LEVELS = (80, 90, 95)
ANSWERED = (50, 80)
# In bins of more nodes the number of right ones is as good as normal.
_MANY = 400
SET_SCORES = tuple(f"{name}_{level}" for level in LEVELS for name in ("coverage", "set_size"))
"""What records have of prediction sets."""


class Reliability(NamedTuple):
    """By bin of confidence: nodes [BINS], their mean confidence and accuracy (0 where there are none)."""

    nodes: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def error(self) -> float:
        """The expected calibration error, Σ share of the bin · |accuracy − mean confidence|."""
        apart = self.nodes * np.abs(self.accuracy - self.confidence)
        return float(apart.sum() / max(int(self.nodes.sum()), 1))


def reliability(truth: NDArray[np.int64], proba: Numbers) -> Reliability:
    """Return how often predictions are right, by how sure they are, in ten bins of equal width.

    >>> reliability(np.array([0, 1]), np.array([[0.95, 0.05], [0.75, 0.25]])).error.__round__(3)
    0.4
    """
    sure = proba.max(1).astype(np.float64)
    right = (proba.argmax(1) == truth).astype(np.float64)
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    full = np.maximum(count, 1)
    return Reliability(count, np.bincount(place, sure, BINS) / full, np.bincount(place, right, BINS) / full)


def expected_error(proba: Numbers) -> float:
    """Return the mean calibration error of right probabilities: the part of it that is noise.

    Each node is right with its own confidence, whatever the others are. The number of right ones in a bin is
    then Poisson binomial, and its mean distance from the sum of the confidences is computed exactly; in bins
    of more than 400 nodes, by the normal distribution.

    >>> expected_error(np.array([[0.95, 0.05], [0.75, 0.25]])).__round__(3)
    0.235
    """
    sure = np.clip(proba.max(1).astype(np.float64), 0.0, 1.0)
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    total = sum(_mean_distance(sure[place == number]) for number in range(BINS))
    return float(total / max(len(sure), 1))


def _mean_distance(sure: NDArray[np.float64]) -> float:
    """Return E |Σ coins − Σ sure|, coins with these probabilities of 1."""
    if len(sure) > _MANY:
        return float(np.sqrt(2 / np.pi * (sure * (1 - sure)).sum()))
    chances = np.ones(1)
    for share in sure:
        chances = np.append(chances * (1 - share), 0.0) + np.append(0.0, chances * share)
    return float(chances @ np.abs(np.arange(len(chances)) - sure.sum()))


def calibration_scores(truth: NDArray[np.int64], proba: Numbers) -> dict[str, float]:
    """Return `ece`, `ece_of_noise`, `brier` (from 0 to 2) and `accuracy_of_50`, `accuracy_of_80`.

    The last are accuracies of the surest 50 % and 80 % of the nodes. The calibration error of a few dozen
    nodes is mostly noise, and never below 0: on small parts its mean is far above that of all parts together.
    `ece_of_noise` is what right probabilities would have on average (:func:`expected_error`).
    """
    exact = np.asarray(proba, np.float64)
    apart = np.square(exact).sum(1) - 2 * exact[np.arange(len(truth)), truth] + 1
    curve = abstention_curve(truth, proba)
    answered = {
        f"accuracy_of_{share}": float(curve[max(1, round(len(curve) * share / 100)) - 1])
        for share in ANSWERED
    }
    return {
        "ece": reliability(truth, proba).error,
        "ece_of_noise": expected_error(proba),
        "brier": float(apart.mean()),
        **answered,
    }


def abstention_curve(truth: NDArray[np.int64], proba: Numbers) -> NDArray[np.float64]:
    """Return the accuracy of the k surest nodes, for k = 1 … B, [B].

    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> abstention_curve(np.array([0, 1, 1]), proba).round(2).tolist()
    [1.0, 1.0, 0.67]
    """
    order = np.argsort(-proba.max(1), kind="stable")
    right = (proba.argmax(1) == truth)[order]
    return np.asarray(np.cumsum(right) / np.arange(1, len(right) + 1))


def set_scores(truth: NDArray[np.int64], p_values: Numbers) -> dict[str, float]:
    """Return coverage and mean size of the prediction sets for each of :data:`LEVELS`.

    >>> found = set_scores(np.array([0, 1]), np.array([[0.5, 0.15], [0.9, 0.05]]))
    >>> found["coverage_80"], found["set_size_80"], found["coverage_95"], found["set_size_90"]
    (0.5, 1.0, 0.5, 1.5)
    """
    found = {}
    for level in LEVELS:
        inside = p_values > (100 - level) / 100
        found[f"coverage_{level}"] = float(inside[np.arange(len(truth)), truth].mean())
        found[f"set_size_{level}"] = float(inside.sum(1).mean())
    return found


def coverage_interval(hits: float, total: float, level: float = 0.95) -> tuple[float, float]:
    """Return the exact binomial interval (Clopper & Pearson 1934) of a share of `hits` among `total`.

    >>> [round(end, 3) for end in coverage_interval(90, 100)]
    [0.824, 0.951]
    """
    from scipy.stats import beta

    rest = (1 - level) / 2
    low = 0.0 if hits <= 0 else float(beta.ppf(rest, hits, total - hits + 1))
    high = 1.0 if hits >= total else float(beta.ppf(1 - rest, hits + 1, total - hits))
    return low, high
