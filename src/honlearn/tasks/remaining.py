"""What is still to gain: the rule by which the choices of a fit end.

In: losses of held-back examples, and gains of one candidate over another. Out: whether going on may gain
anything that is worth its cost. The race of networks (:mod:`honlearn.tasks.structure`) and the pool of
learners (:mod:`honlearn.tasks.pool`) both ask here.

What is still to gain is an estimate from held-back examples, so it is bounded from above by its mean plus two
standard errors. No candidate can gain more than the prediction so far still loses; a candidate that was tried
by a few learners is not expected to gain more than the upper bound of its gain by these.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from honlearn.tasks.held import Gain

# A mean log loss, in nats, that is not worth another candidate.
TOLERANCE = 0.01
_ERRORS = 2.0


def upper_bound(gain: Gain) -> float:
    """Return the mean and two standard errors; NaN where nothing is known.

    >>> upper_bound(Gain(0.1, 0.05))
    0.2
    """
    return gain.mean + _ERRORS * gain.error


def is_solved(losses: NDArray[np.float64]) -> bool:
    """Return whether so little is lost on the examples [n] that nothing is left to gain; NaN is unknown.

    >>> is_solved(np.full(50, 0.001)), is_solved(np.full(50, 0.1))
    (True, False)
    >>> is_solved(np.where(np.arange(50) == 0, 0.3, 0.001))
    False
    """
    known = losses[np.isfinite(losses)]
    if len(known) < 2:
        return False
    left = Gain(float(known.mean()), float(known.std(ddof=1)) / math.sqrt(len(known)))
    return upper_bound(left) <= TOLERANCE


def may_gain(gain: Gain) -> bool:
    """Return whether a candidate may yet gain something worth its cost.

    >>> may_gain(Gain(-0.02, 0.1)), may_gain(Gain(-0.2, 0.1)), may_gain(Gain(0.004, 0.001))
    (True, False, False)
    """
    return upper_bound(gain) > TOLERANCE


def is_worse(gain: Gain) -> bool:
    """Return whether a candidate loses more than another beyond doubt: even the upper bound is below 0.

    >>> is_worse(Gain(-0.1, 0.04)), is_worse(Gain(-0.1, 0.06)), is_worse(Gain(0.0, math.nan))
    (True, False, False)
    """
    return upper_bound(gain) < 0
