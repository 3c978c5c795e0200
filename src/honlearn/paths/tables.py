"""Tables with one event, one path (in a cell or in several) or one temporal edge per row → chunks of paths.

In: files of one format, or a table in memory, and the options that name its columns. Out: the reader for it,
once every named column was found in every part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from honlearn.errors import HonlearnError, InputError, did_you_mean, there_are
from honlearn.paths.delimited import DelimitedPart
from honlearn.paths.event_tables import event_chunks
from honlearn.paths.files import File
from honlearn.paths.jsonl import JsonLinesPart, with_lines
from honlearn.paths.options import COLUMN_OPTIONS, NAME_COLUMNS, ReaderOptions
from honlearn.paths.parts import ArrowPart, MemoryPart, ParquetPart, Part
from honlearn.paths.rows import row_chunks
from honlearn.paths.stream import OpenChunks
from honlearn.paths.temporal import temporal_chunks
from honlearn.paths.wide import step_columns, wide_chunks


def table_chunks(
    source: Any, kind: str | None, options: ReaderOptions, memory: int | None = None
) -> OpenChunks:
    """Return the function that reads the table; `kind` is the format of files, None for a table in memory.

    `memory`: about how many bytes the rows of events may take.
    """
    parts: list[Part] = (
        [MemoryPart(source)] if kind is None else [open_part(f, kind, options) for f in source]
    )
    options = with_lines(parts, options)
    for part in parts:
        check_columns(part, options)
    if options.path_column is not None:
        return lambda interner, advance: row_chunks(parts, options, interner, advance)
    if options.step_columns is not None:
        return lambda interner, advance: wide_chunks(parts, options, interner, advance)
    if options.source_column is not None:
        return lambda interner, advance: temporal_chunks(parts, options, interner, advance)
    return lambda interner, advance: event_chunks(parts, options, interner, advance, memory)


def open_part(file: File, kind: str, options: ReaderOptions, groups: tuple[int, int] | None = None) -> Part:
    """Return the part for one file of format `kind`; of Parquet, for some row groups of it."""
    if kind == "parquet":
        return ParquetPart(file, options, groups)
    if kind == "arrow":
        return ArrowPart(file, options)
    if kind == "jsonl":
        return JsonLinesPart(file, options)
    separator = "\t" if kind == "tsv" else ","
    # In a table of paths the delimiter splits the path, and the header tells what separates the columns; in a
    # table of events it separates them.
    if options.path_column is None:
        return DelimitedPart(file, options.delimiter or separator, options)
    part = DelimitedPart(file, separator, options)
    other = None if part.header == options.path_column else part.other_separator()
    return part if other is None else part.separated_by(other)


def check_columns(part: Part, options: ReaderOptions) -> None:
    """Raise unless the options name columns and the part has each of them once."""
    with part.guarded():
        there: Sequence[str] = part.columns
    if len(there) > options.max_columns:
        raise InputError(
            f"{part.name}: {len(there):,} columns, more than {options.max_columns:,}; raise max_columns "
            "(--max-columns) if the table is meant to be so wide"
        )
    mark = _other_mark(there, options)
    shown = there_are(map(_shown, there if mark is None else there[0].split(mark)), 20)
    near = ""
    if mark is not None:
        near = f"; pass delimiter={mark!r} (--delimiter) if that separates the columns"
    if not options.is_table:
        guessed = _guessed(part)
        raise InputError(
            f"{part.name}: which columns hold the paths?{guessed} {NAME_COLUMNS}; "
            f"{shown}{'' if guessed else near}"
        )
    if options.step_columns is not None:
        with part.guarded():
            step_columns(part, options)
    for role in COLUMN_OPTIONS:
        name = getattr(options, role)
        if name is None:
            continue
        if name not in there:
            near = near or did_you_mean(name, there)
            raise InputError(f"{part.name}: no column {name!r} ({role}){near}; {shown}")
        if there.count(name) > 1:
            raise InputError(
                f"{part.name}: {there.count(name)} columns are called {name!r} ({role}); rename them"
            )


def _guessed(part: Part) -> str:
    """Return which columns look as if they did, as options to type or to write; empty where none do."""
    from honlearn.paths.guess import guess_part

    try:
        guess = guess_part(part)
    except HonlearnError:
        return ""
    if guess is None:
        return ""
    return f" Perhaps {guess.keywords() if isinstance(part, MemoryPart) else guess.flags()}."


def _shown(name: str) -> str:
    """Return a column's name as a message has it: on one line, and not too long."""
    short = name if len(name) <= 60 else name[:57] + "…"
    return short if short and short.isprintable() else repr(short)


def _other_mark(there: Sequence[str], options: ReaderOptions) -> str | None:
    """Return what may separate several columns where it stands in the only one that there is."""
    if len(there) != 1 or options.path_column is not None:
        return None
    return next((mark for mark in ";\t,|" if mark in there[0]), None)
