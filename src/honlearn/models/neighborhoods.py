"""Neighbourhoods: which rows each layer computes and which rows of the layer before they read.

In: a network and the roots ``[L, B]`` of a batch. Out: one :class:`Hop` a layer, first layer first. Exact
neighbourhoods hold every neighbour with its weight; sampled ones hold the draws of
:mod:`honlearn.sampling.neighbors`. The layers cannot tell them apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import njit
from honlearn.models.hashing import site_keys
from honlearn.sampling.neighbors import NeighborSampler

# Sites of the counter-based streams: see hashing.site_keys. Layers use 0 … 31, sampling these.
_SAMPLING_SITE = 32


class Rows(NamedTuple):
    """Sparse rows: indptr int64 [R' + 1], indices int32 [1|L, E] (−1: missing), weights float32 [1|L, E]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]


class Hop(NamedTuple):
    """What one layer reads: for output row r of learner l, row ``rows[l, r]`` of each of the three parts.

    `own` points at the node itself, `into` at its in-neighbours, `out_of` at its out-neighbours. Places
    are entities in the first layer (features belong to base nodes) and output rows of the layer before in
    all others. `rows` is int32 [1|L, R]; length 1 where all learners compute the same rows. `once` says that
    rows of the layer before are read once, or hardly more often: a layer need not keep them for this one.
    """

    rows: NDArray[np.int32]
    own: Rows
    into: Rows
    out_of: Rows
    once: bool = False


class Neighborhood(Protocol):
    """Gives the hops of a batch; `rows_a_root` rows of the first layer belong to each root alone."""

    rows_a_root: int

    def hops(self, roots: NDArray[np.int32], streams: NDArray[np.uint64], step: int) -> list[Hop]:
        """Return one hop a layer for roots int32 [L, B]; streams and step decide what is sampled."""


@njit
def _mark_neighbors(indptr: Any, indices: Any, nodes: Any, mark: Any) -> Any:
    for node in nodes:
        for e in range(indptr[node], indptr[node + 1]):
            mark[indices[e]] = True


class ExactNeighborhood:
    """Every neighbour, weighted by its share of weight ** power (mean) or by share × degree (sum)."""

    def __init__(
        self, network: HigherOrderNetwork, n_layers: int, sums: bool = False, power: float = 1.0
    ) -> None:
        self.n_nodes, self.n_layers = network.n_nodes, n_layers
        self.rows_a_root = 1
        self._into = _scaled(network.in_indptr, network.in_indices, network.in_weights**power, sums)
        self._out_of = _scaled(network.indptr, network.indices, network.weights**power, sums)
        self._everyone = np.arange(network.n_nodes, dtype=np.int32)[None]
        self._own = _single(network.n_nodes, self._everyone)
        self._first = Hop(
            self._everyone,
            _single(network.n_nodes, np.ascontiguousarray(network.base)[None]),
            _collapsed(self._into, network.base),
            _collapsed(self._out_of, network.base),
        )

    def hops(self, roots: NDArray[np.int32], streams: NDArray[np.uint64], step: int) -> list[Hop]:
        """Return the hops; layers before the last compute the rows that the next one reads."""
        needed: list[NDArray[np.int32]] = [np.ascontiguousarray(roots, np.int32)]
        for _ in range(self.n_layers - 1):
            needed.insert(0, self._reach(needed[0]))
        hops = [self._first._replace(rows=needed[0])]
        for before, rows in itertools.pairwise(needed):
            hops.append(self._hop(rows, before))
        return hops

    def _reach(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the nodes within one step of these, int32 [1, R]; all nodes where most are."""
        if rows is self._everyone or rows.size >= self.n_nodes:
            return self._everyone
        mark = np.zeros(self.n_nodes, np.bool_)
        nodes = np.unique(rows)
        mark[nodes] = True
        for part in (self._into, self._out_of):
            _mark_neighbors(part.indptr, part.indices[0], nodes, mark)
        reached = np.flatnonzero(mark).astype(np.int32)
        return self._everyone if len(reached) > 0.7 * self.n_nodes else reached[None]

    def _hop(self, rows: NDArray[np.int32], before: NDArray[np.int32]) -> Hop:
        if before is self._everyone:
            return Hop(rows, self._own, self._into, self._out_of)
        place = np.full(self.n_nodes, -1, np.int32)
        place[before[0]] = np.arange(before.shape[1], dtype=np.int32)
        into, out_of = (part._replace(indices=place[part.indices]) for part in (self._into, self._out_of))
        return Hop(rows, _single(self.n_nodes, place[None]), into, out_of)


class SampledNeighborhood:
    """`fan_outs[j]` in- and as many out-neighbours at depth j + 1, drawn anew at every step.

    A node without neighbours contributes nothing, as in exact neighbourhoods. (The published program feeds
    a zero vector instead, which is relu(bias) after the first layer.)
    """

    def __init__(
        self, network: HigherOrderNetwork, fan_outs: Sequence[int], sums: bool = False, power: float = 1.0
    ) -> None:
        self.fan_outs, self.sums = tuple(fan_outs), sums
        levels = np.cumprod([1, *(2 * n for n in self.fan_outs[:-1])])
        self.rows_a_root = int(levels.sum())
        self.sampler = NeighborSampler(network, power)
        self._base = np.append(network.base, np.int32(-1))
        degrees = [np.append(np.diff(p), 0) for p in (network.in_indptr, network.indptr)]
        self._degrees = [degree.astype(np.float32) for degree in degrees]

    def hops(self, roots: NDArray[np.int32], streams: NDArray[np.uint64], step: int) -> list[Hop]:
        """Return the hops; layer t computes the levels 0 … depth − t of the tree under the roots."""
        depth = len(self.fan_outs)
        keys = np.stack([site_keys(streams, step, _SAMPLING_SITE + i) for i in range(2 * depth)])
        levels = self.sampler.levels(roots, self.fan_outs, keys)
        return [self._hop(levels[: depth - layer + 1], layer == 0) for layer in range(depth)]

    def _hop(self, levels: list[NDArray[np.int32]], first: bool) -> Hop:
        """Return the hop whose outputs are all levels but the last and whose inputs are all levels."""
        sizes = [level.shape[1] for level in levels]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        parts = []
        for side in (0, 1):
            counts, places, weights = [], [], []
            for depth, (level, below) in enumerate(itertools.pairwise(levels)):
                n = self.fan_outs[depth]
                drawn = below.reshape(len(below), -1, 2, n)[:, :, side]
                if first:
                    place = self._base[drawn]
                else:
                    here = np.arange(sizes[depth + 1], dtype=np.int32).reshape(1, -1, 2, n)[:, :, side]
                    place = np.where(drawn >= 0, here + np.int32(starts[depth + 1]), np.int32(-1))
                counts.append(np.full(level.shape[1], n, np.int64))
                places.append(place.reshape(len(below), -1))
                factor = self._degrees[side][level] / n if self.sums else np.full((1, 1), 1 / n)
                weight = np.broadcast_to(factor[:, :, None], (len(factor), level.shape[1], n))
                weights.append(weight.reshape(len(factor), -1).astype(np.float32))
            indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
            parts.append(Rows(indptr, np.concatenate(places, 1), np.concatenate(weights, 1)))
        rows = np.arange(starts[-2], dtype=np.int32)[None]
        own = np.concatenate([self._base[level] for level in levels[:-1]], 1) if first else rows
        into, out_of = parts
        return Hop(rows, _single(int(starts[-2]), own), into, out_of, once=not first)


def _scaled(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: Any, sums: bool) -> Rows:
    """Return rows that add up to 1 each, or to their degree."""
    degree = np.diff(indptr)
    row = np.repeat(np.arange(len(degree)), degree)
    total = np.bincount(row, weights=weights, minlength=len(degree))
    factor = (degree if sums else 1.0) / np.where(total > 0, total, 1.0)
    scaled = (weights * factor[row]).astype(np.float32)
    return Rows(np.ascontiguousarray(indptr), np.ascontiguousarray(indices)[None], scaled[None])


def _single(count: int, places: NDArray[np.int32]) -> Rows:
    """Return rows with one entry of weight 1 each."""
    ones = np.ones((1, count), np.float32)
    return Rows(np.arange(count + 1, dtype=np.int64), np.ascontiguousarray(places, np.int32), ones)


def _collapsed(rows: Rows, base: NDArray[np.int32]) -> Rows:
    """Return the rows over entities: entries whose nodes share a base become one."""
    count, width = len(rows.indptr) - 1, int(base.max(initial=0)) + 1
    row = np.repeat(np.arange(count, dtype=np.int64), np.diff(rows.indptr))
    pair = row * width + base[rows.indices[0]]
    distinct, place = np.unique(pair, return_inverse=True)
    weights = np.bincount(place, weights=rows.weights[0], minlength=len(distinct)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(distinct // width, minlength=count))])
    return Rows(indptr.astype(np.int64), (distinct % width).astype(np.int32)[None], weights[None])
