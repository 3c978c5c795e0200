"""Copies of nodes that read only some of their neighbours: what a prediction would be without the others.

In: an exact neighbourhood and :class:`Copies`. Out: a neighbourhood with a node more for each copy. Nobody
reads a copy, so that many of them, of any nodes, are represented in one pass, and all other rows are as
before. A neighbour that is left out sends no message to the copy, in any layer; means are means of the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.adjacency import Rows, shares_of_rows, single
from honlearn.engine.neighborhoods import ExactNeighborhood


class Players(NamedTuple):
    """Neighbouring entities of entities, in groups: `keys` u · V + w ascending int64 [D], `group` uint8 [D].

    Neighbours of u that are not named are in no group, and always read.
    """

    keys: NDArray[np.int64]
    group: NDArray[np.uint8]
    n_entities: int

    def kept(
        self, entity: NDArray[np.int32], neighbor: NDArray[np.int32], groups: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Return whether each entity reads this neighbour, where bit g of `groups` says that it reads g."""
        if not len(self.keys):
            return np.ones(len(entity), np.bool_)
        key = entity.astype(np.int64) * self.n_entities + neighbor
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        # A masked place of a first layer is no entity, and could be taken for one of the next row.
        known = (self.keys[place] == key) & (neighbor >= 0) & (neighbor < self.n_entities)
        read = (groups >> self.group[place].astype(np.uint64)) & np.uint64(1)
        return np.asarray(~known | (read == 1))


class Copies(NamedTuple):
    """Copies of nodes: `origin` int32 [K] the nodes, `groups` uint64 [K] the groups of neighbours read."""

    origin: NDArray[np.int32]
    groups: NDArray[np.uint64]
    players: Players


class CopiedNeighborhood(ExactNeighborhood):
    """The neighbourhood of a network and, as nodes n_nodes …, of copies."""

    def __init__(self, near: ExactNeighborhood, copies: Copies) -> None:
        n, count, origin = near.n_nodes, len(copies.origin), copies.origin
        self.n_nodes, self.n_layers, self.mask = n + count, near.n_layers, near.mask
        self.base = np.concatenate([near.base, near.base[origin]])
        self.is_mean = near.is_mean
        self._everyone = np.arange(self.n_nodes, dtype=np.int32)[None]
        self._own = single(self.n_nodes, self._everyone)
        self._parts = tuple(
            _appended(part, *_read(part, origin, copies, near, is_first=False)) for part in near._parts
        )
        first = near._first
        roots = origin.astype(np.int64) + (n + 1 if near.mask.active else 0)
        parts = tuple(
            _appended(part, *_read(part, roots, copies, near, is_first=True), plain=n * near.mask.active)
            for part in first.parts
        )
        own: NDArray[np.int32] = _with_copies(
            first.own.indices[0], roots, n, near.base[origin], near.mask.active
        )
        self._loop = None
        if near._loop is not None:
            self._loop = _with_copies(near._loop, roots, n, near._loop[origin], near.mask.active)
        self._first = first._replace(
            rows=self._everyone, own=single(len(own), own[None]), parts=parts, loop=self._loop
        )


def _with_copies(
    values: NDArray[Any],
    rows: NDArray[np.integer[Any]],
    n: int,
    plain: NDArray[Any],
    is_masked: bool,
) -> NDArray[Any]:
    """Return values of rows with those of copies: behind all, and where masked `plain` ones behind n."""
    if not is_masked:
        return np.concatenate([values, values[rows]])
    return np.concatenate([values[:n], plain, values[n:], values[rows]])


def _read(
    part: Rows, rows: NDArray[np.integer[Any]], copies: Copies, near: ExactNeighborhood, is_first: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return how many entries of its row each copy reads, and these: numbers [K], places and weights [E']."""
    starts, sizes = part.indptr[rows], part.indptr[rows + 1] - part.indptr[rows]
    copy = np.repeat(np.arange(len(rows)), sizes)
    before = np.concatenate([[0], np.cumsum(sizes)])
    entry = np.arange(before[-1]) + np.repeat(starts - before[:-1], sizes)
    places, weights = part.indices[0, entry], part.weights[0, entry]
    neighbor = places if is_first else near.base[places]
    entity = near.base[copies.origin]
    kept = copies.players.kept(entity[copy], neighbor, copies.groups[copy])
    copy, places, weights = copy[kept], places[kept], weights[kept]
    if near.is_mean:
        weights = shares_of_rows(copy, weights, len(rows))
    return np.bincount(copy, minlength=len(rows)), places, weights


def _appended(
    part: Rows,
    sizes: NDArray[np.int64],
    places: NDArray[np.int32],
    weights: NDArray[np.float32],
    plain: int = 0,
) -> Rows:
    """Return the rows with those of copies behind them; behind the first `plain` rows, as many empty ones."""
    ends = len(part.indices[0]) + np.cumsum(sizes)
    indptr = part.indptr
    if plain:
        # Nobody reads a copy, so its row as others would read it stays empty.
        empty = np.full(len(sizes), indptr[plain], np.int64)
        indptr = np.concatenate([indptr[: plain + 1], empty, indptr[plain + 1 :]])
    return Rows(
        np.concatenate([indptr, ends]).astype(np.int64),
        np.concatenate([part.indices[0], places])[None].astype(np.int32),
        np.concatenate([part.weights[0], weights])[None].astype(np.float32),
    )
