"""The native file ``.hon``: one file, no pickle, arrays that can be used straight from disk.

In: a network or a file. Out: the file, or the network with the builder's statistics and parameters.

Layout, little-endian: 8 bytes :data:`MAGIC`; uint32 version, header length, CRC-32 of the header, 0; the
header, JSON in UTF-8; then the arrays, each at a multiple of 64 bytes from the start of the data, which is
the first multiple of 64 after the header. The header lists name, dtype, length, offset and CRC-32 of each
array and the size of the data, so a file that was cut short is known by its size alone. Checksums of arrays
are compared unless the file is memory-mapped.
"""

from __future__ import annotations

import json
import mmap as memory
import struct
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, HonlearnError
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import ContextStatistics, GrowParameters
from honlearn.paths.vocabulary import Vocabulary
from honlearn.writing.atomic import atomic_binary

MAGIC = b"\x89HON\r\n\x1a\n"
VERSION = 1

_START = struct.Struct("<8sIIII")
_ALIGN = 64
_KINDS = {"gram_offsets": ("<i8",), "grams": ("<i4",), "indptr": ("<i8",), "indices": ("<i4",)}
_REQUIRED = {"names": ("|u1",), "name_offsets": ("<i8",), **_KINDS, "weights": ("<i8", "<f8")}
_STATISTICS = {"frequency": ("<i8",), "divergence": ("<f8",), "threshold": ("<f8",), "by_extension": ("|b1",)}


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the network; the same network always gives the same bytes."""
    arrays = _arrays(network)
    entries, offset = [], 0
    for name, array in arrays.items():
        entry = {"name": name, "dtype": array.dtype.str, "length": len(array), "offset": offset}
        entries.append({**entry, "crc32": zlib.crc32(_bytes(array))})
        offset = _aligned(offset + array.nbytes)
    header = {
        "format": "honlearn network",
        "parameters": None if network.parameters is None else asdict(network.parameters),
        "size": offset,
        "arrays": entries,
    }
    raw = json.dumps(header, allow_nan=False).encode()
    with atomic_binary(path) as file:
        file.write(_START.pack(MAGIC, VERSION, len(raw), zlib.crc32(raw), 0))
        file.write(raw)
        for array in arrays.values():
            file.write(bytes(-file.tell() % _ALIGN))
            file.write(_bytes(array))
        file.write(bytes(-file.tell() % _ALIGN))


def read(path: Path, *, mmap: bool = False, verify: bool | None = None) -> HigherOrderNetwork:
    """Return the network in the file; `mmap` leaves the arrays on disk until they are used.

    `verify` compares the checksum of every array, which reads them all; None means: unless memory-mapped.
    """
    header, start, buffer = _open(path, mmap)
    allowed = {**_REQUIRED, **_STATISTICS}
    arrays = {}
    for entry in header["arrays"]:
        array = _array(path, entry, allowed, buffer, start, header["size"])
        if (not mmap if verify is None else verify) and zlib.crc32(_bytes(array)) != entry["crc32"]:
            _damaged(path, f"the array {entry['name']!r} does not match its checksum")
        arrays[entry["name"]] = array
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        _damaged(path, f"the array {missing[0]!r} is not there")
    names = _vocabulary(path, arrays["names"], arrays["name_offsets"])
    try:
        grown = header.get("parameters")
        parameters = None if grown is None else GrowParameters(**grown)
        known = {name: arrays[name] for name in _STATISTICS if name in arrays}
        statistics = ContextStatistics(**known) if known else None
        columns = {name: arrays[name] for name in (*_KINDS, "weights")}
        return HigherOrderNetwork(names, **columns, statistics=statistics, parameters=parameters)
    except (HonlearnError, TypeError) as error:
        _damaged(path, str(error))


def _arrays(network: HigherOrderNetwork) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "names": network.vocabulary.data,
        "name_offsets": network.vocabulary.offsets,
        **{name: getattr(network, name) for name in (*_KINDS, "weights")},
    }
    if network.statistics is not None:
        arrays.update({name: getattr(network.statistics, name) for name in _STATISTICS})
    return {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}


def _open(path: Path, mmap: bool) -> tuple[dict[str, Any], int, Any]:
    """Return the header, where the data starts, and the bytes of the file; sizes are checked."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(_START.size)
        if head[: len(MAGIC)] != MAGIC[: len(head)] or not head:
            raise FormatError(
                f"{path}: not a honlearn network; .hon files are written by honlearn grow or convert"
            )
        if len(head) < _START.size:
            _damaged(path, "it was cut short")
        _, version, length, checksum, _ = _START.unpack(head)
        if version != VERSION:
            raise FormatError(
                f"{path}: version {version} of the format, and this honlearn reads {VERSION}; update honlearn"
            )
        raw = file.read(length)
        if len(raw) < length or zlib.crc32(raw) != checksum:
            _damaged(path, "its header was cut short" if len(raw) < length else "its header has changed")
        header = _header(path, raw)
        start = _aligned(_START.size + length)
        if size != start + header["size"]:
            _damaged(path, f"{size:,} bytes, expected {start + header['size']:,}")
        if mmap:
            return header, start, memory.mmap(file.fileno(), 0, access=memory.ACCESS_READ)
        file.seek(0)
        return header, start, file.read()


def _header(path: Path, raw: bytes) -> dict[str, Any]:
    """Return the header if it has the shape that the rest relies on."""
    try:
        header = json.loads(raw)
        whole = [header["size"], *(e[key] for e in header["arrays"] for key in ("length", "offset", "crc32"))]
        good = all(type(value) is int and value >= 0 for value in whole)
        good = good and all(
            isinstance(e["name"], str) and isinstance(e["dtype"], str) for e in header["arrays"]
        )
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        _damaged(path, "its header is not valid")
    assert isinstance(header, dict)
    return header


def _array(
    path: Path, entry: dict[str, Any], allowed: dict[str, tuple[str, ...]], buffer: Any, start: int, size: int
) -> NDArray[Any]:
    name, length = entry["name"], entry["length"]
    if entry["dtype"] not in allowed.get(name, ()):
        _damaged(path, f"the array {name!r} of {entry['dtype']} is not part of the format")
    dtype = np.dtype(entry["dtype"])
    if entry["offset"] % _ALIGN or entry["offset"] + length * dtype.itemsize > size:
        _damaged(path, f"the array {name!r} lies outside the file")
    if not length:
        return np.empty(0, dtype)
    return np.frombuffer(buffer, dtype, length, start + entry["offset"])


def _vocabulary(path: Path, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Vocabulary:
    """Return the names if they are UTF-8 and their offsets lie between characters."""
    good = (
        len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == len(data)
        and bool((np.diff(offsets) > 0).all())
    )
    if good:
        starts = data[offsets[:-1]]
        good = not bool(((starts & 0xC0) == 0x80).any())
        try:
            str(data.tobytes(), "utf-8")
        except UnicodeDecodeError:
            good = False
    if not good:
        _damaged(path, "its names are not valid")
    return Vocabulary(data, offsets)


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def _damaged(path: Path, what: str) -> NoReturn:
    raise FormatError(f"{path}: the file is damaged: {what}; write or copy it again") from None
