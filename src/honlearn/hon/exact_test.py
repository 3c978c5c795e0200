"""The exact G-test of small tables, by importance sampling: valid p-values at any depth.

Given its margins, a table without memory is a draw of c of the suffix's N next steps without replacement:
P0(f) = Πx C(F_x, f_x) / C(N, c). p is the probability of a G at least as large. Plain sampling would need
millions of draws where p is small, so half of the draws are from Pólya urns that favour repetition,

    Pa(f) ∝ Πx Γ(a·F_x / N + f_x) / (Γ(a·F_x / N)·f_x!), a in URNS,

and each counts w = P0 / (½ P0 + ½ mean of Pa). With the observed table itself among the B + 1, weighted as
well,

    p = (w(observed) + Σb w(b)·[G(b) ≥ G(observed)]) / (B + 1)

is a valid p-value for any number of draws (Harrison 2012, "Conservative hypothesis tests and confidence
intervals using importance sampling", Biometrika 99), and it can be as small as the evidence is strong.

Both kinds of draws are made one step at a time, and the first c steps are the draw for a context of c steps:
one walk serves all contexts of a suffix. Contexts that are clearly not significant stop early: one whose p is
above ``STAGES[i][1]`` after ``STAGES[i][0]`` walks keeps it, and the p of the others is at most that, which
leaves p valid. Far out in the tail no walk is needed: since the mean of 1 / w is at most 1 without memory,
w(observed) is a valid p-value itself (Markov's inequality); contexts below :data:`FAR` by it keep it, all
others add FAR to p. The random numbers depend on the margins alone, not on names, threads or the order of
paths.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit
from honlearn.mixing import GOLDEN, mix64

URNS = (1.0, 6.0, 36.0)
STAGES = ((16, 0.4), (64, 0.2), (256, 0.0))
"""After so many walks in all, a context with a p above this stops."""

FAR = 1e-5
"""Contexts below this by Markov's inequality are not sampled."""

_TABLE = 1 << 14
_TIE = 1e-9


class Scratch(NamedTuple):
    """Work space for one suffix: its counts, largest first, with running sums; and its contexts by size."""

    counts: NDArray[np.int64]
    ends: NDArray[np.int64]
    guide: NDArray[np.int64]
    used: NDArray[np.int64]
    history: NDArray[np.int64]
    context: NDArray[np.int64]
    size: NDArray[np.int64]
    observed: NDArray[np.float64]
    weight: NDArray[np.float64]
    hits: NDArray[np.float64]
    p: NDArray[np.float64]


def make_scratch(widest: int, largest: int, longest: int) -> Scratch:
    """Return work space for suffixes of up to `widest` next steps and `largest` contexts."""
    return Scratch(
        counts=np.zeros(widest, np.int64),
        ends=np.zeros(widest, np.int64),
        guide=np.zeros(widest, np.int64),
        used=np.zeros(widest, np.int64),
        history=np.zeros(longest, np.int64),
        context=np.zeros(largest, np.int64),
        size=np.zeros(largest, np.int64),
        observed=np.zeros(largest),
        weight=np.zeros(largest),
        hits=np.zeros(largest),
        p=np.zeros(largest),
    )


def log_steps() -> NDArray[np.float64]:
    """Return n ln n − (n − 1) ln(n − 1) for small n, from n = 0 (unused) and 1 on."""
    n = np.arange(2, _TABLE, dtype=np.float64)
    return np.concatenate([[0.0, 0.0], np.log(n) - (n - 1) * np.log1p(-1 / n)])


@njit
def _log_step(steps: NDArray[np.float64], n: int) -> float:
    return steps[n] if n < _TABLE else math.log(n) - (n - 1) * math.log1p(-1.0 / n)


@njit
def _gain(steps: NDArray[np.float64], used: int, both: int) -> float:
    """Return what one more step to x adds to Σ f ln f + (F − f) ln(F − f), G / 2 but for the margins."""
    return _log_step(steps, used + 1) - _log_step(steps, both - used)


@njit
def _odds(a: float, used: int, both: int, i: int, total: int) -> float:
    """Return how much more likely step i to x is from the urn than without memory."""
    return (a * both / total + used) * (total - i) / ((a + i) * (both - used))


@njit
def _weight(one: float, two: float, three: float) -> float:
    return 1.0 / (0.5 + (one + two + three) / 6.0)


@njit
def observe(cells: NDArray[np.int64], n: int, total: int, steps: NDArray[np.float64]) -> tuple[float, float]:
    """Return the statistic and the weight of an observed row of `n` next steps, `cells` [n, (f, F)]."""
    statistic, one, two, three, i = 0.0, 1.0, 1.0, 1.0, 0
    for x in range(n):
        for used in range(cells[x, 0]):
            both = cells[x, 1]
            one *= _odds(URNS[0], used, both, i, total)
            two *= _odds(URNS[1], used, both, i, total)
            three *= _odds(URNS[2], used, both, i, total)
            statistic += _gain(steps, used, both)
            i += 1
    return statistic, _weight(one, two, three)


@njit
def exact_tests(
    wide: int, n: int | np.int64, seed: np.uint64, steps: NDArray[np.float64], scratch: Scratch
) -> None:
    """Write the p-values of `n` contexts, by ascending size, of a suffix with `wide` next steps."""
    total = scratch.ends[wide - 1]
    x = 0
    for i in range(wide):
        while scratch.ends[x] * wide <= i * float(total):
            x += 1
        scratch.guide[i] = x
    scratch.used[:wide] = 0
    scratch.hits[:n] = 0.0
    scratch.p[:n] = 0.0  # 0: not stopped yet
    longest, done, limit = 0, 0, 1.0
    for i in range(n):
        # Far out in the tail Markov's inequality is enough: without memory, the mean of 1 / w is at most 1.
        if scratch.weight[i] <= FAR:
            scratch.p[i] = max(scratch.weight[i], 1e-300)
        else:
            longest = max(longest, scratch.size[i])
    for walks, stop in STAGES:
        if longest == 0:
            break
        for b in range(done, walks):
            _walk(wide, n, longest, mix64(seed + np.uint64(b + 1) * GOLDEN), steps, scratch)
        done, longest = walks, 0
        for i in range(n):
            if scratch.p[i] > 0.0:
                continue
            p = min((scratch.weight[i] + scratch.hits[i]) / (walks + 1) + FAR, limit)
            if p > stop:
                scratch.p[i] = p
            else:
                longest = max(longest, scratch.size[i])
        limit = stop


@njit
def _walk(
    wide: int, n: int | np.int64, longest: int, state: np.uint64, steps: NDArray[np.float64], scratch: Scratch
) -> None:
    """Draw one walk and add its weight to the contexts that it exceeds, each at its own length."""
    total = scratch.ends[wide - 1]
    kind = int(mix64(state) >> np.uint64(32)) % 6  # three in six: without replacement, else one urn each
    urn = URNS[kind % 3]
    statistic, one, two, three, at = 0.0, 1.0, 1.0, 1.0, 0
    taken = 0
    for i in range(longest):
        while True:
            state += GOLDEN
            u = (mix64(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            if kind >= 3:
                u *= urn + i
                if u < i:
                    x = scratch.history[int(u)]
                    break
                u = (u - i) / urn
            x = scratch.guide[min(int(u * wide), wide - 1)]
            place = u * total
            while x < wide - 1 and scratch.ends[x] <= place:
                x += 1
            # The first of x's occurrences count as those that were drawn before.
            if kind >= 3 or int(scratch.ends[x] - place) >= scratch.used[x]:
                break
        used, both = scratch.used[x], scratch.counts[x]
        if used >= both:
            break  # more than there are: such a table cannot be, and its weight is 0
        one *= _odds(URNS[0], used, both, i, total)
        two *= _odds(URNS[1], used, both, i, total)
        three *= _odds(URNS[2], used, both, i, total)
        statistic += _gain(steps, used, both)
        scratch.used[x] += 1
        scratch.history[i] = x
        taken += 1
        while at < n and scratch.size[at] == taken:
            if scratch.p[at] == 0.0 and statistic >= scratch.observed[at] - _TIE:
                scratch.hits[at] += _weight(one, two, three)
            at += 1
    for i in range(taken):
        scratch.used[scratch.history[i]] = 0
