"""The counts of all grams, as a trie: sorted windows → one level for each gram length 1 … k + 1.

Level m holds the distinct grams g of m entities in the order of their codes, oldest first, so the extensions
g + x of a gram are a slice of the next level, sorted by x. For each gram it has f(g), and, up to level k, the
slice of its extensions, c(g) = Σx f(g + x), and where suffix(g) stands one level below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import give_back, let_go
from honlearn.hon.keys import END, FIRST, Run, sort_and_sum
from honlearn.jit import njit


@dataclass(frozen=True)
class Level:
    """The grams of one length: newest entity, f(g), extensions ``first[i]:first[i + 1]``, c(g), suffix(g)."""

    newest: NDArray[np.int32]
    count: NDArray[np.int64]
    first: NDArray[np.int64]
    followed: NDArray[np.int64]
    suffix: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.newest)

    def prefix(self, extensions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which gram of this level each of these grams of the next level extends."""
        return np.searchsorted(self.first, extensions, "right") - 1


Trie = tuple[Level, ...]
"""Levels 1 … k + 1; level 1 has every entity of the vocabulary at its code. The last has no extensions."""


def let_levels_go(trie: Trie) -> None:
    """Let the system take back the memory of levels that lie on disk, between two walks over them."""
    let_go(array for level in trie for array in vars(level).values())


def end_stage(trie: Trie) -> None:
    """Give back the memory that a stage of the work on levels on disk has used; those in memory stay."""
    give_back(array for level in trie for array in vars(level).values())


@njit(inline="always")
def seek(newest: NDArray[np.int32], low: int, high: int, wanted: int) -> int:
    """Return where `wanted` stands in the ascending ``newest[low:high]``, which holds it, by galloping."""
    step = 1
    while low + step < high and newest[low + step] <= wanted:
        low += step
        step += step
    high = min(low + step, high)
    while high - low > 1:
        middle = (low + high) >> 1
        if newest[middle] <= wanted:
            low = middle
        else:
            high = middle
    return low


@njit
def _group(
    child_keys: NDArray[np.uint64],
    child_counts: NDArray[np.int64],
    tail_keys: NDArray[np.uint64],
    tail_counts: NDArray[np.int64],
    bits: int,
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    first: NDArray[np.int64],
    followed: NDArray[np.int64],
) -> int:
    """Union the prefixes of one level's grams with the grams that end a path; return how many."""
    i = j = n = 0
    shift = np.uint64(bits)
    nothing = ~np.uint64(0)
    while i < len(child_keys) or j < len(tail_keys):
        prefix = child_keys[i] >> shift if i < len(child_keys) else nothing
        tail = tail_keys[j] if j < len(tail_keys) else nothing
        key = min(prefix, tail)
        keys[n], first[n], total = key, i, 0
        while i < len(child_keys) and child_keys[i] >> shift == key:
            total += child_counts[i]
            i += 1
        followed[n] = total
        if j < len(tail_keys) and tail == key:
            total += tail_counts[j]
            j += 1
        counts[n] = total
        n += 1
    first[n] = i
    return n


@njit
def _link(
    first: NDArray[np.int64],
    suffix: NDArray[np.int64],
    newest: NDArray[np.int32],
    below_first: NDArray[np.int64],
    below_newest: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """suffix(g + x) is the extension by x of suffix(g): walk both slices side by side."""
    for g in range(len(suffix)):
        at, high = below_first[suffix[g]], below_first[suffix[g] + 1]
        for i in range(first[g], first[g + 1]):
            at = seek(below_newest, at, high, newest[i])
            out[i] = at


def followed_by(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return c(g) for slices of the next level: how often each gram goes on."""
    sums = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(sums[first[1:]] - sums[first[:-1]], np.int64)


def link_block(
    prefix: Level, start: int, stop: int, newest: NDArray[np.int32], below_first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return suffix(g) of the extensions of the grams ``start:stop`` of one level; `newest` are its own."""
    first = prefix.first[start : stop + 1]
    out = np.empty(int(first[-1] - first[0]), np.int64)
    own = newest[first[0] : first[-1]]
    _link(first - first[0], prefix.suffix[start:stop], own, below_first, prefix.newest, out)
    return out


def link_suffixes(levels: list[Level]) -> Trie:
    """Return the levels with suffix(g) filled in for the grams of 2 … k entities."""
    nothing = np.empty(0, np.int64)
    linked = [levels[0]]
    for m, level in enumerate(levels[1:], start=2):
        suffix = nothing
        if m == 2:
            suffix = level.newest.astype(np.int64)
        elif m < len(levels):
            suffix = link_block(linked[-1], 0, len(linked[-1]), level.newest, linked[-2].first)
        linked.append(Level(level.newest, level.count, level.first, level.followed, suffix))
    return tuple(linked)


def tails_of(keys: NDArray[np.uint64], counts: NDArray[np.int64], length: int, order: int, bits: int) -> Run:
    """Return how often each gram of `length` entities ends a path, from the windows that end in END."""
    grams = (keys >> np.uint64(bits)) & np.uint64((1 << (length * bits)) - 1)
    full = (grams >> np.uint64((length - 1) * bits)) >= FIRST
    if length == order:  # nothing was cut off, so they are distinct and sorted already
        return grams[full], counts[full]
    return sort_and_sum(grams[full], counts[full], length * bits)


@njit
def drop_ends(keys: NDArray[np.uint64], counts: NDArray[np.int64], mask: np.uint64) -> int:
    """Close up the windows that do not end in END, in place; return how many there are."""
    n = 0
    for i in range(len(keys)):
        keys[n], counts[n] = keys[i], counts[i]
        n += keys[i] & mask != np.uint64(END)
    return n


@njit
def _count_groups(child_keys: NDArray[np.uint64], bits: int) -> int:
    n = 0
    previous = ~np.uint64(0)
    for key in child_keys:
        n += key >> np.uint64(bits) != previous
        previous = key >> np.uint64(bits)
    return n


def group_prefixes(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    tail_keys: NDArray[np.uint64],
    tail_counts: NDArray[np.int64],
    bits: int,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the prefixes of sorted grams and the grams that end a path: keys, f(g), slices, c(g)."""
    room = _count_groups(keys, bits) + len(tail_keys)
    up, first = np.empty(room, np.uint64), np.empty(room + 1, np.int64)
    sums, followed = np.empty(room, np.int64), np.empty(room, np.int64)
    n = _group(keys, counts, tail_keys, tail_counts, bits, up, sums, first, followed)
    return up[:n], sums[:n], first[: n + 1], followed[:n]


def trie_from_windows(windows: Run, order: int, bits: int, vocabulary: int) -> Trie:
    """Return the trie of all counts from sorted windows, whose arrays it takes over."""
    keys, counts = windows
    newest_mask = np.uint64((1 << bits) - 1)
    ends = (keys & newest_mask) == END
    end_keys, end_counts = keys[ends], counts[ends]
    del ends
    n = drop_ends(keys, counts, newest_mask)
    keys, counts = keys[:n], counts[:n]
    nothing = np.empty(0, np.int64)
    levels = [Level(newest_of(keys, newest_mask), counts, nothing, nothing, nothing)]
    for m in range(order, 0, -1):
        tails = tails_of(end_keys, end_counts, m, order, bits)
        keys, counts, first, followed = group_prefixes(keys, counts, *tails, bits)
        level = Level(newest_of(keys, newest_mask), counts, first, followed, nothing)
        levels.append(level if m > 1 else dense_level(level, vocabulary))
    return link_suffixes(levels[::-1])


def newest_of(keys: NDArray[np.uint64], mask: np.uint64) -> NDArray[np.int32]:
    """Return the code of the newest entity of each packed gram."""
    entities = (keys & mask).astype(np.int32)
    entities -= FIRST
    return entities


def dense_level(level: Level, vocabulary: int) -> Level:
    """Give every entity its place in level 1, also those that no path holds any more (filtered away)."""
    count, followed, extensions = (np.zeros(vocabulary, np.int64) for _ in range(3))
    count[level.newest] = level.count
    followed[level.newest] = level.followed
    extensions[level.newest] = np.diff(level.first)
    first = np.concatenate([[0], np.cumsum(extensions)])
    return Level(np.arange(vocabulary, dtype=np.int32), count, first, followed, np.empty(0, np.int64))
