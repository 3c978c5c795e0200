"""Damage inside Arrow and Parquet tables and compressed files: lying offsets, columns of other types, bombs.

In: a generator and a valid file's bytes. Out: the damaged file.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutate_bytes import damage_bytes, damage_integers, damage_text

ARROW_FILE = b"ARROW1"
# A line without end, 384 MB of it, as parts that unpack one after another.
_PART, _PARTS = 1 << 25, 12
_bombs: dict[str, bytes] = {}


def damage_arrow(random: Random, content: bytes) -> bytes:
    """Return an Arrow IPC file or stream with lying buffers, or with a column of another type."""
    whole = content.startswith(ARROW_FILE)
    if random.random() < 0.35:
        table = _other_columns(random, _arrow_reader(pa.py_buffer(content)).read_all())
        made = io.BytesIO()
        writer = pa.ipc.new_file if whole else pa.ipc.new_stream
        with writer(made, table.schema) as sink:
            sink.write_table(table)
        return made.getvalue()
    source = pa.py_buffer(content)
    data = bytearray(content)
    places = _buffers(_arrow_reader(source).read_all(), source)
    for _ in range(random.choice((1, 1, 2))):
        start, size = random.choice(places)
        width = random.choice((4, 4, 8, 1))
        data[start : start + size] = damage_integers(random, bytes(data[start : start + size]), width)
    return bytes(data)


def damage_parquet(random: Random, content: bytes) -> bytes:
    """Return a Parquet file with a column of another type."""
    table = _other_columns(random, pq.read_table(io.BytesIO(content)))
    made = io.BytesIO()
    try:
        pq.write_table(table, made, compression="none", use_dictionary=random.random() < 0.5)
    except pa.ArrowException:  # a type or value that Parquet cannot hold
        return damage_bytes(random, content)
    return made.getvalue()


def damage_gzip(random: Random, content: bytes) -> bytes:
    """Return a gzip file with damaged text inside, or a small one that unpacks to much."""
    return _repacked(random, content, "gzip", gzip.decompress, lambda text: gzip.compress(text, 6, mtime=0))


def damage_zstd(random: Random, content: bytes) -> bytes:
    """Return a zstd file with damaged text inside, or a small one that unpacks to much."""

    def unpack(packed: bytes) -> bytes:
        return bytes(pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read())

    return _repacked(random, content, "zstd", unpack, lambda text: pa.compress(text, "zstd", asbytes=True))


def _repacked(
    random: Random,
    content: bytes,
    kind: str,
    unpack: Callable[[bytes], bytes],
    pack: Callable[[bytes], bytes],
) -> bytes:
    if random.random() < 0.01:
        if kind not in _bombs:
            _bombs[kind] = pack(bytes(_PART)) * _PARTS
        return _bombs[kind]
    text = damage_text(random, unpack(content))
    # Members one after another, and bytes after the last, are part of both formats.
    roll = random.random()
    return pack(text) + (content if roll < 0.1 else random.randbytes(8) if roll < 0.2 else b"")


def _arrow_reader(source: pa.Buffer) -> Any:
    whole = source.to_pybytes()[:6] == ARROW_FILE
    return (pa.ipc.open_file if whole else pa.ipc.open_stream)(pa.BufferReader(source))


def _buffers(table: pa.Table, source: pa.Buffer) -> list[tuple[int, int]]:
    """Return start and size of each buffer of the columns inside the bytes that they were read from."""
    arrays = [chunk for column in table.columns for chunk in column.chunks]
    arrays += [array.dictionary for array in arrays if pa.types.is_dictionary(array.type)]
    found = []
    for buffer in (buffer for array in arrays for buffer in array.buffers()):
        if buffer is not None and 0 <= buffer.address - source.address < source.size:
            found.append((buffer.address - source.address, buffer.size))
    return sorted(set(found))


def _other_columns(random: Random, table: pa.Table) -> pa.Table:
    at, rows = random.randrange(table.num_columns), table.num_rows
    name = table.column_names[at]
    roll = random.random()
    if roll < 0.05:
        return table.slice(0, 0)
    if roll < 0.1:
        return table.drop_columns([name])
    if roll < 0.15:
        return table.append_column(random.choice((name, "", "x")), table.column(at))
    values, kind = random.choice(_COLUMNS)
    made = pa.array([values[i % len(values)] for i in range(rows)], kind)
    return table.set_column(at, name, made)


_NESTED = pa.list_(pa.list_(pa.list_(pa.int8())))
_COLUMNS: list[tuple[list[Any], Any]] = [
    ([["A", "B"], None, []], pa.list_(pa.string())),
    ([["A", None], ["", "B"]], pa.large_list(pa.string())),
    ([["A", "B"]], pa.list_(pa.string(), 2)),
    ([[[[1]], []]], _NESTED),
    ([{"x": 1}, None], pa.struct([("x", pa.int64())])),
    ([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    ([b"\xff\xfe", b"A", b""], pa.binary()),
    ([b"\xff\xfe", b"AB"], pa.binary(2)),
    ([b"A", b"\x80"], pa.large_binary()),
    (["A", "B", "A|B", ""], pa.large_string()),
    (["A", "B", None], pa.dictionary(pa.int8(), pa.string())),
    ([2**63 - 1, -(2**63), 0, 1], pa.int64()),
    ([2**64 - 1, 2**63, 1], pa.uint64()),
    ([2**62, 2**62 - 1], pa.int64()),
    ([-1, 0, 1], pa.int8()),
    ([float("nan"), float("inf"), 1.5], pa.float64()),
    ([1e308, 1e308], pa.float64()),
    ([1.0, 2.0**53, 2.0**60], pa.float64()),
    ([0.5, 65504.0], pa.float32()),
    ([True, False, None], pa.bool_()),
    ([None], pa.null()),
    ([None], pa.string()),
    ([0, 2**40, -(2**40)], pa.timestamp("ns")),
    ([2**62, -(2**62)], pa.timestamp("s")),
    ([0, 1], pa.timestamp("us", "Europe/Berlin")),
    ([0, 20_000], pa.date32()),
    ([1, 2], pa.time32("s")),
    ([1, 2**62], pa.duration("ms")),
    (["0.1", "99999999999999999999.5"], pa.string()),
    ([pa.scalar("12345678901234567890123").cast(pa.decimal128(38, 0)).as_py()], pa.decimal128(38, 0)),
]
