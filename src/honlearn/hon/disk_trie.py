"""The trie of counts that do not fit memory: ascending pieces of windows → levels that lie on disk.

In: all windows with their counts, in pieces (:func:`honlearn.hon.spill.merge_ranges`). Out: the same trie as
:func:`honlearn.hon.trie.trie_from_windows` makes of them in memory, its arrays mapped from temporary files:
the system keeps in memory what is used. A level is made from the one below it, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import BLOCK, DiskArray, slices
from honlearn.hon.keys import END, Run, merge
from honlearn.hon.spill import SpilledRun, few_runs, merge_ranges
from honlearn.hon.trie import (
    Level,
    Trie,
    dense_level,
    drop_ends,
    end_stage,
    group_prefixes,
    let_levels_go,
    link_block,
    newest_of,
    tails_of,
)


class _Grams:
    """The grams of one length while they are written: keys, newest entities and counts."""

    def __init__(self, bits: int) -> None:
        self.mask = np.uint64((1 << bits) - 1)
        self.keys, self.newest, self.count = DiskArray(np.uint64), DiskArray(np.int32), DiskArray(np.int64)
        self.first, self.followed = DiskArray(np.int64), DiskArray(np.int64)

    def append(self, keys: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        self.keys.append(keys)
        self.newest.append(newest_of(keys, self.mask))
        self.count.append(counts)

    def level(self) -> Level:
        nothing = np.empty(0, np.int64)
        newest, count = self.newest.mapped(), self.count.mapped()
        return Level(newest, count, self.first.mapped(), self.followed.mapped(), nothing)


def trie_from_pieces(pieces: Iterator[Run], order: int, bits: int, vocabulary: int) -> Trie:
    """Return the trie of all counts from ascending pieces of windows, whose arrays it takes over."""
    grams = _Grams(bits)
    ends = SpilledRun((np.empty(0, np.uint64), np.empty(0, np.int64)))
    for keys, counts in pieces:
        ended = np.flatnonzero((keys & grams.mask) == END)
        ends.append((keys[ended], counts[ended]))
        n = drop_ends(keys, counts, grams.mask)
        grams.append(keys[:n], counts[:n])
        del keys, counts
    levels = [grams.level()]
    for m in range(order, 0, -1):
        tails = _tails(ends, m, order, bits)
        above = _prefixes(grams, tails, bits)
        tails.close()
        grams.keys.close()
        grams = above
        levels.append(grams.level() if m > 1 else dense_level(grams.level(), vocabulary))
    ends.close()
    grams.keys.close()
    return link_on_disk(levels[::-1])


def _tails(ends: SpilledRun, length: int, order: int, bits: int) -> SpilledRun:
    """Return how often each gram of `length` entities ends a path, from the windows that end in END."""
    parts: list[SpilledRun] = []
    for start in range(0, len(ends), BLOCK):
        keys, counts = ends.read(start, min(start + BLOCK, len(ends)))
        part = SpilledRun(tails_of(keys, counts, length, order, bits))
        parts = few_runs([*parts, part], BLOCK, merge)
    tails = SpilledRun(ends.read(0, 0))
    for piece in merge_ranges(parts, BLOCK, merge):
        tails.append(piece)
    for part in parts:
        part.close()
    return tails


def _prefixes(children: _Grams, tails: SpilledRun, bits: int) -> _Grams:
    """Return the prefixes of one level's grams and the grams that end a path, with counts and slices."""
    made = _Grams(bits)
    start, size, done = 0, BLOCK, 0
    tail_keys = tails.columns[0].mapped()
    while start < len(children.keys) or done < len(tails):
        stop = min(start + size, len(children.keys))
        keys = children.keys.read(start, stop)
        until = len(tails)
        if stop < len(children.keys):
            # The last prefix may go on in the next block.
            last = keys[-1] >> np.uint64(bits)
            cut = int(np.searchsorted(keys >> np.uint64(bits), last))
            if cut == 0:
                size *= 2
                continue
            keys, until = keys[:cut], int(np.searchsorted(tail_keys, last))
        counts = children.count.read(start, start + len(keys))
        ended, often = tails.read(done, until)
        up, sums, first, followed = group_prefixes(keys, counts, ended, often, bits)
        made.append(up, sums)
        made.first.append(first[:-1] + start)
        made.followed.append(followed)
        start, size, done = start + len(keys), BLOCK, until
    made.first.append(np.array([len(children.keys)]))
    return made


def link_on_disk(levels: list[Level]) -> Trie:
    """Return the levels with suffix(g) filled in for the grams of 2 … k entities."""
    linked = [levels[0]]
    for m, level in enumerate(levels[1:], start=2):
        suffix = DiskArray(np.int64)
        if m == 2:
            for part in slices(len(level), (level.newest,)):
                suffix.append(level.newest[part])
        elif m < len(levels):
            prefix, below = linked[-1], linked[-2]
            for start in range(0, len(prefix), BLOCK):
                stop = min(start + BLOCK, len(prefix))
                suffix.append(link_block(prefix, start, stop, level.newest, below.first))
                let_levels_go((below, prefix, level))
        linked.append(Level(level.newest, level.count, level.first, level.followed, suffix.mapped()))
    end_stage(tuple(linked))
    return tuple(linked)
