"""Paths, and which of them began before a moment: the reader for evaluations that look ahead in time.

In: a file or pattern with one event per row (CSV, TSV, Parquet, Arrow, JSON lines) or an XES log, the options
of :func:`honlearn.read_paths`, and a moment in the unit of the ``order_by`` column. Out: paths, and for each
whether the order of its first step is less than the moment. A path that a maximum gap cuts out of a sequence
begins at its own first step. Orders are compared exactly, as they are when events are sorted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError
from honlearn.paths.columns import type_name
from honlearn.paths.event_tables import gathered
from honlearn.paths.events import Events, paths_of
from honlearn.paths.files import File, find_files, format_of, name_of
from honlearn.paths.interner import Interner
from honlearn.paths.options import LOG_FORMATS, TEXT_FORMATS, ReaderOptions
from honlearn.paths.orders import TIMES, looks_like_number, order_unit
from honlearn.paths.paths import PathChunk, Paths
from honlearn.paths.stream import OpenChunks, PathStream, collect
from honlearn.paths.tables import check_columns, open_part
from honlearn.paths.xes import xes_chunks
from honlearn.progress import Advance


def read_timed(source: Any, moment: str, **keywords: Any) -> tuple[Paths, NDArray[np.bool_]]:
    """Return the paths of files, and which of them began before `moment`: bool [n].

    Parameters
    ----------
    source : a file, a pattern or a list of files with a time for each event.
    moment : a number such as ``"1200"`` where the order column holds numbers, else a day or a time such as
        ``"2024-05-31"`` or ``"2024-05-31T16:20:00+02:00"``; without a zone it is UTC if the column has one.
    keywords : those of :func:`honlearn.read_paths`; `order_by` is needed.
    """
    options = ReaderOptions.of(**keywords)
    files = find_files(source)
    kind = format_of(files, options.format)
    _check_has_times(files, kind, options)
    began = BeganBefore(moment)
    # Short paths are dropped here, with their times, and not by the stream.
    stream = PathStream(
        _chunks(files, kind, options, began),
        replace(options, min_length=1),
        name_of(files),
        sum(file.stat().st_size for file in files),
    )
    paths = collect(stream)
    early = np.concatenate(began.found) if began.found else np.zeros(0, np.bool_)
    long_enough = paths.lengths >= options.min_length
    if long_enough.all():
        return paths, early
    if not long_enough.any():
        raise InputError(
            f"{name_of(files)}: no path at all; {len(paths):,} were shorter than "
            f"min_length={options.min_length}; lower it"
        )
    return paths.take(np.flatnonzero(long_enough)), early[long_enough]


def _check_has_times(files: list[File], kind: str, options: ReaderOptions) -> None:
    """Raise where the steps of the paths have no time."""
    where, moment = name_of(files), "a moment (--split-at) can divide paths only by the times of their steps"
    if options.source_column is not None:
        raise ParameterError(
            f"{where}: maximal paths of temporal edges that begin before and after a moment share edges, so "
            "a test on the later ones would be of what was trained on; divide the table of edges instead"
        )
    if kind in TEXT_FORMATS or options.path_column is not None or options.step_columns:
        one = "line" if kind in TEXT_FORMATS else "row"
        raise ParameterError(
            f"{where}: one path per {one} has no times, and {moment}; give a table with one event per row "
            "and --sequence, --entity and --order-by, or an XES log"
        )
    if options.order_by is None:
        example = " time:timestamp" if kind in LOG_FORMATS else ", the column of numbers or times"
        raise ParameterError(f"{where}: {moment}; give --order-by{example}")
    options.check_columns_for(kind)


def _chunks(files: list[File], kind: str, options: ReaderOptions, began: BeganBefore) -> OpenChunks:
    if kind in LOG_FORMATS:
        return lambda interner, advance: xes_chunks(files, options, interner, advance, began=began)

    def chunks(interner: Interner, advance: Advance) -> Iterator[PathChunk]:
        parts = [open_part(file, kind, options) for file in files]
        for part in parts:
            check_columns(part, options)
        yield from paths_of(gathered(parts, options, Events(options, interner), advance), began)

    return chunks


class BeganBefore:
    """Takes down which paths began before a moment; the reader of events calls it with their first orders."""

    def __init__(self, moment: str) -> None:
        self.moment = moment.strip()
        self.found: list[NDArray[np.bool_]] = []

    def __call__(self, events: Events, first: NDArray[Any]) -> None:
        """Add the paths whose first orders, in the form of these events, are `first` [n]."""
        if len(first):
            self.found.append(self._before(events, first))

    def _before(self, events: Events, first: NDArray[Any]) -> NDArray[np.bool_]:
        name, unit = str(events.options.order_by), order_unit(events.order_type)
        exact = self._time(name, events.order_type, unit) if unit else self._number(name)
        if events.distinct is not None:
            return np.asarray(first < bisect_left(events.distinct, Decimal(self.moment)))
        if first.dtype.kind == "f":
            return np.asarray(first < float(exact))
        least = int(-((-exact * 10**events.places) // 1))  # the least whole number that is not before it
        bounds = np.iinfo(first.dtype)
        if least > bounds.max:
            return np.ones(len(first), np.bool_)
        return np.asarray(first < first.dtype.type(max(least, bounds.min)))

    def _number(self, name: str) -> Fraction:
        if looks_like_number(self.moment):
            return Fraction(Decimal(self.moment))
        raise ParameterError(
            f"--split-at must be a number, since {name!r} holds numbers. Got {self.moment!r} instead."
        )

    def _time(self, name: str, kind: pa.DataType, unit: int) -> Fraction:
        if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            raise ParameterError(
                f"column {name!r} is of type {type_name(kind)}, which does not say on which day a path "
                "began; divide paths by a column of numbers or times"
            )
        known = moment_of(self.moment)
        if known is None:
            raise ParameterError(
                f"--split-at must be a day or a time such as 2024-05-31 or 2024-05-31T16:20:00, since "
                f"{name!r} holds times. Got {self.moment!r} instead."
            )
        nanoseconds, has_zone = known
        if has_zone and (pa.types.is_date(kind) or kind.tz is None):
            raise ParameterError(
                f"--split-at must be a time without a zone, since those of {name!r} have none. "
                f"Got {self.moment!r} instead."
            )
        return Fraction(nanoseconds, unit)


def moment_of(text: str) -> tuple[int, bool] | None:
    """Return nanoseconds since 1970 (UTC unless the text says otherwise) and whether it names a zone.

    >>> moment_of("1970-01-02T01:00:00+01:00")
    (86400000000000, True)
    >>> moment_of("last May") is None
    True
    """
    for kind in TIMES:
        try:
            value = pa.array([text]).cast(kind).cast(pa.int64())[0].as_py()
        except pa.ArrowInvalid:
            continue
        return value * order_unit(kind), kind.tz is not None
    return None
