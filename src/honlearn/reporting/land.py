"""Land, lakes and borders behind a map: Natural Earth 1:50m (public domain), cut to what the map shows.

In: bounds in degrees. Out: lines in degrees with their kind. ``assets/land.npz`` is made by
``scripts/make_land.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

Line = NDArray[np.float64]
KINDS = ("land", "lake", "country", "state")
_FILLED = 2  # kinds below it are rings
_SCALE = 100.0


@cache
def _lines() -> tuple[NDArray[np.uint8], list[Line]]:
    with as_file(files("honlearn.reporting") / "assets" / "land.npz") as path, np.load(path) as stored:
        points = stored["points"].astype(np.float64) / _SCALE
        return stored["kinds"], np.split(points, np.cumsum(stored["lengths"])[:-1])


def land_within(low: Line, high: Line) -> Iterator[tuple[str, Line]]:
    """Yield the kind and the points [n, 2] of every line that meets the bounds (longitude, latitude)."""
    for kind, line in zip(*_lines(), strict=True):
        if (line.max(0) < low).any() or (line.min(0) > high).any():
            continue
        parts = [clipped_ring(line, low, high)] if kind < _FILLED else _inside(line, low, high)
        for part in parts:
            if len(part) > 1:
                yield KINDS[kind], part


def clipped_ring(ring: Line, low: Line, high: Line) -> Line:
    """Return a ring cut to a box, by the algorithm of Sutherland and Hodgman (1974).

    >>> square = np.array([[0.0, 0], [4, 0], [4, 4], [0, 4], [0, 0]])
    >>> clipped_ring(square, np.array([1.0, 1]), np.array([9.0, 2])).tolist()
    [[1.0, 2.0], [1.0, 1.0], [4.0, 1.0], [4.0, 2.0]]
    """
    for axis in (0, 1):
        for bound, sign in ((low[axis], 1.0), (high[axis], -1.0)):
            if len(ring) < 2:
                return ring
            other = np.roll(ring, 1, 0)
            gap, before = sign * (ring[:, axis] - bound), sign * (other[:, axis] - bound)
            crosses = (gap >= 0) != (before >= 0)
            share = np.where(crosses, before / np.where(crosses, before - gap, 1.0), 0.0)[:, None]
            cut = other + share * (ring - other)
            both = np.stack([cut, ring], 1).reshape(-1, 2)
            ring = both[np.stack([crosses, gap >= 0], 1).ravel()]
    return ring


def _inside(line: Line, low: Line, high: Line) -> list[Line]:
    """Return the pieces of a line within a box, each with one more point at either end."""
    inside: NDArray[np.bool_] = np.asarray(((line >= low) & (line <= high)).all(1))
    near = inside | np.append(inside[1:], False) | np.insert(inside[:-1], 0, False)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], near.astype(np.int8), [0]])))
    return [line[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
