"""The space of path vectors: where an entity that was not there when they were made has its place in it.

In: path vectors X = U √Σ [V, d] of a network (:mod:`honlearn.hon.embedding`), the truncated SVD of its
matrix A [V, 2 V] of positive pointwise mutual information. Out: vectors of other entities. A row a of such a
matrix, with the shares of the columns as they were, is projected onto the singular vectors that were found,

    x = a V Σ^(−1/2) = a Aᵀ X Σ^(−2),

which gives back the vectors of those who were there. Steps to entities that were not there have no column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.hon.embedding import column_shares, information, steps_to_others
from honlearn.hon.network import HigherOrderNetwork

_NOISE = 1e-6


class PathSpace(NamedTuple):
    """Steps up to `reach`; P(j) of what comes after and before, [2, V]; V Σ^(−1/2) of both, [2, V, d]."""

    reach: int
    smoothing: float
    shares: NDArray[np.float32]
    loadings: NDArray[np.float32]

    @classmethod
    def of(
        cls, network: HigherOrderNetwork, vectors: NDArray[np.float64], reach: int, smoothing: float
    ) -> PathSpace:
        """Return the space of the vectors [V, d] that a network has, for this reach and smoothing."""
        ahead = steps_to_others(network, reach)
        values = np.square(vectors).sum(0)
        # Columns of rounding errors have no direction.
        real = values > _NOISE * values.max(initial=0)
        scale = np.divide(1.0, np.square(values), out=np.zeros_like(values), where=real)
        sides = (ahead, ahead.T.tocsr())
        scaled = vectors * scale
        loadings = [np.asarray(information(steps, smoothing).T @ scaled, np.float32) for steps in sides]
        shares = [column_shares(steps, smoothing) for steps in sides]
        return cls(reach, smoothing, np.array(shares, np.float32), np.array(loadings))

    @property
    def n_entities(self) -> int:
        """How many entities have a column, V."""
        return int(self.shares.shape[1])

    @property
    def width(self) -> int:
        """How many numbers a vector has, d."""
        return int(self.loadings.shape[2])

    def vectors(
        self, network: HigherOrderNetwork, entities: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return vectors [n, d] of these entities of another network.

        ``columns[c]`` is the column of the network's entity c, −1 where it has none.
        """
        ahead = steps_to_others(network, self.reach)
        there = np.flatnonzero(columns >= 0)
        out = np.zeros((len(entities), self.width))
        for steps, shares, loadings in zip((ahead, ahead.T.tocsr()), self.shares, self.loadings, strict=True):
            met = there[shares[columns[there]] > 0]
            rows: Any = steps[entities][:, met].tocoo()
            total = np.maximum(np.asarray(rows.sum(1)).ravel(), 1e-300)
            column = columns[met][rows.col]
            values = np.log(rows.data / (total[rows.row] * shares[column].astype(np.float64)))
            values = np.maximum(values, 0.0)
            matrix = sparse.csr_array((values, (rows.row, column)), shape=(len(entities), self.n_entities))
            out += matrix @ loadings.astype(np.float64)
        return out

    def taken(self, columns: NDArray[np.int64]) -> PathSpace:
        """Return the space with other columns: ``columns[c]`` of this one, or nothing where it is −1."""
        there = columns >= 0
        shares = np.where(there, self.shares[:, columns], np.float32(0))
        loadings = np.where(there[:, None], self.loadings[:, columns], np.float32(0))
        return self._replace(shares=shares, loadings=loadings)
