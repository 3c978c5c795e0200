"""Counting grams whose windows of k + 1 entities fit no key: no vocabulary and no order is refused.

In: chunks of codes. Out: the trie of counts (:mod:`honlearn.hon.trie`). Each distinct gram gets a number; a
gram of m entities is the pair (number of its prefix, newest entity), which always fits 64 bits. One hash
table per length: slower than :mod:`honlearn.hon.count`, the same trie.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.hash_table import HashTable
from honlearn.hon.trie import Level, Trie, followed_by, link_suffixes
from honlearn.jit import njit
from honlearn.paths.paths import PathChunk

_NEWEST = np.uint64(32)


@njit
def _add_at(counts: NDArray[np.int64], numbers: NDArray[np.int64], weights: NDArray[np.int64]) -> None:
    for i in range(len(numbers)):
        counts[numbers[i]] += weights[i]


class _Grams:
    """The grams of one length: (prefix, newest) → number, and the count of each number."""

    def __init__(self) -> None:
        self.table = HashTable(np.int64)
        self.counts = np.zeros(1 << 11, np.int64)

    def add(
        self, prefixes: NDArray[np.int64], newest: NDArray[np.int32], weights: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Count grams; return their numbers.

        A prefix of −1 means that there is no such gram (too near the start of its path), nor a number: −1.
        """
        there = np.flatnonzero(prefixes >= 0)
        keys = prefixes[there].astype(np.uint64) << _NEWEST | newest[there].astype(np.uint64)
        numbers = self.table.number(keys)
        if len(self.table) > len(self.counts):
            room = max(len(self.table), 2 * len(self.counts)) - len(self.counts)
            self.counts = np.concatenate([self.counts, np.zeros(room, np.int64)])
        _add_at(self.counts, numbers, weights[there])
        out = np.full(len(newest), -1, np.int64)
        out[there] = numbers
        return out

    def grams(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return prefix number and newest entity of each gram, by number."""
        keys = self.table.keys_by_number()
        return (keys >> _NEWEST).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)

    def __len__(self) -> int:
        return len(self.table)


class ChainCounter:
    """Counts grams of every length up to k + 1, chunk after chunk; :meth:`trie` gives the counts."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.entities = np.zeros(0, np.int64)
        self.tables = [_Grams() for _ in range(order)]

    def _fit(self, vocabulary: int) -> None:
        if vocabulary > len(self.entities):
            more = np.zeros(vocabulary - len(self.entities), np.int64)
            self.entities = np.concatenate([self.entities, more])

    def add(self, chunk: PathChunk, vocabulary: int) -> None:
        """Count the grams of a chunk whose codes lie below `vocabulary`."""
        self._fit(vocabulary)
        lengths = np.diff(chunk.offsets)
        counts = np.ones(len(lengths), np.int64) if chunk.counts is None else chunk.counts
        weights = np.repeat(counts, lengths)
        np.add.at(self.entities, chunk.codes, weights)
        starts = chunk.offsets[:-1][lengths > 0]
        numbers = chunk.codes.astype(np.int64)
        for table in self.tables:
            prefixes = np.concatenate([[-1], numbers[:-1]])
            prefixes[starts] = -1
            numbers = table.add(prefixes, chunk.codes, weights)

    def add_trie(self, trie: Trie) -> None:
        """Add counts that another counter made with the same codes."""
        self._fit(len(trie[0]))
        self.entities[: len(trie[0])] += trie[0].count
        numbers = np.arange(len(trie[0]))
        for table, above, level in zip(self.tables, trie[:-1], trie[1:], strict=True):
            numbers = table.add(np.repeat(numbers, np.diff(above.first)), level.newest, level.count)

    def trie(self, vocabulary: int) -> Trie:
        """Return all counts as a trie over `vocabulary` entities."""
        self._fit(vocabulary)
        nothing = np.empty(0, np.int64)
        newest, count = np.arange(len(self.entities), dtype=np.int32), self.entities
        place = np.arange(len(newest))
        levels = []
        for table in self.tables:
            prefixes, entities = table.grams()
            order = np.lexsort((entities, place[prefixes]))
            parents = place[prefixes][order]
            counts = table.counts[: len(table)][order]
            first = np.searchsorted(parents, np.arange(len(newest) + 1))
            levels.append(Level(newest, count, first, followed_by(first, counts), nothing))
            place = np.empty(len(table), np.int64)
            place[order] = np.arange(len(table))
            newest, count = entities[order], counts
        levels.append(Level(newest, count, nothing, nothing, nothing))
        return link_suffixes(levels)
