"""Counts that tell whether two entities are linked: degrees, shared neighbours, lags, walks of relatives.

In: a network from which the steps of the asked pairs are hidden, and lags from paths where there are any.
Out: a short vector of logarithms for each pair (u, v), or for all v of a source u. Whether u and v are linked
themselves, in either direction, is no part of it: that is hidden of a pair that is tested. Walks are counted
on the network and on its first-order network, since nobody knows beforehand which of the two tells more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.sampling.lags import LAGS, Lags
from honlearn.sampling.pairs import Pairs, keyed_pairs, linked_keys
from honlearn.sampling.walk_sums import Values, WalkSums

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Features = NDArray[np.float32]

_DEGREES = ("degree_product", "source_out", "target_in", "source_in", "target_out")
# What each walk gives, in this order; "_back" is the same from v to u.
_WALKS = (
    ("common_neighbors",),
    ("resource_allocation",),
    ("allocation_along", "three_steps"),
    ("allocation_back", "three_steps_back"),
    ("shared_targets",),
    tuple(f"relatives_{lag}" for lag in LAGS),
    tuple(f"relatives_{lag}_back" for lag in LAGS),
    tuple(f"entities_{lag}" for lag in LAGS),
    tuple(f"entities_{lag}_back" for lag in LAGS),
)
_LAGS = tuple(f"lag_{lag}{way}" for way in ("", "_back") for lag in LAGS)
# Probabilities and shares of degrees are small: log1p(1000 x) tells .001 from .01 as it does 1 from 10.
_SHARE = 1000.0


_IS_COUNT = (*_DEGREES, "common_neighbors")


class PairCounts:
    """Counts of pairs of entities in a network.

    Parameters
    ----------
    network : without the edges and contexts of the pairs that are asked for.
    lags : how often v comes 2, 3 and 4 steps after u, from :class:`~honlearn.sampling.lags.PathLags`; None
        where there are no paths.
    directed : without it (u, v) and (v, u) have the mean of both.

    Features, each log1p(c x): degrees, their product out(u) in(v), and

    - ``common_neighbors``, ``resource_allocation``: z next to u and v whatever the direction; the latter
      Σ_z 1/degree(z);
    - ``allocation_along``: Σ 1/out(z) over u → z → v; ``three_steps``: Σ 1/(out(a) out(b)) over
      u → a → b → v; ``_back``: the same from v to u;
    - ``shared_targets``: Σ 1/(in(z) out(w)) over u → z ← w → v: what those lead to that lead where u does;
    - ``relatives_2`` … ``relatives_4``: the probability that a walker who starts at a relative of u, drawn by
      Eq. 3, is at v after as many steps, and ``_back``: what the network leads to expect of lags;
    - ``entities_2`` … ``entities_4``, and ``_back``: the same on the first-order network, without memory;
    - ``lag_2`` … ``lag_4``: how often v comes as many steps after u in paths, over the geometric mean of how
      often anything does after u and v after anything, and ``_back``. 0 without paths.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "A", "B", "C"], ["B", "C", "D", "D"], [1, 1, 1, 1])
    >>> counts = PairCounts(hon)
    >>> row = dict(zip(counts.names, np.expm1(counts.at(np.array([[0, 3]])))[0].round(2), strict=True))
    >>> float(row["degree_product"]), float(row["common_neighbors"])
    (4.0, 2.0)
    """

    names: ClassVar[tuple[str, ...]] = (*_DEGREES, *(name for walk in _WALKS for name in walk), *_LAGS)

    def __init__(self, network: HigherOrderNetwork, lags: Lags | None = None, directed: bool = True) -> None:
        self.network, self.lags, self.directed = network, lags, directed

    def at(self, pairs: Pairs) -> Features:
        """Return the features of pairs int32 [B, 2], float32 [B, F]."""
        pairs = np.ascontiguousarray(pairs, np.int32).reshape(-1, 2)
        found = self._at(pairs)
        return found if self.directed else _mean(found, self._at(np.ascontiguousarray(pairs[:, ::-1])))

    def rows(self, sources: NDArray[np.integer[Any]]) -> Features:
        """Return the features of every (u, v), u one of the sources [S], float32 [S, V, F].

        Ask for some hundred sources at a time: the result has S · V · F numbers.
        """
        return np.stack(list(self.columns(sources)), -1)

    def columns(self, sources: NDArray[np.integer[Any]]) -> Iterator[Features]:
        """Yield one feature after the other of every (u, v), u one of the sources [S], float32 [S, V]."""
        there = self._columns(sources, back=False)
        if self.directed:
            yield from there
            return
        for one, other in zip(there, self._columns(sources, back=True), strict=True):
            yield _mean(one, other)

    def _at(self, pairs: Pairs) -> Features:
        u, v = pairs[:, 0], pairs[:, 1]
        out, into = self._degrees
        found = np.empty((len(pairs), len(self.names)), np.float32)
        _write(found, 0, _degree_values(out[u], into[v], into[u], out[v]))
        place = len(_DEGREES)
        known: dict[int, Values] = {}
        for walk in self._walks[False]:
            if id(walk) not in known:
                known[id(walk)] = walk.at(pairs)
            place = _write(found, place, known[id(walk)])
        for matrix in self._lag_matrices[False]:
            place = _write(found, place, np.asarray(matrix[u, v]).reshape(-1, 1))
        return _scaled(found)

    def _columns(self, sources: NDArray[np.integer[Any]], back: bool) -> Iterator[Features]:
        """Yield the features of (u, v), or with `back` of (v, u), for each source u and all v, [S, V]."""
        for scale, column in zip(_SCALES.tolist(), self._plain_columns(sources, back), strict=True):
            found = column.astype(np.float32)
            found *= np.float32(scale)
            yield np.log1p(found, out=found)

    def _plain_columns(self, sources: NDArray[np.integer[Any]], back: bool) -> Iterator[Values]:
        out, into = self._degrees
        own = (out[sources][:, None], into[sources][:, None])
        degrees = (own[0], into, own[1], out) if not back else (out, own[1], into, own[0])
        yield from np.moveaxis(_degree_values(*degrees), -1, 0)
        for walk in self._walks[back]:
            yield from np.moveaxis(walk.rows(sources), -1, 0)
        for matrix in self._lag_matrices[back]:
            yield matrix[sources].toarray()

    @cached_property
    def _links(self) -> Matrix:
        """Which entity has an edge to which other, 1 or 0, [V, V]."""
        size = self.network.n_entities
        u, v = keyed_pairs(linked_keys(self.network), size).T
        return sparse.csr_array((np.ones(len(u)), (u, v)), shape=(size, size))

    @cached_property
    def _degrees(self) -> tuple[Values, Values]:
        """How many others each entity leads to, and how many lead to it, [V] each."""
        return np.asarray(self._links.sum(1), np.float64), np.asarray(self._links.sum(0), np.float64)

    @cached_property
    def _walks(self) -> tuple[tuple[WalkSums, ...], tuple[WalkSums, ...]]:
        """All sums over walks in the order of their names, from u to v, and from v to u."""
        link, (out, into) = self._links, self._degrees
        near = ((link + link.T) > 0).astype(np.float64).tocsr()
        along = _columns_over(link, out)
        ahead = WalkSums(along, along, link, count=2)
        shared = WalkSums(_columns_over(link, into), _columns_over(link.T, out), link, first=1)
        relatives = _relatives(self.network)
        entities = relatives
        if self.network.n_conditional:
            entities = _relatives(with_entities(self.network.first_order(), self.network.vocabulary))
        relatives_back = relatives.reversed()
        entities_back = relatives_back if entities is relatives else entities.reversed()
        walks = [
            WalkSums(near, near, near),
            WalkSums(_columns_over(near, near.sum(1)), near, near),
            ahead,
            ahead.reversed(),
            shared,
            relatives,
            relatives_back,
            entities,
            entities_back,
        ]
        # Sums that are the same are one object, and computed once.
        back = {id(walk): walk.reversed() for walk in walks}
        return tuple(walks), tuple(back[id(walk)] for walk in walks)

    @cached_property
    def _lag_matrices(self) -> tuple[tuple[Matrix, ...], tuple[Matrix, ...]]:
        """Lags from u to v and from v to u, and the other way round; empty where no paths are at hand."""
        size = self.network.n_entities
        counted = self.lags or (sparse.csr_array((size, size)),) * len(LAGS)
        along = tuple(_over_totals(lag) for lag in counted)
        back = tuple(lag.T.tocsr() for lag in along)
        return (*along, *back), (*back, *along)


def _relatives(network: HigherOrderNetwork) -> WalkSums:
    """Return the probability to be at v two to four steps after a relative of u, drawn by Eq. 3."""
    size, nodes, base = network.n_entities, network.n_nodes, network.base
    leaving = np.asarray(network.out_weight, np.float64)
    step = network.to_scipy().astype(np.float64)
    step.data /= leaving[network.sources]
    drawn = (network.relative_probabilities(), (base, np.arange(nodes)))
    start = sparse.csr_array(drawn, shape=(size, nodes)) @ step
    entity = sparse.csr_array((np.ones(nodes), (np.arange(nodes), base)), shape=(nodes, size))
    return WalkSums(start.tocsr(), step, (step @ entity).tocsr(), count=len(LAGS))


def _over_totals(counts: Matrix) -> Matrix:
    """Return counts over the root of their row's and their column's total.

    Of a linked pair, what went along the link is hidden and missing from both totals; raw counts beside the
    degrees would tell.
    """
    made: Matrix = counts.astype(np.float64)
    row = np.repeat(made.sum(1), np.diff(made.indptr))
    made.data = made.data / np.sqrt(row * made.sum(0)[made.indices])
    return made


def _columns_over(matrix: Any, degrees: Values) -> Matrix:
    """Return the matrix with each column divided by its degree; a degree of 0 has no entries to divide."""
    made = sparse.csr_array(matrix, copy=True)
    made.data = made.data / np.maximum(degrees, 1.0)[made.indices]
    return made


def _degree_values(source_out: Values, target_in: Values, source_in: Values, target_out: Values) -> Values:
    """Return the degrees of :data:`_DEGREES`, broadcast to one shape, [..., 5]."""
    given = (source_out * target_in, source_out, target_in, source_in, target_out)
    return np.stack(np.broadcast_arrays(*given), -1)


def _write(found: Features, place: int, values: Values) -> int:
    """Write values [..., n] to columns `place` … `place` + n − 1; return the column behind them."""
    end = place + int(values.shape[-1])
    found[..., place:end] = values
    return end


def _mean(one: Features, other: Features) -> Features:
    return np.asarray((one + other) / 2, np.float32)


def _scaled(found: Features) -> Features:
    found *= _SCALES
    return np.log1p(found, out=found)


_SCALES = np.array([1.0 if name in _IS_COUNT else _SHARE for name in PairCounts.names], np.float32)
