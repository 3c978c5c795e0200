"""Sampled neighbourhoods: trees of drawn neighbours under the roots of a batch.

In: a network, fan-outs and the roots ``[L, B]``. Out: hops, as in :mod:`honlearn.engine.neighborhoods`, over
the draws of :mod:`honlearn.sampling.neighbors`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.adjacency import Rows, entity_before, single
from honlearn.engine.hashing import site_keys
from honlearn.engine.neighborhoods import NO_MASK, Hop, SelfMask
from honlearn.engine.touched import Compactor
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.neighbors import NeighborSampler

# Sites of the counter-based streams: see hashing.site_keys. Layers use 0 … 31, sampling these.
_SAMPLING_SITE = 32
# From so many entities on a step has tables, and the optimiser steps, of those alone that it reads.
ROW_WISE_FROM = 50_000


class SampledNeighborhood:
    """`fan_outs[j]` in- and as many out-neighbours at depth j + 1, drawn anew at every step.

    A node without neighbours contributes nothing, as in exact neighbourhoods. (The published program feeds
    a zero vector instead, which is relu(bias) after the first layer.)
    """

    is_exact = False

    def __init__(
        self,
        network: HigherOrderNetwork,
        fan_outs: Sequence[int],
        sums: bool = False,
        power: float = 1.0,
        mask: SelfMask = NO_MASK,
    ) -> None:
        self.fan_outs, self.sums, self.mask = tuple(fan_outs), sums, mask
        self.n_entities = network.n_entities
        self._before = np.append(entity_before(network), np.int32(-1))
        levels = np.cumprod([1, *(2 * n for n in self.fan_outs[:-1])])
        self.rows_a_root = int(levels.sum())
        self.sampler = NeighborSampler(network, power)
        self._base = np.append(network.base, np.int32(-1))
        degrees = [np.append(np.diff(p), 0) for p in (network.in_indptr, network.indptr)]
        self._degrees = [degree.astype(np.float32) for degree in degrees]
        # A vector that stands for all hidden identities belongs to no entity.
        has_rows = network.n_entities >= ROW_WISE_FROM and not (mask.vector and not mask.features)
        self._compactor = Compactor(network.n_entities) if has_rows else None

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
            if first and self.mask.active:
                indices, weights = self._without_returns(nodes[:, :count], indices, shape)
            if self.sums:
                factors = self._degrees[side][nodes[:, :count]] / shape.counts.astype(np.float32)
                weights = np.repeat(factors, shape.counts, 1)
            parts.append(Rows(shape.indptr, indices, weights))
        hop = Hop(shape.rows, own, tuple(parts), once=not first)
        return self._compacted(hop) if first and self._compactor is not None else hop

    def _compacted(self, hop: Hop) -> Hop:
        """Return a first hop whose places are those of the entities that it reads."""
        assert self._compactor is not None
        compact, parts = self._compactor.compact, (hop.own, *hop.parts)
        if self.sums:
            # A node and its neighbours are looked up in one table.
            places, one = compact(*(part.indices for part in parts))
            touched = (one,) * len(parts)
        else:
            found = [compact(part.indices) for part in parts]
            places, touched = [new for (new,), _ in found], tuple(one for _, one in found)
        own, *near = (part._replace(indices=new) for part, new in zip(parts, places, strict=True))
        return hop._replace(own=own, parts=tuple(near), touched=touched)

    def _own(self, bases: NDArray[np.int32], count: int, roots: int) -> NDArray[np.int32]:
        """Return what each of `count` rows looks up as its own; the first `roots` of them are masked."""
        own = np.ascontiguousarray(bases[:, :count])
        if self.mask.active:
            own[:, :roots] = self.mask.places(own[:, :roots], self.n_entities)
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
    return _TreeShape(rows, counts, indptr, (into, out_of), weights, single(len(counts), rows))
