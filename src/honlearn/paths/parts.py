"""Tables on disk and in memory, seen alike: column names, then record batches of the columns asked for.

In: CSV, TSV, Parquet and Arrow files; pandas, Polars and Arrow objects. Out: :class:`Part`, one per file
or table. A part knows how to say where a row is, so that every complaint can name file and line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

from honlearn.errors import HonlearnError, InputError, first_line
from honlearn.paths.files import File, compression_of, unreadable
from honlearn.paths.opened import Opened, arrow_file
from honlearn.paths.options import MAX_UNPACKED_MEMORY, ReaderOptions
from honlearn.progress import Advance

ROWS_A_BATCH = 1 << 16


class Part(ABC):
    """One table: `columns` names what it has, :meth:`batches` reads some of it."""

    name: str
    is_text = False
    first_row = 0

    @property
    def is_once(self) -> bool:
        """Whether the table can be read only once."""
        return False

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Names of all columns."""

    @abstractmethod
    def read(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted` as the source has them, not yet validated."""

    def batches(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns `wanted`, in this order, of which every buffer was validated.

        `types` holds what a CSV file cannot tell by itself: columns it does not name are read as bytes.
        Offsets, dictionary indices and UTF-8 are checked here, because compiled code and Arrow's own trust
        them and would read beyond a buffer.
        """
        for batch in self.read(wanted, types, advance):
            batch.validate(full=True)
            for start in range(0, batch.num_rows, ROWS_A_BATCH):
                yield batch.slice(start, ROWS_A_BATCH)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn what Arrow and NumPy raise on a damaged table into one error that names it."""
        try:
            yield
        except HonlearnError:
            raise
        except (pa.ArrowException, UnicodeError, LookupError, ArithmeticError, OSError) as error:
            raise self.damaged(error) from error

    @abstractmethod
    def damaged(self, error: Exception) -> InputError:
        """Return the error of a table that cannot be read as what it claims to be."""

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
    def is_once(self) -> bool:
        """Whether the table can be read only once."""
        return isinstance(self.source, pa.RecordBatchReader)

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

    def damaged(self, error: Exception) -> InputError:
        """Return the error of a table that Arrow cannot take or finds invalid."""
        if isinstance(error, OverflowError):
            return InputError(
                f"{self.name}: a whole number of more than 64 bits ({first_line(error)}); make ids text, "
                "and what to order by decimal.Decimal"
            )
        return InputError(
            f"{self.name}: cannot be read: {first_line(error)}; convert it to a type that Arrow has, or "
            "mend it"
        )

    def read(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted`."""
        try:
            yield from self._converted(list(wanted))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            if self.kind != "pandas":
                raise
            raise InputError(
                f"{self.name}: a column mixes types ({first_line(error)}); make it one type, as with "
                ".astype(str)"
            ) from error
        except (
            Exception
        ) as error:  # what pandas and Polars raise while they convert is theirs, and of any kind
            raise self.damaged(error) from error

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
        yield from table.to_batches()


class FilePart(Part):
    """A file; what Arrow says of a damaged one becomes one line that names it."""

    def __init__(self, file: File, options: ReaderOptions | None = None) -> None:
        self.file = file
        self.options = options or ReaderOptions()
        self.name = str(file)

    def damaged(self, error: Exception) -> InputError:
        """Return the error of a file that cannot be read as what it claims to be."""
        return unreadable(self.file, error)

    def whole(self) -> Any:
        """Return the file as something Arrow can seek in; a compressed one is unpacked in memory."""
        if compression_of(self.file) is None:
            return arrow_file(self.file)
        unpacked = pa.BufferOutputStream()
        with Opened(self.file, self.options.max_unpacked or MAX_UNPACKED_MEMORY) as stream:
            while block := stream.read(1 << 20):
                unpacked.write(block)
        return pa.BufferReader(unpacked.getvalue())


class ParquetPart(FilePart):
    """A Parquet file, read row group by row group: all of them, or those from `groups[0]` to `groups[1]`."""

    def __init__(
        self, file: File, options: ReaderOptions | None = None, groups: tuple[int, int] | None = None
    ) -> None:
        super().__init__(file, options)
        self.groups = groups
        if groups is not None:
            self.first_row = sum(self.group_rows()[: groups[0]])

    def group_rows(self) -> list[int]:
        """Return the number of rows in each row group."""
        import pyarrow.parquet as pq

        with self.guarded(), self.whole() as handle:
            facts = pq.ParquetFile(handle).metadata
            return [facts.row_group(i).num_rows for i in range(facts.num_row_groups)]

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        import pyarrow.parquet as pq

        with self.whole() as handle:
            return list(pq.ParquetFile(handle).schema_arrow.names)

    def read(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted`; text stays dictionary-coded where the file has it so."""
        import pyarrow.parquet as pq

        from honlearn.paths.columns import is_text

        with self.whole() as handle:
            schema = pq.ParquetFile(handle).schema_arrow
            texts = [name for name in wanted if is_text(schema.field(name).type)]
            opened = pq.ParquetFile(handle, read_dictionary=texts)
            share = self.file.stat().st_size / max(opened.metadata.num_rows, 1)
            groups = None if self.groups is None else list(range(*self.groups))
            batches = opened.iter_batches(ROWS_A_BATCH, groups, list(wanted), use_threads=False)
            for batch in batches:
                yield batch.select(list(wanted))
                advance(share * batch.num_rows)


class ArrowPart(FilePart):
    """An Arrow IPC file or stream (Feather is such a file)."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        with self.whole() as handle:
            return list(_open_ipc(handle, None).schema.names)

    def read(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted`."""
        with self.whole() as handle:
            names = _open_ipc(handle, None).schema.names
            handle.seek(0)
            reader = _open_ipc(handle, [names.index(name) for name in wanted])
            stream = isinstance(reader, pa.RecordBatchReader)
            total = None if stream else reader.num_record_batches
            for batch in reader if stream else map(reader.get_batch, range(reader.num_record_batches)):
                yield batch.select(list(wanted))
                advance(self.file.stat().st_size / total if total else 0)


def _open_ipc(handle: BinaryIO, fields: list[int] | None) -> Any:
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    magic = handle.read(6)
    handle.seek(0)
    if magic == b"ARROW1":
        return pa.ipc.open_file(handle, options=options)
    return pa.ipc.open_stream(handle, options=options)
