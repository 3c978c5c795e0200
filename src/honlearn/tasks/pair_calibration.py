"""From the score of a pair to the probability of a link among all pairs of entities.

In: predictions on held-back pairs, and how likely each was to be among them. Out: a :class:`Calibration`. A
link predictor is trained on as many linked as unlinked pairs, half of them popular ones, while of all pairs
of entities only a small share is linked. Held-back pairs are weighed so that they stand for all pairs: linked
ones have the share of linked pairs in the network, and an unlinked one counts in inverse proportion to how
likely it was drawn. On these, p' = σ(a + b · logit p) has the least loss (Platt scaling).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Values = NDArray[np.float64]
_ROUNDS = 50
_LEAST_SLOPE = 0.05


class Calibration(NamedTuple):
    """p' = σ(intercept + slope · logit p)."""

    intercept: float = 0.0
    slope: float = 1.0

    def __call__(self, probability: NDArray[np.float32]) -> _Values:
        """Return the probabilities of a link among all pairs, float64."""
        return _sigmoid(self.intercept + self.slope * _logit(probability))


def for_share(share: float) -> Calibration:
    """Return the calibration that only corrects the share of linked pairs, where nothing is held back.

    >>> round(float(for_share(0.01)(np.array([0.5], np.float32))[0]), 4)
    0.01
    """
    share = min(max(share, 1e-12), 1.0 - 1e-12)
    return Calibration(float(np.log(share / (1.0 - share))))


def calibrate(
    probability: NDArray[np.float32], labels: NDArray[np.int64], share: float, chance: _Values
) -> Calibration:
    """Return the calibration of held-back pairs.

    Parameters
    ----------
    probability : the predicted probability of a link of each pair, [h].
    labels : 1 for linked, [h].
    share : the share of linked pairs among all pairs.
    chance : how likely each pair was drawn, relative to a uniform draw, [h]; read of unlinked pairs only.
    """
    linked = labels == 1
    if not 0 < linked.sum() < len(labels):
        return for_share(share)
    weights = np.where(linked, 1.0, 1.0 / np.maximum(chance, 1e-9))
    weights[linked] *= share / weights[linked].sum()
    weights[~linked] *= (1.0 - share) / weights[~linked].sum()
    x, y = _logit(probability), labels.astype(np.float64)
    start = for_share(share)
    point = np.array([start.intercept, start.slope])
    for _ in range(_ROUNDS):
        p = _sigmoid(point[0] + point[1] * x)
        error, curve = weights * (p - y), weights * p * (1.0 - p)
        slope = np.array([error.sum(), (error * x).sum()])
        cross = (curve * x).sum()
        hessian = np.array([[curve.sum(), cross], [cross, (curve * x * x).sum()]]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, slope)
        # Long steps leave the region where the quadratic approximation holds.
        point = point - step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    if not np.isfinite(point).all() or point[1] < _LEAST_SLOPE:
        return start
    return Calibration(float(point[0]), float(point[1]))


def _logit(probability: NDArray[np.float32]) -> _Values:
    p = np.clip(probability.astype(np.float64), 1e-7, 1.0 - 1e-7)
    return np.asarray(np.log(p / (1.0 - p)))


def _sigmoid(values: _Values) -> _Values:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))
