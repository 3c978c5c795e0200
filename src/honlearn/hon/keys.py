"""Keys of windows: k + 1 entities packed into one 64-bit word, and the compiled steps that count them.

In: chunks of codes. Out: keys, oldest entity in the highest bits, so that their order is that of the codes;
sorted runs of (keys, counts), and the sum of two. :mod:`honlearn.hon.wide_keys` does the same with two words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit

PAD, END, FIRST = 0, 1, 2
DIGIT = 11
_SHORT = 6

Run = tuple[NDArray[np.uint64], NDArray[np.int64]]


def capacity(order: int) -> int:
    """Return the largest vocabulary whose windows of k + 1 entities fit a 64-bit key; below 1 for none."""
    return (1 << min(64 // (order + 1), 31)) - FIRST


@njit
def fill(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    weights: NDArray[np.int64],
    order: int,
    bits: int,
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    state: NDArray[np.int64],
) -> bool:
    """Append windows from where `state` (path, position, keys used) stands; False when the buffer is full."""
    shift = np.uint64(bits)
    width = (order + 1) * bits
    mask = ~np.uint64(0) if width == 64 else (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    path, position, used = state[0], state[1], state[2]
    reach = order + _SHORT
    while path < len(offsets) - 1:
        start, end = offsets[path], offsets[path + 1]
        key = last = np.uint64(0)
        length = end - start
        if position == start and length <= reach and start + reach <= len(codes) and used + reach < len(keys):
            # Most paths are short, and no processor can predict how short: they take a loop of fixed length,
            # and what it writes beyond the path's own windows is overwritten by the next path.
            for j in range(order):
                key = (key << shift) | np.uint64(codes[np.uint64(start + j)] + FIRST)
                last = key if j < length else last
            keys[np.uint64(used)] = last
            for j in range(_SHORT):
                key = ((key << shift) | np.uint64(codes[np.uint64(start + order + j)] + FIRST)) & mask
                keys[np.uint64(used + 1 + j)] = key
            whole = max(length - order, 0)
            keys[np.uint64(used)] = ((keys[np.uint64(used + whole)] << shift) | np.uint64(END)) & mask
            if len(weights):
                counts[used : used + whole + 1] = weights[path]
            used += whole + 1
            path += 1
            position = end
            continue
        for i in range(max(start, position - order), position):
            key = (key << shift) | np.uint64(codes[i] + FIRST)
        while position <= end:
            if used == len(keys):
                state[0], state[1], state[2] = path, position, used
                return False
            symbol = np.uint64(codes[position] + FIRST) if position < end else np.uint64(END)
            key = ((key << shift) | symbol) & mask
            if position - start >= order or position == end:
                keys[used] = key
                if len(weights):
                    counts[used] = weights[path]
                used += 1
            position += 1
        path += 1
        position = end
    state[0], state[1], state[2] = path, position, used
    return True


@njit
def _places(keys: NDArray[np.uint64], passes: int, digit: int) -> NDArray[np.int64]:
    """Return, for each pass of a radix sort, where the first key with each digit belongs."""
    mask = np.uint64((1 << digit) - 1)
    places = np.zeros((passes, (1 << digit) + 1), np.int64)
    for i in range(len(keys)):
        key = keys[i]
        for p in range(passes):
            places[p, (key & mask) + np.uint64(1)] += 1
            key >>= np.uint64(digit)
    for p in range(passes):
        for d in range(1 << digit):
            places[p, d + 1] += places[p, d]
    return places


@njit
def _radix_pass(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    to_keys: NDArray[np.uint64],
    to_counts: NDArray[np.int64],
    place: NDArray[np.int64],
    shift: int,
    digit: int,
) -> None:
    """Sort stably by the `digit` bits from `shift` on; counts travel along when there are any."""
    mask = np.uint64((1 << digit) - 1)
    for i in range(len(keys)):
        d = (keys[i] >> np.uint64(shift)) & mask
        to = np.uint64(place[d])
        place[d] += 1
        to_keys[to] = keys[i]
        if len(counts):
            to_counts[to] = counts[i]


@njit
def _runs(
    keys: NDArray[np.uint64], counts: NDArray[np.int64], out: NDArray[np.uint64], sums: NDArray[np.int64]
) -> int:
    """Write each distinct key of the sorted `keys` once, with its sum; return how many there are."""
    n, total = -1, np.int64(0)
    before = ~keys[0] if len(keys) else np.uint64(0)
    # Whether a key repeats the one before it is beyond prediction, so there is no branch: each key writes its
    # running total, and the last of its like has the last word.
    for i in range(len(keys)):
        n += keys[i] != before
        before = keys[i]
        total += counts[i] if len(counts) else 1
        out[np.uint64(n)] = before
        sums[np.uint64(n)] = total
    for i in range(n, 0, -1):
        sums[i] -= sums[i - 1]
    return n + 1


@njit
def _sort_and_sum(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    spare: NDArray[np.uint64],
    spare_counts: NDArray[np.int64],
    sums: NDArray[np.int64],
    passes: int,
    digit: int,
) -> int:
    """Sort in `passes` between `keys` and `spare`; the distinct keys go where the sorted ones are not."""
    places = _places(keys, passes, digit)
    for i in range(passes):
        _radix_pass(keys, counts, spare, spare_counts, places[i], i * digit, digit)
        keys, spare, counts, spare_counts = spare, keys, spare_counts, counts
    return _runs(keys, counts, spare, sums)


def sort_and_sum(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    width: int,
    spare: NDArray[np.uint64] | None = None,
    sums: NDArray[np.int64] | None = None,
) -> Run:
    """Return the distinct keys (of `width` bits), sorted, each with its sum; no `counts`: one each.

    The keys and counts are scrambled. `spare` and `sums`, as long as the keys, save making new memory.
    """
    passes = -(-width // DIGIT)
    spare = np.empty_like(keys) if spare is None else spare
    sums = np.empty(len(keys), np.int64) if sums is None else sums
    n = _sort_and_sum(keys, counts, spare, np.empty_like(counts), sums, passes, -(-width // passes))
    return (keys if passes % 2 else spare)[:n].copy(), sums[:n].copy()


@njit
def widen(keys: NDArray[np.uint64], order: int, bits: int, more: int) -> None:
    """Pack again with `more` bits per entity; the order of the keys stays."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(len(keys)):
        key = np.uint64(0)
        for j in range(order + 1):
            key |= ((keys[i] >> np.uint64(j * bits)) & mask) << np.uint64(j * more)
        keys[i] = key


@njit
def _merge(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    other_keys: NDArray[np.uint64],
    other_counts: NDArray[np.int64],
    out_keys: NDArray[np.uint64],
    out_counts: NDArray[np.int64],
) -> int:
    i = j = n = 0
    while i < len(keys) and j < len(other_keys):
        a, b = keys[i], other_keys[j]
        out_keys[n] = min(a, b)
        out_counts[n] = (counts[i] if a <= b else 0) + (other_counts[j] if b <= a else 0)
        i += a <= b
        j += b <= a
        n += 1
    while i < len(keys):
        out_keys[n], out_counts[n] = keys[i], counts[i]
        i += 1
        n += 1
    while j < len(other_keys):
        out_keys[n], out_counts[n] = other_keys[j], other_counts[j]
        j += 1
        n += 1
    return n


def merge(one: Run, two: Run) -> Run:
    """Return the sum of two sorted runs, sorted."""
    if len(one[0]) == 0 or len(two[0]) == 0:
        return two if len(one[0]) == 0 else one
    keys = np.empty(len(one[0]) + len(two[0]), np.uint64)
    counts = np.empty(len(keys), np.int64)
    n = _merge(*one, *two, keys, counts)
    return keys[:n], counts[:n]
