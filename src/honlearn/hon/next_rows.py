"""Rows of next steps: what follows each gram of one length, and how often.

In: the trie of counts. Out: rows of counts that the tests of contexts compare with each other
(:mod:`honlearn.hon.g_test`, :mod:`honlearn.hon.bayes_factor`); all of them, or a copy of some.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import gather, nearby
from honlearn.hon.trie import Trie
from honlearn.jit import njit


class Rows(NamedTuple):
    """Next steps: row i is ``entity[first[i]:first[i + 1]]``, ascending, with counts of sum total[i]."""

    first: NDArray[np.int64]
    entity: NDArray[np.int32]
    seen: NDArray[np.int64]
    total: NDArray[np.int64]


def trie_rows(trie: Trie, length: int) -> Rows:
    """Return the next steps of the grams of one length."""
    level, extensions = trie[length - 1], trie[length]
    return Rows(level.first, extensions.newest, extensions.count, level.followed)


def take_rows(rows: Rows, which: NDArray[np.int64]) -> Rows:
    """Return some of the rows, in memory of their own."""
    begin = gather(rows.first, which)
    first = np.concatenate([[0], np.cumsum(gather(rows.first, which + 1) - begin)])
    entity, seen = np.empty(first[-1], np.int32), np.empty(first[-1], np.int64)
    for part in nearby(which, (rows.entity, rows.seen)):
        _copy_rows(begin[part], rows.entity, rows.seen, first[part.start : part.stop + 1], entity, seen)
    return Rows(first, entity, seen, gather(rows.total, which))


@njit
def _copy_rows(
    begin: NDArray[np.int64],
    entity: NDArray[np.int32],
    seen: NDArray[np.int64],
    to: NDArray[np.int64],
    to_entity: NDArray[np.int32],
    to_seen: NDArray[np.int64],
) -> None:
    for i in range(len(begin)):
        for j in range(to[i + 1] - to[i]):
            to_entity[to[i] + j] = entity[begin[i] + j]
            to_seen[to[i] + j] = seen[begin[i] + j]
