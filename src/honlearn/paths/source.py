"""The door of the library: anything that holds paths → :class:`Paths`, or a stream of chunks.

In: files, tables, Python lists. Out: what :func:`read_paths`, :func:`stream_paths` and the network builder
(through :func:`as_source`) work with. This module only decides which reader does the work.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from honlearn.errors import InputError, ParameterError, listed
from honlearn.paths.files import EXTENSIONS, File, extension_of, find_files, format_of, name_of
from honlearn.paths.interner import Interner
from honlearn.paths.options import (
    LOG_FORMATS,
    MAX_COLUMNS,
    MAX_LINE,
    MAX_NAME,
    MAX_STEPS,
    TABLE_FORMATS,
    TEXT_FORMATS,
    ReaderOptions,
)
from honlearn.paths.paths import PathChunk, Paths
from honlearn.paths.remote import is_address
from honlearn.paths.stream import FilesOf, OpenChunks, PathStream, collect
from honlearn.progress import Advance


def read_paths(
    source: Any,
    *,
    counts: Iterable[int] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    skip_columns: int = 0,
    trailing_count: bool = False,
    sequence: str | None = None,
    order_by: str | None = None,
    entity: str | None = None,
    path_column: str | None = None,
    count_column: str | None = None,
    step_columns: str | Sequence[str] | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    max_gap: float | str | datetime.timedelta | None = None,
    time_format: str | None = None,
    drop_repeats: bool = False,
    first_only: bool = False,
    min_length: int = 1,
    on_empty: str = "error",
    max_line: int = MAX_LINE,
    max_name: int = MAX_NAME,
    max_columns: int = MAX_COLUMNS,
    max_unpacked: int | None = None,
    max_steps: int = MAX_STEPS,
    progress: bool | None = None,
) -> Paths:
    """Return the paths of `source`: files, tables or Python lists.

    Files go by extension (`format` overrides): ``.txt .paths .dat`` hold one path per line, ``.ngram`` the
    same with commas, ``.csv .tsv .parquet .arrow .feather .jsonl .ndjson`` are tables, ``.xes`` is an event
    log; ``.gz`` and ``.zst`` may follow. `source` may be a pattern, an address such as
    ``s3://bucket/*.parquet`` (``honlearn.paths.remote``) or a list of these. Tables may also be pandas,
    Polars or Arrow objects.

    * text: `delimiter`, `skip_columns` leading ids, `trailing_count` (the last field is the path's count);
    * one event per row: `sequence` (which path), `entity` (the step) and `order_by` (a number or a time;
      without it, the order of rows); a step larger than `max_gap` (a number, or for times ``"30min"``,
      ``"6h"``, ``"2d"``) starts a new path; rows need not be sorted, and files are read as one table;
    * an event log (XES): one path per trace; `entity` is the key of the event's attribute that names the step
      (``concept:name``), `order_by` a key such as ``time:timestamp`` (without it, the order in the file),
      `max_gap` as above; traces are read one after another, so a log may exceed memory;
    * one path per row: `path_column` (a list, or text split at `delimiter`), `count_column`;
    * one path per row, a column for each step: `step_columns`, a pattern such as ``"step*"`` or names in
      order; empty cells behind the last step are no steps;
    * one temporal edge per row: `source_column`, `target_column`, `order_by` (its time) and `max_gap` δ give
      all maximal time-respecting paths, each once: every edge starts where the one before it ends, later by
      more than 0 and at most δ. Their number grows exponentially with δ; more than `max_steps` (2**27)
      entities in all of them are an error, found before a path is made;
    * JSON lines: one object per line, whose keys are the columns above; or one array per line, a path, where
      no column is named;
    * lists: `counts`, one per path.

    Then, for all: `drop_repeats` drops an entity that repeats the one before it, `first_only` keeps the first
    occurrence of each entity in a path, and paths shorter than `min_length` are dropped. An empty id is an
    error, or left out with ``on_empty="skip"``.

    Limits keep a damaged or hostile file from taking all memory; raise one where the data is meant to be so:
    `max_line` bytes in a line of text, a row of CSV or a tag of XML (64 MiB), `max_name` bytes in an entity
    id (1 MiB), `max_columns` in a table (10,000), and `max_unpacked` bytes in a ``.gz`` or ``.zst`` file (64
    GiB for text, CSV, JSON lines and XES, 1 GiB for Parquet and Arrow, which are unpacked in memory).

    Parameters
    ----------
    source
        Files, a pattern, an address, a pandas, Polars or Arrow table, or lists of entities.
    counts
        How often each path of a list was seen.
    format
        Format of the files, where the extension does not tell it.
    delimiter
        Between entities of a line or a cell, or between columns of a CSV file.
    skip_columns
        Leading fields of a line of text that are no entities.
    trailing_count
        Whether the last field of a line of text is the count of the path.
    sequence
        Column that tells which path an event belongs to.
    order_by
        Column, or key of XES, with the number or time of an event; without it, the order of rows.
    entity
        Column, or key of XES, with the entity of an event.
    path_column
        Column with a whole path in each row.
    count_column
        Column with the count of the path in each row.
    step_columns
        Columns with the steps of a path in each row: a pattern, or names as a list or with commas between.
    source_column, target_column
        Columns with the two ends of a temporal edge.
    max_gap
        Longest step within a path: a number, or for times a text such as ``"30min"`` or a timedelta.
    time_format
        Form of the times in a column of text, as of strptime: ``"%d.%m.%Y %H:%M"``; times such as
        2024-05-31 or 2024-05-31T16:20:00 need none.
    drop_repeats
        Whether an entity that repeats the one before it is dropped.
    first_only
        Whether only the first occurrence of an entity in a path is kept.
    min_length
        Fewest entities of a path that is kept.
    on_empty
        What an empty id is: ``"error"``, or ``"skip"`` to leave it out.
    max_line
        Most bytes in a line of text, a row of CSV or a tag of XML.
    max_name
        Most bytes in the id of an entity.
    max_columns
        Most columns of a table.
    max_unpacked
        Most bytes that a packed file may unpack to.
    max_steps
        Most entities in all paths of temporal edges.
    progress
        Whether progress is shown; None shows it on a terminal.

    Examples
    --------
    >>> paths = read_paths([["A", "A", "C"], ["B"]], counts=[5, 1], drop_repeats=True, min_length=2)
    >>> paths[0], paths.total
    (('A', 'C'), 5)
    """
    options = ReaderOptions(
        format=format,
        delimiter=delimiter,
        skip_columns=skip_columns,
        trailing_count=trailing_count,
        sequence=sequence,
        order_by=order_by,
        entity=entity,
        path_column=path_column,
        count_column=count_column,
        step_columns=step_columns,
        source_column=source_column,
        target_column=target_column,
        max_gap=max_gap,
        time_format=time_format,
        drop_repeats=drop_repeats,
        first_only=first_only,
        min_length=min_length,
        on_empty=on_empty,
        max_line=max_line,
        max_name=max_name,
        max_columns=max_columns,
        max_unpacked=max_unpacked,
        max_steps=max_steps,
    )
    if isinstance(source, Paths) and options == ReaderOptions() and counts is None:
        return source
    return collect(_stream(source, options, counts, progress))


def stream_paths(
    source: Any, *, counts: Iterable[int] | None = None, progress: bool | None = None, **options: Any
) -> PathStream:
    """Return the paths of `source` as a stream of chunks, for files larger than memory.

    Takes the keywords of :func:`read_paths`. Text and path columns are read piece by piece; an event table
    has to be gathered by sequence first and keeps its integer codes in memory, not its text.

    Parameters
    ----------
    source
        Files, tables or lists, as for :func:`read_paths`.
    counts
        How often each path of a list was seen.
    progress
        Whether progress is shown; None shows it on a terminal.
    **options
        The other options of :func:`read_paths`.
    """
    return _stream(source, ReaderOptions.of(**options), counts, progress)


def as_source(
    source: Any,
    *,
    counts: Iterable[int] | None = None,
    progress: bool | None = None,
    memory: int | None = None,
    **options: Any,
) -> Paths | PathStream:
    """Return `source` as something with ``chunks()`` and, once these are exhausted, ``vocabulary``.

    `memory`: about how many bytes the rows of an event table in files may take; others wait on disk.
    """
    given = ReaderOptions.of(**options)
    if isinstance(source, (Paths, PathStream)) and given == ReaderOptions() and counts is None:
        return source
    return _stream(source, given, counts, progress, memory)


def _stream(
    source: Any,
    options: ReaderOptions,
    counts: Iterable[int] | None,
    show: bool | None,
    memory: int | None = None,
) -> PathStream:
    if isinstance(source, PathStream):
        raise ParameterError("a PathStream was opened with its options; give them to stream_paths instead")
    if isinstance(source, Paths):
        _refuse(options, counts, "Paths")
        return _again(source, options)
    if is_table(source):
        options.check_columns_for(None)
        if counts is not None:
            raise ParameterError("counts belongs to lists; name the table's own column with count_column")
        once = type(source).__name__ == "RecordBatchReader"
        return PathStream(_table_chunks(source, options), options, f"the {_kind(source)}", once=once)
    if isinstance(source, (str, os.PathLike)):
        return _file_stream(source, options, counts, show, memory)
    if type(source).__module__.partition(".")[0] == "networkx":
        raise InputError(
            "a graph of NetworkX holds no paths; hl.from_networkx(graph) is its network, for hl.DGEClassifier"
        )
    if isinstance(source, (dict, set, frozenset, bytes)) or not hasattr(source, "__iter__"):
        raise InputError(
            f"cannot read paths from an object of type {_kind(source)}; give a file, a table (pandas, "
            "Polars, Arrow) or a list of lists"
        )
    once = iter(source) is source
    source, first = _peeked(source) if once else (source, next(iter(source), None))
    if isinstance(first, os.PathLike) or (isinstance(first, str) and _means_file(first)):
        return _file_stream(list(source), options, counts, show, memory)
    return _list_stream(source, options, counts, once)


def _peeked(source: Iterator[Any]) -> tuple[Iterator[Any], Any]:
    for first in source:
        return chain([first], source), first
    return source, None


def _means_file(name: str) -> bool:
    if is_address(name):
        return True
    if "*" in name:
        return True
    try:
        path = Path(name).expanduser()
        return extension_of(path) in EXTENSIONS or path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, no such ~user: the name of no file
        return False


def _list_stream(
    source: Iterable[Any], options: ReaderOptions, counts: Iterable[int] | None, once: bool
) -> PathStream:
    from honlearn.paths.lists import list_chunks

    _refuse(options, None, "lists")
    name = f"the {_kind(source)}" if not once else "the iterator"
    if counts is not None and not hasattr(counts, "__len__"):
        counts = list(counts)
    return PathStream(
        lambda interner, advance: list_chunks(source, counts, options, interner), options, name, once=once
    )


def _file_stream(
    source: Any,
    options: ReaderOptions,
    counts: Iterable[int] | None,
    show: bool | None,
    memory: int | None,
) -> PathStream:
    if counts is not None:
        raise ParameterError("counts belongs to lists; for files use trailing_count or count_column")
    files = find_files(source)
    kind = format_of(files, options.format)
    if kind in TEXT_FORMATS and options.is_table:
        named = [name for name in ("path_column", "step_columns") if getattr(options, name)]
        columns = named[0] if named else "sequence and entity"
        raise ParameterError(
            f"{files[0]} is read as {kind}, one path per line, and has no columns; leave out {columns}, "
            f"or pass format (--format), one of {listed(TABLE_FORMATS)}"
        )
    options.check_columns_for(kind)
    pipe = next((file for file in files if not file.is_file()), None)
    if pipe is not None and kind not in TEXT_FORMATS:
        raise InputError(f"{pipe}: a pipe can be read only once; save the {kind} data to a file first")
    total = None if pipe is not None else sum(file.stat().st_size for file in files)
    if kind in TEXT_FORMATS:
        opened = _text_chunks(files, kind, options)
    elif kind in LOG_FORMATS:
        opened = _log_chunks(files, options)
    else:
        opened = _table_chunks(files, options, kind, memory)
    return PathStream(
        opened, options, name_of(files), total, show, once=pipe is not None, files=FilesOf(files, kind)
    )


def _text_chunks(files: list[File], kind: str, options: ReaderOptions) -> OpenChunks:
    from honlearn.paths.text import text_chunks

    resolved = text_options(kind, options)
    return lambda interner, advance: text_chunks(files, resolved, interner, advance)


def text_options(kind: str, options: ReaderOptions) -> ReaderOptions:
    """Return the options with what a text format leaves to its extension."""
    from dataclasses import replace

    delimiter = options.delimiter or ("," if kind == "ngram" else " ")
    return replace(options, format=kind, delimiter=delimiter)


def _log_chunks(files: list[File], options: ReaderOptions) -> OpenChunks:
    from honlearn.paths.xes import xes_chunks

    return lambda interner, advance: xes_chunks(files, options, interner, advance)


def _table_chunks(
    source: Any, options: ReaderOptions, kind: str | None = None, memory: int | None = None
) -> OpenChunks:
    from honlearn.paths.tables import table_chunks

    return table_chunks(source, kind, options, memory)


def _again(paths: Paths, options: ReaderOptions) -> PathStream:
    def chunks(interner: Interner, advance: Advance) -> Iterator[PathChunk]:
        interner.intern_names(paths.vocabulary.names)
        yield from paths.chunks()

    return PathStream(chunks, options, "the paths")


def _refuse(options: ReaderOptions, counts: Iterable[int] | None, kind: str) -> None:
    """Raise for options that only files and tables have."""
    fits = ("drop_repeats", "first_only", "min_length", "on_empty", "max_name")
    plain = ReaderOptions()
    foreign = [
        name for name in vars(options) if name not in fits and getattr(options, name) != getattr(plain, name)
    ]
    if foreign:
        raise ParameterError(f"{listed(foreign)}: for files and tables only; {kind} take {listed(fits)}")
    if counts is not None:
        raise ParameterError(f"{kind} have their own counts; leave out counts")


def is_table(source: object) -> bool:
    """Return whether a source is a table in memory: of pandas, Polars or Arrow."""
    module = type(source).__module__.partition(".")[0]
    if module == "pandas":
        return type(source).__name__ == "DataFrame"
    if module == "polars":
        return type(source).__name__ in ("DataFrame", "LazyFrame")
    return type(source).__name__ != "ChunkedArray" and hasattr(source, "__arrow_c_stream__")


def _kind(source: object) -> str:
    module = type(source).__module__.partition(".")[0]
    name = type(source).__name__
    return name if module == "builtins" else f"{module} {name}"
