"""Weighted neighbours with replacement: the sample-and-aggregate half of GraphSAGE.

In: a network, nodes and a key for each learner. Out: node indices ``[L, R, n]``, −1 where a node has no
neighbour in that direction. Alias tables are built once; each sample then costs one hash of (key, place),
so the result does not depend on threads, on other learners, or on the order of the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import check_choice, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import Integers, njit
from honlearn.mixing import splitmix64

Direction = Literal["in", "out"]


@njit
def _alias_tables(
    indptr: Integers, weights: NDArray[np.float64], accept: NDArray[np.uint32], alias: NDArray[np.int32]
) -> None:
    """Fill Vose's alias tables by row: slot i is itself with probability accept[i] / 2^32, else alias[i]."""
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    scaled = np.empty(longest, np.float64)
    small, large = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for row in range(len(indptr) - 1):
        start, degree = indptr[row], indptr[row + 1] - indptr[row]
        total = 0.0
        for i in range(degree):
            total += weights[start + i]
        n_small = n_large = 0
        for i in range(degree):
            scaled[i] = weights[start + i] * degree / total
            if scaled[i] < 1.0:
                small[n_small] = i
                n_small += 1
            else:
                large[n_large] = i
                n_large += 1
        while n_small and n_large:
            n_small -= 1
            light, heavy = small[n_small], large[n_large - 1]
            accept[start + light] = np.uint32(min(scaled[light] * 4294967296.0, 4294967295.0))
            alias[start + light] = heavy
            scaled[heavy] -= 1.0 - scaled[light]
            if scaled[heavy] < 1.0:
                n_large -= 1
                small[n_small] = heavy
                n_small += 1
        for k in range(n_small):
            accept[start + small[k]] = 0xFFFFFFFF
            alias[start + small[k]] = small[k]
        for k in range(n_large):
            accept[start + large[k]] = 0xFFFFFFFF
            alias[start + large[k]] = large[k]


@njit
def _sample(
    indptr: Integers,
    slots: NDArray[np.uint32],
    nodes: NDArray[np.int32],
    keys: NDArray[np.uint64],
    side: int,
    out: NDArray[np.int32],
) -> None:
    """Fill out[l, r, side] with neighbours of nodes[l, r].

    Sample s of learner l reads place s of the stream keys[l]. A slot holds what one sample reads: the
    probability of its own neighbour, that neighbour, the alias's.
    """
    n = out.shape[3]
    for learner in range(out.shape[0]):
        key = np.uint64(keys[learner])
        for row in range(out.shape[1]):
            node = nodes[learner, row]
            start = indptr[node] if node >= 0 else 0
            degree = np.uint64(indptr[node + 1] - start) if node >= 0 else np.uint64(0)
            if degree == 0:
                for i in range(n):
                    out[learner, row, side, i] = -1
                continue
            for i in range(n):
                x = splitmix64(key, np.uint64(row * n + i + 1))
                slot = start + np.int64(((x >> np.uint64(32)) * degree) >> np.uint64(32))
                own, other = slots[slot, 1], slots[slot, 2]
                keep = np.uint32(x) <= slots[slot, 0]
                out[learner, row, side, i] = np.int32(own if keep else other)


class NeighborSampler:
    """Samples in- and out-neighbours with replacement, with probability proportional to weight ** power.

    >>> from honlearn.hon.edgelist import from_edges
    >>> sampler = NeighborSampler(from_edges(["A", "B"], ["B", "C"], [1, 5]))
    >>> nodes = np.array([[0, 1, 2]], np.int32)
    >>> sampler.sample(nodes, 2, "out", np.array([7], np.uint64)).tolist()
    [[[1, 1], [2, 2], [-1, -1]]]
    """

    def __init__(self, network: HigherOrderNetwork, power: float = 1.0) -> None:
        self.network = network
        sides = {
            "out": (network.indptr, network.indices, network.weights),
            "in": (network.in_indptr, network.in_indices, network.in_weights),
        }
        self._tables = {}
        for side, (indptr, indices, weights) in sides.items():
            accept, alias = np.empty(len(indices), np.uint32), np.empty(len(indices), np.int32)
            _alias_tables(indptr, weights.astype(np.float64) ** power, accept, alias)
            other = indices[np.repeat(indptr[:-1], np.diff(indptr)) + alias]
            slots = np.stack([accept, indices.astype(np.uint32), other.astype(np.uint32)], 1)
            self._tables[side] = (indptr, slots)

    def sample(
        self, nodes: NDArray[np.int32], n: int, direction: Direction, keys: NDArray[np.uint64]
    ) -> NDArray[np.int32]:
        """Return n neighbours of each node [L, R] → int32 [L, R, n]; −1 for none, and for a node −1."""
        check_choice("sample", "direction", direction, ("in", "out"))
        out = np.empty((*nodes.shape, 1, n), np.int32)
        _sample(*self._tables[direction], np.ascontiguousarray(nodes, np.int32), keys, 0, out)
        return out[:, :, 0]

    def levels(
        self, roots: NDArray[np.int32], fan_outs: Sequence[int], keys: NDArray[np.uint64]
    ) -> list[NDArray[np.int32]]:
        """Return the tree under the roots [L, B], level by level, root level first.

        Level j + 1 holds, for each place of level j, its `fan_outs[j]` in-neighbours and then as many
        out-neighbours: int32 [L, R_j · 2 · n]. `keys` is uint64 [2 · depth, L].
        """
        out = [np.ascontiguousarray(roots, np.int32)]
        for depth, n in enumerate(check_fan_outs("levels", fan_outs)):
            learners, places = out[-1].shape
            level = np.empty((learners, places, 2, n), np.int32)
            for side, direction in enumerate(("in", "out")):
                _sample(*self._tables[direction], out[-1], keys[2 * depth + side], side, level)
            out.append(level.reshape(learners, -1))
        return out


def as_fan_outs(given: int | Iterable[int] | None) -> tuple[int, ...] | None:
    """Return the fan-out of each layer, a single number for one; None stands for whole neighbourhoods.

    >>> as_fan_outs(8), as_fan_outs([64, 1]), as_fan_outs(None)
    ((8,), (64, 1), None)
    """
    if given is None:
        return None
    return tuple(given) if isinstance(given, Iterable) else (given,)


def check_fan_outs(owner: str, fan_outs: Sequence[int]) -> tuple[int, ...]:
    """Return the fan-outs as a tuple of whole numbers, each at least 1, or raise."""
    return tuple(check_integer(owner, "fan_outs", n, 1) for n in fan_outs)
