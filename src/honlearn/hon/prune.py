"""Keeping a context: which grams of 2 … k entities become nodes of the higher-order network.

In: the trie of counts. Out: the divergence of every context, computed once, which contexts pass GrowHON's
test (for any tau and min_support only a comparison), and, whatever the test, which are kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import nearby, where
from honlearn.hon.next_rows import Rows
from honlearn.hon.trie import Level, Trie, seek
from honlearn.jit import njit


@njit
def _divergences(
    first: NDArray[np.int64],
    followed: NDArray[np.int64],
    suffix: NDArray[np.int64],
    newest: NDArray[np.int32],
    count: NDArray[np.int64],
    below_first: NDArray[np.int64],
    below_followed: NDArray[np.int64],
    below_newest: NDArray[np.int32],
    below_count: NDArray[np.int64],
    contexts: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    for n in range(len(contexts)):
        g = contexts[n]
        s = suffix[g]
        at, high = below_first[s], below_first[s + 1]
        total = rest = 0.0
        for i in range(first[g], first[g + 1]):
            at = seek(below_newest, at, high, newest[i])
            p = count[i] / followed[g]
            q = below_count[at] / below_followed[s]
            term = p * math.log2(p / q)
            # The rounding error of each addition is carried along, so that the sum does not depend on the
            # order of the terms: exact ties with the threshold are common and must fall the same way always.
            added = total + term
            back = added - total
            rest += (total - (added - back)) + (term - back)
            total = added
        out[n] = total + rest


class Divergence(NamedTuple):
    """D(g) of some contexts of a level, `contexts` ascending [n], `bits` float64 [n]."""

    contexts: NDArray[np.int64]
    bits: NDArray[np.float64]

    def of(self, contexts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return D(g) of contexts, NaN for those that it is not known of."""
        if len(self.contexts) == 0:
            return np.full(len(contexts), np.nan)
        place = np.minimum(np.searchsorted(self.contexts, contexts), len(self.contexts) - 1)
        return np.where(self.contexts[place] == contexts, self.bits[place], np.nan)


def divergences(level: Level, extensions: Level, below: Level, contexts: NDArray[np.int64]) -> Divergence:
    """Return D(g) = Σx p·log2(p / q) for some contexts of one level, in bits.

    p = f(g + x) / c(g) over the entities x seen after g, q = f(suffix(g) + x) / c(suffix(g)); 0 where nothing
    follows g. `extensions` is the level above, `below` the level of the suffixes.
    """
    rows = Rows(level.first, extensions.newest, extensions.count, level.followed)
    suffixes = Rows(below.first, level.newest, level.count, below.followed)
    return row_divergences(rows, suffixes, level.suffix, contexts)


def row_divergences(
    rows: Rows, suffixes: Rows, suffix: NDArray[np.int64], contexts: NDArray[np.int64]
) -> Divergence:
    """Return D(g) of some contexts, from the next steps of all and of their suffixes."""
    out = np.empty(len(contexts), np.float64)
    for part in nearby(contexts, (*rows, suffix, suffixes.entity, suffixes.seen)):
        _divergences(
            rows.first, rows.total, suffix, rows.entity, rows.seen,
            suffixes.first, suffixes.total, suffixes.entity, suffixes.seen, contexts[part], out[part],
        )  # fmt: skip
    return Divergence(contexts, out)


def thresholds(count: NDArray[np.int64], length: int, tau: float | None) -> NDArray[np.float64]:
    """Return tau·(m − 1) / log2(1 + f(g)) for contexts of m = `length` entities, from f(g); `tau` None: NaN.

    The paper prints m in place of m − 1; the published builder, and every published graph, use m − 1.
    """
    if tau is None:
        return np.full(len(count), np.nan)
    limits: NDArray[np.float64] = tau * (length - 1) / np.log2(1.0 + count)
    return limits


def supported(level: Level, min_support: int) -> NDArray[np.int64]:
    """Return the contexts of a level that were seen at least so often."""
    return where(len(level), lambda part: level.count[part] >= min_support, (level.count,))


def passes_test(
    count: NDArray[np.int64],
    followed: NDArray[np.int64],
    bits: NDArray[np.float64],
    length: int,
    tau: float | None,
    min_support: int,
) -> NDArray[np.bool_]:
    """Return which contexts of one length pass GrowHON's test, from f(g), c(g) and D(g)."""
    test: NDArray[np.bool_] = (count >= min_support) & (followed > 0)
    if tau is not None:
        test &= bits > thresholds(count, length, tau)
    return test


def pass_threshold(
    trie: Trie, divergence: list[Divergence], order: int, tau: float | None, min_support: int
) -> list[NDArray[np.bool_]]:
    """Return, for contexts of 2 … `order` entities, which pass GrowHON's test.

    That is f(g) ≥ min_support and D(g) strictly above its threshold; `tau` None asks only that something
    follows. ``divergence[m - 2]`` belongs to the contexts of m entities.
    """
    passes = []
    for m in range(2, order + 1):
        level, known = trie[m - 1], divergence[m - 2]
        enough = np.zeros(len(level), np.bool_)
        for part in nearby(known.contexts, (level.count, level.followed)):
            some = known.contexts[part]
            followed = level.followed[some]
            test = passes_test(level.count[some], followed, known.bits[part], m, tau, min_support)
            enough[some[test]] = True
        passes.append(enough)
    return passes


def kept_contexts(
    trie: Trie, passes: list[NDArray[np.bool_]]
) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return, for contexts of 2 entities and more, (kept, kept because an extension is).

    A context is kept if one of its one-step extensions is, or if it passes its test; ``passes[m - 2]``
    belongs to the contexts of m entities.
    """
    kept: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]] = []
    for m in range(len(passes) + 1, 1, -1):
        level = trie[m - 1]
        extended = np.zeros(len(level), bool)
        if kept:
            extended[level.prefix(np.flatnonzero(kept[-1][0]))] = True
        kept.append((extended | passes[m - 2], extended))
    return kept[::-1]
