"""An event table read part by part, and anew where its orders need a wider type than they seemed to need.

In: the parts of a table. Out: its gathered rows, or the chunks of its paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from honlearn.errors import InputError
from honlearn.paths.columns import holds_text, plain
from honlearn.paths.delimited import ConversionError
from honlearn.paths.events import Events, paths_of
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions
from honlearn.paths.orders import TEXT, TIMES, looks_like_number
from honlearn.paths.parts import Part
from honlearn.paths.paths import PathChunk
from honlearn.progress import Advance

Rows = TypeVar("Rows", bound=Events)


def event_chunks(
    parts: Sequence[Part],
    options: ReaderOptions,
    interner: Interner,
    advance: Advance,
    memory: int | None = None,
) -> Iterator[PathChunk]:
    """Yield the paths of an event table; the parts are read as one table.

    Rows beyond about `memory` bytes wait in temporary files.
    """
    if memory is not None:
        from honlearn.paths.spilled_events import SpilledEvents

        events = gathered(parts, options, SpilledEvents(options, interner, memory), advance)
        yield from events.paths()
        return
    yield from paths_of(gathered(parts, options, Events(options, interner), advance))


def _order_types(part: Part, options: ReaderOptions) -> list[Any]:
    """Return the types to try for the order column, the tightest first."""
    if options.order_by is None:
        return [None]
    if options.time_format is not None:
        return [TEXT]
    kinds = part.number_types(options.order_by)
    return kinds if kinds != [None] or part.is_once else _types_of_text(part, options.order_by)


def _types_of_text(part: Part, name: str) -> list[Any]:
    """Return the types to try for text in a table whose columns have types; None for a column of another."""
    batch = next(part.batches([name], {}, lambda step=1, note="": None), None)
    column = None if batch is None else plain(batch.column(0))
    if column is None or not holds_text(column.type):
        return [None]
    first = next((value for value in column.cast(pa.large_string()).to_pylist() if value), "")
    return [TEXT] if looks_like_number(first) else list(TIMES)


def gathered(parts: Sequence[Part], options: ReaderOptions, events: Rows, advance: Advance) -> Rows:
    """Return the events of all rows; where an order needs a wider type than it seemed, read again with it."""
    with parts[0].guarded():
        tries = _order_types(parts[0], options)
    failures = []
    for kind in tries:
        events = events.fresh()
        try:
            for part in parts:
                with part.guarded():
                    events.read(part, kind, advance)
            return events
        except ConversionError as error:
            failures.append(error)
    # The type that fits the most rows is what the column was meant to be; say where it ceases to fit.
    first = max(failures, key=lambda error: error.row)
    expected = (
        "an order is a number, or a time such as 2024-05-31 or 2024-05-31T16:20:00, in all rows alike; times "
        "have a zone (Z, +02:00) in all rows or in none; name another form of times: "
        "time_format='%d.%m.%Y %H:%M' (--time-format)"
        if options.time_format is None
        else "mend the row, or name the form that all rows have (--time-format)"
    )
    if re.fullmatch(r"'[0-9]+,[0-9]+'", first.value):
        expected = "a decimal has a point, not a comma"
    raise InputError(f"{first.where}: {first.value} (column {options.order_by!r}); {expected}") from first
