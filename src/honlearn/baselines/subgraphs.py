"""Enclosing subgraphs: what surrounds each of many pairs, as one block-diagonal graph.

In: a network and pairs of entities. Out: :class:`Subgraphs`, whose nodes are those within some hops of either
end, with every edge among them but those between the two ends. All loops are compiled. What is drawn where a
hop is too large is a hash of (seed, pair), so it does not depend on the other pairs of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from honlearn.baselines.double_radius import double_radius_labels
from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import Floats, Integers, njit
from honlearn.mixing import GOLDEN, mix64
from honlearn.sampling.pairs import Pairs
from honlearn.seeds import derive_seed

Number = TypeVar("Number", bound=np.number[Any])


class Rows(NamedTuple):
    """A square sparse matrix by rows: indptr int64 [n + 1], indices int64 [e], weights float32 [e]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class Subgraphs:
    """The subgraphs of B pairs side by side; graph b has the nodes offsets[b] … offsets[b + 1] − 1 of all n.

    `nodes` int32 [n] are nodes of the network, the ends first; `roles` int8 [n] is 1 for the source, 2 for
    the target and 0 for the others; `labels` int64 [n] are double-radius labels; `degrees` float32 [n, 4]
    holds log(1 + d) of the number and the weight of out-edges, then of in-edges, in the whole network without
    the edges between the ends. `out` and `into` have the edges out of and into each node, as rows that sum
    to 1.
    """

    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    roles: NDArray[np.int8]
    labels: NDArray[np.int64]
    degrees: NDArray[np.float32]
    out: Rows
    into: Rows

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of nodes of each graph, int64 [B]."""
        return np.diff(self.offsets)


class Extractor:
    """Takes the enclosing subgraphs of pairs out of a network.

    The subgraph of (u, v) has all nodes within `hops` steps of u or v, in either direction. Where a hop finds
    more than `most` new nodes, `most` of them are drawn uniformly and the others left out (None: no limit).
    An end is a whole family: on a higher-order network every relative of u is u, and all edges between
    relatives of u and of v are left out, both ways. A large family is drawn from likewise; its base node
    always stays.

    >>> from honlearn.hon.edgelist import from_edges
    >>> net = from_edges(["A", "A", "B", "C"], ["B", "C", "C", "D"], [1, 2, 3, 1])
    >>> found = Extractor(net, hops=1)(np.array([[0, 2]]))
    >>> found.nodes.tolist(), found.labels.tolist(), found.out.indices.tolist()
    ([0, 2, 1, 3], [1, 1, 2, 0], [2, 3, 1])
    """

    def __init__(
        self,
        network: HigherOrderNetwork,
        hops: int = 1,
        most: int | None = None,
        edge_power: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.network, self.hops = network, hops
        self.most = network.n_nodes if most is None else most
        self.key = np.uint64(derive_seed(seed, "subgraphs"))
        self._out = (network.indptr, network.indices)
        self._in = (network.in_indptr, network.in_indices)
        self._weights = network.weights.astype(np.float64)
        self._in_weights = network.in_weights.astype(np.float64)
        self._powers = (self._weights**edge_power).astype(np.float32)
        self._totals = np.stack(
            [np.diff(network.indptr), network.out_weight, np.diff(network.in_indptr), network.in_weight], 1
        ).astype(np.float64)

    def __call__(self, pairs: Pairs) -> Subgraphs:
        """Return the subgraphs of these pairs [B, 2] of different entities."""
        network, pairs = self.network, np.ascontiguousarray(pairs, np.int32)
        families = (network.family_indptr, network.family_indices)
        nodes, offsets = _collect(pairs, families, self._out, self._in, self.hops, self.most, self.key)
        base = network.base[nodes]
        owner = np.repeat(np.arange(len(pairs)), np.diff(offsets))
        roles = ((base == pairs[owner, 0]) + 2 * (base == pairs[owner, 1])).astype(np.int8)
        rows = Rows(*_induce(pairs, nodes, offsets, network.base, *self._out, self._powers))
        back = Rows(*_transpose(*rows))
        labels = double_radius_labels(offsets, roles, rows.indptr, rows.indices, back.indptr, back.indices)
        totals = self._totals[nodes]
        _leave_out(pairs, owner, nodes, roles, network.base, *self._out, self._weights, totals[:, :2])
        _leave_out(pairs, owner, nodes, roles, network.base, *self._in, self._in_weights, totals[:, 2:])
        degrees = np.log1p(np.maximum(totals, 0.0)).astype(np.float32)
        for each in (rows, back):
            _to_shares(each.indptr, each.weights)
        return Subgraphs(offsets, nodes, roles, labels, degrees, rows, back)


@njit(inline="always")
def _next(state: np.uint64) -> np.uint64:
    """Return the state after this one; :func:`_below` makes numbers of it."""
    return state + GOLDEN


@njit(inline="always")
def _below(state: np.uint64, limit: int) -> np.int64:
    """Return a number from 0 to limit − 1 by a hash of the state."""
    return np.int64(((mix64(state) >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@njit
def _draw(some: Integers, first: int, count: int, most: int, state: np.uint64) -> tuple[int, np.uint64]:
    """Bring `most` of some[first:count], drawn uniformly, to its front; return the end of them and the state.

    With at most `most` of them nothing moves.
    """
    if count - first <= most:
        return count, state
    for i in range(first, first + most):
        state = _next(state)
        j = i + _below(state, count - i)
        some[i], some[j] = some[j], some[i]
    return first + most, state


@njit
def _extended(array: NDArray[Number], used: int, more: int) -> NDArray[Number]:
    """Return an array with room for `more` after the first `used`, which are kept."""
    if used + more <= len(array):
        return array
    larger = np.empty(max(2 * len(array), used + more), array.dtype)
    larger[:used] = array[:used]
    return larger


@njit
def _collect(
    pairs: Integers,
    families: tuple[Integers, Integers],
    out: tuple[Integers, Integers],
    into: tuple[Integers, Integers],
    hops: int,
    most: int,
    key: np.uint64,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the nodes of each pair's subgraph, ends first, and where each graph starts."""
    n_nodes = len(out[0]) - 1
    seen, fringe = np.full(n_nodes, -1, np.int64), np.empty(n_nodes, np.int32)
    nodes, size = np.empty(64 * len(pairs) + 64, np.int32), 0
    offsets = np.zeros(len(pairs) + 1, np.int64)
    for row in range(len(pairs)):
        state = key
        for entity in pairs[row]:
            state = _next(state ^ (np.uint64(entity) * np.uint64(0xD1342543DE82EF95)))
            count = 0
            for place in range(families[0][entity], families[0][entity + 1]):
                fringe[count] = families[1][place]
                seen[fringe[count]] = row
                count += 1
            # The base node comes first and always stays.
            kept, state = _draw(fringe, 1, count, most - 1, state)
            nodes = _extended(nodes, size, kept)
            nodes[size : size + kept] = fringe[:kept]
            size += kept
        level = offsets[row]
        for _ in range(hops):
            end, count = size, 0
            for at in range(level, end):
                for indptr, indices in (out, into):
                    for e in range(indptr[nodes[at]], indptr[nodes[at] + 1]):
                        if seen[indices[e]] != row:
                            seen[indices[e]] = row
                            fringe[count] = indices[e]
                            count += 1
            kept, state = _draw(fringe, 0, count, most, state)
            nodes = _extended(nodes, size, kept)
            nodes[size : size + kept] = fringe[:kept]
            size, level = size + kept, end
        offsets[row + 1] = size
    return nodes[:size].copy(), offsets


@njit
def _induce(
    pairs: Integers,
    nodes: Integers,
    offsets: Integers,
    base: Integers,
    indptr: Integers,
    indices: Integers,
    weights: Floats,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return as rows the edges among the nodes of each graph, without those between the ends of its pair."""
    local = np.full(len(indptr) - 1, -1, np.int64)
    starts = np.zeros(len(nodes) + 1, np.int64)
    targets, values = np.empty(8 * len(nodes), np.int64), np.empty(8 * len(nodes), np.float32)
    size = 0
    for row in range(len(pairs)):
        first, last, u, v = offsets[row], offsets[row + 1], pairs[row, 0], pairs[row, 1]
        for i in range(first, last):
            local[nodes[i]] = i
        for i in range(first, last):
            node = nodes[i]
            degree = indptr[node + 1] - indptr[node]
            targets, values = _extended(targets, size, degree), _extended(values, size, degree)
            other = v if base[node] == u else (u if base[node] == v else -1)
            for e in range(indptr[node], indptr[node + 1]):
                # Places of earlier graphs are lower.
                if local[indices[e]] >= first and base[indices[e]] != other:
                    targets[size], values[size] = local[indices[e]], weights[e]
                    size += 1
            starts[i + 1] = size
    return starts, targets[:size].copy(), values[:size].copy()


@njit
def _transpose(
    indptr: Integers, indices: Integers, weights: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the transposed matrix by rows."""
    starts = np.zeros(len(indptr) + 1, np.int64)
    for target in indices:
        starts[target + 2] += 1
    for i in range(2, len(starts)):
        starts[i] += starts[i - 1]
    sources, values = np.empty(len(indices), np.int64), np.empty(len(indices), np.float32)
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            place = starts[indices[e] + 1]
            sources[place], values[place] = i, weights[e]
            starts[indices[e] + 1] += 1
    return starts[:-1].copy(), sources, values


@njit
def _leave_out(
    pairs: Integers,
    owner: Integers,
    nodes: Integers,
    roles: Integers,
    base: Integers,
    indptr: Integers,
    indices: Integers,
    weights: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    """Subtract the edges between the ends of its pair from number and weight of each end's edges, [n, 2]."""
    for i in range(len(nodes)):
        if roles[i]:
            other = pairs[owner[i], 2 - roles[i]]
            for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
                if base[indices[e]] == other:
                    totals[i, 0] -= 1.0
                    totals[i, 1] -= weights[e]


@njit
def _to_shares(indptr: Integers, weights: Floats) -> None:
    """Divide each row by its sum, in place."""
    for i in range(len(indptr) - 1):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            total += weights[e]
        # A power can carry a weight below what the type holds.
        if total > 0.0:
            for e in range(indptr[i], indptr[i + 1]):
                weights[e] /= total
