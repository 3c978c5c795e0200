"""Does the order column order the rows? How many tie, and how many are there twice.

In: a table with one event per row and the reader options that name its columns. Out: two numbers. Rows that
tie stay as they stand in the table, which is read once more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from honlearn.paths.empty_ids import parts_of
from honlearn.paths.event_tables import gathered
from honlearn.paths.events import Events
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions


class Ties(NamedTuple):
    """Rows with the order of the row before them in their path: `tied` with another entity, `doubled` not."""

    tied: int = 0
    doubled: int = 0


def count_ties(source: Any, **keywords: Any) -> Ties:
    """Return how many rows have the order of the row before them in their path.

    There are none where rows have no order of their own; with `drop_repeats` none is doubled.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": [1, 1, 1, 2], "time": [7, 7, 8, 8], "page": ["a", "b", "a", "b"]})
    >>> count_ties(table, sequence="user", order_by="time", entity="page")
    Ties(tied=1, doubled=0)
    """
    options = ReaderOptions.of(**keywords)
    parts = parts_of(source, options) if options.sequence and options.order_by else []
    if not parts:
        return Ties()
    events = gathered(parts, options, Events(options, Interner()), lambda step=1, note="": None)
    codes, orders, offsets = events.arranged()
    if orders is None or len(codes) < 2:
        return Ties()
    tied = orders[1:] == orders[:-1]
    starts = offsets[1:-1]
    tied[starts[(starts > 0) & (starts < len(codes))] - 1] = False
    same = codes[1:] == codes[:-1]
    doubled = 0 if options.drop_repeats else int(np.count_nonzero(tied & same))
    return Ties(int(np.count_nonzero(tied & ~same)), doubled)
