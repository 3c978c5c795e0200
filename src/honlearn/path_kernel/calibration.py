"""Scores as probabilities: a softmax of them, turned and shifted so that it loses least.

In: scores [n, C] of examples that were left out, and their labels. Out: what turns scores into logits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Rows = NDArray[np.float64]

# With more classes than this, calibration does not mix their scores.
_MIXED = 64
# Where classes are told apart without an error, no slope would be steep enough.
_STEEPEST = 20.0
# One short step of the search ends it, be the slope what it may; it begins anew where that is above this.
_FLAT, _TRIES = 1e-3, 4


class Calibration(NamedTuple):
    """logits = scores (a I + M) + b, with M [C, C] and b [C] held near 0; `packed` is (a, M, b)."""

    matrix: Rows
    bias: Rows
    packed: Rows

    def logits(self, scores: Rows) -> Rows:
        """Return the logits of scores [n, C]."""
        return np.asarray(scores @ self.matrix + self.bias)


def calibrate(
    scores: Rows,
    labels: NDArray[np.int64],
    weights: Rows,
    near: Calibration | None = None,
    mixed: bool = True,
) -> Calibration:
    """Return the calibration of scores [n, C] with the least weighted log loss + (|M|² + |b|²) / 2.

    The search begins at one that is `near`. Unless scores may be `mixed`, M is 0.

    >>> from scipy.special import softmax
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]] * 50)
    >>> found = calibrate(scores, np.array([0, 1, 0, 1] * 50), np.ones(200))
    >>> softmax(found.logits(scores), 1)[:2].round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    count = scores.shape[1]
    n_mixed = count**2 if mixed and count <= _MIXED else 0
    # Classes in rows, so that what is summed over classes is summed over long rows.
    columns, own = np.ascontiguousarray(scores.T), np.arange(len(labels))
    truth = np.zeros_like(columns)
    truth[labels, own] = weights
    onto, total = columns @ truth.T, truth.sum(1)

    def unpacked(numbers: Rows) -> Calibration:
        matrix = numbers[0] * np.eye(count)
        if n_mixed:
            matrix += numbers[1 : 1 + n_mixed].reshape(count, count)
        return Calibration(matrix, numbers[1 + n_mixed :], numbers)

    def loss(numbers: Rows) -> tuple[float, Rows]:
        now = unpacked(numbers)
        proba = now.matrix.T @ columns
        proba += now.bias[:, None]
        proba -= proba.max(0)
        of_truth = proba[labels, own]
        np.exp(proba, out=proba)
        every = proba.sum(0)
        proba *= weights / every
        by_matrix, by_bias = columns @ proba.T - onto, proba.sum(1) - total
        free = numbers[1:]
        grown = np.concatenate([by_matrix.ravel() if n_mixed else [], by_bias]) + free
        value = weights @ (np.log(every) - of_truth) + free @ free / 2
        return float(value), np.concatenate([[np.trace(by_matrix)], grown])

    start = np.concatenate([[5.0], np.zeros(n_mixed + count)]) if near is None else near.packed
    limits = [(0.0, _STEEPEST), *[(None, None)] * (n_mixed + count)]
    for _ in range(_TRIES):
        found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits)
        start, slope = found.x, np.array(found.jac)
        # At a limit, a slope that leads beyond it is none.
        slope[0] = start[0] - np.clip(start[0] - slope[0], *limits[0])
        if np.abs(slope).max() <= _FLAT * weights.sum():
            break
    return unpacked(start)
