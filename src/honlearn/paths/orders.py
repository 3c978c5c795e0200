"""Order columns → numbers that compare exactly, whatever type or text they come in.

In: arrays of whole numbers, fractions, decimals or times, or the text of a CSV column. Out: an
:class:`Orders` per batch; :func:`alike` brings several to one type without rounding. Whole numbers of up to
64 bits, and fractions that are such numbers of tenths, hundredths and so on, stay integers. Values that are
all the shortest text of some float stay floats: no two of them are the same float. What is left, such as
20-digit times or 2**53 + 0.5, becomes :class:`decimal.Decimal`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from honlearn.errors import InputError
from honlearn.jit import njit
from honlearn.paths.columns import spans

TEXT = pa.binary()
"""The type that a CSV column of numbers is read as; :func:`from_text` makes numbers of it."""

TIMES = tuple(pa.timestamp(unit, zone) for zone in ("UTC", None) for unit in ("ns", "us"))
"""The types of times in text: nanoseconds hold the seven digits of some writers, microseconds far years."""

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NULLS = frozenset(text.encode() for text in csv.ConvertOptions().null_values)
_NUMBER = re.compile(rb"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?[ \t]*")
_DIGITS = 76  # of Arrow's widest decimal
_SURE = 10**15  # whole numbers below it, over any power of ten, are told apart by floats
_LARGEST = 2**63 - 1
_ROOM = _LARGEST // 10 - 1  # up to it, one more digit fits
_GOOD, _WIDE = range(2)
_EXACT = Context(prec=4 * _DIGITS, traps=[Inexact, InvalidOperation])


class BadOrder(InputError):
    """The text at `position` of a batch is no number, or one of more digits than can be compared."""

    def __init__(self, position: int, text: bytes, reason: str = "") -> None:
        self.position = position
        self.value = repr(text[:80].decode(errors="replace")) + reason
        super().__init__(f"{self.value} is no order")


class Orders(NamedTuple):
    """The orders of a batch: ``values / 10**places``; integers, float64 (places 0) or Decimal (places 0)."""

    values: NDArray[Any]
    places: int = 0


def order_unit(kind: pa.DataType) -> int | None:
    """Return nanoseconds per unit of a time type, 0 for a number type, None for what cannot be ordered by."""
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return _NANOSECONDS[kind.unit]
    if pa.types.is_date(kind):
        return 86400 * 10**9 if kind == pa.date32() else 10**6
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return 0
    return None


def order_values(array: pa.Array) -> Orders:
    """Return an order column without missing values, exactly, in the narrowest integers where whole."""
    kind = array.type
    if pa.types.is_floating(kind):
        return Orders(array.to_numpy(zero_copy_only=False).astype(np.float64))
    if pa.types.is_decimal(kind):
        return _decimals(array)
    if pa.types.is_uint64(kind):
        return Orders(_narrow(array.to_numpy()))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    return Orders(_narrow(array.cast(pa.int64()).to_numpy()))


def _decimals(array: pa.Array) -> Orders:
    """Return decimals as whole numbers of their last digit where these fit 64 bits, else as they are."""
    scale = array.type.scale
    try:
        array = array.cast(pa.decimal128(38, scale))
    except pa.ArrowInvalid:  # more digits
        return Orders(_objects(array.to_pylist()))
    if scale >= 0 and len(array):
        words = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), 16 * array.offset)
        low, high = words.reshape(-1, 2).T
        if np.array_equal(high, low >> 63):
            return Orders(_narrow(np.ascontiguousarray(low)), scale)
    return Orders(_objects(array.to_pylist()))


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in fewer bytes: positions in a path are small, which saves most of the memory."""
    return values.astype(_fitting(*_bounds(values)), copy=False)


def _bounds(values: NDArray[Any]) -> tuple[int, int]:
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _fitting(least: int, most: int) -> Any:
    """Return the narrowest type for whole numbers in these bounds: ``object`` where 64 bits do not do."""
    for kind in (np.int8, np.int32, np.int64, np.uint64):
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return kind
    return object


def alike(batches: list[Orders]) -> list[Orders]:
    """Return the batches in one type and with the same places, each freed once it is converted."""
    if not batches:
        return []
    kinds = {batch.values.dtype.kind for batch in batches}
    places = max(batch.places for batch in batches)
    target: Any = object
    if kinds <= {"i", "u"}:
        # In Python's own integers, so that the scaling cannot wrap.
        scaled = [[bound * 10 ** (places - b.places) for bound in _bounds(b.values)] for b in batches]
        target = _fitting(min(low for low, _ in scaled), max(high for _, high in scaled))
    elif "O" not in kinds and all(_sure_as_floats(batch) for batch in batches):
        target = np.float64
    for i, batch in enumerate(batches):
        batches[i] = converted(batch, target, places)
    return batches


def _sure_as_floats(batch: Orders) -> bool:
    if batch.values.dtype.kind == "f":
        return True
    least, most = _bounds(batch.values)
    return least > -_SURE and most < _SURE and batch.places <= 22


def converted(batch: Orders, target: type, places: int) -> Orders:
    """Return a batch in the type and with the places that several have in common."""
    values, kind = batch.values, batch.values.dtype.kind
    if target is object:
        if kind == "f":
            values = _objects([Decimal(repr(value)) for value in values.tolist()])
        elif kind != "O":
            values = _objects([Decimal(value).scaleb(-batch.places, _EXACT) for value in values.tolist()])
        return Orders(values)
    if target is np.float64:
        return Orders(values if kind == "f" else values.astype(np.float64) / 10.0**batch.places)
    if places > batch.places and values.any():  # zeros stay zeros, whatever they are multiplied by
        wide = np.uint64 if target is np.uint64 else np.int64
        values = values.astype(wide) * wide(10 ** (places - batch.places))
    return Orders(values.astype(target, copy=False), places)


def _objects(values: list[Decimal]) -> NDArray[Any]:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def joined(batches: list[Orders]) -> Orders:
    """Return several batches as one."""
    same = alike(batches)
    return Orders(np.concatenate([batch.values for batch in same]), same[0].places)


def ranked(batches: list[Orders]) -> list[Decimal]:
    """Replace batches of Decimal by the ranks of their values; return the distinct values, ascending."""
    distinct = sorted({value for batch in batches for value in batch.values})
    rank = {value: place for place, value in enumerate(distinct)}
    for i, batch in enumerate(batches):
        batches[i] = Orders(np.fromiter(map(rank.__getitem__, batch.values), np.int64, len(batch.values)))
    return distinct


def reaches(distinct: Sequence[Decimal], gap: Fraction) -> NDArray[np.int64]:
    """Return for each value the rank of the last one that is at most `gap` after it."""
    exact = [Fraction(value) if value.is_finite() else float(value) for value in distinct]
    return np.array([bisect_right(exact, value + gap) - 1 for value in exact], np.int64)


def looks_like_number(text: str) -> bool:
    """Return whether a text is to be read as a number, rather than as a time.

    >>> looks_like_number("-1.5e-3"), looks_like_number("2024-05-31")
    (True, False)
    """
    return _NUMBER.fullmatch(text.encode(errors="replace")) is not None


def from_text(array: pa.Array) -> pa.Array:
    """Return the numbers that a CSV column spells, missing where it says so; :class:`BadOrder` otherwise."""
    data, starts, ends = spans(array)
    mantissas, places, status = _scan(data, starts, ends)
    if (status == _GOOD).all():
        most = int(places.max(initial=0))
        if most <= 18 and _raise_to(mantissas, places, most):
            return _as_decimals(mantissas, most)
    return _wide_numbers(array, status)


def times_from_text(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the times that a column of text spells, missing where it is empty; :class:`BadOrder` otherwise.

    >>> times_from_text(pa.array(["2024-05-31 08:00", ""]), pa.timestamp("us")).to_pylist()
    [datetime.datetime(2024, 5, 31, 8, 0), None]
    """
    texts = [None if value is None or not value.strip() else value.strip() for value in array.to_pylist()]
    try:
        return pa.array(texts, pa.large_string()).cast(kind)
    except pa.ArrowInvalid:
        bad, text = next((i, text) for i, text in enumerate(texts) if text and not is_time(text, kind))
        raise BadOrder(bad, text.encode(errors="replace")) from None


def is_time(text: str, kind: pa.DataType) -> bool:
    """Return whether a text is a time that Arrow reads as `kind`."""
    try:
        pa.array([text], pa.large_string()).cast(kind)
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return False
    return True


def _as_decimals(mantissas: NDArray[np.int64], places: int) -> pa.Array:
    if places == 0:
        return pa.array(mantissas)
    words = np.stack((mantissas, mantissas >> 63), axis=1)
    return pa.Array.from_buffers(
        pa.decimal128(38, places), len(mantissas), [None, pa.py_buffer(words.tobytes())]
    )


def _wide_numbers(array: pa.Array, status: NDArray[np.uint8]) -> pa.Array:
    """Return numbers one by one: what the compiled scanner cannot hold, and the spellings of nothing."""
    texts = [None if text in _NULLS else text for text in map(bytes, array.to_pylist())]
    for position in np.flatnonzero(status != _GOOD).tolist():
        text = texts[position]
        if text is not None and not _NUMBER.fullmatch(text):
            raise BadOrder(position, text)
    spelt = [None if text is None else text.decode().strip() for text in texts]
    rough = [None if text is None else float(text) for text in spelt]
    fine = [text is None or _is_shortest(text, near) for text, near in zip(spelt, rough, strict=True)]
    if all(fine) and not all(near is None or near.is_integer() for near in rough):
        return pa.array(rough, pa.float64())
    try:
        return _as_arrow([None if text is None else Decimal(text) for text in spelt])
    except (pa.ArrowException, DecimalException):
        pass
    if all(fine):
        return pa.array(rough, pa.float64())
    position = fine.index(False)
    raise BadOrder(
        position, texts[position] or b"", f", which takes over {_DIGITS} digits beside the other numbers"
    )


def _is_shortest(text: str, near: float | None) -> bool:
    """Return whether the text is what Python writes for the float nearest to it, however it is spelt."""
    shortest = repr(near)
    return shortest == text or Decimal(shortest) == Decimal(text)


def _as_arrow(values: list[Decimal | None]) -> pa.Array:
    """Return whole numbers as int64 where they fit, else decimals."""
    there = [value for value in values if value is not None]
    if all(value == value.to_integral_value() and abs(value) < 2**63 for value in there):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    places = max(-value.normalize(_EXACT).as_tuple().exponent for value in there)  # type: ignore[operator]
    return pa.array(values, pa.decimal256(_DIGITS, max(places, 0)))


@njit
def _scan(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Read ``-12.50`` as -1250 with 2 places; flag what has an exponent, does not fit, or is no number."""
    n = len(starts)
    mantissas, places, status = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.uint8)
    for i in range(n):
        at, end = starts[i], ends[i]
        while at < end and (data[at] == 32 or data[at] == 9):
            at += 1
        while at < end and (data[end - 1] == 32 or data[end - 1] == 9):
            end -= 1
        negative = at < end and data[at] == 45
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        value, fraction, point, good = np.int64(0), 0, False, False
        while at < end:
            byte = data[at]
            if 48 <= byte <= 57:
                good = True
                if value > _ROOM:
                    break
                value = 10 * value + np.int64(byte - 48)
                fraction += 1 if point else 0
            elif byte == 46 and not point:
                point = True
            else:
                break
            at += 1
        if at < end or not good:
            status[i] = _WIDE
        mantissas[i], places[i] = -value if negative else value, fraction
    return mantissas, places, status


@njit
def _raise_to(mantissas: NDArray[np.int64], places: NDArray[np.int64], most: int) -> bool:
    """Bring all numbers to `most` places, in place; False, with numbers half done, where one does not fit."""
    for i in range(len(mantissas)):
        factor = np.int64(10) ** (most - places[i])
        if abs(mantissas[i]) > _LARGEST // factor:
            return False
        mantissas[i] *= factor
    return True
