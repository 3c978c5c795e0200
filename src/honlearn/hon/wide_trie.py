"""The trie of windows in keys of two words: sorted windows → one level for each gram length 1 … k + 1.

In: all windows with their counts, in ascending pieces (:mod:`honlearn.hon.count`). Out: the trie that
:mod:`honlearn.hon.trie` describes, in memory, or in temporary files where the windows were there too.

Every gram is the beginning of a window, or of what is left of a path's end from some entity on. Written from
the left and filled up with PAD, both sort by their entities; one walk over all of them meets each gram once,
its extensions behind it, and adds each row's count to all of its beginnings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import BLOCK, DiskArray
from honlearn.hon.disk_trie import link_on_disk
from honlearn.hon.keys import END, FIRST
from honlearn.hon.keys import sort_and_sum as sort_word
from honlearn.hon.spill import Columns, SpilledRun, few_runs, merge_ranges
from honlearn.hon.trie import Level, Trie, dense_level, link_suffixes
from honlearn.hon.wide_keys import WideRun, bits_at, merge, shifted, sort_and_sum
from honlearn.jit import njit


def wide_trie(pieces: Iterator[Columns], order: int, bits: int, vocabulary: int, on_disk: bool) -> Trie:
    """Return the trie of all counts from ascending pieces of windows, whose arrays it takes over."""
    rows = _rows_on_disk(pieces, order, bits) if on_disk else _rows(pieces, order, bits)
    walk = _Walk(order, bits, on_disk)
    for piece in rows:
        for start in range(0, len(piece[0]), BLOCK):
            walk.add(*(column[start : start + BLOCK] for column in piece))
    levels = walk.levels()
    levels[0] = dense_level(levels[0], vocabulary)
    return link_on_disk(levels) if on_disk else link_suffixes(levels)


def _rows(pieces: Iterator[Columns], order: int, bits: int) -> Iterator[Columns]:
    """Yield all rows, sorted, in one piece."""
    for piece in pieces:
        whole, ends = _divided(piece, bits)
        for tail in _tails(ends, order, bits):
            whole = merge(whole, tail)
        yield whole


def _rows_on_disk(pieces: Iterator[Columns], order: int, bits: int) -> Iterator[Columns]:
    """Yield all rows in ascending pieces, which are about as large as those that come in."""
    windows = SpilledRun((np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64)))
    tails: list[SpilledRun] = []
    most = BLOCK
    for piece in pieces:
        most = max(most, len(piece[0]))
        whole, ends = _divided(piece, bits)
        windows.append(whole)
        for start in range(0, len(ends[0]), BLOCK):
            some = (
                ends[0][start : start + BLOCK],
                ends[1][start : start + BLOCK],
                ends[2][start : start + BLOCK],
            )
            for tail in _tails(some, order, bits):
                tails = few_runs([*tails, SpilledRun(tail)], most, merge)
    yield from merge_ranges([windows, *tails], most, merge)
    for run in (windows, *tails):
        run.close()


def _divided(piece: Columns, bits: int) -> tuple[WideRun, WideRun]:
    """Return the windows of a piece that are whole, and those that end in END."""
    highs, lows, counts = piece
    ended = (lows & np.uint64((1 << bits) - 1)) == END
    at, others = np.flatnonzero(ended), np.flatnonzero(~ended)
    return (highs[others], lows[others], counts[others]), (highs[at], lows[at], counts[at])


def _tails(ends: WideRun, order: int, bits: int) -> Iterator[WideRun]:
    """Yield the last 1 … k entities of paths, each length as sorted rows that are filled up with PAD."""
    highs, lows, counts = ends
    width = (order + 1) * bits
    for length in range(1, order + 1):
        there, last_highs, last_lows = _last(highs, lows, length, order, bits)
        if not there.any():
            continue
        run: WideRun = last_highs[there], last_lows[there], counts[there]
        if length * bits <= 64:
            # Most tails fit one word, which is sorted in half of the time.
            keys, sums = sort_word(run[1], run[2], length * bits)
            run = np.zeros(len(keys), np.uint64), keys, sums
        elif length < order:  # else nothing was cut off, so they are distinct and sorted already
            run = sort_and_sum(*run, length * bits)
        _move_left(run[0], run[1], (order + 1 - length) * bits, width)
        yield run


@njit
def _last(
    highs: NDArray[np.uint64], lows: NDArray[np.uint64], length: int, order: int, bits: int
) -> tuple[NDArray[np.bool_], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return which paths have so many entities, and the last of them, in the lowest bits and without END."""
    mask, width = (np.uint64(1) << np.uint64(bits)) - np.uint64(1), length * bits
    there = np.empty(len(lows), np.bool_)
    to_highs, to_lows = np.empty_like(highs), np.empty_like(lows)
    for i in range(len(lows)):
        there[i] = bits_at(highs[i], lows[i], length * bits, mask) >= np.uint64(FIRST)
        high, low = highs[i] >> np.uint64(bits), bits_at(highs[i], lows[i], bits, ~np.uint64(0))
        if width < 64:
            low &= (np.uint64(1) << np.uint64(width)) - np.uint64(1)
        if width <= 64:
            high = np.uint64(0)
        else:
            high &= (np.uint64(1) << np.uint64(width - 64)) - np.uint64(1)
        to_highs[i], to_lows[i] = high, low
    return there, to_highs, to_lows


@njit
def _move_left(highs: NDArray[np.uint64], lows: NDArray[np.uint64], by: int, width: int) -> None:
    """Move keys to the left end of `width` bits, in place."""
    for i in range(len(lows)):
        highs[i], lows[i] = shifted(highs[i], lows[i], by, width)


class _Walk:
    """A walk over ascending rows, which writes the grams of every length as it meets them.

    The last gram of each length may go on in the next rows, so it is held back.
    """

    def __init__(self, order: int, bits: int, on_disk: bool) -> None:
        self.order, self.bits = order, bits
        self.made = np.zeros(order + 1, np.int64)
        self.last = np.zeros(order + 1, np.uint64)
        self.held = np.zeros((3, order + 1), np.int64)
        kind = DiskArray if on_disk else _Parts
        types: tuple[type[np.generic], ...] = (np.int32, np.int64, np.int64, np.int64)
        # The longest grams have no extensions.
        self.columns: list[list[Any]] = [
            [kind(one) for one in types[: 4 if m < order else 2]] for m in range(order + 1)
        ]

    def add(self, highs: NDArray[np.uint64], lows: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        """Take in more rows."""
        shape = self.order + 1, len(lows) + 1
        found: list[Any] = [np.empty(shape, np.int32), *(np.empty(shape, np.int64) for _ in range(3))]
        sizes = _walk(highs, lows, counts, self.bits, self.made, self.last, self.held, *found)
        for m, n in enumerate(sizes.tolist()):
            for column, values in zip(self.columns[m], found, strict=False):
                column.append(values[m, :n])

    def levels(self) -> list[Level]:
        """Return the levels, without suffixes."""
        nothing, found = np.empty(0, np.int64), []
        for m, columns in enumerate(self.columns):
            if self.made[m]:
                held = np.array([self.last[m]]).astype(np.int32) - np.int32(FIRST), *self.held[:, m : m + 1]
                for column, values in zip(columns, held, strict=False):
                    column.append(values)
            if m < self.order:
                columns[2].append(self.made[m + 1 : m + 2])
            arrays = [column.mapped() for column in columns]
            found.append(Level(*arrays, *([nothing] * (5 - len(arrays)))))
        return found


class _Parts:
    """An array in memory that only grows."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._parts = [np.empty(0, dtype)]

    def append(self, values: NDArray[Any]) -> None:
        self._parts.append(values.astype(self._parts[0].dtype))

    def mapped(self) -> NDArray[Any]:
        return np.concatenate(self._parts)


@njit
def _walk(
    highs: NDArray[np.uint64],
    lows: NDArray[np.uint64],
    counts: NDArray[np.int64],
    bits: int,
    made: NDArray[np.int64],
    last: NDArray[np.uint64],
    held: NDArray[np.int64],
    newest: NDArray[np.int32],
    count: NDArray[np.int64],
    first: NDArray[np.int64],
    followed: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Write the grams that end in these rows; return how many of each length.

    `made` are the grams so far, that at hand among them; `held` has its count, first extension and c(g), and
    `last` the entities of the row before.
    """
    levels = len(made)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    sizes = np.zeros(levels, np.int64)
    for i in range(len(lows)):
        new = False
        for m in range(levels):
            entity = bits_at(highs[i], lows[i], (levels - 1 - m) * bits, mask)
            if entity < np.uint64(FIRST):
                break
            new |= made[m] == 0 or entity != last[m] or (m > 0 and made[m] == held[1, m - 1])
            if new:
                if made[m]:
                    n = sizes[m]
                    newest[m, n] = np.int64(last[m]) - FIRST
                    count[m, n], first[m, n], followed[m, n] = held[0, m], held[1, m], held[2, m]
                    sizes[m] += 1
                made[m] += 1
                last[m] = entity
                held[0, m], held[2, m] = 0, 0
                held[1, m] = made[m + 1] if m + 1 < levels else 0
            held[0, m] += counts[i]
            if m:
                held[2, m - 1] += counts[i]
    return sizes
