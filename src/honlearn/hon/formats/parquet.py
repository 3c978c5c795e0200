"""The edge table as Parquet: the columns source, target (labels) and weight.

In: a network or a ``.parquet`` file, from honlearn or elsewhere. Out: the file, or the network in it.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from honlearn.errors import FormatError, HonlearnError, InputError, did_you_mean, listed
from honlearn.hon.edgelist import from_edges
from honlearn.hon.formats.atomic import atomic_path
from honlearn.hon.network import HigherOrderNetwork
from honlearn.stored.parse import first_line

COLUMNS = ("source", "target", "weight")


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the edges in node order, labels dictionary-encoded."""
    with atomic_path(path) as draft:
        pq.write_table(network.to_arrow(), draft, compression="zstd", use_dictionary=["source", "target"])


def read(path: Path) -> HigherOrderNetwork:
    """Return the network in an edge table; other columns are ignored."""
    try:
        table = _table(path)
        source, target, weight = (table[name] for name in COLUMNS)
        return from_edges(source, target, weight, where=lambda row: f"{path}: row {row + 1}")
    except InputError as error:
        text = str(error)
        raise FormatError(text if text.startswith(str(path)) else f"{path}: {text}") from None


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
