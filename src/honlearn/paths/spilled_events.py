"""Event tables that do not fit the memory they may take: rows wait on disk, divided by sequence.

In: the rows of an event table as integers. Out: the paths that :mod:`honlearn.paths.events` makes of them in
memory. Blocks of rows go to temporary files as they were read. Once all are known, they are divided into
ranges of sequences, each small enough to be put in order in memory, and read range by range. Orders that need
:class:`decimal.Decimal` have no fixed size; rows with these are put in order in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import DiskArray
from honlearn.paths.arrange import count_rows, scatter, scatter_both, sort_each
from honlearn.paths.events import Events, cut_at_gaps, paths_of
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions
from honlearn.paths.orders import Orders, alike, converted
from honlearn.paths.paths import PathChunk
from honlearn.paths.sequences import SequenceNumbers

# Bytes of a row while its range is put in order: read, and at its place.
_ROW = 32
# Files that are open at once: three for each range.
_MOST_RANGES = 256


class _File:
    """A column of all blocks in one file, however many they are: a system allows a thousand open files or so.

    It holds bytes, since a column is of another type in another block.
    """

    def __init__(self) -> None:
        self._bytes = DiskArray(np.uint8)

    def append(self, values: NDArray[Any]) -> Callable[[], NDArray[Any]]:
        """Write the values of a block; return what reads them."""
        start = len(self._bytes)
        self._bytes.append(np.ascontiguousarray(values).view(np.uint8))
        stop = len(self._bytes)
        return lambda: self._bytes.read(start, stop).view(values.dtype)

    def close(self) -> None:
        self._bytes.close()


class _Block:
    """Rows on disk, in the order in which they were read; `bounds` are the least and the greatest order."""

    def __init__(
        self, sequences: NDArray[np.int32], codes: NDArray[Any], orders: Orders | None, files: list[_File]
    ) -> None:
        self.read_sequences, self.read_codes = files[0].append(sequences), files[1].append(codes)
        self.bounds: Orders | None = None
        if orders is not None:
            self._read_orders = files[2].append(orders.values)
            ends = [orders.values.min(), orders.values.max()] if len(orders.values) else []
            self.bounds = Orders(np.array(ends, orders.values.dtype), orders.places)

    def read_orders(self) -> Orders | None:
        return None if self.bounds is None else Orders(self._read_orders(), self.bounds.places)


class SpilledEvents(Events):
    """The rows of an event table, of which those beyond `memory` bytes lie on disk."""

    def __init__(self, options: ReaderOptions, interner: Interner, memory: int) -> None:
        super().__init__(options, interner)
        self.memory = memory
        self._blocks: list[_Block] = []
        self._files: list[_File] = []

    def fresh(self) -> SpilledEvents:
        """Return the like of it without rows, to read again into."""
        self._close()
        return SpilledEvents(self.options, self.interner, self.memory)

    def _after_batch(self) -> None:
        """Move the rows so far to disk if they take too much."""
        rows = sum(map(len, self.codes))
        if rows * _ROW > self.memory and not self._has_decimals():
            self._join_loose()
            if self._has_decimals():  # batches without any that together fit no whole numbers
                return
            self._files = self._files or [_File() for _ in self.wanted]
            for i, (sequences, codes) in enumerate(zip(self.sequences, self.codes, strict=True)):
                orders = self.orders[i] if self.orders else None
                self._blocks.append(_Block(sequences, codes, orders, self._files))
            for batches in (self.sequences, self.codes, self.orders):
                batches.clear()

    def _has_decimals(self) -> bool:
        return any(orders.values.dtype == object for orders in self.orders)

    def paths(self) -> Iterator[PathChunk]:
        """Yield the paths, range by range of their sequences."""
        if not self._blocks:
            yield from paths_of(self)
            return
        kind, self.places = self._order_type()
        if kind is object:
            self._read_back()
            yield from paths_of(self)
            return
        counts = np.zeros(len(self.numbers) + 2, np.int64)
        self.numbers = SequenceNumbers()  # the table of ids is large and has done its work
        for sequences, _, _ in self._rows(kind):
            count_rows(sequences, counts, -1)
        offsets = np.cumsum(counts)[1:]
        bounds = _ranges(offsets, max(self.memory // _ROW, 1))
        for (start, stop), files in zip(pairwise(bounds), self._divided(kind, bounds), strict=True):
            yield from self._range(files, offsets[start : stop + 1] - offsets[start], start, kind)

    def _order_type(self) -> tuple[Any, int]:
        """Return the type and the places that all orders have in common; None where there are none."""
        bounds = [block.bounds for block in self._blocks if block.bounds is not None]
        bounds += [
            Orders(np.array([o.values.min(), o.values.max()], o.values.dtype), o.places)
            for o in self.orders
            if len(o.values)
        ]
        if not bounds:
            return None, 0
        same = alike(bounds)
        dtype = same[0].values.dtype
        return object if dtype.kind == "O" else dtype.type, same[0].places

    def _rows(self, kind: Any) -> Iterator[tuple[NDArray[np.int32], NDArray[Any], NDArray[Any] | None]]:
        """Yield all rows as they were read, block by block; orders are of one type."""
        for block in self._blocks:
            orders = block.read_orders()
            values = None if orders is None else converted(orders, kind, self.places).values
            yield block.read_sequences(), block.read_codes(), values
        for i, (sequences, codes) in enumerate(zip(self.sequences, self.codes, strict=True)):
            mine = converted(self.orders[i], kind, self.places).values if self.orders else None
            yield sequences, codes, mine

    def _divided(self, kind: Any, bounds: list[int]) -> list[list[DiskArray]]:
        """Return files of sequences, codes and orders for each range of sequences."""
        types = [np.int32, np.int32] + ([] if kind is None else [kind])
        files = [[DiskArray(one) for one in types] for _ in bounds[1:]]
        for sequences, codes, orders in self._rows(kind):
            which = np.searchsorted(bounds, sequences, "right") - 1
            order = np.argsort(which, kind="stable")
            cuts = np.searchsorted(which[order], np.arange(len(bounds)))
            columns = [sequences, codes] if orders is None else [sequences, codes, orders]
            for file, (a, b) in zip(files, pairwise(cuts.tolist()), strict=True):
                for array, column in zip(file, columns, strict=True):
                    array.append(column[order[a:b]])
        self._close()
        for batches in (self.sequences, self.codes, self.orders):
            batches.clear()
        return files

    def _range(
        self, files: list[DiskArray], offsets: NDArray[np.int64], start: int, kind: Any
    ) -> Iterator[PathChunk]:
        """Yield the paths of one range of sequences."""
        sequences, given, *rest = (file.read(0, len(file)) for file in files)
        for file in files:
            file.close()
        sequences -= np.int32(start)
        # The place of sequence s is at s + 1, and moves on.
        cursor = np.concatenate([[0], offsets])
        codes, orders = np.empty(len(given), np.int32), None
        if kind is None:
            scatter(sequences, given, cursor, codes)
        else:
            orders = np.empty(len(given), kind)
            scatter_both(sequences, given, rest[0], cursor, codes, orders)
            sort_each(codes, orders, offsets)
        yield from cut_at_gaps(self, codes, orders, offsets)

    def _read_back(self) -> None:
        """Take all rows from disk again."""
        self.sequences[:0] = [block.read_sequences() for block in self._blocks]
        self.codes[:0] = [block.read_codes() for block in self._blocks]
        self.orders[:0] = [orders for b in self._blocks if (orders := b.read_orders()) is not None]
        self._close()

    def _close(self) -> None:
        """Give the disk of the blocks back."""
        for file in self._files:
            file.close()


def _ranges(offsets: NDArray[np.int64], most: int) -> list[int]:
    """Return where ranges of sequences begin, and the end; each has at most about `most` rows.

    >>> _ranges(np.array([0, 3, 4, 9, 10]), 5)
    [0, 2, 3, 4]
    """
    most = max(most, -(-int(offsets[-1]) // (_MOST_RANGES // 2)))
    bounds, n = [0], len(offsets) - 1
    while bounds[-1] < n:
        end = int(np.searchsorted(offsets, offsets[bounds[-1]] + most, "right")) - 1
        bounds.append(min(max(end, bounds[-1] + 1), n))
    return bounds
