"""Files of raw arrays behind a checked header, no pickle: what ``.hon`` and ``.counts`` have in common.

In: arrays by name and facts for the header, or a file. Out: the file, or the header's fields and the arrays,
of the names and dtypes that the format has, every checksum compared.

Layout, little-endian: 8 bytes of magic; uint32 version, header length, CRC-32 of the header, 0; the header,
JSON in UTF-8; then the arrays, each at a multiple of 64 bytes from the start of the data, which is the first
multiple of 64 after the header. The header lists name, dtype, length, offset and CRC-32 of each array and the
size of the data, so a file that was cut short is known by its size alone.

A file is read, not memory-mapped. A mapped file can still be changed by others: cut short, it ends the
process (SIGBUS); changed after the checks, it sends compiled loops astray. What that costs stands in
ARCHITECTURE.md.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, listed
from honlearn.stored import Fields, parse_json, shown
from honlearn.writing.atomic import atomic_binary

_START = struct.Struct("<8sIIII")
_ALIGN = 64
# A header takes about a kilobyte.
_MOST_HEADER = 1 << 20

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Container:
    """A format: its first 8 bytes, the version that is written, those that are read, and what it is."""

    magic: bytes
    version: int
    readable: tuple[int, ...]
    title: str
    written_by: str

    def write(self, path: Path, arrays: Mapping[str, NDArray[Any]], **facts: Any) -> None:
        """Write the file, whole or not at all; the same arrays and facts always give the same bytes."""
        plain = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
        entries, offset = [], 0
        for name, array in plain.items():
            entry = {"name": name, "dtype": array.dtype.str, "length": len(array), "offset": offset}
            entries.append({**entry, "crc32": zlib.crc32(_bytes(array))})
            offset = _aligned(offset + array.nbytes)
        header = {"format": self.title, **facts, "size": offset, "arrays": entries}
        raw = json.dumps(header, allow_nan=False).encode()
        with atomic_binary(path) as file:
            file.write(_START.pack(self.magic, self.version, len(raw), zlib.crc32(raw), 0))
            file.write(raw)
            for array in plain.values():
                file.write(bytes(-file.tell() % _ALIGN))
                file.write(_bytes(array))
            file.write(bytes(-file.tell() % _ALIGN))

    def read(
        self, path: Path, kinds: Callable[[Fields], Mapping[str, tuple[str, ...]]]
    ) -> tuple[Fields, Arrays]:
        """Return the header and the arrays; `kinds` tells from the header which dtypes a name may have."""
        header, data = self._open(path)
        allowed = kinds(header)
        arrays: Arrays = {}
        for entry in header.mappings("arrays"):
            name = entry.text("name")
            if name in arrays:
                damaged(path, f"the array {name!r} is there twice")
            arrays[name] = _array(path, entry, data, allowed.get(name, ()))
        return header, arrays

    def _open(self, path: Path) -> tuple[Fields, NDArray[np.uint8]]:
        """Return the header and the data, as many bytes as the header says."""
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            head = file.read(_START.size)
            if head[: len(self.magic)] != self.magic[: len(head)] or not head:
                raise FormatError(f"{path}: not a {self.title}; {self.written_by}")
            if len(head) < _START.size:
                damaged(path, "it was cut short")
            _, version, length, checksum, _ = _START.unpack(head)
            if version not in self.readable:
                raise FormatError(
                    f"{path}: version {version} of the format, and this honlearn reads "
                    f"{listed(self.readable)}; update honlearn"
                )
            start = _aligned(_START.size + length)
            if length > _MOST_HEADER:
                damaged(path, f"a header of {length:,} bytes")
            raw = file.read(length)
            if len(raw) < length or zlib.crc32(raw) != checksum:
                damaged(path, "its header was cut short" if len(raw) < length else "its header has changed")
            header = Fields(parse_json(raw, f"{path}: its header"), f"{path}: its header")
            wanted = header.integer("size", 0)
            if size != start + wanted:
                damaged(path, f"{size:,} bytes, expected {start + wanted:,}")
            data = _aligned_bytes(wanted)
            file.seek(start)
            # The file may have been cut short since its size was asked for.
            if file.readinto(data.data) != wanted:
                damaged(path, "it was cut short while it was read")
            return header, data


def _array(path: Path, entry: Fields, data: NDArray[np.uint8], kinds: tuple[str, ...]) -> NDArray[Any]:
    """Return the array that the entry describes, if it is one of the format and matches its checksum."""
    name, kind = entry.text("name"), entry.text("dtype")
    first, length = entry.integer("offset", 0), entry.integer("length", 0)
    if kind not in kinds:
        damaged(path, f"the array {shown(name)} of {shown(kind)} is not part of the format")
    dtype = np.dtype(kind)
    end = first + length * dtype.itemsize
    if first % _ALIGN or end > len(data):
        damaged(path, f"the array {name!r} lies outside the file")
    if zlib.crc32(data[first:end].data) != entry.integer("crc32"):
        damaged(path, f"the array {name!r} does not match its checksum")
    return data[first:end].view(dtype)


def damaged(path: Path, what: str) -> NoReturn:
    """Raise the error of a file that is not as its writer left it."""
    raise FormatError(f"{path}: the file is damaged: {what}; write or copy it again") from None


def _aligned_bytes(size: int) -> NDArray[np.uint8]:
    buffer = np.empty(size + _ALIGN, np.uint8)
    first = -buffer.ctypes.data % _ALIGN
    return buffer[first : first + size]


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN
