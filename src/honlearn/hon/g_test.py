"""Does a context differ from its suffix? The G-test of every context, of one length at a time.

In: the next steps of the contexts and of their suffixes, as rows of counts. Out: for each context G, degrees
of freedom and p-value. A context g is compared with the occurrences of its suffix that are not its own:

    [f(g + x)] against [f(suffix(g) + x) − f(g + x)], a table of 2 × K for the K next steps of the suffix.

The end of a path is no next step: the table holds the transitions that the network is made of.

- A context is *tested* if at least two followed occurrences are its own and at least two are not, and K ≥ 2.
  The rule reads the margins of the table only, so it does not favour any outcome.
- Where both rows have more than :data:`EXACT` steps, p is the tail of chi-square, with Williams' correction.
  Next steps expected fewer than :data:`EXPECTED` times in one row are pooled; if that leaves one row with
  more than :data:`POOLED` of its steps in the pool, and it has no more than :data:`WALKED` steps, the test is
  exact as well.
- Elsewhere the chi-square tail is wrong by orders of magnitude, and p is that of the exact test given all
  margins: :mod:`honlearn.hon.exact_test`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import let_go, where
from honlearn.hon.exact_test import Scratch, exact_tests, log_steps, make_scratch, observe
from honlearn.hon.next_rows import Rows
from honlearn.hon.trie import seek
from honlearn.jit import njit
from honlearn.mixing import mix64

EXACT = 100
EXPECTED = 5.0
POOLED = 0.2
WALKED = 300
# Suffixes between which the memory of counts that lie on disk is let go.
_FAMILIES = 1 << 16
LEAST = 2
"""The fewest followed occurrences, of a context and of its suffix without it, that are tested."""


class GTests(NamedTuple):
    """One value per context: tested, G, degrees of freedom, p. What is not tested has G = 0 and p = 1."""

    tested: NDArray[np.bool_]
    g: NDArray[np.float64]
    df: NDArray[np.int64]
    p: NDArray[np.float64]


def worth_testing(contexts: Rows, suffixes: Rows, suffix: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the contexts that are tested, by the margins of their tables."""

    def test(part: slice) -> NDArray[np.bool_]:
        mine, its = contexts.total[part], suffix[part]
        rest = suffixes.total[its] - mine
        several = suffixes.first[its + 1] - suffixes.first[its] >= 2
        enough: NDArray[np.bool_] = (mine >= LEAST) & (rest >= LEAST) & several
        return enough

    return where(len(suffix), test, (contexts.total, suffix, *suffixes))


def g_tests(contexts: Rows, suffixes: Rows, suffix: NDArray[np.int64], stream: int = 0) -> GTests:
    """Return the G-test of each context against row ``suffix[i]`` of `suffixes` without its own counts.

        G = 2 Σx [f ln(f·N / (c·F)) + (F − f) ln((F − f)·N / ((N − c)·F))],

    f and F the counts of next step x after the context and after its suffix, c and N their sums. `stream`
    keeps the random numbers of different calls apart; they depend on it and on the margins alone.
    """
    n = len(suffix)
    out = GTests(np.zeros(n, np.bool_), np.zeros(n), np.zeros(n, np.int64), np.ones(n))
    order = np.lexsort((contexts.total, suffix))
    families, starts = np.unique(suffix[order], return_index=True)
    starts = np.append(starts, n)
    widest = int((suffixes.first[families + 1] - suffixes.first[families]).max(initial=0))
    largest = int(np.diff(starts).max(initial=0))
    scratch, steps = make_scratch(widest, largest, WALKED), log_steps()
    for start in range(0, len(families), _FAMILIES):
        stop = min(start + _FAMILIES, len(families))
        some = families[start:stop], starts[start : stop + 1]
        _families(contexts, suffixes, order, *some, np.uint64(stream), steps, scratch, out)
        let_go(suffixes)
    return out


@njit
def _families(
    contexts: Rows,
    suffixes: Rows,
    members: NDArray[np.int64],
    families: NDArray[np.int64],
    starts: NDArray[np.int64],
    stream: np.uint64,
    steps: NDArray[np.float64],
    scratch: Scratch,
    out: GTests,
) -> None:
    """Test the contexts of one suffix after another: they share its margins, and exact tests the draws."""
    inverse = np.empty(len(scratch.counts) + 1)
    for family in range(len(families)):
        s, begin, end = families[family], starts[family], starts[family + 1]
        total, low, high = suffixes.total[s], suffixes.first[s], suffixes.first[s + 1]
        waiting = high - low >= 2
        if waiting:
            waiting = False
            for i in range(begin, end):
                size = contexts.total[members[i]]
                waiting |= min(size, total - size) >= LEAST
        if not waiting:
            continue
        wide = _sort_row(suffixes, s, scratch, inverse)
        n = np.int64(0)  # a literal would compile what it is handed to twice
        for i in range(begin, end):
            g = members[i]
            if min(contexts.total[g], total - contexts.total[g]) < LEAST:
                continue
            out.tested[g] = True
            if _chi_square(contexts, suffixes, g, s, wide, scratch, inverse, out):
                continue
            scratch.context[n] = g
            n += 1
        if n:
            seed = mix64(mix64(mix64(stream) + np.uint64(total)) + np.uint64(wide)) + np.uint64(
                scratch.counts[0]
            )
            _exact(contexts, suffixes, s, wide, n, mix64(seed), steps, scratch, out)


@njit
def _sort_row(suffixes: Rows, s: int, scratch: Scratch, inverse: NDArray[np.float64]) -> int:
    """Write the counts of a suffix, largest first, their running sums and those of 1 / count."""
    low, high = suffixes.first[s], suffixes.first[s + 1]
    wide = int(high - low)
    for x in range(wide):
        scratch.counts[x] = suffixes.seen[low + x]
    sort_descending(scratch.counts, wide)
    running, inverse[0] = 0, 0.0
    for x in range(wide):
        running += scratch.counts[x]
        scratch.ends[x] = running
        inverse[x + 1] = inverse[x] + 1.0 / scratch.counts[x]
    return wide


@njit
def sort_descending(values: NDArray[np.int64], n: int) -> None:
    """Sort ``values[:n]`` in place, largest first: heap sort, which is little to compile."""
    for start in range(n // 2 - 1, -1, -1):
        _sift(values, start, n)
    for last in range(n - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sift(values, 0, last)


@njit
def _sift(values: NDArray[np.int64], at: int, n: int) -> None:
    value = values[at]
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        values[at] = values[child]
        at = child
    values[at] = value


@njit
def _chi_square(
    contexts: Rows,
    suffixes: Rows,
    g: int,
    s: int,
    wide: int,
    scratch: Scratch,
    inverse: NDArray[np.float64],
    out: GTests,
) -> bool:
    """Write G and, where the chi-square tail holds, p; return whether it does, by the margins alone."""
    total, size = suffixes.total[s], contexts.total[g]
    small = min(size, total - size)
    least = EXPECTED * total / small
    common, high = 0, wide  # next steps that are expected often enough stand first
    while common < high:
        middle = (common + high) >> 1
        if scratch.counts[middle] >= least:
            common = middle + 1
        else:
            high = middle
    inside = scratch.ends[common - 1] if common else 0
    pool = total - inside
    exact = small <= EXACT or (pool > POOLED * total and small <= WALKED)
    if exact:
        out.g[g], _ = _statistic(contexts, suffixes, g, s, 0.0, total, np.int64(0))
        out.df[g] = wide - 1
        return False
    # A pool that is itself expected too rarely is left out: the rest of the table, given it, is a table as
    # good.
    pooled = pool >= least
    cells = common + pooled
    if cells < 2:
        return True
    out.g[g], mine = _statistic(contexts, suffixes, g, s, least, total if pooled else inside, pool * pooled)
    out.df[g] = cells - 1
    whole = float(total if pooled else inside)
    rest = whole - mine
    if mine > 0 and rest > 0:
        reciprocals = inverse[common] + (1.0 / pool if pooled else 0.0)
        rows = whole / mine + whole / rest - 1.0
        williams = 1.0 + rows * (whole * reciprocals - 1.0) / (6.0 * whole * (cells - 1))
        out.p[g] = chi_square_tail(out.g[g] / williams, cells - 1)
    return True


@njit
def _statistic(
    contexts: Rows, suffixes: Rows, g: int, s: int, least: float, whole: int, pool: int | np.int64
) -> tuple[float, int]:
    """Return G over next steps seen `least` times and the pool, and the context's part of `whole`."""
    at, high = suffixes.first[s], suffixes.first[s + 1]
    mine = 0
    for i in range(contexts.first[g], contexts.first[g + 1]):
        at = seek(suffixes.entity, at, high, contexts.entity[i])
        if pool or suffixes.seen[at] >= least:
            mine += contexts.seen[i]
    if mine == 0 or mine == whole:
        return 0.0, mine
    share = mine / whole
    total, seen, rare = 0.0, pool, 0
    at = suffixes.first[s]
    for i in range(contexts.first[g], contexts.first[g + 1]):
        at = seek(suffixes.entity, at, high, contexts.entity[i])
        f, both = contexts.seen[i], suffixes.seen[at]
        if both < least:
            rare += f
            continue
        seen += both
        total += _cell(f, both, share)
    if pool:
        total += _cell(rare, pool, share)
    # Next steps that the context never takes: 0 ln 0 and F ln(F·N / ((N − c)·F)) each.
    total -= (whole - seen) * math.log1p(-share)
    return max(2.0 * total, 0.0), mine


@njit
def _cell(f: int, both: int | np.int64, share: float) -> float:
    """Return a next step's part of G / 2, `share` being c / N."""
    return _deviance(f, share * both) + _deviance(both - f, (1.0 - share) * both)


@njit
def _deviance(seen: int | np.int64, expected: float) -> float:
    """Return n ln(n / e) − (n − e), without cancellation where n and e are large and near each other.

    What is subtracted adds up to 0 over a row of the table.
    """
    if seen == 0:
        return expected
    away = (seen - expected) / expected
    if abs(away) < 1e-3:
        return expected * away * away * (0.5 - away / 6.0 + away * away / 12.0)
    return seen * math.log(seen / expected) - (seen - expected)


@njit
def _exact(
    contexts: Rows,
    suffixes: Rows,
    s: int,
    wide: int,
    n: int | np.int64,
    seed: np.uint64,
    steps: NDArray[np.float64],
    scratch: Scratch,
    out: GTests,
) -> None:
    """Hand the tables of one suffix to the exact test, each by its smaller row."""
    cells = np.empty((wide, 2), np.int64)
    total = suffixes.total[s]
    for i in range(n):
        size = contexts.total[scratch.context[i]]
        scratch.size[i] = min(size, total - size)
    for i in range(1, n):  # they come by their totals, so at most one is out of place
        g, size, at = scratch.context[i], scratch.size[i], i
        while at and scratch.size[at - 1] > size:
            scratch.context[at], scratch.size[at] = scratch.context[at - 1], scratch.size[at - 1]
            at -= 1
        scratch.context[at], scratch.size[at] = g, size
    for i in range(n):
        used = _smaller_row(contexts, suffixes, scratch.context[i], s, cells)
        scratch.observed[i], scratch.weight[i] = observe(cells, used, total, steps)
    exact_tests(wide, n, seed, steps, scratch)
    for i in range(n):
        out.p[scratch.context[i]] = scratch.p[i]


@njit
def _smaller_row(contexts: Rows, suffixes: Rows, g: int, s: int, cells: NDArray[np.int64]) -> int:
    """Write (f, F) of the context's next steps, or of the others if those are fewer; return how many."""
    others = suffixes.total[s] - contexts.total[g] < contexts.total[g]
    low, high, n = suffixes.first[s], suffixes.first[s + 1], 0
    first, last = contexts.first[g], contexts.first[g + 1]
    if not others:
        at = low
        for i in range(first, last):
            at = seek(suffixes.entity, at, high, contexts.entity[i])
            cells[n, 0], cells[n, 1] = contexts.seen[i], suffixes.seen[at]
            n += 1
        return n
    for x in range(low, high):
        f = 0
        if first < last and contexts.entity[first] == suffixes.entity[x]:
            f = contexts.seen[first]
            first += 1
        if suffixes.seen[x] > f:
            cells[n, 0], cells[n, 1] = suffixes.seen[x] - f, suffixes.seen[x]
            n += 1
    return n


@njit
def chi_square_tail(x: float, df: int) -> float:
    """Return P(X ≥ x) for X chi-square distributed with `df` degrees of freedom.

    It is the upper incomplete gamma function Q(df / 2, x / 2): its series below the mean, else Lentz's
    continued fraction.
    """
    a, z = 0.5 * df, 0.5 * x
    if z <= 0.0:
        return 1.0
    front = math.exp(a * math.log(z) - z - math.lgamma(a))
    if z < a + 1.0:
        term = value = 1.0 / a
        k = a
        while term > value * 1e-17:
            k += 1.0
            term *= z / k
            value += term
        return max(1.0 - front * value, 0.0)
    b = z + 1.0 - a
    c, d = 1e300, 1.0 / b
    value = d
    for i in range(1, 100_000):
        step = -i * (i - a)
        b += 2.0
        d = step * d + b
        c = b + step / c
        d = 1.0 / (d if abs(d) > 1e-300 else 1e-300)
        c = c if abs(c) > 1e-300 else 1e-300
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return min(front * value, 1.0)
