"""Random walks over a network: paths as the network believes them.

In: a network, where to start, how long, a seed. Out: :class:`Walks`, which also gives them as
:class:`~honlearn.paths.Paths`, ready to be grown or compared with the observed ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_integer
from honlearn.hon.network import HigherOrderNetwork, Weights
from honlearn.jit import njit
from honlearn.paths.paths import Paths
from honlearn.seeds import generator, root_seed

_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks of one length: the node at each step, int32 [n, length], −1 after a node without out-edges."""

    network: HigherOrderNetwork
    nodes: NDArray[np.int32]

    @property
    def entities(self) -> NDArray[np.int32]:
        """The entity at each step, int32 [n, length], −1 where the walk has ended."""
        return np.where(self.nodes >= 0, self.network.base[self.nodes], np.int32(-1))

    def to_paths(self) -> Paths:
        """Return the walks as paths of entities; a walk that ended early is a shorter path."""
        alive = self.nodes >= 0
        offsets = np.concatenate([[0], np.cumsum(alive.sum(axis=1))])
        return Paths(self.entities[alive], offsets, self.network.vocabulary)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Walks({len(self):,} walks of {self.nodes.shape[1]} steps over {self.network!r})"


def random_walks(
    network: HigherOrderNetwork, starts: int | Iterable[object], length: int, seed: int | None = None
) -> Walks:
    """Return walks that move along out-edges in proportion to their weights, π_k(u' → v).

    `starts` is the labels of the nodes to start from, one a walk, or a number of walks: these start at base
    nodes, drawn by weighted out-degree, as a path with no past does. `length` counts the nodes of a walk,
    its start included. The same `seed` gives the same walks; None draws a seed.
    """
    length = check_integer("random_walks", "length", length, 1)
    root = root_seed(seed)
    first = _starts(network, starts, root)
    ends: Weights = np.add.accumulate(network.weights)
    nodes = np.full((len(first), length), -1, np.int32)
    nodes[:, 0] = first
    random = generator(root, "walks", "steps")
    for start in range(0, len(first), _CHUNK):
        part = nodes[start : start + _CHUNK]
        _walk(network.indptr, network.indices, ends, random.random((len(part), length - 1)), part)
    return Walks(network, nodes)


def _starts(network: HigherOrderNetwork, starts: int | Iterable[object], root: int) -> NDArray[np.int32]:
    if isinstance(starts, (str, bytes)):
        raise InputError(f"starts must be a number of walks or a list of labels, got the text {starts!r}")
    if isinstance(starts, Iterable):
        return np.array([network.index(label) for label in starts], np.int32)
    number = check_integer("random_walks", "starts", starts, 1)
    weight = network.out_weight[: network.n_entities].astype(np.float64)
    if not weight.sum():
        raise InputError("no base node has an out-edge, so a walk can start nowhere; give starts as labels")
    draws = generator(root, "walks", "starts").random(number) * weight.sum()
    return np.asarray(np.searchsorted(np.cumsum(weight), draws, "right"), np.int32)


@njit
def _walk(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    ends: Weights,
    draws: NDArray[np.float64],
    nodes: NDArray[np.int32],
) -> None:
    """Fill each row of `nodes` from its first column on; `ends` are the running sums of the weights."""
    for walk in range(nodes.shape[0]):
        node = nodes[walk, 0]
        for step in range(draws.shape[1]):
            low, high = indptr[node], indptr[node + 1] - 1
            if high < low:
                break
            before = ends[low - 1] if low > 0 else ends[0] - ends[0]
            goal = before + draws[walk, step] * (ends[high] - before)
            while low < high:
                middle = (low + high) // 2
                if ends[middle] > goal:
                    high = middle
                else:
                    low = middle + 1
            node = indices[low]
            nodes[walk, step + 1] = node
