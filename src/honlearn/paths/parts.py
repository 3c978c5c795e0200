"""Tables on disk and in memory, seen alike: column names, then record batches of the columns asked for.

In: CSV, TSV, Parquet and Arrow files; pandas, Polars and Arrow objects. Out: :class:`Part`, one a file or
table. A part knows how to say where a row is, so that every complaint can name file and line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from honlearn.errors import InputError
from honlearn.paths.files import compression_of, unreadable
from honlearn.progress import Advance

ROWS_A_BATCH = 1 << 16


class Part(ABC):
    """One table: `columns` names what it has, :meth:`batches` reads some of it."""

    name: str

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Names of all columns."""

    @abstractmethod
    def batches(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns `wanted`, in this order.

        `types` holds what a CSV file cannot tell by itself: columns it does not name are read as bytes.
        """

    def number_types(self, column: str) -> list[Any]:
        """Return the Arrow types to try for numbers or times; None where the table has its own."""
        return [None]

    def where(self, row: int) -> str:
        """Return how to call row `row`, counted from 0 without a header."""
        return f"{self.name}: row {row} (counted from 0)"


class MemoryPart(Part):
    """A pandas, Polars or Arrow object; `convert` turns some columns of it into an Arrow table."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.kind = type(source).__module__.partition(".")[0]
        self.name = "the table"

    @property
    def columns(self) -> list[str]:
        """Names of all columns; a pandas label that is no string goes by its text."""
        if self.kind == "pandas":
            return [str(label) for label in self.source.columns]
        if self.kind == "polars":
            return list(self.source.collect_schema().names())
        schema = getattr(self.source, "schema", None)
        if not isinstance(schema, pa.Schema):
            self.source = pa.table(self.source)
            schema = self.source.schema
        return list(schema.names)

    def batches(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted`."""
        try:
            yield from self._converted(list(wanted))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            first = str(error.args[0]).splitlines()[0]
            raise InputError(
                f"{self.name}: a column mixes types ({first}); make it one type, as with .astype(str)"
            ) from error

    def _converted(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        source = self.source
        if isinstance(source, pa.RecordBatchReader):
            for batch in source:
                yield batch.select(wanted)
            return
        if self.kind == "pandas":
            labels = dict(zip(self.columns, source.columns, strict=True))
            frame = source[[labels[name] for name in wanted]]
            table = pa.Table.from_pandas(frame, preserve_index=False).rename_columns(wanted)
        elif self.kind == "polars":
            frame = source.select(wanted)
            table = (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
        else:
            table = source.select(wanted)
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        yield from table.to_batches(max_chunksize=ROWS_A_BATCH)


class FilePart(Part):
    """A file; what Arrow says of a damaged one becomes one line that names it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.name = str(file)

    def damaged(self, error: Exception) -> InputError:
        """Return the error of a file that cannot be read as what it claims to be."""
        return unreadable(self.file, error if isinstance(error, OSError) else OSError(str(error)))

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Give the file as something Arrow can seek in; a compressed one is unpacked in memory."""
        try:
            compression = compression_of(self.file)
            if compression is None:
                handle = pa.OSFile(self.name)
            else:
                with pa.input_stream(self.name, compression=compression) as stream:
                    handle = pa.BufferReader(stream.read())
            with handle:
                yield handle
        except (pa.ArrowException, OSError) as error:
            raise self.damaged(error) from error


class ParquetPart(FilePart):
    """A Parquet file, read row group by row group."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        import pyarrow.parquet as pq

        with self.opened() as handle:
            return list(pq.ParquetFile(handle).schema_arrow.names)

    def batches(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted`; text stays dictionary-coded where the file has it so."""
        import pyarrow.parquet as pq

        with self.opened() as handle:
            schema = pq.ParquetFile(handle).schema_arrow
            texts = [name for name in wanted if _is_text(schema.field(name).type)]
            opened = pq.ParquetFile(handle, read_dictionary=texts)
            share = self.file.stat().st_size / max(opened.metadata.num_rows, 1)
            for batch in opened.iter_batches(ROWS_A_BATCH, columns=list(wanted), use_threads=False):
                yield batch.select(list(wanted))
                advance(share * batch.num_rows)


class ArrowPart(FilePart):
    """An Arrow IPC file or stream (Feather is such a file)."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        with self.opened() as handle:
            return list(_open_ipc(handle, None).schema.names)

    def batches(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted`."""
        with self.opened() as handle:
            names = _open_ipc(handle, None).schema.names
            handle.seek(0)
            reader = _open_ipc(handle, [names.index(name) for name in wanted])
            stream = isinstance(reader, pa.RecordBatchReader)
            total = None if stream else reader.num_record_batches
            for batch in reader if stream else map(reader.get_batch, range(reader.num_record_batches)):
                for start in range(0, batch.num_rows, ROWS_A_BATCH):
                    yield batch.select(list(wanted)).slice(start, ROWS_A_BATCH)
                advance(self.file.stat().st_size / total if total else 0)


def _open_ipc(handle: Any, fields: list[int] | None) -> Any:
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    magic = handle.read(6)
    handle.seek(0)
    if magic == b"ARROW1":
        return pa.ipc.open_file(handle, options=options)
    return pa.ipc.open_stream(handle, options=options)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))
