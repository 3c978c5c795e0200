"""Sequence ids → numbers 0, 1, 2, … by first appearance; the ids themselves are not needed afterwards.

In: arrays of ids, whole numbers or text. Out: int32 numbers. Whole numbers, also those that stand in text
without leading zeros, need only be listed as long as they ascend, as in a sorted table; else they go through
a table of integers; when other text turns up, all goes through bytes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from honlearn.jit import njit
from honlearn.paths.columns import as_text, first_uses, is_text, plain, spans, whole_numbers
from honlearn.paths.interner import Interner

_MIX = np.uint64(0x9E3779B97F4A7C15)
_FULLEST = 0.7


class _AnyText(Interner):
    """An interner for ids that never become entities, so any bytes will do."""

    def __init__(self) -> None:
        super().__init__(max_name=None)

    def first_bad(self, known: int) -> tuple[int, str] | None:
        return None


class SequenceNumbers:
    """Numbers sequence ids by first appearance; 7, 7.0 and "7" are the same id, "007" is another."""

    def __init__(self) -> None:
        self._keys = np.zeros(1, np.int64)
        self._numbers = np.full(1, -1, np.int32)
        self._size = 0
        self._ascending: list[NDArray[np.int64]] | None = []
        self._text: _AnyText | None = None

    def __len__(self) -> int:
        return self._size if self._text is None else len(self._text)

    def number(self, array: pa.Array) -> NDArray[np.int32]:
        """Return the numbers of the ids in an array without missing values."""
        array = plain(array)
        if pa.types.is_dictionary(array.type):
            used, place = first_uses(array.indices.cast(pa.int64()).to_numpy(), len(array.dictionary))
            return self.number(array.dictionary.take(pa.array(used)))[place]
        if pa.types.is_floating(array.type):
            array = whole_numbers(array)
        if self._text is None:
            if pa.types.is_integer(array.type) and array.type != pa.uint64():
                return self._number_integers(array.cast(pa.int64()).to_numpy())
            if is_text(array.type):
                values, fit = _integers_in(*spans(array))
                if fit:
                    return self._number_integers(values)
            self._turn_to_text()
        assert self._text is not None
        return self._text.intern(*spans(as_text(array)))

    def _number_integers(self, values: NDArray[np.int64]) -> NDArray[np.int32]:
        if self._ascending is not None:
            out, new, ascends = _number_ascending(values, self._last(), self._size)
            if ascends:
                self._ascending.append(new)
                self._size += len(new)
                return out
            self._turn_to_table()
        if self._size + len(values) > _FULLEST * len(self._keys):
            self._grow(self._size + len(values))
        numbers, self._size = _number(values, self._keys, self._numbers, self._size)
        return numbers

    def _last(self) -> int:
        """Return the greatest id so far, the last of those listed."""
        listed = (ids for ids in reversed(self._ascending or []) if len(ids))
        return int(next(listed, np.full(1, np.iinfo(np.int64).min))[-1])

    def _turn_to_table(self) -> None:
        """Put the listed ids into the table, because one came that is not greater than all before it."""
        if self._ascending is not None:
            ids, self._ascending, self._size = self._ascending, None, 0
            for values in ids:
                self._number_integers(values)

    def _grow(self, room: int) -> None:
        slots = len(self._keys)
        while room > _FULLEST * slots:
            slots *= 2
        keys, numbers = np.zeros(slots, np.int64), np.full(slots, -1, np.int32)
        _move(self._keys, self._numbers, keys, numbers)
        self._keys, self._numbers = keys, numbers

    def _turn_to_text(self) -> None:
        self._turn_to_table()
        taken = self._numbers >= 0
        ids = np.empty(self._size, np.int64)
        ids[self._numbers[taken]] = self._keys[taken]
        self._text = _AnyText()
        self._text.intern(*spans(pa.array(ids).cast(pa.large_string())))
        self._keys, self._numbers = np.zeros(1, np.int64), np.full(1, -1, np.int32)


@njit(inline="always")
def _slot(key: np.int64, keys: NDArray[np.int64], numbers: NDArray[np.int32]) -> int:
    mask = np.uint64(len(keys) - 1)
    mixed = np.uint64(key) * _MIX
    slot = (mixed ^ (mixed >> np.uint64(32))) & mask
    while numbers[slot] >= 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot  # type: ignore[return-value]


@njit
def _number_ascending(
    values: NDArray[np.int64], last: int, size: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], bool]:
    """Number ids that never go down from `last` on; return the numbers, the new ids, and whether it is so."""
    out = np.empty(len(values), np.int32)
    new = np.empty(len(values), np.int64)
    n = 0
    for i in range(len(values)):
        if values[i] < last:
            return out, new[:0], False
        if values[i] > last or size + n == 0:
            last = new[n] = values[i]
            n += 1
        out[i] = size + n - 1
    return out, new[:n].copy(), True


@njit
def _number(
    values: NDArray[np.int64], keys: NDArray[np.int64], numbers: NDArray[np.int32], size: int
) -> tuple[NDArray[np.int32], int]:
    out = np.empty(len(values), np.int32)
    for i in range(len(values)):
        if i > 0 and values[i] == values[i - 1]:  # rows of a sequence mostly stand together
            out[i] = out[i - 1]
            continue
        slot = _slot(values[i], keys, numbers)
        if numbers[slot] < 0:
            keys[slot] = values[i]
            numbers[slot] = size
            size += 1
        out[i] = numbers[slot]
    return out, size


@njit
def _move(
    old_keys: NDArray[np.int64], old: NDArray[np.int32], keys: NDArray[np.int64], numbers: NDArray[np.int32]
) -> None:
    for i in range(len(old)):
        if old[i] >= 0:
            slot = _slot(old_keys[i], keys, numbers)
            keys[slot] = old_keys[i]
            numbers[slot] = old[i]


@njit
def _integers_in(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], bool]:
    """Return the whole numbers that the texts spell, and whether all do, in the one way str() has."""
    out = np.empty(len(starts), np.int64)
    for i in range(len(starts)):
        size = ends[i] - starts[i]
        if size < 1 or size > 18 or (size > 1 and data[starts[i]] == 48):
            return out, False
        value = np.int64(0)
        for j in range(starts[i], ends[i]):
            digit = np.int64(data[j]) - 48
            if digit < 0 or digit > 9:
                return out, False
            value = 10 * value + digit
        out[i] = value
    return out, True
