"""How probable each pair is to be in a draw by degree, in which no pair is drawn twice.

In: the probability p of each pair in a single draw, for the pairs that were drawn. Out: the probability of
each to be among n pairs. Where links are dense, popular pairs run out: a large draw has few more of them than
a uniform one. Pairs that come first as a Poisson process with rates p goes on are drawn until time λ with
probability 1 − exp(−λ p); λ is such that n are expected. Sums over all pairs are estimated from those that
were drawn, each in inverse proportion to how probable it was to be drawn (Horvitz and Thompson 1952).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
_HALVINGS = 200
_LONGEST = 1e15


def drawing_time(drawn: Values) -> float:
    """Return the time λ at which these pairs were drawn, from the probability of each in a single draw [n].

    All pairs together have the probability 1.

    >>> round(drawing_time(np.full(500, 1e-3)), 2)  # half of a thousand equal pairs: 1 - exp(-0.001 λ) = 0.5
    693.15
    """
    if not len(drawn):
        return 0.0
    return _solve(lambda time: 1.0 - float((drawn / reached(drawn, time)).sum()))


def shorter_time(drawn: Values, time: float, count: float) -> float:
    """Return the time at which `count` pairs are expected, from those that were drawn until `time`.

    >>> round(shorter_time(np.full(500, 1e-3), 693.147, 100), 2)
    105.36
    """
    weights = 1.0 / reached(drawn, time)
    if not len(drawn) or count >= len(drawn):
        return time
    return _solve(lambda at: float((weights * reached(drawn, at)).sum()) - count)


def reached(probability: Values, time: float) -> Values:
    """Return how probable pairs are to be drawn until a time, 1 − exp(−λ p), and at least 1e-12."""
    return np.maximum(-np.expm1(-time * probability), 1e-12)


def _solve(rising: Callable[[float], float]) -> float:
    """Return where a rising function of a time is 0, as near as bisection of its logarithm comes."""
    low, high = np.log(1e-12), np.log(_LONGEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(float(np.exp(middle))) > 0 else (middle, high)
        if high - low < 1e-10:
            break
    return float(np.exp(high))
