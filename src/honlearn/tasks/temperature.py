"""Temperature: how sure a prediction is, corrected on held-back predictions where that helps.

In: probabilities [n, C] of held-back examples and their classes. Out: a temperature T for

    q_c ∝ p_c^(1/T),

below 1 where predictions are less sure than they are right (means of many learners are), above 1 where they
are too sure. It is 1, no change, unless log loss gains by it on examples that it was not fitted to. One more
example, spread over all classes, is counted: n right predictions in a row do not make the next one certain.

Held-back predictions are those of a few learners before their last training. The whole model has more
learners, which makes it less sure, and these were trained for longer, which makes it surer. At the
temperature of the held-back predictions all of this change would count as earned; at the one where it is as
sure, on average over nodes without labels, as the learners that held back (:func:`matching_temperature`),
none of it. Its temperature is the geometric mean of the two (:func:`whole_temperature`).
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from honlearn.tasks.held import log_losses

Rows = NDArray[np.float64]
Proba = TypeVar("Proba", NDArray[np.float32], NDArray[np.float64])
# Temperatures are between 1 / WIDEST and this.
WIDEST = 4.0
_PARTS = 5
_FEWEST = 20


def tempered(proba: Proba, temperature: float) -> Proba:
    """Return the probabilities [B, C] at a temperature; at 1 they are the same to the bit.

    >>> tempered(np.array([[0.8, 0.2]], np.float32), 0.5).round(3).tolist()
    [[0.9409999847412109, 0.05900000035762787]]
    """
    if temperature == 1.0:
        return proba
    powers = np.asarray(proba, np.float64) ** (1 / temperature)
    return np.asarray(powers / powers.sum(1, keepdims=True), proba.dtype)


def choose_temperature(proba: NDArray[np.float32], truth: NDArray[np.int64], weights: Rows) -> float:
    """Return the temperature of held-back predictions [n, C], 1 where another does not help."""
    if len(truth) < _FEWEST:
        return 1.0
    logs, part = np.log(np.maximum(proba.astype(np.float64), 1e-12)), np.arange(len(truth)) % _PARTS
    gains = np.empty(len(truth))
    for number in range(_PARTS):
        rest, own = part != number, part == number
        found = _best(logs[rest], truth[rest], weights[rest])
        gains[own] = _losses(logs[own], truth[own], 1.0) - _losses(logs[own], truth[own], found)
    return _best(logs, truth, weights) if float(weights @ gains) > 0 else 1.0


def matching_temperature(proba: NDArray[np.float32], confidence: float) -> float:
    """Return the temperature at which the largest of the probabilities [B, C] has this mean.

    The mean falls as the temperature rises; out of reach, the temperature is the nearest allowed one.

    >>> round(matching_temperature(np.array([[0.8, 0.2], [0.3, 0.7]]), 0.75), 3)
    1.0
    """

    def excess(log: float) -> float:
        return float(tempered(np.asarray(proba, np.float64), math.exp(log)).max(1).mean()) - confidence

    least, most = -math.log(WIDEST), math.log(WIDEST)
    if excess(least) <= 0:
        return 1 / WIDEST
    if excess(most) >= 0:
        return WIDEST
    return float(math.exp(optimize.brentq(excess, least, most, xtol=1e-6)))


def whole_temperature(held: float, matched: float) -> float:
    """Return the temperature of the whole model: half of the change in confidence counts as earned.

    >>> whole_temperature(0.5, 2.0)
    1.0
    """
    return math.sqrt(held * matched)


def _losses(logs: Rows, truth: NDArray[np.int64], temperature: float) -> Rows:
    """Return the log loss of each example at a temperature, [n]."""
    powers = np.exp(logs / temperature)
    return log_losses(powers[np.arange(len(truth)), truth] / powers.sum(1))


def _best(logs: Rows, truth: NDArray[np.int64], weights: Rows) -> float:
    """Return the temperature of least log loss, where one example in n + 1 is of no class."""
    spread = 1.0 / (len(truth) + 1)

    def loss(log: float) -> float:
        scaled = logs / math.exp(log)
        each = special.logsumexp(scaled, axis=1)[:, None] - scaled
        own = each[np.arange(len(truth)), truth]
        return float(weights @ ((1 - spread) * own + spread * each.mean(1)))

    found = optimize.minimize_scalar(
        loss,
        bounds=(-math.log(WIDEST), math.log(WIDEST)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(np.clip(math.exp(found.x), 1 / WIDEST, WIDEST))
