"""Sequence ids → numbers 0, 1, 2, … by first appearance; the ids themselves are not needed afterwards.

In: arrays of ids, whole numbers or text. Out: int32 numbers. Whole numbers, also those that stand in text
without leading zeros, need only be listed as long as they ascend, as in a sorted table; else they go through
a table of integers; when other text turns up, all goes through bytes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.hash_table import HashTable
from honlearn.jit import njit
from honlearn.paths.columns import as_text, first_uses, is_text, plain, spans, whole_numbers
from honlearn.paths.interner import Interner

# Numbers are int32.
_MOST = 2**31 - 1


class _AnyText(Interner):
    """An interner for ids that never become entities, so any bytes will do."""

    def __init__(self) -> None:
        super().__init__(max_name=None)

    def first_bad(self, known: int) -> tuple[int, str] | None:
        return None

    def raw_names(self) -> list[bytes]:
        """Return the bytes of each id, by its number."""
        raw = self.arena[: self.ends[self.size]].tobytes()
        return [raw[a:b] for a, b in pairwise(self.ends[: self.size + 1].tolist())]


class SequenceNumbers:
    """Numbers sequence ids by first appearance; 7, 7.0 and "7" are the same id, "007" is another."""

    def __init__(self) -> None:
        self._ascending: list[NDArray[np.int64]] | None = []
        self._listed = 0
        self._table = HashTable(np.int32)
        self._text: _AnyText | None = None

    def __len__(self) -> int:
        if self._text is not None:
            return len(self._text)
        return len(self._table) if self._ascending is None else self._listed

    def ids(self) -> list[str]:
        """Return the ids as text, by their numbers."""
        if self._text is not None:
            return [name.decode(errors="replace") for name in self._text.raw_names()]
        if self._ascending is not None:
            return [str(value) for values in self._ascending for value in values.tolist()]
        return [str(value) for value in self._table.keys_by_number().view(np.int64).tolist()]

    def number(self, array: pa.Array) -> NDArray[np.int32]:
        """Return the numbers of the ids in an array without missing values."""
        numbers = self._number(array)
        if len(self) > _MOST:
            raise InputError(f"more than {_MOST:,} different ids of sequences; divide the table into several")
        return numbers

    def _number(self, array: pa.Array) -> NDArray[np.int32]:
        array = plain(array)
        if pa.types.is_dictionary(array.type):
            used, place = first_uses(array.indices.cast(pa.int64()).to_numpy(), len(array.dictionary))
            return self._number(array.dictionary.take(pa.array(used)))[place]
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
            out, new, ascends = _number_ascending(values, self._last(), self._listed)
            if ascends:
                self._ascending.append(new)
                self._listed += len(new)
                return out
            self._turn_to_table()
        return self._table.number(values.view(np.uint64))

    def _last(self) -> int:
        """Return the greatest id so far, the last of those listed."""
        listed = (ids for ids in reversed(self._ascending or []) if len(ids))
        return int(next(listed, np.full(1, np.iinfo(np.int64).min))[-1])

    def _turn_to_table(self) -> None:
        """Put the listed ids into the table, because one came that is not greater than all before it."""
        if self._ascending is not None:
            for values in self._ascending:
                self._table.number(values.view(np.uint64))
            self._ascending = None

    def _turn_to_text(self) -> None:
        self._turn_to_table()
        ids = self._table.keys_by_number().view(np.int64)
        self._text = _AnyText()
        self._text.intern(*spans(pa.array(ids).cast(pa.large_string())))
        self._table = HashTable(np.int32)


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
