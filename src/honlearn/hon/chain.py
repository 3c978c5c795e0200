"""Counting grams when k + 1 entities do not fit a 64-bit key: no vocabulary and no order is refused.

Each distinct gram gets a number; a gram of m entities is the pair (number of its prefix, newest entity),
which always fits 64 bits. One hash table a length: slower than :mod:`honlearn.hon.count`, the same trie.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.trie import Level, Trie, link_suffixes
from honlearn.jit import njit
from honlearn.paths.paths import PathChunk

_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def _slot(key: np.uint64, keys: NDArray[np.uint64]) -> np.uint64:
    mask = np.uint64(len(keys) - 1)
    mixed = key * _MIX
    slot = (mixed ^ (mixed >> np.uint64(32))) & mask
    while keys[slot] != key and keys[slot] != np.uint64(0):
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit
def _number(
    prefixes: NDArray[np.int64],
    newest: NDArray[np.int32],
    weights: NDArray[np.int64],
    done: int,
    keys: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    counts: NDArray[np.int64],
    size: int,
    out: NDArray[np.int64],
) -> tuple[int, int]:
    """Number the grams (prefix, newest) from `done` on and add their weights; stop where the table is full.

    A prefix of −1 means that there is no such gram (too near the start of its path).
    """
    for i in range(done, len(newest)):
        out[i] = -1
        if prefixes[i] < 0:
            continue
        # One is added so that no key is 0, the mark of an empty slot.
        key = (np.uint64(prefixes[i] + 1) << np.uint64(32)) | np.uint64(newest[i])
        slot = _slot(key, keys)
        if keys[slot] == np.uint64(0):
            if 2 * (size + 1) > len(keys):
                return i, size
            keys[slot] = key
            numbers[slot] = size
            size += 1
        out[i] = numbers[slot]
        counts[out[i]] += weights[i]
    return len(newest), size


@njit
def _rehash(
    keys: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    to_keys: NDArray[np.uint64],
    to_numbers: NDArray[np.int64],
) -> None:
    for i in range(len(keys)):
        if keys[i] != np.uint64(0):
            slot = _slot(keys[i], to_keys)
            to_keys[slot] = keys[i]
            to_numbers[slot] = numbers[i]


class _Table:
    """The grams of one length: (prefix, newest) → number, and the count of each number."""

    def __init__(self) -> None:
        self.keys = np.zeros(1 << 12, np.uint64)
        self.numbers = np.zeros(1 << 12, np.int64)
        self.counts = np.zeros(1 << 11, np.int64)
        self.size = 0

    def add(
        self, prefixes: NDArray[np.int64], newest: NDArray[np.int32], weights: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Count grams; return their numbers."""
        out = np.empty(len(newest), np.int64)
        done = 0
        while True:
            done, self.size = _number(
                prefixes, newest, weights, done, self.keys, self.numbers, self.counts, self.size, out
            )
            if done == len(newest):
                return out
            keys, numbers = np.zeros(2 * len(self.keys), np.uint64), np.zeros(2 * len(self.keys), np.int64)
            _rehash(self.keys, self.numbers, keys, numbers)
            self.keys, self.numbers = keys, numbers
            self.counts = np.concatenate([self.counts, np.zeros(len(self.counts), np.int64)])

    def grams(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return prefix number and newest entity of each gram, by number."""
        held = self.keys != 0
        by_number = np.argsort(self.numbers[held])
        keys = self.keys[held][by_number]
        prefixes = (keys >> np.uint64(32)).astype(np.int64) - 1
        return prefixes, (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)


class ChainCounter:
    """Counts grams of every length up to k + 1, chunk after chunk; :meth:`trie` gives the counts."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.entities = np.zeros(0, np.int64)
        self.tables = [_Table() for _ in range(order)]

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
            counts = table.counts[: table.size][order]
            first = np.searchsorted(parents, np.arange(len(newest) + 1))
            sums = np.concatenate([[0], np.cumsum(counts)])
            followed = sums[first[1:]] - sums[first[:-1]]
            levels.append(Level(newest, count, first, followed, nothing))
            place = np.empty(table.size, np.int64)
            place[order] = np.arange(table.size)
            newest, count = entities[order], counts
        levels.append(Level(newest, count, nothing, nothing, nothing))
        return link_suffixes(levels)
