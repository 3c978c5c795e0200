"""The edge table as Parquet: the columns source, target (labels) and weight.

In: a network or a ``.parquet`` file, from honlearn or elsewhere. Out: the file, or the network in it.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from honlearn.errors import FormatError, InputError, did_you_mean, listed
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.writing.atomic import atomic_binary

COLUMNS = ("source", "target", "weight")


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the edges in node order, labels dictionary-encoded."""
    with atomic_binary(path) as file:
        pq.write_table(network.to_arrow(), file, compression="zstd", use_dictionary=["source", "target"])


def read(path: Path) -> HigherOrderNetwork:
    """Return the network in an edge table; other columns are ignored."""
    try:
        there = pq.read_schema(path).names
        for name in COLUMNS:
            if name not in there:
                raise FormatError(
                    f"{path}: no column {name!r}; there are {listed(there)}{did_you_mean(name, there)}; "
                    "an edge table has source, target and weight"
                )
        table = pq.read_table(path, columns=list(COLUMNS))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise FormatError(f"{path}: not a whole Parquet file: {reason}") from None
    try:
        source, target, weight = (table[name] for name in COLUMNS)
        return from_edges(source, target, weight, where=lambda row: f"{path}: row {row + 1}")
    except InputError as error:
        text = str(error)
        raise FormatError(text if text.startswith(str(path)) else f"{path}: {text}") from None
