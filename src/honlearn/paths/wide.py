"""Tables with one path per row and a column for each step → paths, piece by piece.

In: the parts of a table, and which columns are the steps: a pattern, or names. Out: one chunk per record
batch. Empty cells behind the last step of a row make rows equally wide and are no steps; an empty cell before
another step is an empty id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from honlearn.errors import InputError, did_you_mean, there_are
from honlearn.paths.columns import as_text, entity_codes, missing, plain
from honlearn.paths.interner import BadName, Interner
from honlearn.paths.options import SKIP_EMPTY, ReaderOptions
from honlearn.paths.parts import Part
from honlearn.paths.paths import PathChunk
from honlearn.paths.rows import counts_of
from honlearn.progress import Advance


def step_columns(part: Part, options: ReaderOptions) -> list[str]:
    """Return the columns of the steps, in the order in which they are named, or stand in the table."""
    assert options.step_columns is not None
    there = part.columns
    wanted = options.step_columns
    words = (wanted if wanted in there else wanted.split(",")) if isinstance(wanted, str) else wanted
    found: list[str] = []
    for word in [words] if isinstance(words, str) else words:
        matched = [word] if word in there else [name for name in there if fnmatchcase(name, word)]
        if not matched:
            hint = did_you_mean(word, there)
            raise InputError(f"{part.name}: no column {word!r} (step_columns){hint}; {there_are(there, 20)}")
        found += matched
    found = [name for name in dict.fromkeys(found) if name != options.count_column]
    if len(found) < 2:
        raise InputError(
            f"{part.name}: step_columns {wanted!r} is one column, {found[0]!r}; give a pattern such as "
            f"'step*', or several names; {there_are(there, 20)}"
        )
    for name in found:
        if there.count(name) > 1:
            raise InputError(f"{part.name}: {there.count(name)} columns are called {name!r}; rename them")
    return found


def wide_chunks(
    parts: Sequence[Part], options: ReaderOptions, interner: Interner, advance: Advance
) -> Iterator[PathChunk]:
    """Yield the paths of a table that holds one per row and a step per column."""
    for part in parts:
        steps = step_columns(part, options)
        first = part.first_row
        with part.guarded():
            for batch in part.batches([*steps, *filter(None, [options.count_column])], {}, advance):
                yield _chunk(part, options, steps, batch, first, interner)
                first += batch.num_rows


def gaps(batch: pa.RecordBatch, n_steps: int) -> NDArray[np.bool_]:
    """Return which cells are empty though a later one of their row is not, rows times steps."""
    there = _there(batch, n_steps)
    later = np.logical_or.accumulate(there[:, ::-1], axis=1)[:, ::-1]
    return later & ~there


def _there(batch: pa.RecordBatch, n_steps: int) -> NDArray[np.bool_]:
    there = np.ones((batch.num_rows, n_steps), np.bool_)
    for place in range(n_steps):
        gone = missing(batch.column(place))
        if gone is not None:
            there[:, place] = ~gone
    return there


def _chunk(
    part: Part,
    options: ReaderOptions,
    steps: Sequence[str],
    batch: pa.RecordBatch,
    first: int,
    interner: Interner,
) -> PathChunk:
    there = _there(batch, len(steps))
    lengths = there.sum(1)
    if options.on_empty == "error":
        _refuse_empty(part, steps, gaps(batch, len(steps)), lengths, first)
    kept = np.flatnonzero(lengths)
    offsets = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(lengths[kept], out=offsets[1:])
    counts = None
    if options.count_column is not None:
        counts = counts_of(part, options, plain(batch.column(len(steps))), first)[kept]
    rows, places = np.nonzero(there)  # row by row, as paths are
    values = [_texts(part, steps[j], batch.column(j), there[:, j]) for j in range(len(steps))]
    # Where the cell of a row and a column stands among the cells of all columns, one after the other.
    starts = np.concatenate(([0], np.cumsum(there.sum(0))))
    among = np.cumsum(there, axis=0) - 1
    order = starts[places] + among[rows, places]
    try:
        codes = entity_codes(pa.concat_arrays(values).take(pa.array(order)), interner)
    except BadName as error:
        place = part.where(first + int(rows[error.position]))
        raise InputError(f"{place}: {error.reason} (column {steps[places[error.position]]!r})") from error
    return PathChunk(codes, offsets, counts)


def _texts(part: Part, name: str, column: pa.Array, there: NDArray[np.bool_]) -> pa.Array:
    """Return the cells of a column that hold a step, as text."""
    column = plain(column)
    if pa.types.is_dictionary(column.type):
        column = plain(column.dictionary_decode())
    try:
        return as_text(column.filter(pa.array(there))).cast(pa.large_binary())
    except InputError as error:
        raise InputError(f"{part.name}: column {name!r}: {error}") from error


def _refuse_empty(
    part: Part,
    steps: Sequence[str],
    gap: NDArray[np.bool_],
    lengths: NDArray[np.int64],
    first: int,
) -> None:
    """Raise at the first row that has no step, or an empty cell before one."""
    wrong = gap.any(1) | (lengths == 0)
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    where = part.where(first + row)
    if not lengths[row]:
        raise InputError(f"{where}: empty path; remove the row or {SKIP_EMPTY}")
    name = steps[int(np.argmax(gap[row]))]
    raise InputError(
        f"{where}: empty entity id (column {name!r}) before a later step; mend it or {SKIP_EMPTY}"
    )
