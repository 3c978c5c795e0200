"""Does the order column order the rows? How many tie.

In: a table with one event per row and the reader options that name its columns. Out: a number. Rows that tie
stay as they stand in the table, which is read once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from honlearn.paths.empty_ids import parts_of
from honlearn.paths.event_tables import gathered
from honlearn.paths.events import Events
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions


def count_ties(source: Any, **keywords: Any) -> int:
    """Return how many rows have the order of the row before them in their path, with another entity.

    There are none where rows have no order of their own.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": [1, 1, 1, 2], "time": [7, 7, 8, 8], "page": ["a", "b", "a", "b"]})
    >>> count_ties(table, sequence="user", order_by="time", entity="page")
    1
    """
    options = ReaderOptions.of(**keywords)
    parts = parts_of(source, options) if options.sequence and options.order_by else []
    if not parts:
        return 0
    events = gathered(parts, options, Events(options, Interner()), lambda step=1, note="": None)
    codes, orders, offsets = events.arranged()
    if orders is None or len(codes) < 2:
        return 0
    tied = (orders[1:] == orders[:-1]) & (codes[1:] != codes[:-1])
    starts = offsets[1:-1]
    tied[starts[(starts > 0) & (starts < len(codes))] - 1] = False
    return int(np.count_nonzero(tied))
