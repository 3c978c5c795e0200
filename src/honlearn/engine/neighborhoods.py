"""Neighbourhoods: which rows each layer computes and which rows of the layer before they read.

In: a network and the roots ``[L, B]`` of a batch. Out: one :class:`Hop` for each layer, first layer first.
Exact neighbourhoods hold every neighbour with its weight; sampled ones
(:mod:`honlearn.engine.sampled`) hold draws. The layers cannot tell them apart. With a :class:`SelfMask` a
root cannot read who it is.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.adjacency import (
    Adjacency,
    Rows,
    entity_before,
    over_entities,
    row_of,
    single,
    stacked,
    without,
)
from honlearn.engine.reach import Reached, only_rows, reached
from honlearn.engine.touched import Touched
from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import Integers, njit

# More than any network has.
ALL_ROWS = 2**31
# Where learners read more than this share of the nodes, all are computed.
_MOST_OWN = 0.9


class Hop(NamedTuple):
    """What one layer reads: for output row r of learner l, row ``rows[l, r]`` of `own` and of each part.

    `own` points at the node itself, the parts at groups of its neighbours: for directed layers its in- and
    its out-neighbours. Places are entities in the first layer (features belong to base nodes) and output
    rows of the layer before in all others. `rows` is int32 [1|L, R]; length 1 where all learners compute
    the same rows. `once`: rows of the layer before are read once, or hardly more often, so that a layer
    need not keep them for this one. `loop` float32 [R'] is the weight of a node itself, where it has one.
    Where there is `touched` (of `own` and of each part), places of a first layer are those of its entities.
    `usual_rows` is how many rows a batch usually asks for, whatever it asks for now. `own_rows`: there may
    be no other rows than those that learners read, so that neighbours are summed before any product.
    """

    rows: NDArray[np.int32]
    own: Rows
    parts: tuple[Rows, ...]
    once: bool = False
    loop: NDArray[np.float32] | None = None
    touched: tuple[Touched, ...] | None = None
    usual_rows: int = ALL_ROWS
    own_rows: bool = False

    @property
    def into(self) -> Rows:
        """The in-neighbours, where neighbours are kept apart by direction."""
        return self.parts[0]

    @property
    def out_of(self) -> Rows:
        """The out-neighbours, where neighbours are kept apart by direction."""
        return self.parts[1]


class SelfMask(NamedTuple):
    """Whether a root's identity is hidden from it, and what is read in its place.

    A training root can recognise itself, which a tested one cannot: by its own look-up, and by the contexts
    around it, for the only in-neighbour of ``v|u`` is u, and a return trip leads from ``v|u`` to u. Where the
    mask is `active`, a root looks up its `features` only, or nothing where it has none. With `vector` a
    learned vector stands for the identity, also where other nodes of the root's family would give it away.
    A node ``v|u`` that a root reads does not look up u. All of this concerns the first layer, which alone
    knows identities.
    """

    active: bool = False
    features: bool = False
    vector: bool = False

    def places(self, entities: NDArray[np.int32], n_entities: int) -> NDArray[np.int32]:
        """Return where a root finds its own input in a table of a first layer: its features, or the mask."""
        if self.features:
            return np.asarray(entities + np.int32(n_entities), np.int32)
        return np.full_like(entities, n_entities if self.vector else -1)


NO_MASK = SelfMask()


class Neighborhood(Protocol):
    """Gives the hops of a batch; `rows_a_root` rows of the first layer belong to each root alone.

    `is_exact`: a node has one representation, no matter which others are in the batch.
    """

    rows_a_root: int
    is_exact: bool

    def hops(self, roots: NDArray[np.int32], streams: NDArray[np.uint64], step: int) -> list[Hop]:
        """Return one hop for each layer for roots int32 [L, B]; streams and step decide what is sampled."""


@njit
def _mark_neighbors(indptr: Integers, indices: Integers, nodes: Integers, mark: NDArray[np.bool_]) -> Any:
    for node in nodes:
        for e in range(indptr[node], indptr[node + 1]):
            mark[indices[e]] = True


class ExactNeighborhood:
    """Every neighbour that the adjacency has.

    With a mask, row ``n_nodes + 1 + i`` of every layer but the last is node i as a root reads itself.
    """

    rows_a_root = 1
    is_exact = True
    usual_rows = ALL_ROWS
    _computes_all = _computes_own = False

    def __init__(
        self,
        network: HigherOrderNetwork,
        n_layers: int,
        adjacency: Adjacency,
        mask: SelfMask = NO_MASK,
    ) -> None:
        self.n_nodes, self.n_layers, self.mask = network.n_nodes, n_layers, mask
        self.base, self.is_mean = network.base, adjacency.is_mean
        self._parts, self._loop = adjacency.parts, adjacency.loop
        self._everyone = np.arange(network.n_nodes, dtype=np.int32)[None]
        self._own = single(network.n_nodes, self._everyone)
        parts = tuple(over_entities(part, network.base, adjacency.merges) for part in adjacency.parts)
        own = np.ascontiguousarray(network.base)
        if mask.active:
            parts = tuple(self._masked(network, part, adjacency.is_mean) for part in parts)
            hidden = mask.places(own, network.n_entities)
            own = np.concatenate([own, [np.int32(-1)], hidden])
            self._loop = None if self._loop is None else _doubled_values(self._loop)
        self._first = Hop(self._everyone, single(len(own), own[None]), parts, loop=self._loop)

    def with_all_rows(self) -> ExactNeighborhood:
        """Return the same where every layer but the last computes all nodes, for any roots.

        Else rows are those near the roots of all learners, and what is summed over rows is rounded by how
        many there are: a learner would depend on its company.
        """
        out = copy.copy(self)
        out._computes_all = True
        return out

    def with_own_rows(self) -> ExactNeighborhood:
        """Return the same where the first of two layers computes, for each learner, what its roots read.

        That is for layers in which rows that nobody reads make no difference, not to a bit.
        """
        out = copy.copy(self)
        out._computes_own = True
        return out

    def for_batches(self, rows: int) -> ExactNeighborhood:
        """Return the same for batches that ask for so many rows."""
        out = copy.copy(self)
        out.usual_rows = rows
        return out

    @property
    def n_entries(self) -> int:
        """How many neighbours all nodes have."""
        return sum(part.indices.shape[1] for part in self._parts)

    def _masked(self, network: HigherOrderNetwork, part: Rows, is_mean: bool) -> Rows:
        """Return the rows of a first layer for nodes as others read them, and behind them for roots."""
        before = entity_before(network)
        if not self.mask.vector:
            return _doubled(without(part, before, is_mean))
        row, base = row_of(part), network.base
        hidden = self.mask.places(part.indices[0], network.n_entities)
        indices = np.where(part.indices[0] == base[row], hidden, part.indices[0])[None]
        # Nobody but the roots reads the first layer where it is the only one.
        read = part if self.n_layers == 1 else without(part, before, is_mean)
        return stacked(read, part._replace(indices=indices))

    def hops(self, roots: NDArray[np.int32], streams: NDArray[np.uint64], step: int) -> list[Hop]:
        """Return the hops; layers before the last compute the rows that the next one reads."""
        roots = np.ascontiguousarray(roots, np.int32)
        own = self._own_hops(roots) if self._computes_own and self.n_layers == 2 else None
        if own is not None:
            return own
        needed = [roots]
        for _ in range(self.n_layers - 1):
            needed.insert(0, self._reach(needed[0]))
        if self.mask.active:
            return self._masked_hops(roots, needed)
        hops = [self._first._replace(rows=needed[0])]
        for before, rows in itertools.pairwise(needed):
            hops.append(self._hop(rows, before))
        return hops

    def rows_by_learner(self, roots: NDArray[np.int32]) -> tuple[Hop, list[Reached]]:
        """Return the first hop and the rows of all layers: of each learner, those near its own roots [L, B].

        Roots are not masked.
        """
        layers = reached(self._parts, roots, self.n_layers)
        return self._first._replace(rows=layers[0].rows), layers

    @property
    def convolution(self) -> tuple[Rows, NDArray[np.float32]] | None:
        """The neighbours under a convolution, and the weights of loops; None where it is not that alone."""
        if self.mask.active or self._loop is None or len(self._parts) != 1:
            return None
        return self._parts[0], self._loop

    def _own_hops(self, roots: NDArray[np.int32]) -> list[Hop] | None:
        """Return two hops over the rows that each learner reads; None where these are nearly all."""
        first, ((rows, counts, place), _) = self.rows_by_learner(roots)
        if rows.shape[1] > _MOST_OWN * self.n_nodes:
            return None
        places = np.take_along_axis(place, roots, 1)
        if self.mask.active:
            # Roots have rows of their own, behind the others; an empty row costs less than the first again.
            rows[np.arange(rows.shape[1]) >= counts[:, None]] = self.n_nodes
            places[:] = np.arange(rows.shape[1], rows.shape[1] + roots.shape[1])
            rows = np.hstack([rows, roots + np.int32(self.n_nodes + 1)])
        last = Hop(
            np.arange(roots.size, dtype=np.int32).reshape(roots.shape),
            single(roots.size, places.reshape(1, -1)),
            tuple(only_rows(part, roots, place) for part in self._parts),
            loop=None if self._loop is None else self._loop[roots.ravel()],
            own_rows=True,
        )
        return [first._replace(rows=rows), last]

    def _masked_hops(self, roots: NDArray[np.int32], needed: list[NDArray[np.int32]]) -> list[Hop]:
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
            parts = hop.parts if last else tuple(_doubled(part) for part in hop.parts)
            hops.append(hop._replace(own=single(own.shape[1], own), parts=parts))
        return hops

    def _reach(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the nodes within one step of these, int32 [1, R]; all nodes where most are."""
        if self._computes_all or rows is self._everyone or rows.size >= self.n_nodes:
            return self._everyone
        mark = np.zeros(self.n_nodes, np.bool_)
        nodes = np.unique(rows)
        mark[nodes] = True
        for part in self._parts:
            _mark_neighbors(part.indptr, part.indices[0], nodes, mark)
        reached = np.flatnonzero(mark).astype(np.int32)
        return self._everyone if len(reached) > 0.7 * self.n_nodes else reached[None]

    def _hop(self, rows: NDArray[np.int32], before: NDArray[np.int32]) -> Hop:
        if before is self._everyone:
            given = (self._loop, None, self.usual_rows, self._computes_own)
            return Hop(rows, self._own, self._parts, False, *given)
        place = np.full(self.n_nodes, -1, np.int32)
        place[before[0]] = np.arange(before.shape[1], dtype=np.int32)
        parts = tuple(part._replace(indices=place[part.indices]) for part in self._parts)
        own = single(self.n_nodes, place[None])
        return Hop(rows, own, parts, loop=self._loop, usual_rows=self.usual_rows)


def _doubled(rows: Rows) -> Rows:
    """Return the n rows, an empty one, and the n rows again; the entries are there once.

    So the empty row in between ends before it begins: at 0, where the first of the n begins again.
    """
    return rows._replace(indptr=np.concatenate([rows.indptr, rows.indptr]))


def _doubled_values(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([values, np.zeros(1, np.float32), values])
