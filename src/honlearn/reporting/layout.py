"""Where nodes stand on a map, where coordinates are known.

In: names of nodes and what is known of them. Out: positions [V, 2] of about unit size, the lines of a grid,
and land, lakes and borders. Without coordinates there is no map: the page draws flows and a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.reporting.land import KINDS, land_within
from honlearn.reporting.pack import pack, pack_integers

Positions = NDArray[np.float64]
_LATITUDE, _LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
# Least share of the nodes that must have coordinates for a map.
MAPPED = 0.8
# Degrees of longitude from which on a map is of the globe.
_GLOBE = 150
# Positions are packed as integers of so many units.
_UNITS = 8_000


@dataclass(frozen=True)
class Map:
    """Positions [V, 2], NaN for a node that has no place; lines of a grid; land with kinds and points."""

    positions: Positions
    grid: list[dict[str, Any]] = field(default_factory=list)
    land: dict[str, Any] = field(default_factory=dict)


def place_nodes(names: Sequence[str], facts: Mapping[str, Mapping[str, Any]]) -> Map | None:
    """Return where to draw these nodes; None where too few have coordinates."""
    degrees = _coordinates(names, facts)
    known: NDArray[np.bool_] = np.asarray(~np.isnan(degrees).any(1))
    if not len(known) or known.mean() < MAPPED:
        return None
    low, high = degrees[known].min(0), degrees[known].max(0)
    project = _projection(degrees[known], bool(high[0] - low[0] > _GLOBE))
    step = next(s for s in (1, 2, 5, 10, 15, 30) if s >= max(high - low) / 6 or s == 30)
    return Map(project(degrees), _grid(low, high, step, project), _land(low, high, project))


def _coordinates(names: Sequence[str], facts: Mapping[str, Mapping[str, Any]]) -> Positions:
    """Return longitude and latitude of each node [V, 2] in degrees, NaN where they are not known."""
    found = np.full((len(names), 2), np.nan)
    for row, name in enumerate(names):
        known = {key.strip().casefold(): value for key, value in facts.get(name, {}).items()}
        for column, (keys, limit) in enumerate(((_LONGITUDE, 180.0), (_LATITUDE, 90.0))):
            with suppress(TypeError, ValueError):
                value = float(next((known[key] for key in keys if key in known), "nan"))
                found[row, column] = value if abs(value) <= limit else np.nan
    found[np.isnan(found).any(1)] = np.nan
    return found


def _projection(degrees: Positions, globe: bool) -> Callable[[Positions], Positions]:
    """Return Lambert's equal-area projection around the middle, or plain degrees for the globe."""
    if globe:
        return lambda points: np.radians(points)
    middle = np.median(degrees, 0)
    return lambda points: equal_area(points, middle)


def _grid(
    low: Positions, high: Positions, step: int, project: Callable[[Positions], Positions]
) -> list[dict[str, Any]]:
    lines = []
    for axis in (0, 1):
        for value in range(math.ceil(low[axis] / step) - 1, math.floor(high[axis] / step) + 2):
            if abs(value * step) > (180, 89)[axis]:
                continue
            line = np.empty((40, 2))
            line[:, axis] = value * step
            line[:, 1 - axis] = np.linspace(low[1 - axis] - step, high[1 - axis] + step, 40)
            line[:, 1] = line[:, 1].clip(-89.9, 89.9)
            at = project(line)
            lines.append({"name": _degrees(value * step, axis), "x": at[:, 0], "y": at[:, 1]})
    return lines


def _land(low: Positions, high: Positions, project: Callable[[Positions], Positions]) -> dict[str, Any]:
    """Return land and borders around the nodes: the kind and length of each line, and all points."""
    room = 0.35 * np.maximum(high - low, 4.0)
    bounds = np.maximum(low - room, [-180, -89]), np.minimum(high + room, [180, 89])
    kinds, lengths, points = [], [], []
    for kind, line in land_within(*bounds):
        at = np.rint(project(line) * _UNITS).clip(-32_767, 32_767)
        kinds.append(KINDS.index(kind))
        lengths.append(len(at))
        points.append(at)
    joined = np.concatenate(points) if points else np.zeros((0, 2))
    return {
        "kinds": pack(kinds, "u1"),
        "lengths": pack_integers(lengths),
        "points": pack(joined, "i2"),
        "units": _UNITS,
        "names": list(KINDS),
    }


def equal_area(degrees: Positions, middle: Positions) -> Positions:
    """Return Lambert's azimuthal equal-area projection of longitudes and latitudes [n, 2] around `middle`.

    >>> equal_area(np.array([[-90.0, 40.0]]), np.array([-90.0, 40.0])).round(6).tolist()
    [[0.0, 0.0]]
    """
    (lon, lat), (lon0, lat0) = np.radians(degrees).T, np.radians(middle)
    lon = lon - lon0
    cosine = np.sin(lat0) * np.sin(lat) + np.cos(lat0) * np.cos(lat) * np.cos(lon)
    scale = np.sqrt(2.0 / np.maximum(1.0 + cosine, 1e-6))
    x = scale * np.cos(lat) * np.sin(lon)
    y = scale * (np.cos(lat0) * np.sin(lat) - np.sin(lat0) * np.cos(lat) * np.cos(lon))
    return np.stack([x, y], 1)


def _degrees(value: int, axis: int) -> str:
    return f"{abs(value)}° {('W', 'E', 'S', 'N')[2 * axis + (value > 0)]}" if value else "0°"
