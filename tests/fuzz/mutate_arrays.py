"""Damage in files of named arrays (``.hon``, ``.counts``, ``.safetensors``, ``.npz``), checksums repaired.

In: a generator and a valid file's bytes. Out: a file whose checksums and lengths are right where the damage
is not about them, so that a reader gets past them. The layouts are written down here a second time on
purpose: honlearn's own writers would refuse to write such files.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from random import Random
from typing import Any

import numpy as np

from fuzz.mutate_bytes import damage_bytes, damage_integers
from fuzz.mutate_json import damage_json

Arrays = dict[str, np.ndarray]

_HON = struct.Struct("<8sIIII")
_FLOATS = [float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 0.0, -1.0, 1.5, 65504.0, 3.4e38]
_SAFE_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I8": "|i1",
    "U8": "|u1",
}
_SAFE_DTYPES |= {"BOOL": "|b1", "I16": "<i2", "U32": "<u4", "U64": "<u8", "U16": "<u2"}


def damage_array(random: Random, array: np.ndarray) -> np.ndarray:
    """Return an array of the same dtype with extreme values, or another order or length."""
    flat = array.ravel().copy()
    roll = random.random()
    if not flat.size:
        return np.ones(random.choice((1, 2, 9)), array.dtype)
    if roll < 0.55:
        if array.dtype.kind == "f":
            places = random.choice((slice(None), [random.randrange(flat.size)]))
            with np.errstate(over="ignore"):
                flat[places] = np.array(random.choice(_FLOATS)).astype(array.dtype)
        else:
            flat = np.frombuffer(damage_integers(random, flat.tobytes(), flat.itemsize), flat.dtype).copy()
    elif roll < 0.65:
        i, j = random.randrange(flat.size), random.randrange(flat.size)
        flat[i], flat[j] = flat[j], flat[i]
    elif roll < 0.75:
        i = random.randrange(flat.size)
        flat[i] = flat[i - 1]
    elif roll < 0.8:
        flat = flat[::-1].copy()
    elif roll < 0.85:
        flat[:] = flat[random.randrange(flat.size)]
    elif roll < 0.9:
        return flat[: random.randrange(flat.size)]
    elif roll < 0.95:
        return np.concatenate([flat, flat[: random.choice((1, 8))]])
    else:
        flat = np.frombuffer(
            damage_bytes(random, flat.tobytes()).ljust(flat.nbytes)[: flat.nbytes], flat.dtype
        )
    return flat.reshape(array.shape)


def unpack_hon(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header of a ``.hon`` file and its arrays."""
    length = _HON.unpack_from(content)[2]
    header = json.loads(content[_HON.size : _HON.size + length])
    start = _aligned(_HON.size + length)
    arrays = {
        entry["name"]: np.frombuffer(content, entry["dtype"], entry["length"], start + entry["offset"])
        for entry in header["arrays"]
    }
    return header, arrays


def pack_hon(header: dict[str, Any], arrays: Arrays) -> tuple[bytes, bytes]:
    """Return header and data of a ``.hon`` file with offsets and checksums of these arrays."""
    data, entries = b"", []
    for name, array in arrays.items():
        entry = {"name": name, "dtype": array.dtype.str, "length": len(array), "offset": len(data)}
        entries.append({**entry, "crc32": zlib.crc32(array.tobytes())})
        data += array.tobytes() + bytes(-array.nbytes % 64)
    return json.dumps({**header, "size": len(data), "arrays": entries}).encode(), data


def hon_file(header: bytes, data: bytes, magic: bytes = b"\x89HON\r\n\x1a\n", version: int = 2) -> bytes:
    """Return a ``.hon`` file, or one of another magic, with the checksum of this header."""
    start = _HON.pack(magic, version, len(header), zlib.crc32(header), 0) + header
    return start + bytes(-len(start) % 64) + data


def damage_hon(random: Random, content: bytes) -> bytes:
    """Return a ``.hon`` or ``.counts`` file with damage in arrays or header and valid checksums."""
    header, arrays = unpack_hon(content)
    roll = random.random()
    if roll < 0.75:
        for _ in range(random.choice((1, 1, 2))):
            name = random.choice(list(arrays))
            if name == "weights" and random.random() < 0.5:
                arrays[name] = arrays[name].astype("<f8")
            arrays[name] = damage_array(random, arrays[name])
    elif roll < 0.8 and "weights" in arrays:
        # One edge after another of the largest weight: each is fine, their sum is not.
        kind = random.choice(("<i8", "<f8"))
        arrays["weights"] = np.full(len(arrays["weights"]), 2**62 if kind == "<i8" else 1e308, kind)
    elif roll < 0.83:
        del arrays[random.choice(list(arrays))]
    raw, data = pack_hon(header, arrays)
    magic, version, *_ = _HON.unpack_from(content)
    return hon_file(damage_json(random, raw) if roll >= 0.83 else raw, data, magic, version)


def unpack_safetensors(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header of a safetensors file and its arrays, in the order of the data."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    entries = [(entry["data_offsets"], name) for name, entry in header.items() if name != "__metadata__"]
    arrays = {}
    for (first, last), name in sorted(entries):
        dtype, shape = np.dtype(_SAFE_DTYPES[header[name]["dtype"]]), header[name]["shape"]
        arrays[name] = np.frombuffer(content[start + first : start + last], dtype).reshape(shape)
    return header, arrays


def pack_safetensors(header: dict[str, Any], arrays: Arrays) -> tuple[bytes, bytes]:
    """Return header and data of a safetensors file that holds these arrays."""
    names = {np.dtype(dtype): name for name, dtype in _SAFE_DTYPES.items()}
    made = {"__metadata__": header["__metadata__"]} if "__metadata__" in header else {}
    data = b""
    for name, array in arrays.items():
        place = [len(data), len(data) + array.nbytes]
        made[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": place}
        data += array.tobytes()
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode(), data


def safetensors_file(header: bytes, data: bytes) -> bytes:
    """Return a safetensors file with this header, padded as the format asks for."""
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


def damage_safetensors(random: Random, content: bytes) -> bytes:
    """Return a safetensors file with other values, shapes, dtypes or names, or a damaged header."""
    header, arrays = unpack_safetensors(content)
    name = random.choice(list(arrays))
    roll = random.random()
    if roll < 0.5:
        arrays[name] = damage_array(random, arrays[name])
    elif roll < 0.65:
        arrays[name] = _reshaped(random, arrays[name])
    elif roll < 0.7:
        arrays = _renamed(random, arrays, name)
    raw, data = pack_safetensors(header, arrays)
    return safetensors_file(damage_json(random, raw) if roll >= 0.7 else raw, data)


def damage_npz(random: Random, content: bytes) -> bytes:
    """Return an ``.npz`` with other values, shapes, dtypes or names; JSON in bytes is damaged as JSON."""
    with np.load(io.BytesIO(content)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = random.choice(list(arrays))
    roll = random.random()
    if arrays[name].dtype == np.uint8 and arrays[name][:1].tobytes() in (b"{", b"["):
        text = damage_json(random, arrays[name].tobytes())
        arrays[name] = np.frombuffer(text, np.uint8)
    elif roll < 0.4:
        arrays[name] = damage_array(random, arrays[name])
    elif roll < 0.8:
        arrays[name] = _reshaped(random, arrays[name])
    elif roll < 0.9:
        del arrays[name]
    else:
        arrays = _renamed(random, arrays, name)
    made = io.BytesIO()
    np.savez_compressed(made, **arrays)  # type: ignore[arg-type]
    return made.getvalue()


def _renamed(random: Random, arrays: Arrays, name: str) -> Arrays:
    """Return the arrays, one of them under a new name or under that of another."""
    other = random.choice((name + "x", *arrays))
    return {other if known == name else known: array for known, array in arrays.items()}


def _reshaped(random: Random, array: np.ndarray) -> np.ndarray:
    """Return the values in another shape or dtype."""
    rows = np.atleast_1d(array)
    shapes = [rows.T, rows.ravel(), rows[None], rows[:0], rows[:1], rows.repeat(2, axis=0)]
    with np.errstate(all="ignore"):
        kinds = [array.astype(kind) for kind in ("<i8", "<f8", "|u1", "<f4", "|b1", "<f2")]
    return np.ascontiguousarray(random.choice(shapes + kinds))


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
