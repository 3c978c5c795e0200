"""Files of tensors in the safetensors format: a header in JSON, then the numbers of each tensor.

In: an open file and its size, or bytes. Out: arrays, each read once into its place, or an error that names
the file and the tensor. Nothing is made that is larger than the file.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from honlearn.errors import FormatError, first_line
from honlearn.stored.arrays import MAX_ARRAY_BYTES, check_arrays
from honlearn.stored.fields import Fields
from honlearn.stored.parse import ADVICE, parse_json, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The types of numbers that are used here, as the format and NumPy name them.
TYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
# As in the reader of the format's authors.
MAX_HEADER_BYTES = 100_000_000
_MAX_AXES = 32
_PIECE = 1 << 20
_METADATA = "__metadata__"

# Makes the memory of the tensor of a name, a shape and a dtype.
Empty = Callable[[str, tuple[int, ...], str], "NDArray[Any]"]


class Source(Protocol):
    """What is read from its start to its end."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill a buffer as far as there is something left, and return how much that was."""


class _Entry(NamedTuple):
    """Where the numbers of a tensor lie behind the header, and what they are."""

    start: int
    stop: int
    name: str
    kind: str
    shape: tuple[int, ...]


def _in_memory(name: str, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    import numpy as np

    return np.empty(shape, dtype)


def read_safetensors(
    data: bytes, where: str, *, finite: bool = True, advice: str = ADVICE
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of the bytes of a safetensors file; with `finite`, no NaN."""
    return fill_safetensors(io.BytesIO(data), len(data), where, finite=finite, advice=advice)


def fill_safetensors(
    file: Source,
    size: int,
    where: str,
    empty: Empty = _in_memory,
    *,
    finite: bool = True,
    advice: str = ADVICE,
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of a file of `size` bytes, in memory that `empty` makes."""
    try:
        header, left = _header(file, size, where, advice)
        metadata = header.mapping(_METADATA) if header.has(_METADATA) else Fields({}, where, advice=advice)
        texts = {key: metadata.text(key) for key in metadata.values}
        entries = sorted(_entry(name, value) for name, value in header.values.items() if name != _METADATA)
        ends = [0, *(entry.stop for entry in entries)]
        if ends[-1] != left or any(one.start != end for one, end in zip(entries, ends[:-1], strict=True)):
            raise ValueError("the tensors do not fill the file")
    except ValueError as error:
        told = first_line(error).removeprefix(f"{where}: ").removesuffix(f"; {advice}")
        raise FormatError(f"{where}: damaged ({told}); {advice}") from None
    found: dict[str, NDArray[Any]] = {}
    for start, stop, name, kind, shape in entries:
        if kind not in TYPES:
            raise FormatError(f"{where}: {shown(name)} holds {kind}, which is not used here; {advice}")
        itemsize = int(TYPES[kind][-1:].replace("?", "1"))
        if math.prod(shape) * itemsize != stop - start:
            raise FormatError(f"{where}: damaged ({shown(name)} is not of its shape); {advice}")
        found[name] = empty(name, shape, TYPES[kind])
        if not _fill(found[name], file):
            raise FormatError(f"{where}: damaged (cut short while it was read); {advice}")
    check_arrays(found, {}, where, finite=finite, advice=advice)
    return texts, found


def _header(file: Source, size: int, where: str, advice: str) -> tuple[Fields, int]:
    """Return the header of a file of `size` bytes, and how many bytes come after it."""
    import numpy as np

    length = np.zeros(1, "<u8")
    if size < 8 or not _fill(length, file):
        raise ValueError("no header")
    if length[0] > min(size - 8, MAX_HEADER_BYTES):
        raise ValueError(f"a header of {length[0]:,} bytes in a file of {size:,}")
    data = np.empty(int(length[0]), np.uint8)
    text = data.tobytes() if _fill(data, file) else b""
    if not text.startswith(b"{"):
        raise ValueError("no header")
    header = Fields(parse_json(text, where, advice=advice), where, advice=advice)
    return header, size - 8 - len(text)


def _entry(name: str, value: Any) -> _Entry:
    # Not by Fields, which takes longer, and a small model has many tensors.
    try:
        (start, stop), kind, shape = value["data_offsets"], value["dtype"], tuple(value["shape"])
        good = isinstance(kind, str) and kind.isidentifier() and len(kind) < 20
        good = good and all(type(n) is int and n >= 0 for n in (start, stop, *shape))
    except (TypeError, KeyError):
        good = False
    if not good:
        raise ValueError(f"{shown(name)} is {shown(value)}")
    # An empty axis beside a huge one takes no bytes, and yet a loop over it never ends.
    if len(shape) > _MAX_AXES or (0 in shape and math.prod(max(n, 1) for n in shape) > MAX_ARRAY_BYTES):
        raise ValueError(f"{shown(name)} is of shape {shown(shape)}")
    return _Entry(start, stop, name, kind, shape)


def _fill(array: NDArray[Any], file: Source) -> bool:
    """Read an array from a file, in small pieces; return whether all of it was there."""
    import numpy as np

    data = array.reshape(-1).view(np.uint8).data
    for place in range(0, len(data), _PIECE):
        piece = data[place : place + _PIECE]
        while len(piece):
            got = file.readinto(piece)
            if not got:
                return False
            piece = piece[got:]
    return True
