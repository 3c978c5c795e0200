"""Events → paths: the compiled steps that group rows by sequence, order each, and cut at gaps.

In: per event the number of its sequence, its entity code and its place in the order. Out: codes and offsets
of paths, by first appearance of their sequence. Linear but for sequences that arrive out of order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit

# Up to so many rows are sorted by insertion; more are cut into runs of so many, which are merged.
_SHORT, _RUN = 48, 12


@njit
def count_rows(sequences: NDArray[np.int32], counts: NDArray[np.int64], last: int) -> int:
    """Add each row of sequence s to ``counts[s + 2]``; return the last s, or −1 once rows are not grouped.

    Summed up, ``counts[s + 1]`` is where s starts; the scatter moves it to where s ends, which is its offset.
    """
    for i in range(len(sequences)):
        counts[sequences[i] + 2] += 1
        if last >= 0:
            last = sequences[i] if sequences[i] >= last else -1
    return last


@njit
def scatter(
    sequences: NDArray[np.int32], values: NDArray[Any], cursor: NDArray[np.int64], out: NDArray[Any]
) -> None:
    """Put each value at the next free place of its sequence; `cursor` moves on."""
    for i in range(len(sequences)):
        place = cursor[sequences[i] + 1]
        out[place] = values[i]
        cursor[sequences[i] + 1] = place + 1


@njit
def scatter_both(
    sequences: NDArray[np.int32],
    codes: NDArray[Any],
    orders: NDArray[Any],
    cursor: NDArray[np.int64],
    out_codes: NDArray[Any],
    out_orders: NDArray[Any],
) -> None:
    """Put each code and its order at the next free place of its sequence; `cursor` moves on."""
    for i in range(len(sequences)):
        place = cursor[sequences[i] + 1]
        out_codes[place] = codes[i]
        out_orders[place] = orders[i]
        cursor[sequences[i] + 1] = place + 1


@njit
def sort_each(codes: NDArray[Any], orders: NDArray[Any], offsets: NDArray[np.int64]) -> None:
    """Sort the codes of each sequence by their orders, in place and stably, unless they ascend already.

    Short runs are sorted by insertion and merged. (NumPy's sort takes several times as long to compile, once
    for each type of codes and orders.)
    """
    spare_codes, spare_orders = codes[:0].copy(), orders[:0].copy()
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        ascending = True
        for i in range(start + 1, stop):
            if orders[i] < orders[i - 1]:
                ascending = False
                break
        if ascending:
            continue
        width = stop - start if stop - start <= _SHORT else _RUN
        for first in range(start, stop, width):
            for i in range(first + 1, min(first + width, stop)):
                order, code = orders[i], codes[i]
                j = i - 1
                while j >= first and orders[j] > order:
                    orders[j + 1] = orders[j]
                    codes[j + 1] = codes[j]
                    j -= 1
                orders[j + 1] = order
                codes[j + 1] = code
        if len(spare_codes) < stop - start > width:
            spare_codes, spare_orders = np.empty_like(codes[start:stop]), np.empty_like(orders[start:stop])
        while width < stop - start:
            for first in range(start, stop - width, 2 * width):
                middle = first + width
                if orders[middle] < orders[middle - 1]:
                    last = min(middle + width, stop)
                    _merge(codes, orders, first, middle, last, spare_codes, spare_orders)
            width *= 2


@njit
def _merge(
    codes: NDArray[Any],
    orders: NDArray[Any],
    start: int,
    middle: int,
    stop: int,
    spare_codes: NDArray[Any],
    spare_orders: NDArray[Any],
) -> None:
    """Merge two sorted runs that lie side by side, stably; the spare arrays hold the first meanwhile."""
    size = middle - start
    for i in range(size):
        spare_codes[i], spare_orders[i] = codes[start + i], orders[start + i]
    left, right, place = 0, middle, start
    while left < size:
        if right < stop and orders[right] < spare_orders[left]:
            codes[place], orders[place] = codes[right], orders[right]
            right += 1
        else:
            codes[place], orders[place] = spare_codes[left], spare_orders[left]
            left += 1
        place += 1


@njit
def after_gap(orders: NDArray[Any], gap: np.uint64) -> NDArray[np.bool_]:
    """Return which rows are more than `gap` after the row before, for whole numbers of up to 64 bits.

    Where a row is after the one before it, the difference of the two as unsigned numbers is exact, even from
    the least to the greatest; other rows start a sequence, where it is not used.
    """
    out = np.zeros(len(orders), np.bool_)
    for i in range(1, len(orders)):
        out[i] = np.uint64(np.int64(orders[i])) - np.uint64(np.int64(orders[i - 1])) > gap
    return out


@njit
def after_wide_gap(ranks: NDArray[np.int64], reach: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows are beyond the last rank that the row before them reaches."""
    out = np.zeros(len(ranks), np.bool_)
    for i in range(1, len(ranks)):
        out[i] = ranks[i] > reach[ranks[i - 1]]
    return out


@njit
def cut(offsets: NDArray[np.int64], far: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return offsets with a cut before every row that is `far` from the row before it in its sequence."""
    cuts = 0
    for s in range(len(offsets) - 1):
        for i in range(offsets[s] + 1, offsets[s + 1]):
            cuts += far[i]
    out = np.empty(len(offsets) + cuts, np.int64)
    out[0] = 0
    n = 1
    for s in range(len(offsets) - 1):
        for i in range(offsets[s] + 1, offsets[s + 1]):
            if far[i]:
                out[n] = i
                n += 1
        out[n] = offsets[s + 1]
        n += 1
    return out
