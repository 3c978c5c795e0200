"""How many rows of a table lack an id? What ``on_empty="skip"`` leaves out, counted.

In: a table and the reader options that name its columns. Out: the number of rows, and for each column how
many of them lack a value there. The table is read once more, only in these columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.paths.columns import missing
from honlearn.paths.files import find_files, format_of
from honlearn.paths.options import COLUMN_OPTIONS, TABLE_FORMATS, ReaderOptions
from honlearn.paths.parts import MemoryPart, Part
from honlearn.paths.source import is_table
from honlearn.paths.tables import check_columns, open_part
from honlearn.paths.wide import gaps, step_columns


class EmptyIds(NamedTuple):
    """Rows of a table, None where the source is not one, and rows without a value, by column."""

    rows: int | None
    by_column: Mapping[str, int]


def count_empty_ids(source: Any, **keywords: Any) -> EmptyIds:
    """Return how many rows a table has and how many lack a value in a named column, each counted once.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": [1, 1, None], "page": ["a", None, "b"]})
    >>> count_empty_ids(table, sequence="user", entity="page")
    EmptyIds(rows=3, by_column={'user': 1, 'page': 1})
    """
    options = ReaderOptions.of(**keywords)
    if options.step_columns is not None:
        return _count_gaps(source, options)
    wanted = [name for role in COLUMN_OPTIONS if (name := getattr(options, role)) is not None]
    if not wanted:
        return EmptyIds(None, {})
    rows, found = 0, dict.fromkeys(dict.fromkeys(wanted), 0)
    for part in parts_of(source, options):
        check_columns(part, options)
        with part.guarded():
            for batch in part.batches(list(found), {}, lambda step=1, note="": None):
                rows += batch.num_rows
                before: NDArray[np.bool_] = np.zeros(batch.num_rows, bool)
                for i, name in enumerate(found):
                    gone = missing(batch.column(i))
                    if gone is not None:
                        found[name] += int((gone & ~before).sum())
                        before |= gone
    return EmptyIds(rows, {name: count for name, count in found.items() if count})


def _count_gaps(source: Any, options: ReaderOptions) -> EmptyIds:
    """Return how many rows there are, and the empty cells before a later step of their row, by column."""
    rows, found = 0, dict[str, int]()
    for part in parts_of(source, options):
        steps = step_columns(part, options)
        with part.guarded():
            for batch in part.batches(steps, {}, lambda step=1, note="": None):
                rows += batch.num_rows
                for name, count in zip(steps, gaps(batch, len(steps)).sum(0).tolist(), strict=True):
                    found[name] = found.get(name, 0) + count
    return EmptyIds(rows, {name: count for name, count in found.items() if count})


def parts_of(source: Any, options: ReaderOptions) -> list[Part]:
    """Return the parts of a table in memory or in files; none where the source is not one."""
    if is_table(source):
        return [MemoryPart(source)]
    files = find_files(source)
    kind = format_of(files, options.format)
    return [open_part(file, kind, options) for file in files] if kind in TABLE_FORMATS else []
