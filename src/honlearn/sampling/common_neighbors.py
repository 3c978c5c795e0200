"""Common neighbours of pairs: the entities z on a walk u → z → v, with weights.

In: a network and pairs of entities. Out: sparse rows, one for each pair: which z, and 1 / √degree(z), so that
a common neighbour with few links counts more.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import njit
from honlearn.sampling.pairs import Pairs, keyed_pairs, linked_keys


class Common(NamedTuple):
    """Sparse rows: indptr int64 [B + 1], entities int32 [E] ascending in a row, weights float32 [E]."""

    indptr: NDArray[np.int64]
    entities: NDArray[np.int32]
    weights: NDArray[np.float32]

    def take(self, rows: NDArray[np.int64]) -> Common:
        """Return some of the rows, in the order given."""
        sizes = np.diff(self.indptr)[rows]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        entries = np.repeat(self.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return Common(indptr, self.entities[entries], self.weights[entries])


class CommonNeighbors:
    """Finds the common neighbours of pairs; without direction every neighbour of both ends is one.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "A", "B", "C", "D"], ["B", "C", "D", "D", "B"], [1, 1, 1, 1, 1])
    >>> found = CommonNeighbors(hon).of(np.array([[0, 3], [3, 0]], np.int32))
    >>> found.indptr.tolist(), found.entities.tolist()  # A → B → D and A → C → D
    ([0, 2, 2], [1, 2])
    """

    def __init__(self, network: HigherOrderNetwork, directed: bool = True) -> None:
        self.network, self.directed = network, directed

    def of(self, pairs: Pairs) -> Common:
        """Return the common neighbours of pairs int32 [B, 2]."""
        pairs = np.ascontiguousarray(pairs, np.int32).reshape(-1, 2)
        out, into, weights = self._lists
        sizes = np.zeros(len(pairs) + 1, np.int64)
        _meet(*out, *into, pairs, sizes, np.empty(0, np.int32))
        indptr = np.cumsum(sizes)
        entities = np.empty(indptr[-1], np.int32)
        if len(entities):
            _meet(*out, *into, pairs, indptr, entities)
        return Common(indptr, entities, weights[entities])

    @cached_property
    def _lists(
        self,
    ) -> tuple[
        tuple[NDArray[np.int64], NDArray[np.int32]],
        tuple[NDArray[np.int64], NDArray[np.int32]],
        NDArray[np.float32],
    ]:
        """Targets of each entity, sources of each entity, and the weight of each as a common neighbour."""
        size = self.network.n_entities
        links = keyed_pairs(linked_keys(self.network), size)
        both = np.concatenate([links, links[:, ::-1]])
        near = _grouped(both, size)
        weights = (1.0 / np.sqrt(np.maximum(np.diff(near[0]), 1))).astype(np.float32)
        if not self.directed:
            return near, near, weights
        return _grouped(links, size), _grouped(links[:, ::-1], size), weights


def _grouped(links: Pairs, size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct second ends of each first end, ascending: indptr [V + 1] and indices."""
    keys = np.unique(links[:, 0].astype(np.int64) * size + links[:, 1])
    indptr = np.searchsorted(keys, np.arange(size + 1, dtype=np.int64) * size)
    return indptr.astype(np.int64), (keys % size).astype(np.int32)


@njit
def _meet(
    out_indptr: NDArray[np.int64],
    out_indices: NDArray[np.int32],
    in_indptr: NDArray[np.int64],
    in_indices: NDArray[np.int32],
    pairs: Pairs,
    indptr: NDArray[np.int64],
    entities: NDArray[np.int32],
) -> None:
    """Count common neighbours into `indptr` [B + 1] where `entities` is empty, else write them there."""
    counts_only = len(entities) == 0
    for row in range(len(pairs)):
        u, v = pairs[row, 0], pairs[row, 1]
        a, b = out_indptr[u], in_indptr[v]
        found = 0
        while a < out_indptr[u + 1] and b < in_indptr[v + 1]:
            one, other = out_indices[a], in_indices[b]
            if one == other:
                if one != u and one != v:
                    if not counts_only:
                        entities[indptr[row] + found] = one
                    found += 1
                a += 1
                b += 1
            elif one < other:
                a += 1
            else:
                b += 1
        if counts_only:
            indptr[row + 1] = found
