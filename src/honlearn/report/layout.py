"""Where nodes stand: on a map where coordinates are known, else by a layout computed from the links.

In: a first-order network and what is known of its nodes. Out: positions [V, 2] of about unit size, and for a
map the lines of its grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.seeds import generator

Positions = NDArray[np.float64]
_LATITUDE, _LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
# Least share of the nodes that must have coordinates for a map.
MAPPED = 0.8
# Steps of the springs, others that push a node in each, and the links that pull at most.
_STEPS, _REPELLED, _LINKS = 220, 6, 60_000


@dataclass(frozen=True)
class Layout:
    """Positions [V, 2], NaN for a node that has no place; `kind` is ``"map"`` or ``"links"``."""

    kind: str
    positions: Positions
    grid: list[dict[str, Any]] = field(default_factory=list)


def place_nodes(network: HigherOrderNetwork, facts: Mapping[str, Mapping[str, Any]]) -> Layout:
    """Return where to draw the entities of a first-order network."""
    degrees = _coordinates(network.vocabulary.names, facts)
    known: NDArray[np.bool_] = np.asarray(~np.isnan(degrees).any(1))
    if len(known) and known.mean() >= MAPPED:
        return _map(degrees, known)
    return Layout("links", link_layout(network))


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


def _map(degrees: Positions, known: NDArray[np.bool_]) -> Layout:
    """Return the map: Lambert's equal-area projection around the middle, or plain degrees for the globe."""
    low, high = degrees[known].min(0), degrees[known].max(0)
    wide = bool(high[0] - low[0] > 150)
    middle = np.array([0.0, 0.0]) if wide else np.median(degrees[known], 0)
    positions = degrees / 57.3 if wide else equal_area(degrees, middle)
    step = next(s for s in (1, 2, 5, 10, 15, 30) if s >= max(high - low) / 8 or s == 30)
    lines = []
    for axis in (0, 1):
        bounds = (low - step, high + step)
        for value in range(math.ceil(bounds[0][axis] / step), math.floor(bounds[1][axis] / step) + 1):
            line = np.empty((40, 2))
            line[:, axis] = value * step
            line[:, 1 - axis] = np.linspace(bounds[0][1 - axis], bounds[1][1 - axis], 40)
            if axis == 1 and abs(value * step) > 90:
                continue
            line[:, 1] = line[:, 1].clip(-89.9, 89.9)
            at = line / 57.3 if wide else equal_area(line, middle)
            lines.append({"name": _degrees(value * step, axis), "x": at[:, 0], "y": at[:, 1]})
    return Layout("map", positions, lines)


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


def link_layout(network: HigherOrderNetwork) -> Positions:
    """Return positions in which linked entities are near and others apart, within the unit disc.

    It starts from the eigenvectors of the normalised links and lets springs settle: every link pulls, and in
    each step every node is pushed away by a few others at random, so a step costs O(V + E).
    """
    size = network.n_entities
    if size < 3:
        return np.array([[-0.5, 0.0], [0.5, 0.0]])[:size]
    source, target = network.sources.astype(np.int64), network.indices.astype(np.int64)
    keep = source != target
    source, target = source[keep], target[keep]
    pull = np.log1p(network.weights[keep].astype(np.float64))
    degree = np.bincount(source, pull, size) + np.bincount(target, pull, size)
    # A hub would draw all to one point; a link counts by what it is of either end.
    pull = pull / np.sqrt(np.maximum(degree[source] * degree[target], 1e-12))
    if len(pull) > _LINKS:
        strong = np.argpartition(-pull, _LINKS)[:_LINKS]
        source, target, pull = source[strong], target[strong], pull[strong]
    at = _spectral(size, source, target, pull)
    draw = generator(0, "layout")
    ideal = 1.0 / math.sqrt(size)
    for step in range(_STEPS):
        heat = 0.12 * (1.0 - step / _STEPS) ** 1.5 + 0.002
        gap = at[target] - at[source]
        force = gap * (pull * np.linalg.norm(gap, axis=1) / ideal)[:, None] * 4.0
        move = np.empty_like(at)
        for axis in (0, 1):
            pulled = np.bincount(source, force[:, axis], size)
            move[:, axis] = pulled - np.bincount(target, force[:, axis], size)
        for _ in range(_REPELLED):
            other = at - at[draw.integers(0, size, size)]
            near = np.maximum((other**2).sum(1), (0.05 * ideal) ** 2)
            move += other * (ideal**2 * size / _REPELLED * 0.06 / near)[:, None]
        move -= 0.6 * at
        length = np.maximum(np.linalg.norm(move, axis=1), 1e-12)
        at += move * (np.minimum(length, heat) / length)[:, None]
    at -= np.median(at, 0)
    return np.asarray(at / max(float(np.quantile(np.linalg.norm(at, axis=1), 0.98)), 1e-12))


def _spectral(
    size: int, source: NDArray[np.int64], target: NDArray[np.int64], pull: NDArray[np.float64]
) -> Positions:
    """Return a start: two smooth vectors over the links by a few power steps, and a little noise."""
    from scipy.sparse import csr_array

    draw = generator(0, "layout start")
    links = csr_array((pull, (source, target)), shape=(size, size))
    links = links + links.T
    vectors = draw.normal(size=(size, 3))
    vectors[:, 0] = 1.0
    for _ in range(60):
        vectors = 0.5 * vectors + 0.5 * (links @ vectors)
        vectors, _ = np.linalg.qr(vectors)
    at = vectors[:, 1:] / np.maximum(np.abs(vectors[:, 1:]).max(0), 1e-12)
    return np.asarray(0.6 * at + draw.normal(scale=0.05, size=at.shape))
