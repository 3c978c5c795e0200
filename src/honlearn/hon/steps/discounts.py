"""How much of each count is kept: four numbers for each order, fitted by leaving one step out.

A context g with counts n_x, N in all, and the distribution q of its suffix predicts

    p(x | g) = (n_x − d(n_x) + (a + Σy d(n_y)) q(x)) / (N + a),

where the discount d rises in straight lines through d(0) = 0, d(1) = D1, d(2) = D2, d(3) = D3 and is D3 from
there on, and a is a concentration. With a = 0 this is modified Kneser-Ney's formula, with D = 0 the Dirichlet
formula of Bayesian context trees. Left out once, an outcome that was seen n times has the probability

    p₋(x) = (n − 1 − d(n − 1) + (a + Σy d(n_y) − d(n) + d(n − 1)) q₋(x)) / (N − 1 + a),

q₋ being left out, too. Σ n log p₋ is fitted: its numerators are linear in (D1, D2, D3, a), so their
logarithms are concave, and the rest depends on a alone. Newton's method, each step halved until it is
better; a few steps are enough. What is kept of a count, n − d(n), never falls as n rises: the largest counts
of few paths appear in p₋ only through what they give to the others, which alone would discount them wholly.

In: a sample of outcomes. Out: (D1, D2, D3, a). See :mod:`honlearn.hon.steps.smoothing`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit

_STEPS = 25
_LEAST = 1e-3
_SHARE = 0.995
_MOST = 1e7
_STARTS = (0.1, 1.0, 10.0, 100.0, 1000.0)


@njit(inline="always")
def discount(d: NDArray[np.float64], n: float) -> float:
    """Return d(n), by straight lines between d(0) = 0, d(1), d(2) and d(3)."""
    if n >= 3.0:
        return float(d[2])
    if n >= 2.0:
        return float(d[1] + (n - 2.0) * (d[2] - d[1]))
    if n >= 1.0:
        return float(d[0] + (n - 1.0) * (d[1] - d[0]))
    return float(n * d[0])


@njit(inline="always")
def bend(j: int, n: float) -> float:
    """Return the part of d(n) that D_j has, j = 0, 1, 2: d(n) = Σ D_j bend(j, n)."""
    if j == 2 and n >= 3.0:
        return 1.0
    return max(0.0, 1.0 - abs(n - (j + 1.0)))


def closed_form(n_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return D1, D2, D3 of Chen and Goodman (1999) from how many outcomes were seen 1, 2, 3 and 4 times.

    >>> closed_form(np.array([100, 40, 20, 12])).round(3).tolist()
    [0.556, 1.167, 1.667]
    """
    share = n_of[0] / max(n_of[0] + 2 * n_of[1], 1)
    found = np.empty(3)
    for j in range(3):
        exact = j + 1 - (j + 2) * share * n_of[j + 1] / n_of[j] if n_of[j] else 0.5 * (j + 1)
        found[j] = min(max(exact, 0.05), (j + 1) * _SHARE)
    return found


@njit
def _features(
    sample: NDArray[np.float64], theta: NDArray[np.float64], z: NDArray[np.float64], i: int
) -> float:
    """Fill z with the derivatives of the numerator by D1, D2, D3 and a; return the numerator.

    A row of the sample: n, N, Σy bend(0, n_y), Σy bend(1, n_y), Σy bend(2, n_y), q₋, weight.
    """
    n, q = sample[i, 0], sample[i, 5]
    value = n - 1.0 + theta[3] * q
    for j in range(3):
        less = bend(j, n - 1.0)
        z[j] = (sample[i, 2 + j] - bend(j, n) + less) * q - less
        value += theta[j] * z[j]
    z[3] = q
    return float(max(value, 1e-300))


@njit
def _likelihood(sample: NDArray[np.float64], theta: NDArray[np.float64]) -> float:
    total, z = 0.0, np.empty(4)
    for i in range(len(sample)):
        left = sample[i, 1] - 1.0 + theta[3]
        if left > 1e-9:
            total += sample[i, 6] * math.log(_features(sample, theta, z, i) / left)
    return total


@njit
def _slopes(
    sample: NDArray[np.float64],
    theta: NDArray[np.float64],
    slope: NDArray[np.float64],
    curve: NDArray[np.float64],
) -> None:
    """Fill the gradient of the likelihood and the (negated) second derivatives of its concave part."""
    slope[:] = 0.0
    curve[:] = 0.0
    z, bent = np.empty(4), 0.0
    for i in range(len(sample)):
        left = sample[i, 1] - 1.0 + theta[3]
        if left <= 1e-9:
            continue
        value, weight = _features(sample, theta, z, i), sample[i, 6]
        for j in range(4):
            share = weight * z[j] / value
            slope[j] += share
            for h in range(j + 1):
                curve[j, h] += share * z[h] / value
        slope[3] -= weight / left
        bent += weight / left**2
    curve[3, 3] -= min(bent, 0.9 * curve[3, 3])  # not below the bound: the step stays an ascent
    for j in range(4):
        for h in range(j):
            curve[h, j] = curve[j, h]


def _newton_step(
    theta: NDArray[np.float64],
    slope: NDArray[np.float64],
    curve: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return Newton's step within the bounds: what would leave them goes to its bound, the rest is solved."""
    step = np.zeros(len(theta))
    fixed = ((theta <= low) & (slope < 0)) | ((theta >= high) & (slope > 0))
    while not fixed.all():
        free = np.flatnonzero(~fixed)
        part = curve[np.ix_(free, free)] + 1e-12 * np.trace(curve) * np.eye(len(free))
        step[free] = np.linalg.solve(
            part, slope[free] - curve[np.ix_(free, np.flatnonzero(fixed))] @ step[fixed]
        )
        inside = np.clip(theta + step, low, high) - theta
        leaving = ~fixed & (inside != step)
        step = inside
        if not leaving.any():
            break
        fixed |= leaving
    return step


def _within(
    theta: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return theta within the bounds, and more kept of a larger count than of a smaller one."""
    theta = np.clip(theta, low, high)
    theta[1] = min(theta[1], theta[0] + _SHARE)
    theta[2] = min(theta[2], theta[1] + _SHARE)
    return theta


def fit_discounts(
    sample: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return (D1, D2, D3) and a that maximise the left-out likelihood of the sample [n, 7].

    Each of 1 − D1, 2 − D2 and 3 − D3 is above the one before it.
    """
    low = np.array([_LEAST, 0.0, 0.0, _LEAST])
    high = np.array([_SHARE, 2 * _SHARE, 3 * _SHARE, _MOST])
    theta = _within(np.append(start, 0.5), low, high)
    if not len(sample):
        return theta[:3], 0.0
    slope, curve = np.empty(4), np.empty((4, 4))
    likely = [_likelihood(sample, np.append(theta[:3], a)) for a in _STARTS]
    theta[3] = _STARTS[int(np.argmax(likely))]
    best, weight = max(likely), sample[:, 6].sum()
    for _ in range(_STEPS):
        low[3], high[3] = max(theta[3] / 8, _LEAST), min(theta[3] * 8, _MOST)
        _slopes(sample, theta, slope, curve)
        alone = slope / np.maximum(np.diag(curve), 1e-12 * np.trace(curve) + 1e-300)
        steps = [_newton_step(theta, slope, curve, low, high), *(alone * row for row in np.eye(4))]
        before = best
        for step in steps:  # each parameter by itself only where all together are no better
            for halves in range(6):
                trial = _within(theta + step / 2.0**halves, low, high)
                value = _likelihood(sample, trial)
                if value > best:
                    theta, best = trial, value
                    break
            if best - before > 1e-5 * weight:
                break
        if best - before <= 1e-5 * weight:
            break
    return theta[:3], float(theta[3])
