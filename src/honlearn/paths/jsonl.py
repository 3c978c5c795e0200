"""JSON lines: one JSON value per line, an object for an event or a path, or an array that is a path.

In: ``.jsonl`` or ``.ndjson`` files, plain or compressed. Out: a :class:`Part` like that of any table, whose
columns are the keys of the objects; where lines are arrays, one column holds them. Lines are parsed one by
one with bounded size and nesting, numbers stay the text that they are, and errors name file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa

from honlearn.errors import FormatError, InputError
from honlearn.paths.delimited import ConversionError
from honlearn.paths.files import File
from honlearn.paths.options import ReaderOptions
from honlearn.paths.orders import TEXT, TIMES, is_time, looks_like_number
from honlearn.paths.parts import FilePart, Part
from honlearn.paths.text import line_blocks
from honlearn.progress import Advance

LINE = "(line)"
"""The column that holds a line which is an array."""

_FIRST_ROWS = 1000
_KINDS = {dict: "an object", list: "an array", str: "text", bool: "true or false", type(None): "null"}


class _Number(str):
    """A number with a point or an exponent, as it was written, so that no order is rounded."""

    __slots__ = ()


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


_DECODER = json.JSONDecoder(parse_float=_Number, parse_constant=_no_constant)


def with_lines(parts: Sequence[Part], options: ReaderOptions) -> ReaderOptions:
    """Return the options for JSON lines: where no column is named, lines that are arrays are the paths."""
    first = parts[0]
    if isinstance(first, JsonLinesPart) and not options.is_table and first.holds_arrays:
        return replace(options, path_column=LINE)
    return options


class JsonLinesPart(FilePart):
    """A file of JSON lines."""

    is_text = True

    def __init__(self, file: File, options: ReaderOptions | None = None) -> None:
        super().__init__(file, options)
        self._begin: list[Any] | None = None

    @property
    def holds_arrays(self) -> bool:
        """Whether the first line is an array, so that each is to be a path."""
        return isinstance(self._first_rows()[0], list)

    @property
    def columns(self) -> list[str]:
        """Keys of the first thousand objects, by first appearance."""
        if self.holds_arrays:
            return [LINE]
        return list(dict.fromkeys(key for row in self._first_rows() if isinstance(row, dict) for key in row))

    def _first_rows(self) -> list[Any]:
        if self._begin is None:
            rows = (value for block in self._blocks(None) for _, value in block)
            self._begin = list(islice(rows, _FIRST_ROWS))
        if not self._begin:
            raise FormatError(f"{self.name}: the file is empty; it needs one JSON value per line")
        return self._begin

    def sample(self, wanted: Sequence[str]) -> dict[str, list[Any]]:
        """Return what the first thousand objects hold under some keys: lists where they are, else text.

        Nothing is refused here: a column that no path needs may hold what no id can be.
        """
        rows = [row for row in self._first_rows() if isinstance(row, dict)]
        found: dict[str, list[Any]] = {}
        for name in wanted:
            values = [row.get(name) for row in rows]
            if any(isinstance(value, list) for value in values):
                found[name] = [[str(item) for item in v] if isinstance(v, list) else None for v in values]
            else:
                found[name] = [None if v is None or isinstance(v, dict) else str(v) for v in values]
        return found

    def number_types(self, column: str) -> list[Any]:
        """Return the types to try for an order: numbers, or times where the first value is no number."""
        values = (row.get(column) for row in self._first_rows() if isinstance(row, dict))
        first = next((value for value in values if value not in (None, "")), None)
        if isinstance(first, str) and not looks_like_number(first):
            return list(TIMES)
        return [TEXT]

    def read(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted`: paths as lists of text, orders as `types` says, all else as text."""
        first = 0
        for block in self._blocks(advance):
            if block:
                columns = [self._column(block, name, types.get(name), first) for name in wanted]
                yield pa.RecordBatch.from_arrays(columns, list(wanted))
            first += len(block)

    def _column(self, block: list[tuple[int, Any]], name: str, kind: Any, first: int) -> pa.Array:
        values: list[Any] = []
        for line, row in block:
            if name == LINE and isinstance(row, list):
                values.append(row)
            elif name != LINE and isinstance(row, dict):
                values.append(row.get(name))
            else:
                expected = "an array, as the first line is" if name == LINE else "an object with columns"
                raise self._error(line, f"the line is {_kind(row)}, not {expected}; mend it")
        try:
            if name in (LINE, self.options.path_column):
                paths = [self._path(line, v) for (line, _), v in zip(block, values, strict=True)]
                return pa.array(paths, pa.large_list(pa.large_string()))
            if kind in TIMES:
                return self._times(block, name, values, kind, first)
            ids = name != self.options.order_by
            texts = [self._text(line, v, ids) for (line, _), v in zip(block, values, strict=True)]
            if not ids:
                texts = [text or "" for text in texts]  # as a CSV file has it
            return pa.array(texts, pa.large_string()).cast(pa.large_binary())
        except UnicodeEncodeError:
            bad = next(i for i, value in enumerate(values) if not _is_unicode(value))
            raise self._error(
                block[bad][0], f"text with half of a surrogate pair (column {name!r}); mend it"
            ) from None

    def _times(
        self, block: list[tuple[int, Any]], name: str, values: list[Any], kind: Any, first: int
    ) -> pa.Array:
        """Return times; one that cannot be read as `kind` raises, so that the next type is tried."""
        texts = [value.strip() if isinstance(value, str) else value for value in values]
        bad = next((i for i, text in enumerate(texts) if not isinstance(text, (str, type(None)))), -1)
        if bad < 0:
            try:
                return pa.array([text or None for text in texts], pa.large_string()).cast(kind)
            except pa.ArrowInvalid:
                bad = next(i for i, text in enumerate(texts) if text and not is_time(text, kind))
        shown = str(texts[bad]) if isinstance(texts[bad], (str, int)) else _kind(texts[bad])
        raise ConversionError(f"{self.name}:{block[bad][0]}", first + bad, repr(shown[:80]))

    def _path(self, line: int, value: Any) -> list[str | None] | None:
        if isinstance(value, str) and not isinstance(value, _Number):
            return list(value.split(self.options.delimiter or " ")) if value else None
        if value is None or isinstance(value, list):
            return None if value is None else [self._text(line, item, ids=True) for item in value]
        raise self._error(line, f"a path is a list of names, or text to be split; got {_kind(value)}")

    def _text(self, line: int, value: Any, ids: bool) -> str | None:
        """Return a value as text: ids are text or whole numbers, 7.0 is 7; orders stay as they are."""
        if value is None or type(value) is str:
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if not isinstance(value, _Number):
            raise self._error(line, f"a name is text or a whole number; got {_kind(value)}")
        if not ids:
            return str(value)
        near = float(value)
        if near.is_integer() and abs(near) < 2.0**63:
            return str(int(near))
        raise self._error(line, f"{value[:40]} is no id; ids are text or whole numbers, so make it text")

    def _blocks(self, advance: Advance | None) -> Iterator[list[tuple[int, Any]]]:
        """Yield the values of block after block, each with the number of its line; blank lines are none."""
        number = 1
        most, unpacked = self.options.max_line, self.options.max_unpacked
        for offset, buffer, used in line_blocks(
            self.file, advance=advance, max_line=most, max_unpacked=unpacked
        ):
            raw = bytes(memoryview(buffer)[:used])
            try:
                text = str(raw, "utf-8-sig" if offset == 0 else "utf-8")
            except UnicodeDecodeError as error:
                line = number + raw.count(b"\n", 0, error.start)
                raise FormatError(f"{self.name}:{line}: not UTF-8 text; convert the file to UTF-8") from None
            lines = text.split("\n")
            yield [(i, self._parsed(i, line)) for i, line in enumerate(lines, number) if line.strip()]
            number += len(lines) - 1

    def _parsed(self, number: int, line: str) -> Any:
        try:
            return _DECODER.decode(line)
        except RecursionError:
            reason = "nested too deep"
        except ValueError as error:
            reason = getattr(error, "msg", str(error)).partition(";")[0]
        raise FormatError(
            f"{self.name}:{number}: not valid JSON ({reason}); each line is one object or one array"
        )

    def where(self, row: int) -> str:
        """Return ``file:line`` of a row; the file is read again to count blank lines."""
        seen = 0
        for block in self._blocks(None):
            if row < seen + len(block):
                return f"{self.name}:{block[row - seen][0]}"
            seen += len(block)
        return self.name

    def _error(self, line: int, reason: str) -> InputError:
        return InputError(f"{self.name}:{line}: {reason}")


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a number")


def _is_unicode(value: object) -> bool:
    try:
        for text in value if isinstance(value, list) else [value]:
            str(text).encode()
    except UnicodeEncodeError:
        return False
    return True
