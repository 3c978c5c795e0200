"""Arrow columns → NumPy: where values are missing, entity names as codes.

In: arrays of any type that a table may hold. Out: integer codes by way of the :class:`Interner`. Text is
read straight from Arrow's buffers; no Python string is made.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.jit import njit
from honlearn.paths.interner import BadName, Interner

_REMEDY = "make them text or whole numbers"


def plain(array: pa.Array) -> pa.Array:
    """Return the array with views, extensions and runs replaced by the ordinary layout."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.large_binary())
    return array


def type_name(kind: pa.DataType) -> str:
    """Return a type as a message has it: on one line, whatever its parameters hold."""
    return " ".join(str(kind).split())


def is_text(kind: pa.DataType) -> bool:
    """Return whether values are runs of bytes: text or binary."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


def holds_text(kind: pa.DataType) -> bool:
    """Return whether values are text or binary, each as it is or by its number in a dictionary."""
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def spans(array: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return the bytes of a text array and where each value starts and ends in them."""
    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    if len(array) == 0:
        return np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)
    kind = np.dtype(np.int64 if large else np.int32)
    whole = np.frombuffer(offsets, kind, len(array) + 1, array.offset * kind.itemsize)
    edges: NDArray[np.int64] = whole.astype(np.int64)
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return content, edges[:-1], edges[1:]


def missing(array: pa.Array) -> NDArray[np.bool_] | None:
    """Return which values are null, NaN or empty text; None when none is."""
    array = plain(array)
    absent: NDArray[np.bool_] | None = None
    if array.null_count or pa.types.is_null(array.type):
        absent = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(array.type):
        empty = missing(array.dictionary)
        if empty is not None:
            used = pc.fill_null(array.indices, 0).to_numpy()
            absent = empty[used] if absent is None else absent | empty[used]
    elif is_text(array.type):
        _, starts, ends = spans(array)
        absent = _either(absent, starts == ends)
    elif pa.types.is_floating(array.type):
        absent = _either(absent, np.isnan(array.to_numpy(zero_copy_only=False)))
    return absent if absent is not None and absent.any() else None


def _either(one: NDArray[np.bool_] | None, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return other if one is None else one | other


def entity_codes(array: pa.Array, interner: Interner) -> NDArray[np.int32]:
    """Return the codes of the names in an array without missing values; names are made of numbers as text.

    A name that cannot be one raises :class:`BadName` with its position in the array.
    """
    array = plain(array)
    if is_text(array.type):
        return interner.intern(*spans(array))
    if not pa.types.is_dictionary(array.type):
        try:
            array = array.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise InputError(f"values of type {type_name(array.type)} cannot be names; {_REMEDY}") from None
    indices = array.indices.cast(pa.int64()).to_numpy()
    used, place = first_uses(indices, len(array.dictionary))
    names = as_text(array.dictionary.take(pa.array(used)))
    try:
        return interner.intern(*spans(names))[place]
    except BadName as error:
        raise BadName(int(np.argmax(place == error.position)), error.reason) from None


def as_text(array: pa.Array) -> pa.Array:
    """Return values as text: 7 and 7.0 are ``7``, a day is ``2024-05-31``."""
    array = plain(array)
    if is_text(array.type):
        return array
    if pa.types.is_floating(array.type):
        array = whole_numbers(array)
    try:
        return array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"values of type {type_name(array.type)} cannot be names; {_REMEDY}") from None


def whole_numbers(array: pa.Array) -> pa.Array:
    """Return a float array that holds whole numbers as int64, or raise with one that is none."""
    values = array.to_numpy(zero_copy_only=False)
    bad = ~((values == np.floor(values)) & (np.abs(values) < 2.0**63))
    if bad.any():
        raise InputError(
            f"{values[int(np.argmax(bad))]!s} is no id; ids are text or whole numbers, "
            "so convert the column to text"
        )
    return pa.array(values.astype(np.int64))


@njit
def first_uses(indices: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct indices by first appearance, and for each index its place among them."""
    place_of = np.full(size, -1, np.int64)
    used = np.empty(min(size, len(indices)), np.int64)
    place = np.empty(len(indices), np.int64)
    n = 0
    for i in range(len(indices)):
        j = indices[i]
        if place_of[j] < 0:
            place_of[j] = n
            used[n] = j
            n += 1
        place[i] = place_of[j]
    return used[:n], place
