"""Tables with one path per row → paths, piece by piece.

In: the parts of a table, the column of paths (lists, or text to be split) and an optional column of counts.
Out: one chunk per record batch, so the table may exceed memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.paths.columns import entity_codes, is_text, missing, plain, spans, type_name
from honlearn.paths.interner import BadName, Interner
from honlearn.paths.options import A_COUNT, MAX_COUNT, SKIP_EMPTY, ReaderOptions
from honlearn.paths.parts import Part
from honlearn.paths.paths import PathChunk
from honlearn.paths.tokenise import parse_counts
from honlearn.progress import Advance


def row_chunks(
    parts: Sequence[Part], options: ReaderOptions, interner: Interner, advance: Advance
) -> Iterator[PathChunk]:
    """Yield the paths of a table that holds one per row."""
    assert options.path_column is not None
    wanted = [options.path_column] + ([options.count_column] if options.count_column else [])
    for part in parts:
        first = part.first_row
        with part.guarded():
            for batch in part.batches(wanted, {}, advance):
                yield _Rows(part, options, first).chunk(batch, interner)
                first += batch.num_rows


class _Rows:
    """Turns one record batch into a chunk and words its complaints."""

    def __init__(self, part: Part, options: ReaderOptions, first: int) -> None:
        self.part, self.options, self.first = part, options, first

    def chunk(self, batch: pa.RecordBatch, interner: Interner) -> PathChunk:
        paths = self._lists(plain(batch.column(0)))
        rows = np.arange(batch.num_rows)
        if paths.null_count:
            gone = paths.is_null().to_numpy(zero_copy_only=False)
            if self.options.on_empty == "error":
                raise self._error(int(np.argmax(gone)), f"empty path; remove the row or {SKIP_EMPTY}")
            rows = np.flatnonzero(~gone)
            paths = paths.drop_null()
        counts = (
            None
            if batch.num_columns < 2
            else counts_of(self.part, self.options, plain(batch.column(1)), self.first)[rows]
        )
        lengths = pc.list_value_length(paths).cast(pa.int64()).to_numpy()
        offsets = np.zeros(len(paths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = plain(paths.flatten())
        gone_values = missing(values)
        if gone_values is not None:
            if self.options.on_empty == "error":
                row = rows[_row_of(offsets, int(np.argmax(gone_values)))]
                raise self._error(int(row), f"empty entity id; mend the path or {SKIP_EMPTY}")
            values = values.filter(pa.array(~gone_values))
            offsets = np.concatenate(([0], np.cumsum(~gone_values)))[offsets]
        try:
            codes = entity_codes(values, interner)
        except BadName as error:
            raise self._error(int(rows[_row_of(offsets, error.position)]), error.reason) from error
        except InputError as error:
            raise InputError(f"{self.part.name}: column {self.options.path_column!r}: {error}") from error
        return PathChunk(codes, offsets, counts)

    def _lists(self, column: pa.Array) -> Any:
        """Return the path column as an array of lists; text is split, empty text is a missing path."""
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = plain(column.dictionary_decode())
            kind = column.type
        if is_text(kind):
            column = pc.if_else(pc.equal(pc.binary_length(column), 0), pa.scalar(None, kind), column)
            return pc.split_pattern(column, self.options.delimiter or " ")
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            return column
        raise InputError(
            f"{self.part.name}: column {self.options.path_column!r} is of type {type_name(kind)}; a path "
            "column holds lists, or text that is split at the delimiter; for one event per row give sequence "
            "and entity instead"
        )

    def _error(self, row: int, reason: str) -> InputError:
        return InputError(f"{self.part.where(self.first + row)}: {reason}")


def _row_of(offsets: NDArray[np.int64], position: int) -> int:
    return int(np.searchsorted(offsets, position, "right")) - 1


def counts_of(part: Part, options: ReaderOptions, column: pa.Array, first: int) -> NDArray[np.int64]:
    """Return the counts in a column, whose first value is of row `first`."""
    name, kind = options.count_column, column.type
    if part.is_text and is_text(kind):
        # Arrow would read 0x10 as 16.
        written = parse_counts(*spans(column))
        if not written.all():
            row = int(np.argmin(written > 0))
            got = bytes(column[row].as_py() or b"")[:80].decode(errors="replace")
            raise InputError(f"{part.where(first + row)}: count {got!r} (column {name!r}); {A_COUNT}")
        return written
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(
            f"{part.name}: column {name!r} is of type {type_name(kind)}; counts are whole numbers"
        )
    values = column.to_numpy(zero_copy_only=False)
    whole = values >= 1
    if values.dtype.kind == "f":
        whole &= (values == np.floor(values)) & (values < 2.0**53)
    else:
        whole &= values <= MAX_COUNT
    if not whole.all():
        row = int(np.argmin(whole))
        got = "no count" if column[row].as_py() is None else f"count {column[row].as_py()!r}"
        raise InputError(f"{part.where(first + row)}: {got} (column {name!r}); {A_COUNT}")
    counted: NDArray[np.int64] = values.astype(np.int64)
    return counted
