"""Keys of windows that do not fit one word: k + 1 entities in two words of 64 bits, 128 in all.

In, out and the order of keys are those of :mod:`honlearn.hon.keys`; a run is (high words, low words, counts).
Entity j of a window, counted from the newest, stands at bit j·bits of the two words together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.keys import DIGIT, END, FIRST, PAD
from honlearn.jit import njit

WideRun = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]


def wide_capacity(order: int) -> int:
    """Return the largest vocabulary whose windows of k + 1 entities fit two words; below 1 for none."""
    return (1 << min(128 // (order + 1), 31)) - FIRST


@njit
def bits_at(high: np.uint64, low: np.uint64, shift: int, mask: np.uint64) -> np.uint64:
    """Return the bits of a key from `shift` on, as many as `mask` has."""
    if shift >= 64:
        return (high >> np.uint64(shift - 64)) & mask
    if shift == 0:
        return low & mask
    return ((low >> np.uint64(shift)) | (high << np.uint64(64 - shift))) & mask


@njit
def shifted(high: np.uint64, low: np.uint64, by: int, width: int) -> tuple[np.uint64, np.uint64]:
    """Return a key of `width` bits, more than 64, moved to the left by `by` bits; what overflows is lost."""
    if by >= 64:
        high, low = low << np.uint64(by - 64) if by < 128 else np.uint64(0), np.uint64(0)
    elif by > 0:
        high, low = (high << np.uint64(by)) | (low >> np.uint64(64 - by)), low << np.uint64(by)
    if width < 128:
        high &= (np.uint64(1) << np.uint64(width - 64)) - np.uint64(1)
    return high, low


@njit
def fill(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    weights: NDArray[np.int64],
    order: int,
    bits: int,
    highs: NDArray[np.uint64],
    lows: NDArray[np.uint64],
    counts: NDArray[np.int64],
    state: NDArray[np.int64],
) -> bool:
    """Append windows from where `state` (path, position, keys used) stands; False when the buffer is full."""
    width = (order + 1) * bits
    path, position, used = state[0], state[1], state[2]
    while path < len(offsets) - 1:
        start, end = offsets[path], offsets[path + 1]
        high = low = np.uint64(PAD)
        for i in range(max(start, position - order), position):
            high, low = shifted(high, low, bits, width)
            low |= np.uint64(codes[i] + FIRST)
        while position <= end:
            if used == len(lows):
                state[0], state[1], state[2] = path, position, used
                return False
            high, low = shifted(high, low, bits, width)
            low |= np.uint64(codes[position] + FIRST) if position < end else np.uint64(END)
            if position - start >= order or position == end:
                highs[used], lows[used] = high, low
                if len(weights):
                    counts[used] = weights[path]
                used += 1
            position += 1
        path += 1
        position = end
    state[0], state[1], state[2] = path, position, used
    return True


@njit
def _radix_pass(
    highs: NDArray[np.uint64],
    lows: NDArray[np.uint64],
    counts: NDArray[np.int64],
    to_highs: NDArray[np.uint64],
    to_lows: NDArray[np.uint64],
    to_counts: NDArray[np.int64],
    shift: int,
    digit: int,
) -> None:
    """Sort stably by the `digit` bits from `shift` on; counts travel along when there are any."""
    mask = np.uint64((1 << digit) - 1)
    place = np.zeros((1 << digit) + 1, np.int64)
    for i in range(len(lows)):
        place[bits_at(highs[i], lows[i], shift, mask) + np.uint64(1)] += 1
    for i in range(1 << digit):
        place[i + 1] += place[i]
    for i in range(len(lows)):
        d = bits_at(highs[i], lows[i], shift, mask)
        to = np.uint64(place[d])
        place[d] += 1
        to_highs[to], to_lows[to] = highs[i], lows[i]
        if len(counts):
            to_counts[to] = counts[i]


@njit
def _sort_and_sum(
    highs: NDArray[np.uint64],
    lows: NDArray[np.uint64],
    counts: NDArray[np.int64],
    spare_highs: NDArray[np.uint64],
    spare_lows: NDArray[np.uint64],
    spare_counts: NDArray[np.int64],
    sums: NDArray[np.int64],
    passes: int,
    digit: int,
) -> int:
    """Sort between the keys and the spare ones; the distinct keys go where the sorted ones are."""
    for i in range(passes):
        _radix_pass(
            highs, lows, counts, spare_highs, spare_lows, spare_counts, i * digit, digit
        )  # fmt: skip
        highs, spare_highs, lows, spare_lows = spare_highs, highs, spare_lows, lows
        counts, spare_counts = spare_counts, counts
    n = -1
    for i in range(len(lows)):
        count = counts[i] if len(counts) else 1
        if n >= 0 and lows[i] == lows[n] and highs[i] == highs[n]:
            sums[n] += count
        else:
            n += 1
            highs[n], lows[n], sums[n] = highs[i], lows[i], count
    return n + 1


def sort_and_sum(
    highs: NDArray[np.uint64],
    lows: NDArray[np.uint64],
    counts: NDArray[np.int64],
    width: int,
    spare_highs: NDArray[np.uint64] | None = None,
    spare_lows: NDArray[np.uint64] | None = None,
    sums: NDArray[np.int64] | None = None,
) -> WideRun:
    """Return the distinct keys (of `width` bits), sorted, each with its sum; no `counts`: one each.

    The keys and counts are scrambled. Spare keys and `sums`, as long as the keys, save making new memory.
    """
    passes = -(-width // DIGIT)
    spare_highs = np.empty_like(highs) if spare_highs is None else spare_highs
    spare_lows = np.empty_like(lows) if spare_lows is None else spare_lows
    sums = np.empty(len(lows), np.int64) if sums is None else sums
    n = _sort_and_sum(
        highs, lows, counts, spare_highs, spare_lows, np.empty_like(counts), sums, passes, -(-width // passes)
    )
    found = (spare_highs, spare_lows) if passes % 2 else (highs, lows)
    return found[0][:n].copy(), found[1][:n].copy(), sums[:n].copy()


@njit
def widen(highs: NDArray[np.uint64], lows: NDArray[np.uint64], order: int, bits: int, more: int) -> None:
    """Pack again with `more` bits per entity, more than one word in all; the order of the keys stays."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    width = (order + 1) * more
    for i in range(len(lows)):
        high = low = np.uint64(0)
        for j in range(order, -1, -1):
            high, low = shifted(high, low, more, width)
            low |= bits_at(highs[i], lows[i], j * bits, mask)
        highs[i], lows[i] = high, low


@njit
def _merge(
    highs: NDArray[np.uint64],
    lows: NDArray[np.uint64],
    counts: NDArray[np.int64],
    other_highs: NDArray[np.uint64],
    other_lows: NDArray[np.uint64],
    other_counts: NDArray[np.int64],
    out_highs: NDArray[np.uint64],
    out_lows: NDArray[np.uint64],
    out_counts: NDArray[np.int64],
) -> int:
    i = j = n = 0
    while i < len(lows) or j < len(other_lows):
        mine = j == len(other_lows)
        theirs = i == len(lows)
        if not (mine or theirs):
            high, low, other_high, other_low = highs[i], lows[i], other_highs[j], other_lows[j]
            mine = high < other_high or (high == other_high and low <= other_low)
            theirs = other_high < high or (high == other_high and other_low <= low)
        out_highs[n] = highs[i] if mine else other_highs[j]
        out_lows[n] = lows[i] if mine else other_lows[j]
        out_counts[n] = (counts[i] if mine else 0) + (other_counts[j] if theirs else 0)
        i += mine
        j += theirs
        n += 1
    return n


def merge(one: WideRun, two: WideRun) -> WideRun:
    """Return the sum of two sorted runs, sorted."""
    if len(one[0]) == 0 or len(two[0]) == 0:
        return two if len(one[0]) == 0 else one
    size = len(one[0]) + len(two[0])
    highs, lows, counts = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.int64)
    n = _merge(*one, *two, highs, lows, counts)
    return highs[:n], lows[:n], counts[:n]
