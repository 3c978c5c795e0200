"""All next steps that take at most so many bits: states and a limit → codes and bits, many at once.

A compiled look-up like :func:`honlearn.hon.steps.automaton.likeliest`, for sets whose size is not known
before. It counts, then fills; the outcomes of a state are not ordered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.steps.automaton import END, Automaton, known_before
from honlearn.jit import njit


@njit
def _within(
    states: NDArray[np.int32], limit: float, first: NDArray[np.int64], symbol: NDArray[np.int32],
    bits: NDArray[np.float64], end: NDArray[np.float64], backoff: NDArray[np.float64],
    shorter: NDArray[np.int32], best: NDArray[np.float64], popular: NDArray[np.int64], n_entities: int,
    fill: bool, offsets: NDArray[np.int64], codes: NDArray[np.int32], found: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill the outcomes within the limit; without `fill` only the offsets of each state's outcomes."""
    for row in range(len(states)):
        s = int(states[row])
        place = offsets[row]
        if end[s] <= limit and end[s] < np.inf:
            if fill:
                codes[place], found[place] = END, end[s]
            place += 1
        now, spent = s, 0.0
        while now != 0:
            if spent + best[now] > limit:
                break
            for i in range(first[now], first[now + 1]):
                value = spent + bits[i]
                if value > limit or value == np.inf:
                    continue
                if known_before(s, now, symbol[i], first, symbol, shorter):
                    continue
                if fill:
                    codes[place], found[place] = symbol[i], value
                place += 1
            spent += backoff[now]
            now = int(shorter[now])
        else:
            for rank in range(n_entities):
                edge = first[0] + popular[rank]
                value = spent + bits[edge]
                if value > limit or value == np.inf:
                    break
                if known_before(s, 0, symbol[edge], first, symbol, shorter):
                    continue
                if fill:
                    codes[place], found[place] = symbol[edge], value
                place += 1
        if not fill:
            offsets[row + 1] = place


@njit
def _bits_of_unseen(
    states: NDArray[np.int32], backoff: NDArray[np.float64], shorter: NDArray[np.int32], base: float
) -> NDArray[np.float64]:
    """Return the bits of an entity that the model never saw, after each state."""
    out = np.empty(len(states))
    for row in range(len(states)):
        now, spent = int(states[row]), 0.0
        while now != 0:
            spent += backoff[now]
            now = int(shorter[now])
        out[row] = spent + backoff[0] + base
    return out


def sizes_within(a: Automaton, states: NDArray[np.int32], limit: float) -> NDArray[np.int64]:
    """Return how many outcomes, END among them, take at most `limit` bits from each state [n]."""
    return np.diff(_offsets(a, states, limit))


def outcomes_within(
    a: Automaton, states: NDArray[np.int32], limit: float
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return offsets [n + 1], codes [T] and bits [T] of the outcomes of each state, fewest bits first."""
    offsets = _offsets(a, states, limit)
    codes, found = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    _look_up(a, states, limit, True, offsets, codes, found)
    by = np.lexsort((codes, found, np.repeat(np.arange(len(states)), np.diff(offsets))))
    return offsets, codes[by], found[by]


def unseen_within(a: Automaton, states: NDArray[np.int32], limit: float) -> NDArray[np.bool_]:
    """Return whether an entity that the model never saw takes at most `limit` bits from each state [n]."""
    return np.asarray(_bits_of_unseen(states, a.backoff, a.shorter, a.base) <= limit)


def _offsets(a: Automaton, states: NDArray[np.int32], limit: float) -> NDArray[np.int64]:
    offsets = np.zeros(len(states) + 1, np.int64)
    _look_up(a, states, limit, False, offsets, np.empty(0, np.int32), np.empty(0))
    return offsets


def _look_up(
    a: Automaton, states: NDArray[np.int32], limit: float, fill: bool, offsets: NDArray[np.int64],
    codes: NDArray[np.int32], found: NDArray[np.float64],
) -> None:  # fmt: skip
    """Hand the arrays of an automaton to the compiled loop."""
    _within(
        states, float(limit), a.first, a.symbol, a.bits, a.end, a.backoff, a.shorter, a.best, a.popular,
        a.n_entities, fill, offsets, codes, found,
    )  # fmt: skip
