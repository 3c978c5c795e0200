"""Does the order column order the rows? Rows that tie, and times in several units.

In: a table with one event per row and the reader options that name its columns. Out: :class:`OrderChecks`.
Rows that tie stay as they stand in the table. The table is read once more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.paths.empty_ids import parts_of
from honlearn.paths.event_tables import gathered
from honlearn.paths.events import Events
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions
from honlearn.paths.orders import order_unit

# Times since 1970, from 1973 to 2286, in each unit.
_UNITS = {"seconds": 1e8, "milliseconds": 1e11, "microseconds": 1e14, "nanoseconds": 1e17}
_SOME = 0.01


class OrderChecks(NamedTuple):
    """How many rows have the order of the row before them, with another entity; units that are mixed."""

    tied: int = 0
    units: tuple[str, ...] = ()


def check_order(source: Any, **keywords: Any) -> OrderChecks:
    """Return what is odd about the orders of a table; nothing where rows have none of their own.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": [1, 1, 1, 2], "time": [7, 7, 8, 8], "page": ["a", "b", "a", "b"]})
    >>> check_order(table, sequence="user", order_by="time", entity="page")
    OrderChecks(tied=1, units=())
    """
    options = ReaderOptions.of(**keywords)
    parts = parts_of(source, options) if options.sequence and options.order_by else []
    if not parts:
        return OrderChecks()
    events = gathered(parts, options, Events(options, Interner()), lambda step=1, note="": None)
    codes, orders, offsets = events.arranged()
    if orders is None or len(codes) < 2:
        return OrderChecks()
    tied = (orders[1:] == orders[:-1]) & (codes[1:] != codes[:-1])
    starts = offsets[1:-1]
    tied[starts[(starts > 0) & (starts < len(codes))] - 1] = False
    numbers = order_unit(events.order_type) == 0 and events.distinct is None and events.places == 0
    return OrderChecks(int(np.count_nonzero(tied)), _units(orders) if numbers else ())


def _units(orders: NDArray[Any]) -> tuple[str, ...]:
    """Return the units of times since 1970 that some of the numbers seem to have, if there are several."""
    found = tuple(
        unit
        for unit, least in _UNITS.items()
        if np.count_nonzero((orders >= least) & (orders < 100 * least)) > _SOME * len(orders)
    )
    return found if len(found) > 1 else ()
