"""Features of entities from a file: a table with the node first, then numbers.

In: a CSV or Parquet file. Out: a table of float32 indexed by node. Whatever the file holds, only errors of
ours come out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from honlearn.errors import FormatError, MissingFileError, first_line

if TYPE_CHECKING:
    import pandas

# The most columns and bytes of a line that a table may have.
_MOST_COLUMNS, _LONGEST_LINE = 100_000, 1 << 26


def read_features(path: str) -> pandas.DataFrame:
    """Return numbers for each entity from a CSV or Parquet file whose first column is the node."""
    import pandas as pd
    import pyarrow as pa

    source = Path(path)
    if not source.is_file():
        raise MissingFileError(f"{source}: no such file; features=FILE takes a CSV or Parquet of numbers")
    try:
        table = _parquet(source) if source.suffix.lower() == ".parquet" else _csv(source)
        table.validate(full=True)
        if table.num_columns < 2:
            raise FormatError(f"{source}: features need a column of numbers beside the node")
        nodes = table.column(0).cast(pa.string()).to_pylist()
        if None in nodes:
            raise FormatError(f"{source}: row {nodes.index(None) + 1} names no node; remove it")
        columns = {}
        for number, name in enumerate(table.column_names[1:], 1):
            column = table.column(number).cast(pa.float32())
            if column.null_count:
                raise FormatError(
                    f"{source}: {name!r} lacks {column.null_count:,} numbers; fill or remove them"
                )
            columns[number] = column.to_numpy()
    except (pa.ArrowException, OSError, UnicodeError, LookupError, ValueError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{source}: features must be a table with the node first, then numbers ({first_line(error)})"
        ) from None
    out = pd.DataFrame(columns, index=pd.Index(nodes, dtype=object))
    return out.set_axis(table.column_names[1:], axis=1)


def _parquet(source: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(source).read(use_threads=False)


def _csv(source: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    with open(source, "rb") as file:
        header = file.readline(_LONGEST_LINE)
    if header.count(b",") >= _MOST_COLUMNS or (len(header) == _LONGEST_LINE and not header.endswith(b"\n")):
        raise FormatError(f"{source}: more than {_MOST_COLUMNS:,} columns; features are numbers of a few")
    read = csv.ReadOptions(use_threads=False, block_size=max(1 << 20, 4 * len(header)))
    # The node stays text, whatever it looks like; which numbers there are is found by a first look.
    first = csv.open_csv(source, read_options=read).schema.names[0]
    convert = csv.ConvertOptions(column_types={first: pa.string()}, strings_can_be_null=False)
    return csv.read_csv(source, read_options=read, convert_options=convert)
