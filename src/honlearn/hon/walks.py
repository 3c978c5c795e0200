"""Random walks over a network: paths drawn from the transition probabilities of a network.

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
from honlearn.jit import Integers, njit
from honlearn.paths.paths import Paths
from honlearn.paths.stream import occurring
from honlearn.seeds import generator, root_seed

_CHUNK = 1 << 16
_STEPS_AT_ONCE = 1 << 20


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

    `starts` is the labels of the nodes to start from, one per walk, or a number of walks: these start at base
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


def simulate(
    network: HigherOrderNetwork,
    n: int,
    seed: int | None = None,
    *,
    length: int = 10,
    like: Paths | None = None,
) -> Paths:
    """Return `n` paths of walkers that move along out-edges in proportion to their weights, π_k(u' → v).

    Parameters
    ----------
    n : how many paths.
    seed : the same seed gives the same paths; None draws one.
    length : entities in a path, its start included. Walks start at base nodes, drawn by weighted out-degree,
        as in :func:`random_walks`: a network does not know where paths begin and end.
    like : observed paths. Each walk then draws one of them, starts where it starts and is as long as it is,
        so that only the steps between are the network's own; `length` is not used.

    A walk ends early at a node without out-edges. The paths hold the entities that were visited.
    """
    n, length = check_integer("simulate", "n", n, 1), check_integer("simulate", "length", length, 1)
    root = root_seed(seed)
    if like is None:
        first, lengths = _starts(network, n, root), np.full(n, length, np.int64)
    else:
        first, lengths = _drawn_from(network, like, n, root)
    random = generator(root, "walks", "steps")
    sums: Weights = np.add.accumulate(network.weights)
    codes, sizes, start = [], [], 0
    ends = np.cumsum(lengths)
    while start < n:
        before = int(ends[start] - lengths[start])
        stop = max(int(np.searchsorted(ends, before + _STEPS_AT_ONCE, "right")), start + 1)
        draws = random.random(int(ends[stop - 1]) - before)
        part, size = _walk_each(
            network.indptr, network.indices, sums, network.base, draws, first[start:stop], lengths[start:stop]
        )
        codes.append(part)
        sizes.append(size)
        start = stop
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    return occurring(np.concatenate(codes), offsets, network.vocabulary, None)


def _drawn_from(
    network: HigherOrderNetwork, like: Paths, n: int, root: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the start and the length of observed paths, drawn with replacement by their counts."""
    rows = np.flatnonzero(like.lengths > 0)
    if not len(rows):
        raise InputError("simulate: like has no path with an entity; give observed paths")
    weight = np.ones(len(rows)) if like.counts is None else like.counts[rows].astype(np.float64)
    draws = generator(root, "walks", "like").random(n) * weight.sum()
    drawn = rows[np.minimum(np.searchsorted(np.cumsum(weight), draws, "right"), len(rows) - 1)]
    starts = like.codes[like.offsets[drawn]]
    used = np.unique(starts)
    code = np.zeros(len(like.vocabulary), np.int32)
    code[used] = network.vocabulary.codes(like.vocabulary[int(entity)] for entity in used)
    return code[starts], like.lengths[drawn]


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
    # Rounding can carry a draw to the end of the sums.
    last = int(np.flatnonzero(weight)[-1])
    drawn = np.searchsorted(np.cumsum(weight), draws, "right")
    return np.asarray(np.minimum(drawn, last), np.int32)


@njit
def following(indptr: Integers, indices: Integers, ends: Weights, node: int, draw: float) -> int:
    """Return the node that follows, −1 at one without out-edges; `ends` are the running sums of weights."""
    low, high = indptr[node], indptr[node + 1] - 1
    if high < low:
        return -1
    before = ends[low - 1] if low > 0 else ends[0] - ends[0]
    goal = before + draw * (ends[high] - before)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > goal:
            high = middle
        else:
            low = middle + 1
    return int(indices[low])


@njit
def _walk(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    ends: Weights,
    draws: NDArray[np.float64],
    nodes: NDArray[np.int32],
) -> None:
    """Fill each row of `nodes` from its first column on."""
    for walk in range(nodes.shape[0]):
        node = nodes[walk, 0]
        for step in range(draws.shape[1]):
            node = following(indptr, indices, ends, node, draws[walk, step])
            if node < 0:
                break
            nodes[walk, step + 1] = node


@njit
def _walk_each(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    ends: Weights,
    base: NDArray[np.int32],
    draws: NDArray[np.float64],
    first: NDArray[np.int32],
    lengths: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the entities of walks of their own lengths, one after the other, and how many each has."""
    codes, sizes = np.empty(len(draws), np.int32), np.zeros(len(first), np.int64)
    written, place = 0, 0
    for walk in range(len(first)):
        node = first[walk]
        for step in range(lengths[walk]):
            if step > 0:
                node = following(indptr, indices, ends, node, draws[place + step])
                if node < 0:
                    break
            codes[written] = base[node]
            written += 1
            sizes[walk] += 1
        place += lengths[walk]
    return codes[:written].copy(), sizes
