"""How well low-rank factors of a network and its paths foretell a link: a few numbers for each pair.

In: a network from which the steps of the asked pairs are hidden, and lags from paths where there are any.
Out: features float32 [B, F]. Counts of common neighbours know pairs that are two steps apart; a truncated
singular value decomposition also knows entities that are alike without a common neighbour. Only products of
two entities' vectors are read, which do not change when vectors are rotated: networks with different pairs
hidden give numbers of the same meaning.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.hon.embedding import information, steps_to_others, unit
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.lags import Lags
from honlearn.sampling.pairs import Pairs, keyed_pairs, linked_keys

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Features = NDArray[np.float32]
_Vectors = NDArray[np.float64]

RANKS = (16, 64, 128)
_ROUNDS = 3
# Pairs whose vectors are multiplied at once.
_BLOCK = 1 << 15


class _Factors(NamedTuple):
    """U Σ and V of a truncated singular value decomposition, and U √Σ and V √Σ at length 1, [V, d] each."""

    left: _Vectors
    right: _Vectors
    source: _Vectors
    target: _Vectors


class PairFactors:
    """Low-rank scores of pairs of entities.

    Parameters
    ----------
    network : without the edges and contexts of the pairs that are asked for.
    lags : how often v comes 2, 3 and 4 steps after u (:class:`~honlearn.sampling.lags.PathLags`); None takes
        what the network expects two steps ahead.
    directed : without it (u, v) and (v, u) have the mean of both.

    Features: ``link_rank_r``, the entry (u, v) of the best approximation of rank r of D_out^-½ A D_in^-½, A
    the links; ``near_rank_r`` the same of the positive pointwise mutual information of entities up to four
    steps apart in either direction; and the cosines of the vectors of u and v as sources and as targets of
    links (``link_source``, ``link_target``), and of their vectors of the second matrix (``near``).

    >>> from honlearn.hon.edgelist import from_edges
    >>> block = [(u, v) for group in ("abcd", "wxyz") for u in group for v in group if u != v]
    >>> hon = from_edges(*zip(*(pair for pair in block if pair != ("a", "b"))), [1] * 23)
    >>> within, across = PairFactors(hon).at(np.array([[0, 1], [0, 5]]))[:, -3]
    >>> bool(within > across)
    True
    """

    names: ClassVar[tuple[str, ...]] = (
        *(f"{what}_rank_{rank}" for what in ("link", "near") for rank in RANKS),
        "link_source",
        "link_target",
        "near",
    )

    def __init__(self, network: HigherOrderNetwork, lags: Lags | None = None, directed: bool = True) -> None:
        self.network, self.lags, self.directed = network, lags, directed

    def at(self, pairs: Pairs) -> Features:
        """Return the features of pairs int32 [B, 2], float32 [B, F]."""
        pairs = np.asarray(pairs, np.int32).reshape(-1, 2)
        out = np.empty((len(pairs), len(self.names)), np.float32)
        # Threads would add up in another order.
        with threadpool_limits(1):
            for start in range(0, len(pairs), _BLOCK):
                some = pairs[start : start + _BLOCK]
                out[start : start + _BLOCK] = self._block(some)
                if not self.directed:
                    out[start : start + _BLOCK] += self._block(some[:, ::-1])
        return out if self.directed else out / np.float32(2)

    def _block(self, pairs: Pairs) -> Features:
        link, near = self._factors
        multiply = _Products(pairs)
        columns = [column for factors in (link, near) for column in _by_rank(factors, multiply)]
        columns += [multiply(vectors, vectors) for vectors in (link.source, link.target, near.source)]
        return np.stack(columns, 1).astype(np.float32)

    @cached_property
    def _factors(self) -> tuple[_Factors, _Factors]:
        return _factors(self._links()), _factors(self._near())

    def _links(self) -> Matrix:
        """Return D_out^-½ A D_in^-½ of the links A, [V, V]."""
        size = self.network.n_entities
        u, v = keyed_pairs(linked_keys(self.network), size).T
        out, into = np.bincount(u, minlength=size), np.bincount(v, minlength=size)
        return sparse.csr_array((1.0 / np.sqrt(out[u] * into[v]), (u, v)), shape=(size, size))

    def _near(self) -> Matrix:
        """Return the information of entities that are met near each other, symmetric, [V, V]."""
        near = steps_to_others(self.network, 2 if self.lags is None else 1)
        for lag in self.lags or ():
            near = near + lag
        return information(sparse.csr_array(near + near.T), 0.75)


class _Products:
    """Products of the vectors of both ends of pairs [B, 2].

    Where many pairs of some sources are asked for, one matrix product with all targets is the faster way.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.u, self.v = pairs.T
        self.sources, self.row = np.unique(self.u, return_inverse=True)

    def __call__(self, left: _Vectors, right: _Vectors) -> _Vectors:
        """Return left[u] · right[v] for each pair, float64 [B]."""
        if len(self.sources) * len(right) <= 16 * len(self.u):
            return np.asarray((left[self.sources] @ right.T)[self.row, self.v])
        return np.asarray(np.einsum("ij,ij->i", left[self.u], right[self.v]))


def _by_rank(factors: _Factors, multiply: _Products) -> list[_Vectors]:
    """Return the entries of the approximations of each rank."""
    out: list[_Vectors] = []
    for start, end in zip((0, *RANKS), RANKS, strict=False):
        more = multiply(factors.left[:, start:end], factors.right[:, start:end])
        out.append(more + out[-1] if out else more)
    return out


def _factors(matrix: Matrix) -> _Factors:
    """Return the factors of the largest rank, or of half the rank that a small matrix may have."""
    from sklearn.utils.extmath import randomized_svd

    size = matrix.shape[0]
    if not matrix.nnz:
        empty = np.zeros((size, 1))
        return _Factors(empty, empty, empty, empty)
    rank = max(1, min(RANKS[-1], size // 2))
    left, values, right = randomized_svd(matrix, rank, n_iter=_ROUNDS, random_state=0)
    root = np.sqrt(values)
    # In double precision: how sums are ordered differs by which pairs are asked for together.
    return _Factors(left * values, right.T, unit(left * root), unit(right.T * root))
