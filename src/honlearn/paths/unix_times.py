"""Is a column of numbers unix times in two units? Seconds beside milliseconds would be sorted as numbers.

In: the orders of a table, batch by batch. Out: the first that is in another unit than those before it. For
that, all numbers of a column have to look like unix times from 1985 to 2128: among others, large ones are no
times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.paths.orders import Orders

# Seconds from this one to ten times as many are taken for times; so are as many milliseconds, and so on.
_FIRST = 5e8
UNITS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
_OTHER = -1


class UnixUnits:
    """Which unit of unix times the numbers of a column have: None before the first, −1 for other numbers."""

    def __init__(self) -> None:
        self.unit: int | None = None

    def changes(self, orders: Orders) -> int | None:
        """Take in a batch; return the position of the first number in another unit than those before it.

        >>> found = UnixUnits()
        >>> found.changes(Orders(np.array([1_700_000_000]))), UNITS[found.unit]
        (None, 'seconds')
        >>> found.changes(Orders(np.array([1_700_000_060, 1_700_000_120_000]))), UNITS[found.unit]
        (1, 'seconds')
        """
        if self.unit == _OTHER or not len(orders.values) or orders.values.dtype.kind not in "iuf":
            return None
        scale = 10.0**orders.places
        ends = _units(np.array([orders.values.min() / scale, orders.values.max() / scale]))
        first = int(ends[0]) if self.unit is None else self.unit
        if (ends == first).all():
            self.unit = first
            return None
        units = _units(orders.values / scale)
        if (units == _OTHER).any():
            self.unit = _OTHER
            return None
        self.unit = int(units[0]) if self.unit is None else self.unit
        return int(np.argmax(units != self.unit))


def _units(values: NDArray[np.floating]) -> NDArray[np.int8]:
    """Return the number of the unit of each value, −1 where it is a unix time in none."""
    found = np.full(len(values), _OTHER, np.int8)
    for number in range(len(UNITS)):
        first = _FIRST * 1000.0**number
        found[(values >= first) & (values < 10 * first)] = number
    return found
