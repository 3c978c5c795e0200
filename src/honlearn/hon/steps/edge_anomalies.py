"""Steps that are more or less frequent than a shorter memory explains: over- and under-represented grams.

A gram of k + 1 entities, v₀ v₁ … v_k, joins the contexts v₀ … v_{k−1} and v₁ … v_k. If the step depended on
the shared middle v₁ … v_{k−1} alone, the grams with one middle would be a table of rows (what came before)
and columns (what comes after) without dependence, and the count of a cell, given the sums of its row and
column, hypergeometric: N all grams with this middle, K those of the column, n those of the row. For k = 2
that is the first-order null. HYPA (LaRock et al., 2020) draws from one such urn for the whole network, with
sums that hold on average; here they hold within each middle, as in Fisher's exact test.

In: the counts of grams. Out: a table with the p-value of each side and q-values over all cells, those that
were never seen included: a step that never happens although its row and column are full is an anomaly, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import check_integer, check_real
from honlearn.hon.false_discovery import q_values
from honlearn.hon.steps.contexts import suffixes
from honlearn.hon.trie import Trie
from honlearn.jit import njit
from honlearn.paths.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas


@njit
def _log_choose(n: float, k: float) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@njit
def tails(x: int, whole: int, column: int, row: int) -> tuple[float, float]:
    """Return P(X ≤ x) and P(X ≥ x): X of `row` draws from `whole` are among the `column` marked ones."""
    least, most = max(0, row + column - whole), min(row, column)
    log_p = _log_choose(column, x) + _log_choose(whole - column, row - x) - _log_choose(whole, row)
    here = math.exp(log_p)
    upward = x * np.float64(whole) >= np.float64(row) * column
    total, term, at = here, here, x
    while term > total * 1e-17:  # the terms fall from here on, on the side away from the mean
        if upward:
            if at == most:
                break
            term *= (
                np.float64(column - at) * (row - at) / (np.float64(at + 1) * (whole - column - row + at + 1))
            )
            at += 1
        else:
            if at == least:
                break
            term *= (
                np.float64(at) * (whole - column - row + at) / (np.float64(column - at + 1) * (row - at + 1))
            )
            at -= 1
        total += term
    total = min(total, 1.0)
    other = min(max(1.0 - total + here, here), 1.0)
    return (other, total) if upward else (total, other)


@njit
def _cells(
    first: NDArray[np.int64], suffix: NDArray[np.int64], prefix_suffix: NDArray[np.int64],
    count: NDArray[np.int64], followed: NDArray[np.int64], entered: NDArray[np.int64],
    middle: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill both tails of every gram that was seen."""
    for g in range(len(prefix_suffix)):
        for i in range(first[g], first[g + 1]):
            whole = middle[prefix_suffix[g]]
            low[i], high[i] = tails(count[i], whole, entered[suffix[i]], followed[g])


@njit
def _empty_cells(
    members: NDArray[np.int64], starts: NDArray[np.int64], first: NDArray[np.int64],
    newest: NDArray[np.int32], followed: NDArray[np.int64], entered: NDArray[np.int64],
    middle: NDArray[np.int64], below_first: NDArray[np.int64], below_newest: NDArray[np.int32], alpha: float,
) -> list[tuple[int, int, float]]:  # fmt: skip
    """Return the cells (row, column, p) that were never seen although P(X = 0) ≤ alpha / 2."""
    found = [(0, 0, 0.0) for _ in range(0)]
    enough = -math.log(alpha / 2)
    for m in range(len(starts) - 1):
        whole = middle[m]
        for r in range(starts[m], starts[m + 1]):
            g = members[r]
            if followed[g] == 0:
                continue
            at = first[g]
            for c in range(below_first[m], below_first[m + 1]):
                while at < first[g + 1] and newest[at] < below_newest[c]:
                    at += 1
                if at < first[g + 1] and newest[at] == below_newest[c]:
                    continue
                # −ln P(X = 0) ≤ −n ln(1 − K / (N − n + 1)) ≤ n K / (N − n + 1 − K): most are out at once.
                free = np.float64(whole - followed[g]) + 1.0 - entered[c]
                if np.float64(followed[g]) * entered[c] < enough * free:
                    continue
                p, _ = tails(0, whole, entered[c], followed[g])
                if p <= alpha / 2:
                    found.append((g, c, p))
    return found


def edge_anomalies(
    trie: Trie, vocabulary: Vocabulary, order: int = 2, alpha: float = 0.05
) -> pandas.DataFrame:
    """Return the steps whose frequency a memory of `order` − 1 does not explain, most significant first.

    path: the entities of the gram, oldest first, as a tuple. count; expected: n·K / N. kind: ``over`` or
    ``under``. p_value: twice the smaller tail, at most 1. q_value: over all cells of all tables, ≤ `alpha`.
    """
    import pandas as pd

    order = check_integer("anomalies", "order", order, 2, len(trie) - 1)
    alpha = check_real("anomalies", "alpha", alpha, 0, 1, open_below=True)
    level, extensions, below = trie[order - 1], trie[order], trie[order - 2]
    to_column = suffixes(trie[: order + 1])[-1]
    to_middle = suffixes(trie[:order])[-1]
    entered = np.bincount(to_column, extensions.count, len(level)).astype(np.int64)
    middle = np.bincount(to_middle, level.followed, len(below)).astype(np.int64)
    low, high = np.empty(len(extensions)), np.empty(len(extensions))
    _cells(level.first, to_column, to_middle, extensions.count, level.followed, entered, middle, low, high)
    members = np.argsort(to_middle, kind="stable")
    starts = np.searchsorted(to_middle[members], np.arange(len(below) + 1))
    never = _empty_cells(
        members, starts, level.first, extensions.newest, level.followed, entered, middle, below.first,
        level.newest, alpha,
    )  # fmt: skip
    rows = np.bincount(to_middle, level.followed > 0, len(below))
    parent = np.repeat(np.arange(len(below)), np.diff(below.first))
    columns = np.bincount(parent, entered > 0, len(below))
    tests = int(rows @ columns)
    row_of = np.repeat(np.arange(len(level)), np.diff(level.first))
    g = np.concatenate([row_of, np.array([cell[0] for cell in never], np.int64)])
    c = np.concatenate([to_column, np.array([cell[1] for cell in never], np.int64)])
    count = np.concatenate([extensions.count, np.zeros(len(never), np.int64)])
    p = np.concatenate([np.minimum(2 * np.minimum(low, high), 1.0), [2 * cell[2] for cell in never]])
    over = np.concatenate([high < low, np.zeros(len(never), bool)])
    q = q_values(p, max(tests, len(p)))
    kept = np.flatnonzero(q <= alpha)
    expected = level.followed[g].astype(np.float64) * entered[c] / np.maximum(middle[to_middle[g]], 1)
    kept = kept[np.lexsort((kept, -np.abs(count - expected)[kept], p[kept]))]
    names = vocabulary.names
    grams = entities_of(trie, order - 1, g[kept])
    return pd.DataFrame(
        {
            "path": [
                (*(names[x] for x in gram), names[last])
                for gram, last in zip(grams.tolist(), level.newest[c[kept]].tolist(), strict=True)
            ],
            "count": count[kept],
            "expected": expected[kept],
            "kind": np.where(over[kept], "over", "under"),
            "p_value": p[kept],
            "q_value": q[kept],
        }
    )


def entities_of(trie: Trie, level: int, grams: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the entities of grams of one level, oldest first, int64 [n, level + 1]."""
    out = np.empty((len(grams), level + 1), np.int64)
    for m in range(level, -1, -1):
        out[:, m] = trie[m].newest[grams]
        if m:
            grams = trie[m - 1].prefix(grams)
    return out
