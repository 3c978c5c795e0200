"""Event tables (sequence, order, entity; one event per row) → paths.

In: the parts of a table. Rows may be in any order and sequences interleaved. Out: chunks of paths, by first
appearance of their sequence. Only numbers stay in memory: 6 or 8 bytes per row, and 1 to 8 for the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError, first_line
from honlearn.paths.arrange import (
    after_gap,
    after_wide_gap,
    count_rows,
    cut,
    scatter,
    scatter_both,
    sort_each,
)
from honlearn.paths.columns import entity_codes, holds_text, missing, plain, type_name
from honlearn.paths.delimited import ConversionError
from honlearn.paths.interner import BadName, Interner
from honlearn.paths.options import SKIP_EMPTY, Gap, ReaderOptions
from honlearn.paths.orders import (
    TEXT,
    TIMES,
    BadOrder,
    Orders,
    alike,
    from_text,
    joined,
    order_unit,
    order_values,
    ranked,
    reaches,
    times_from_text,
)
from honlearn.paths.parts import Part
from honlearn.paths.paths import PathChunk
from honlearn.paths.sequences import SequenceNumbers
from honlearn.paths.time_format import parse_times
from honlearn.paths.unix_times import UNITS, UnixUnits
from honlearn.progress import Advance

Rows = TypeVar("Rows", bound="Events")
Began = Callable[["Events", NDArray[Any]], None]
"""What is called with arranged events and the orders of the first steps of their paths [n]."""

_TOKENS_A_CHUNK = 1 << 20
_ROWS_A_BLOCK = 1 << 21


def paths_of(events: Events, began: Began | None = None) -> Iterator[PathChunk]:
    """Yield the paths of gathered events; `began` is called before them, with the orders of first steps."""
    codes, orders, offsets = events.arranged()
    yield from cut_at_gaps(events, codes, orders, offsets, began)


def cut_at_gaps(
    events: Events,
    codes: NDArray[Any],
    orders: NDArray[Any] | None,
    offsets: NDArray[np.int64],
    began: Began | None = None,
) -> Iterator[PathChunk]:
    """Yield the paths of arranged rows, cut where a step is larger than the maximum gap."""
    options = events.options
    if options.gap is not None and orders is not None:
        offsets = cut(offsets, events.far_apart(orders, events.gap_in_units(options.gap)))
    if began is not None and orders is not None:
        began(events, orders[offsets[:-1]])
    del orders
    start, paths = 0, len(offsets) - 1
    while start < paths:
        stop = int(np.searchsorted(offsets, offsets[start] + _TOKENS_A_CHUNK, "right")) - 1
        stop = min(max(stop, start + 1), paths)
        a, b = offsets[start], offsets[stop]
        yield PathChunk(codes[a:b].astype(np.int32), offsets[start : stop + 1] - a, None)
        start = stop


class Events:
    """The rows of an event table as integers, batch by batch as they were read.

    Once they are arranged, an order is ``order / 10**places``, or the rank of one of the `distinct` values.
    """

    roles = ("sequence", "entity", "order")

    def __init__(self, options: ReaderOptions, interner: Interner) -> None:
        self.options = options
        self.interner = interner
        self.numbers = SequenceNumbers()
        self.order_type: Any = None
        self.sequences: list[NDArray[np.int32]] = []
        self.codes: list[NDArray[np.int32] | NDArray[np.uint16]] = []
        self.orders: list[Orders] = []
        self.places = 0
        self.distinct: list[Decimal] | None = None
        self._loose = 0
        self._unix = UnixUnits()

    def fresh(self: Rows) -> Rows:
        """Return the like of it without rows, to read again into."""
        return type(self)(self.options, self.interner)

    @property
    def wanted(self) -> list[str]:
        """The columns, in the order of `roles`."""
        options = self.options
        return [name for name in (options.sequence, options.entity, options.order_by) if name is not None]

    def read(self, part: Part, order_type: pa.DataType | None, advance: Advance) -> None:
        """Take in all rows of a part."""
        options, wanted = self.options, self.wanted
        types = {} if options.order_by is None else {options.order_by: order_type}
        first = 0
        for batch in part.batches(list(dict.fromkeys(wanted)), types, advance):
            columns = [plain(batch.column(name)) for name in wanted]
            if order_type == TEXT or (order_type in TIMES and holds_text(columns[2].type)):
                columns[2] = self._from_text(part, columns[2], order_type, first)
            self._take(part, wanted, columns, first)
            first += batch.num_rows
            self._loose += 1
            if sum(map(len, self.codes[-self._loose :])) >= _ROWS_A_BLOCK:
                self._join_loose()
            self._after_batch()

    def _after_batch(self) -> None:
        """Do what is to be done after each batch; rows in memory need nothing."""

    def _from_text(self, part: Part, column: pa.Array, kind: pa.DataType, first: int) -> Any:
        """Return the text of an order column as numbers, or as times of the form that was named."""
        pattern = self.options.time_format
        if pattern is not None and not holds_text(column.type):
            raise InputError(
                f"{part.name}: column {self.options.order_by!r} is of type {type_name(column.type)} and not "
                "text; leave out time_format (--time-format)"
            )
        try:
            if pattern is not None:
                return parse_times(column, pattern)
            if kind in TIMES:
                return times_from_text(column.cast(pa.large_string()), kind)
            return from_text(column.cast(pa.large_binary()).fill_null(b""))
        except BadOrder as error:
            row = first + error.position
            raise ConversionError(part.where(row), row + 2, error.value) from error

    def _join_loose(self) -> None:
        """Join the last batches to large blocks, whose memory the system gets back as they are used up."""
        if not self._loose:
            return
        columns: tuple[list[Any], ...] = (self.sequences, self.codes)
        for batches in columns:
            batches[-self._loose :] = [np.concatenate(batches[-self._loose :])]
        if self.orders:
            self.orders[-self._loose :] = [joined(self.orders[-self._loose :])]
        self._loose = 0

    def _take(self, part: Part, names: list[str], columns: list[Any], first: int) -> None:
        rows = self._present(part, names, columns, first)
        if rows is not None:
            columns = [column.take(pa.array(rows)) for column in columns]

        def where(position: int) -> str:
            return part.where(first + int(position if rows is None else rows[position]))

        self.sequences.append(self.number(part, names[0], columns[0], where))
        codes = self.entities(part, names[1], columns[1], where)
        # Most vocabularies are small: this halves what waits to be put in order.
        self.codes.append(codes.astype(np.uint16) if len(self.interner) <= 1 << 16 else codes)
        if len(columns) == 3:
            self.orders.append(order_values(self._one_unit(part, columns[2])))
            self._check_unix_unit(self.orders[-1], where)

    def entities(
        self, part: Part, name: str, column: pa.Array, where: Callable[[int], str]
    ) -> NDArray[np.int32]:
        """Return the codes of a column of names."""
        try:
            return entity_codes(column, self.interner)
        except BadName as error:
            raise InputError(f"{where(error.position)}: {error.reason} (column {name!r})") from error
        except InputError as error:
            raise InputError(f"{part.name}: column {name!r}: {error}") from error

    def number(
        self, part: Part, name: str, column: pa.Array, where: Callable[[int], str]
    ) -> NDArray[np.int32]:
        """Return the numbers of the sequences."""
        try:
            return self.numbers.number(column)
        except InputError as error:
            raise InputError(f"{part.name}: column {name!r}: {error}") from error

    def _present(
        self, part: Part, names: list[str], columns: list[Any], first: int
    ) -> NDArray[np.int64] | None:
        """Return the rows that have all values, None for all; raise at the first gap unless told to skip."""
        absent = None
        for role, name, column in zip(self.roles, names, columns, strict=False):
            gone = missing(column)
            if gone is None:
                continue
            if self.options.on_empty == "error":
                what = "empty entity id" if role == "entity" else f"empty {role}"
                raise InputError(
                    f"{part.where(first + int(np.argmax(gone)))}: {what} (column {name!r}); "
                    f"remove the row or {SKIP_EMPTY}"
                )
            absent = gone if absent is None else absent | gone
        return None if absent is None else np.flatnonzero(~absent)

    def _one_unit(self, part: Part, column: pa.Array) -> Any:
        unit = order_unit(column.type)
        name = self.options.order_by
        if unit is None:
            raise InputError(
                f"{part.name}: column {name!r} is of type {type_name(column.type)}; an order is a number or "
                "a time, so convert it, as with pandas.to_datetime or pandas.to_numeric"
            )
        if self.order_type is None:
            self.order_type = column.type
            self.gap_in_units(self.options.gap or Gap(0.0 if unit == 0 else None, 0))
        if _kind(column.type) != _kind(self.order_type):
            raise InputError(
                f"{part.name}: column {name!r} is {type_name(column.type)} here and "
                f"{type_name(self.order_type)} before; make it of one type everywhere"
            )
        if unit and column.type != self.order_type:
            try:
                return column.cast(self.order_type)
            except pa.ArrowInvalid as error:
                raise InputError(
                    f"{part.name}: column {name!r} is {type_name(column.type)} here and "
                    f"{type_name(self.order_type)} before; {first_line(error)}; make it of one type "
                    "everywhere"
                ) from error
        return column

    def _check_unix_unit(self, orders: Orders, where: Callable[[int], str]) -> None:
        """Raise where numbers are unix times in two units."""
        if order_unit(self.order_type):
            return
        position = self._unix.changes(orders)
        if position is not None and self._unix.unit is not None:
            value = orders.values[position] / 10**orders.places
            raise InputError(
                f"{where(position)}: {value:.0f} (column {self.options.order_by!r}) is no unix time in "
                f"{UNITS[self._unix.unit]}, as all before it are; bring the column to one unit"
            )

    def gap_in_units(self, gap: Gap) -> Fraction:
        """Return the maximum gap in the unit of the order column, or raise when the two do not fit."""
        unit, name = order_unit(self.order_type) if self.order_type is not None else 0, self.options.order_by
        if unit and gap.nanoseconds is None:
            raise ParameterError(
                f"column {name!r} holds times, so max_gap needs a unit, such as '30min', '6h' or '2d'. "
                f"Got {self.options.max_gap!r} instead."
            )
        if not unit and gap.number is None and self.order_type is not None:
            raise ParameterError(
                f"column {name!r} holds numbers, so max_gap must be a number. "
                f"Got {self.options.max_gap!r} instead."
            )
        if unit:
            return Fraction((gap.nanoseconds or 0) // unit)
        return Fraction(repr(gap.number or 0))  # 0.1 means a tenth, not the float beside it

    def far_apart(self, orders: NDArray[Any], gap: Fraction) -> NDArray[np.bool_]:
        """Return which rows are more than `gap` after the row before them, without rounding or wrapping."""
        if self.distinct is not None:
            return after_wide_gap(orders, reaches(self.distinct, gap))
        if orders.dtype.kind == "f":
            with np.errstate(invalid="ignore", over="ignore"):  # two infinities are no step apart
                far: NDArray[np.bool_] = np.diff(orders, prepend=orders[:1]) > float(gap)
                return far
        return after_gap(orders, np.uint64(min(gap * 10**self.places // 1, 2**64 - 1)))

    def arranged(self) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[np.int64]]:
        """Return codes and orders grouped by sequence and sorted within, and the offsets of sequences."""
        offsets, last = np.zeros(len(self.numbers) + 2, np.int64), 0
        self.numbers = SequenceNumbers()  # the table of ids is large and has done its work
        for sequences in self.sequences:
            last = count_rows(sequences, offsets, last)
        np.cumsum(offsets, out=offsets)
        codes = np.empty(int(offsets[-1]), _widest(self.codes))
        orders = None
        if self.orders:
            self.places = alike(self.orders)[0].places
            if self.orders[0].values.dtype == object:
                self.distinct = ranked(self.orders)
            orders = np.empty(len(codes), self.orders[0].values.dtype)
        if last >= 0:
            self._join(codes, orders)
            offsets = offsets[1:]
        else:
            self._scatter(codes, orders, offsets)
            offsets = offsets[:-1]
        if orders is not None:
            sort_each(codes, orders, offsets)
        return codes, orders, offsets

    def _join(self, codes: NDArray[Any], orders: NDArray[Any] | None) -> None:
        """Copy rows that stand grouped by sequence already, from the back, so that each batch is freed."""
        self.sequences.clear()
        stop = len(codes)
        while self.codes:
            batch = self.codes.pop()
            codes[stop - len(batch) : stop] = batch
            if orders is not None:
                orders[stop - len(batch) : stop] = self.orders.pop().values
            stop -= len(batch)

    def _scatter(self, codes: NDArray[Any], orders: NDArray[Any] | None, cursor: NDArray[np.int64]) -> None:
        """Copy rows to the places of their sequences; each batch is freed once it is copied."""
        columns: tuple[list[Any], ...] = (self.sequences, self.codes, self.orders)
        for batches in columns:
            batches.reverse()
        while self.sequences:
            sequences, batch = self.sequences.pop(), self.codes.pop()
            if orders is None:
                scatter(sequences, batch, cursor, codes)
            else:
                scatter_both(sequences, batch, self.orders.pop().values, cursor, codes, orders)


def _kind(order: pa.DataType) -> tuple[bool, bool]:
    """Return whether orders of a type are times, and whether they have a zone: others do not compare."""
    return bool(order_unit(order)), bool(pa.types.is_timestamp(order)) and order.tz is not None


def _widest(batches: Sequence[NDArray[Any]]) -> np.dtype[Any]:
    """Return the type that holds the values of all batches."""
    return np.result_type(*{batch.dtype for batch in batches}) if batches else np.dtype(np.int32)
