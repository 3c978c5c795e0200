"""Paths with the ids that labels know them by: the reader for classes of whole paths.

In: a file or pattern of any format, with the options of :func:`honlearn.read_paths`. Out: paths, and one id
each: of an event table the value in its sequence column; of an XES log the trace's ``concept:name`` (where it
has none, its number from 1); of text the first field where ``skip_columns`` says that fields lead, else the
number of the line; of one path per row the number of the row, both from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError, listed
from honlearn.paths.event_tables import gathered
from honlearn.paths.events import Events, paths_of
from honlearn.paths.files import File, find_files, format_of, name_of
from honlearn.paths.interner import Interner
from honlearn.paths.options import LOG_FORMATS, TEXT_FORMATS, ReaderOptions
from honlearn.paths.paths import PathChunk, Paths
from honlearn.paths.source import read_paths, text_options
from honlearn.paths.stream import PathStream, collect
from honlearn.paths.tables import check_columns, open_part
from honlearn.paths.text import line_blocks
from honlearn.paths.xes import xes_chunks
from honlearn.progress import Advance

_BOM = b"\xef\xbb\xbf"


def read_labelled(source: Any, **keywords: Any) -> tuple[Paths, list[str]]:
    """Return the paths of files and the id of each; options that cut or drop paths are refused."""
    options = ReaderOptions.of(**keywords)
    cutting = [name for name in ("max_gap", "source_column") if getattr(options, name) is not None]
    cutting += ["min_length"] if options.min_length > 1 else []
    if cutting:
        raise ParameterError(
            f"{listed(cutting)}: a label belongs to a whole sequence, and this would cut or drop some; leave "
            "it out"
        )
    files = find_files(source)
    kind = format_of(files, options.format)
    if kind in TEXT_FORMATS:
        paths, ids = read_paths(files, **keywords), _line_ids(files, kind, options)
    elif kind in LOG_FORMATS:
        options.check_columns_for(kind)
        ids = []
        paths = collect(
            PathStream(
                lambda interner, advance: xes_chunks(files, options, interner, advance, ids),
                options,
                name_of(files),
            )
        )
    elif options.sequence is not None:
        options.check_columns_for(kind)
        paths, ids = _events(files, kind, options)
    else:
        paths = read_paths(files, **keywords)
        ids = [str(row) for row in range(1, len(paths) + 1)]
    if len(ids) != len(paths):
        raise InputError(
            f"{name_of(files)}: {len(ids):,} lines or sequences but {len(paths):,} paths, since some were "
            "empty; mend them, so that each has its label"
        )
    return paths, ids


class _Labelled(Events):
    """Events that keep the ids of their sequences."""

    ids: list[str]

    def arranged(self) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[np.int64]]:
        """Return the events in order, after taking down the ids, which are dropped then."""
        self.ids = self.numbers.ids()
        return super().arranged()


def _events(files: list[File], kind: str, options: ReaderOptions) -> tuple[Paths, list[str]]:
    ids: list[str] = []

    def chunks(interner: Interner, advance: Advance) -> Iterator[PathChunk]:
        parts = [open_part(file, kind, options) for file in files]
        for part in parts:
            check_columns(part, options)
        events = gathered(parts, options, _Labelled(options, interner), advance)
        yield from paths_of(events)
        ids[:] = events.ids

    return collect(PathStream(chunks, options, name_of(files))), ids


def _line_ids(files: list[File], kind: str, options: ReaderOptions) -> list[str]:
    """Return the first field, or the number, of each line that is not blank."""
    if len(files) > 1 and not options.skip_columns:
        raise ParameterError(
            f"{name_of(files)}: lines are numbered in one file; give one, or an id in front of each path and "
            "skip_columns (--skip-columns 1)"
        )
    mark = str(text_options(kind, options).delimiter).encode()
    ids: list[str] = []
    for file in files:
        number = 0
        for _, buffer, used in line_blocks(
            file, max_line=options.max_line, max_unpacked=options.max_unpacked
        ):
            for line in bytes(memoryview(buffer)[:used]).split(b"\n")[:-1]:
                number += 1
                text = (line.removeprefix(_BOM) if number == 1 else line).rstrip(b"\r")
                if text and options.skip_columns:
                    ids.append(text.split(mark, 1)[0].decode(errors="replace"))
                elif text:
                    ids.append(str(number))
    return ids
