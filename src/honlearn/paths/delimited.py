"""CSV and TSV tables: a :class:`Part` that streams a delimited file through Arrow's parser.

In: a file with a header row, plain or compressed. Out: record batches whose columns are bytes, so that the
id ``007`` stays ``007`` and ``NA`` stays a name, except those for which a type was asked.
"""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from honlearn.errors import FormatError, InputError, ParameterError
from honlearn.paths.files import File
from honlearn.paths.opened import Opened
from honlearn.paths.options import ReaderOptions
from honlearn.paths.orders import TEXT
from honlearn.paths.parts import FilePart
from honlearn.progress import Advance

_BLOCK = 1 << 20
_LARGEST = 1 << 30
# Seconds; a block that takes longer comes from a source that may never give it.
_PATIENCE = 2.0


class ConversionError(InputError):
    """A field of a typed column cannot be read as that type: where it is, its row, and what it holds.

    Rows are counted as Arrow does, the header as 1.
    """

    def __init__(self, where: str, row: int, value: str) -> None:
        super().__init__(f"{where}: {value}")
        self.where, self.row, self.value = where, row, value


class _Lent:
    """What Arrow reads a stream through; it lives for as long as Arrow may read."""

    def __init__(self, stream: Opened) -> None:
        self.read, self.readable, self.writable = stream.read, stream.readable, stream.writable
        self.seekable, self.close, self.closed = stream.seekable, stream.close, False


class Batches:
    """The record batches of a delimited stream: a context manager that ends when Arrow's thread has ended.

    Arrow reads ahead in a thread of its own, also when nothing more is asked for. A thread that still reads
    when the interpreter ends takes the process down with it (SIGABRT), so an error in the first rows of a
    large file would end in a crash.
    """

    def __init__(self, stream: Opened) -> None:
        self._stream = stream
        self._reader: csv.CSVStreamingReader | None = None
        self._lent: weakref.ref[_Lent] | None = None

    def open(self, *options: Any) -> None:
        """Read the first block; `options` are those of Arrow."""
        lent = _Lent(self._stream)
        self._lent = weakref.ref(lent)
        try:
            self._reader = csv.open_csv(lent, *options)
        finally:
            del lent  # or the traceback of an error would keep it

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        assert self._reader is not None
        return self._reader.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while self._reader is not None:
            try:
                yield self._reader.read_next_batch()
            except StopIteration:
                return

    def __enter__(self) -> Batches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What is closed has no more bytes, so Arrow's thread ends after the block that it is reading.
        self._stream.close()
        self._reader = None
        until = time.monotonic() + _PATIENCE
        while self._lent is not None and self._lent() is not None and time.monotonic() < until:
            time.sleep(0.0005)


class DelimitedPart(FilePart):
    """A CSV or TSV file."""

    is_text = True

    def __init__(self, file: File, separator: str, options: ReaderOptions | None = None) -> None:
        super().__init__(file, options)
        if len(separator.encode()) != 1:
            raise ParameterError(
                f"{file}: the columns of a table are separated by one byte; got {separator!r}"
            )
        self.separator = separator

    @property
    def columns(self) -> list[str]:
        """Names of all columns, from the header."""
        try:
            return list(self._opening().names)
        except UnicodeError as error:
            raise InputError(
                f"{self.name}:1: the header is not UTF-8 text; convert the file to UTF-8"
            ) from error

    @property
    def header(self) -> str:
        """The first line that is not blank, as it stands; its first million bytes, if it is longer."""
        with self._stream() as stream:
            begin = b""
            while (block := stream.read(_BLOCK)) and not begin:
                begin = block.lstrip(b"\r\n")
        return re.split(rb"[\r\n]", begin, maxsplit=1)[0].decode(errors="replace")

    def other_separator(self) -> str | None:
        """Return the mark that seems to stand between the columns: in the header, which lacks our own."""
        header = self.header
        marks = () if self.separator in header else (";", "\t", "|")
        return next((mark for mark in marks if mark in header), None)

    def separated_by(self, separator: str) -> DelimitedPart:
        """Return the same file, read with another separator."""
        return DelimitedPart(self.file, separator, self.options)

    def _check_width(self) -> None:
        """Raise for a header of more columns than allowed, before Arrow makes room for each of them."""
        most = self.options.max_columns
        with self._stream() as stream:
            width = _header_width(stream, self.separator, self.options.max_line)
        if width is None:
            raise self._long_row(self.options.max_line)
        if width > most:
            raise InputError(
                f"{self.name}:1: {width:,} columns, more than {most:,}; raise max_columns (--max-columns) if "
                "the table is meant to be so wide"
            )

    def _opening(self) -> Any:
        """Return the schema that Arrow infers from the file's first block."""
        self._check_width()
        block = _BLOCK
        while True:
            try:
                with self._stream() as stream, Batches(stream) as batches:
                    self._open(batches, csv.ConvertOptions(), block)
                    return batches.schema
            except (pa.ArrowException, OSError) as error:
                block = self._larger(block, error)

    def number_types(self, column: str) -> list[Any]:
        """Return the types to try for the column, the tightest first; later rows may need a wider one.

        Numbers come as text: Arrow would round them, and reads ``0x10`` as 16.
        """
        kind = self._opening().field(column).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
            return [TEXT]
        if pa.types.is_timestamp(kind):
            return [pa.timestamp("us", kind.tz), pa.timestamp("ns", kind.tz)]
        if pa.types.is_date(kind):
            return [kind, pa.timestamp("us"), pa.timestamp("ns")]
        if pa.types.is_time(kind):
            return [pa.time64("us")]
        return [TEXT, pa.timestamp("us"), pa.timestamp("us", "UTC")]

    def read(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted` as bytes or as `types` says."""
        options = csv.ConvertOptions(
            include_columns=list(wanted),
            column_types={name: types.get(name) or pa.binary() for name in wanted},
            check_utf8=False,
            strings_can_be_null=False,
        )
        block, done, given = min(_BLOCK, self.options.max_line), 0, 0
        while True:
            try:
                seen = 0
                with self._stream() as stream, Batches(stream) as batches:
                    self._open(batches, options, block)
                    for batch in batches:
                        new = batch.slice(min(given - seen, batch.num_rows))
                        seen += batch.num_rows
                        if new.num_rows:
                            yield new
                        given = max(given, seen)
                        here = max(stream.place(), done)
                        advance(here - done)
                        done = here
                return
            except (pa.ArrowException, OSError) as error:
                block = self._larger(block, error)

    def _larger(self, block: int, error: Exception) -> int:
        """Return the size of blocks to read again with where a row did not fit one; raise all else."""
        if "straddling object" not in str(error):
            raise self._worded(error) from error
        most = min(self.options.max_line, _LARGEST)
        if block >= most:
            raise self._long_row(most) from error
        return min(16 * block, most)

    def _long_row(self, most: int) -> InputError:
        return InputError(
            f"{self.name}: a row of more than {most:,} bytes; is a quotation mark left open? If not, raise "
            "max_line (--max-line)"
        )

    def _stream(self) -> Opened:
        return Opened(self.file, self.options.max_unpacked, text=True)

    def _open(self, batches: Batches, options: csv.ConvertOptions, block: int) -> None:
        # One thread: Arrow then numbers the rows in its complaints, and total work is no more.
        batches.open(
            csv.ReadOptions(use_threads=False, block_size=block),
            csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            options,
        )

    def where(self, row: int) -> str:
        """Return ``file:line`` of a row; the file is read again to count blank and continued lines."""
        return f"{self.name}:{self._line(row + 1)}"

    def _line(self, row: int) -> int:
        """Return the number of the line where row `row` starts; the header is row 0."""
        seen, inside, line = -1, False, 0
        try:
            with self._stream() as stream:
                for line, text in enumerate(_lines(stream), 1):
                    seen += bool(text.strip(b"\r\n")) and not inside
                    if seen == row:
                        return line
                    inside ^= text.count(b'"') % 2 == 1
        except InputError:
            pass  # a damaged file: the last line that could be read
        return line

    def _worded(self, error: Exception) -> InputError:
        text = str(error).partition("\n")[0]
        row = re.search(r"Row #(\d+): ", text)
        where = self.name if row is None else f"{self.name}:{self._line(int(row[1]) - 1)}"
        ragged = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if ragged and ragged[1] == "1" and (other := self.other_separator()) is not None:
            return FormatError(
                f"{where}: {ragged[2]} fields where the header has 1; pass delimiter={other!r} (--delimiter) "
                "if that separates the columns"
            )
        if ragged:
            return FormatError(
                f"{where}: {ragged[2]} fields where the header has {ragged[1]}; mend the row, or quote "
                f"fields that hold {self.separator!r}"
            )
        value = re.search(r"CSV conversion error to [\w\[\], =]+: .*?('.*')", text)
        if value:
            return ConversionError(where, int(row[1]) if row is not None else 0, value[1])
        if "Empty CSV file" in text:
            return FormatError(f"{self.name}: the file is empty; a table needs a header and rows")
        return self.damaged(error)


def _header_width(stream: Opened, separator: str, most_bytes: int) -> int | None:
    """Return the number of fields in the first line that is not blank, None where it is too long.

    Quoted fields may go on over lines.
    """
    width, seen, inside, begun = 1, 0, 0, False
    while block := stream.read(_BLOCK):
        if not begun:
            block = block.lstrip(b"\r\n")
        begun = begun or bool(block)
        text = np.frombuffer(block, np.uint8)
        quoted = (np.cumsum(text == ord('"')) + inside) % 2 == 1
        ends = np.flatnonzero(((text == ord("\n")) | (text == ord("\r"))) & ~quoted)
        stop = int(ends[0]) if len(ends) else len(text)
        width += int(np.count_nonzero((text[:stop] == ord(separator)) & ~quoted[:stop]))
        seen += stop
        if seen > most_bytes:
            return None
        if stop < len(text):
            break
        inside = int(quoted[-1]) if len(quoted) else inside
    return width


def _lines(stream: Opened) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(_BLOCK):
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
    if rest:
        yield rest
