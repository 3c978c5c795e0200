"""The native file ``.hon``: one file of raw arrays, no pickle.

In: a network or a file. Out: the file, or the network with the builder's statistics and parameters.

Layout, little-endian: 8 bytes :data:`MAGIC`; uint32 version, header length, CRC-32 of the header, 0; the
header, JSON in UTF-8; then the arrays, each at a multiple of 64 bytes from the start of the data, which is
the first multiple of 64 after the header. The header lists name, dtype, length, offset and CRC-32 of each
array and the size of the data, so a file that was cut short is known by its size alone.

A file is read, not memory-mapped, and every checksum is compared. A mapped file can still be
changed by others: cut short, it ends the process (SIGBUS); changed after the checks, it sends compiled loops
astray. What that costs stands in ARCHITECTURE.md.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, InputError, listed
from honlearn.hon.invariants import check_names, check_nodes
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import MAX_ORDER
from honlearn.hon.statistics import EVIDENCE, ContextStatistics, GrowParameters
from honlearn.paths.vocabulary import Vocabulary
from honlearn.stored import Fields, parse_json, shown
from honlearn.writing.atomic import atomic_binary

MAGIC = b"\x89HON\r\n\x1a\n"
# 2: alpha and seed among the parameters, and the arrays of evidence.
VERSION = 2
READABLE = (1, 2)

_START = struct.Struct("<8sIIII")
_ALIGN = 64
# A header takes about a kilobyte.
_MOST_HEADER = 1 << 20
_KINDS = {"gram_offsets": ("<i8",), "grams": ("<i4",), "indptr": ("<i8",), "indices": ("<i4",)}
_REQUIRED = {"names": ("|u1",), "name_offsets": ("<i8",), **_KINDS, "weights": ("<i8", "<f8")}
_STATISTICS = {"frequency": ("<i8",), "divergence": ("<f8",), "threshold": ("<f8",), "by_extension": ("|b1",)}
_EVIDENCE = dict.fromkeys(EVIDENCE, ("<f8",))


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


def read(path: Path) -> HigherOrderNetwork:
    """Return the network in the file; its names, nodes and edges are checked before anything uses them."""
    header, data = _open(path)
    arrays: dict[str, NDArray[Any]] = {}
    for entry in header.mappings("arrays"):
        name = entry.text("name")
        if name in arrays:
            _damaged(path, f"the array {name!r} is there twice")
        arrays[name] = _array(path, entry, data)
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        _damaged(path, f"the array {missing[0]!r} is not there")
    grown = _parameters(header.mapping("parameters")) if header.has("parameters") else None
    try:
        check_names(arrays["names"], arrays["name_offsets"])
        network = HigherOrderNetwork(
            Vocabulary(arrays["names"], arrays["name_offsets"]),
            **{name: arrays[name] for name in (*_KINDS, "weights")},
            statistics=_statistics(path, arrays),
            parameters=grown,
        )
        check_nodes(network)
    except InputError as error:
        if isinstance(error, FormatError):
            raise
        _damaged(path, str(error))
    return network


def _arrays(network: HigherOrderNetwork) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "names": network.vocabulary.data,
        "name_offsets": network.vocabulary.offsets,
        **{name: getattr(network, name) for name in (*_KINDS, "weights")},
    }
    if network.statistics is not None:
        known = {name: getattr(network.statistics, name) for name in (*_STATISTICS, *_EVIDENCE)}
        arrays.update({name: array for name, array in known.items() if array is not None})
    return {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}


def _open(path: Path) -> tuple[Fields, NDArray[np.uint8]]:
    """Return the header and the data, as many bytes as the header says."""
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
        if version not in READABLE:
            raise FormatError(
                f"{path}: version {version} of the format, and this honlearn reads {listed(READABLE)}; "
                "update honlearn"
            )
        start = _aligned(_START.size + length)
        if length > _MOST_HEADER:
            _damaged(path, f"a header of {length:,} bytes")
        raw = file.read(length)
        if len(raw) < length or zlib.crc32(raw) != checksum:
            _damaged(path, "its header was cut short" if len(raw) < length else "its header has changed")
        header = Fields(parse_json(raw, f"{path}: its header"), f"{path}: its header")
        wanted = header.integer("size", 0)
        if size != start + wanted:
            _damaged(path, f"{size:,} bytes, expected {start + wanted:,}")
        data = _aligned_bytes(wanted)
        file.seek(start)
        # The file may have been cut short since its size was asked for.
        if file.readinto(data.data) != wanted:
            _damaged(path, "it was cut short while it was read")
        return header, data


def _array(path: Path, entry: Fields, data: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the array that the entry describes, if it is one of the format and matches its checksum."""
    name, kind = entry.text("name"), entry.text("dtype")
    first, length = entry.integer("offset", 0), entry.integer("length", 0)
    if kind not in {**_REQUIRED, **_STATISTICS, **_EVIDENCE}.get(name, ()):
        _damaged(path, f"the array {shown(name)} of {shown(kind)} is not part of the format")
    dtype = np.dtype(kind)
    end = first + length * dtype.itemsize
    if first % _ALIGN or end > len(data):
        _damaged(path, f"the array {name!r} lies outside the file")
    if zlib.crc32(data[first:end].data) != entry.integer("crc32"):
        _damaged(path, f"the array {name!r} does not match its checksum")
    return data[first:end].view(dtype)


def _parameters(grown: Fields) -> GrowParameters:
    grown.only("order", "tau", "min_support", "alpha", "seed")
    tau = grown.number("tau", 0) if grown.has("tau") else None
    alpha = grown.number("alpha", 0, 1) if grown.has("alpha") else None
    seed = grown.integer("seed", 0) if grown.has("seed") else None
    order, support = grown.integer("order", 1, MAX_ORDER), grown.integer("min_support", 1)
    return GrowParameters(order, tau, support, alpha, seed)


def _statistics(path: Path, arrays: dict[str, NDArray[Any]]) -> ContextStatistics | None:
    """Return the statistics of the builder if they are there, all of them."""
    known = {name: arrays[name] for name in (*_STATISTICS, *_EVIDENCE) if name in arrays}
    if not known:
        return None
    if not known.keys() >= _STATISTICS.keys():
        _damaged(path, f"of the statistics, only {listed(known)} is there")
    flags = known["by_extension"].view(np.uint8)
    if flags.max(initial=0) > 1:
        _damaged(path, f"the array 'by_extension' holds {flags.max()}, expected 0 or 1")
    return ContextStatistics(**known)


def _aligned_bytes(size: int) -> NDArray[np.uint8]:
    buffer = np.empty(size + _ALIGN, np.uint8)
    first = -buffer.ctypes.data % _ALIGN
    return buffer[first : first + size]


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def _damaged(path: Path, what: str) -> NoReturn:
    raise FormatError(f"{path}: the file is damaged: {what}; write or copy it again") from None
