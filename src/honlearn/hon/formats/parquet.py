"""The edge table as Parquet: the columns source, target (labels) and weight.

In: a network or a ``.parquet`` file, from honlearn or elsewhere, or a folder of such files
(:mod:`honlearn.hon.grow_parts`). Out: the file, or the network in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from honlearn.errors import FormatError, HonlearnError, InputError, did_you_mean, first_line, listed
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.writing.atomic import atomic_binary

COLUMNS = ("source", "target", "weight")


def part_name(number: int) -> str:
    """Return the name of a file in a folder of parts; the folder is known by part 0."""
    return f"part-{number:05d}.parquet"


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the edges in node order, labels dictionary-encoded."""
    with atomic_binary(path) as file:
        write_table(network.to_arrow(), file)


def write_table(table: pa.Table, file: BinaryIO | Path) -> None:
    """Write a table of edges, labels dictionary-encoded."""
    pq.write_table(table, file, compression="zstd", use_dictionary=["source", "target"])


def read(path: Path) -> HigherOrderNetwork:
    """Return the network in an edge table; other columns are ignored."""
    try:
        table = _whole(path)
        source, target, weight = (table[name] for name in COLUMNS)
        return from_edges(source, target, weight, where=lambda row: f"{path}: row {row + 1}")
    except InputError as error:
        text = str(error)
        raise FormatError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def _whole(path: Path) -> pa.Table:
    """Return the columns of a file, or of all parts in a folder, in the order of their names."""
    if not path.is_dir():
        return _table(path)
    parts = sorted(path.glob("*.parquet"))
    if part_name(0) not in [part.name for part in parts]:
        raise FormatError(f"{path}: a folder without {part_name(0)}; name a file, or a folder of parts")
    return pa.concat_tables([_table(part) for part in parts], promote_options="permissive")


def _table(path: Path) -> pa.Table:
    """Return the three columns, as they are in the file."""
    try:
        schema = pq.read_schema(path)
        there = schema.names
        for name in COLUMNS:
            if there.count(name) != 1:
                problem = "no column" if name not in there else "more than one column"
                raise FormatError(
                    f"{path}: {problem} {name!r}; there are {listed(there)}{did_you_mean(name, there)}; "
                    "an edge table has source, target and weight"
                )
        # Labels stay encoded as they are in the file, where a few bytes may be a million times one label.
        plain = [name for name in COLUMNS[:2] if not pa.types.is_nested(schema.field(name).type)]
        # One file as it is: nothing is taken from the names of the folders that it lies in.
        with pq.ParquetFile(path, read_dictionary=plain) as file:
            return file.read(columns=list(COLUMNS))
    except HonlearnError:
        raise
    except Exception as error:
        # Arrow meets bytes that anyone may have written: whatever it raises (errors of its own, OSError,
        # MemoryError, UnicodeDecodeError, KeyError) means that the file is damaged.
        raise FormatError(f"{path}: not a whole Parquet file: {first_line(error)}") from None
