"""Neighbourhoods: which rows each layer computes and which rows of the layer before they read.

In: a network and the roots ``[L, B]`` of a batch. Out: one :class:`Hop` a layer, first layer first. Exact
neighbourhoods hold every neighbour with its weight; sampled ones hold the draws of
:mod:`honlearn.sampling.neighbors`. The layers cannot tell them apart. Without echo (see :class:`Echo`) a root
does not hear who it is.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.hashing import site_keys
from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import njit
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


class Echo(NamedTuple):
    """What becomes of a root's echo: whether it is heard, and whether entities have features beside a name.

    A training root can recognise itself, which a tested one cannot: by its own look-up, and by the contexts
    around it, for the only in-neighbour of ``v|u`` is u, and who returns goes from ``v|u`` to u. Where the
    echo is not `heard`, a root looks up its features only (or nothing, where it has none), and a context
    ``v|u`` does not look up u among its neighbours. Both concern the first layer, which alone knows names.
    """

    heard: bool = True
    features: bool = False


_ECHO = Echo()


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
    """Every neighbour, weighted by its share of weight ** power (mean) or by share × degree (sum).

    Without echo, row ``n_nodes + 1 + i`` of every layer but the last is node i as a root sees itself.
    """

    def __init__(
        self,
        network: HigherOrderNetwork,
        n_layers: int,
        sums: bool = False,
        power: float = 1.0,
        echo: Echo = _ECHO,
    ) -> None:
        self.n_nodes, self.n_layers, self.echo = network.n_nodes, n_layers, echo
        self.rows_a_root = 1
        self._into = _scaled(network.in_indptr, network.in_indices, network.in_weights**power, sums)
        self._out_of = _scaled(network.indptr, network.indices, network.weights**power, sums)
        self._everyone = np.arange(network.n_nodes, dtype=np.int32)[None]
        self._own = _single(network.n_nodes, self._everyone)
        into, out_of = (_collapsed(part, network.base) for part in (self._into, self._out_of))
        own = np.ascontiguousarray(network.base)
        if not echo.heard:
            before = _entity_before(network)
            into, out_of = (_doubled(_without(part, before, sums)) for part in (into, out_of))
            hidden = own + network.n_entities if echo.features else np.full_like(own, -1)
            own = np.concatenate([own, [np.int32(-1)], hidden])
        self._first = Hop(self._everyone, _single(len(own), own[None]), into, out_of)

    def hops(self, roots: NDArray[np.int32], streams: NDArray[np.uint64], step: int) -> list[Hop]:
        """Return the hops; layers before the last compute the rows that the next one reads."""
        roots = np.ascontiguousarray(roots, np.int32)
        needed = [roots]
        for _ in range(self.n_layers - 1):
            needed.insert(0, self._reach(needed[0]))
        if not self.echo.heard:
            return self._hops_without_echo(roots, needed)
        hops = [self._first._replace(rows=needed[0])]
        for before, rows in itertools.pairwise(needed):
            hops.append(self._hop(rows, before))
        return hops

    def _hops_without_echo(self, roots: NDArray[np.int32], needed: list[NDArray[np.int32]]) -> list[Hop]:
        """Return the hops where each root [L, B] has rows of its own, behind those that are `needed`."""
        (learners, count), selves = roots.shape, roots + np.int32(self.n_nodes + 1)
        if self.n_layers == 1:
            return [self._first._replace(rows=selves)]
        rows = [np.hstack([np.repeat(part, learners, 0), selves]) for part in needed[:-1]]
        hops = [self._first._replace(rows=rows[0])]
        for layer in range(1, self.n_layers):
            before, last = needed[layer - 1], layer == self.n_layers - 1
            hop = self._hop(roots if last else rows[layer], before)
            places = np.arange(before.shape[1], before.shape[1] + count, dtype=np.int32)[None]
            own = np.full((learners, 2 * self.n_nodes + 1), -1, np.int32)
            own[:, : self.n_nodes] = hop.own.indices
            np.put_along_axis(own, roots if last else selves, np.repeat(places, learners, 0), 1)
            into, out_of = (hop.into, hop.out_of) if last else (_doubled(hop.into), _doubled(hop.out_of))
            hops.append(Hop(hop.rows, _single(own.shape[1], own), into, out_of))
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
        self,
        network: HigherOrderNetwork,
        fan_outs: Sequence[int],
        sums: bool = False,
        power: float = 1.0,
        echo: Echo = _ECHO,
    ) -> None:
        self.fan_outs, self.sums, self.echo = tuple(fan_outs), sums, echo
        self.n_entities = network.n_entities
        self._before = np.append(_entity_before(network), np.int32(-1))
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
        shape = _tree_shape(tuple(level.shape[1] for level in levels), self.fan_outs[: len(levels) - 1])
        count, nodes = shape.rows.shape[1], np.concatenate(levels, 1)
        parts = []
        if first:
            bases = np.take(self._base, nodes)
            own = shape.own._replace(indices=self._own(bases, count, levels[0].shape[1]))
        else:
            own = shape.own
        for side, places in enumerate(shape.places):
            if first:
                indices = np.take(bases, places, 1)
            else:
                indices = np.where(np.take(nodes, places, 1) >= 0, places, np.int32(-1))
            weights = shape.weights
            if first and not self.echo.heard:
                indices, weights = self._without_returns(nodes[:, :count], indices, shape)
            if self.sums:
                factors = self._degrees[side][nodes[:, :count]] / shape.counts.astype(np.float32)
                weights = np.repeat(factors, shape.counts, 1)
            parts.append(Rows(shape.indptr, indices, weights))
        into, out_of = parts
        return Hop(shape.rows, own, into, out_of, once=not first)

    def _own(self, bases: NDArray[np.int32], count: int, roots: int) -> NDArray[np.int32]:
        """Return what each of `count` rows looks up as its own; the first `roots` of them may not hear it."""
        own = np.ascontiguousarray(bases[:, :count])
        if not self.echo.heard:
            own[:, :roots] = own[:, :roots] + self.n_entities if self.echo.features else -1
        return own

    def _without_returns(
        self, nodes: NDArray[np.int32], indices: NDArray[np.int32], shape: _TreeShape
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return entries and weights, the entity that a context comes from left out of its neighbours."""
        back = indices == np.repeat(self._before[nodes], shape.counts, 1)
        left = np.where(back, np.int32(-1), indices)
        kept = np.add.reduceat(left >= 0, shape.indptr[:-1], axis=1)
        weights = (1 / np.maximum(kept, 1)).astype(np.float32)
        return left, np.repeat(weights, shape.counts, 1)


class _TreeShape(NamedTuple):
    """What all trees with the same fan-outs under as many roots share, their levels side by side.

    `counts` is how many neighbours each row has on either side, `places` says where those of a side are,
    int32 [E], and `own` that each row is in its own place.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]
    indptr: NDArray[np.int64]
    places: tuple[NDArray[np.int32], NDArray[np.int32]]
    weights: NDArray[np.float32]
    own: Rows


@functools.lru_cache(maxsize=16)
def _tree_shape(sizes: tuple[int, ...], fan_outs: tuple[int, ...]) -> _TreeShape:
    """Return the shape of trees whose levels have these sizes; nobody may write to its arrays."""
    counts = np.repeat(np.array(fan_outs, np.int64), sizes[:-1])
    ends = np.cumsum(sizes)
    below = [
        np.arange(start, end, dtype=np.int32).reshape(-1, 2, n)
        for start, end, n in zip(ends[:-1], ends[1:], fan_outs, strict=True)
    ]
    into, out_of = (np.concatenate([level[:, side].ravel() for level in below]) for side in (0, 1))
    rows = np.arange(len(counts), dtype=np.int32)[None]
    weights = np.repeat(1 / counts, counts).astype(np.float32)[None]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return _TreeShape(rows, counts, indptr, (into, out_of), weights, _single(len(counts), rows))


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


def _entity_before(network: HigherOrderNetwork) -> NDArray[np.int32]:
    """Return the entity that each node comes from, −1 for a base node: u for ``v|u`` and for ``v|u,t``."""
    before = np.full(network.n_nodes, -1, np.int32)
    contexts = slice(network.n_entities, None)
    before[contexts] = network.grams[network.gram_offsets[:-1][contexts] + 1]
    return before


def _without(rows: Rows, before: NDArray[np.int32], sums: bool) -> Rows:
    """Return the rows over entities without the one that each comes from; means are means of the rest."""
    row = np.repeat(np.arange(len(before)), np.diff(rows.indptr))
    kept = rows.indices[0] != before[row]
    row, indices, weights = row[kept], rows.indices[0, kept], rows.weights[0, kept]
    if not sums:
        total = np.bincount(row, weights, minlength=len(before))
        weights = (weights / total[row]).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(before)))])
    return Rows(indptr.astype(np.int64), indices[None], weights[None])


def _doubled(rows: Rows) -> Rows:
    """Return the n rows, an empty one, and the n rows again; the entries are there once."""
    return rows._replace(indptr=np.concatenate([rows.indptr, rows.indptr]))


def _collapsed(rows: Rows, base: NDArray[np.int32]) -> Rows:
    """Return the rows over entities: entries whose nodes share a base become one."""
    count, width = len(rows.indptr) - 1, int(base.max(initial=0)) + 1
    row = np.repeat(np.arange(count, dtype=np.int64), np.diff(rows.indptr))
    pair = row * width + base[rows.indices[0]]
    distinct, place = np.unique(pair, return_inverse=True)
    weights = np.bincount(place, weights=rows.weights[0], minlength=len(distinct)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(distinct // width, minlength=count))])
    return Rows(indptr.astype(np.int64), (distinct % width).astype(np.int32)[None], weights[None])
