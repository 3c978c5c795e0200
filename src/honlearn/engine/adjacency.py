"""Which neighbours a layer sums over, and with which weights: means, sums, normalised adjacency, attention.

In: a network. Out: an :class:`Adjacency`, CSR rows over its nodes. A layer that knows entities only (the
first) takes the same rows over base nodes: :func:`over_entities`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.errors import check_choice
from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import Floats

DIRECTIONS = ("in", "out", "both")

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
"""A sparse matrix by rows."""


class Rows(NamedTuple):
    """Sparse rows: indptr int64 [R' + 1], indices int32 [1|L, E] (−1: missing), weights float32 [1|L, E]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]


class Adjacency(NamedTuple):
    """Rows over nodes, one for each group of neighbours that a layer keeps apart.

    `is_mean`: rows sum to 1, and do so again when an entry is left out. `merges`: entries that lead to the
    same entity may become one. `loop` float32 [N] is the weight of a node itself, where it has one.
    """

    parts: tuple[Rows, ...]
    is_mean: bool = False
    merges: bool = True
    loop: NDArray[np.float32] | None = None


def directed_means(network: HigherOrderNetwork, power: float) -> Adjacency:
    """Return in- and out-neighbours, each by its share of weight ** power."""
    return Adjacency(_directed(network, power, sums=False), is_mean=True)


def directed_sums(network: HigherOrderNetwork, power: float) -> Adjacency:
    """Return in- and out-neighbours by share × degree: equal weights give the plain sum."""
    return Adjacency(_directed(network, power, sums=True))


def normalized_adjacency(network: HigherOrderNetwork, power: float, direction: str) -> Adjacency:
    """Return Â = D^-1/2 (A + I) D^-1/2 of weights to this power; its diagonal is `loop`.

    Entries are not merged: dropout takes each context of an entity by itself. To drop all of them at once is
    more noise than the same rate is in a first-order network.
    """
    matrix = normalized(matrix_of(network, power, direction))
    loop = matrix.diagonal().astype(np.float32)
    return Adjacency((_without_diagonal(matrix),), merges=False, loop=loop)


def attended(network: HigherOrderNetwork, direction: str) -> Adjacency:
    """Return every neighbour but the node itself, weighted log(1 + weight): attention decides the rest."""
    rows = _without_diagonal(matrix_of(network, 1.0, direction))
    return Adjacency((rows._replace(weights=np.log1p(rows.weights)),), merges=False)


def matrix_of(network: HigherOrderNetwork, power: float, direction: str) -> Matrix:
    """Return weights to this power as CSR [N, N] whose row i holds the neighbours of node i.

    ``"in"``: those with an edge to i; ``"out"``: those i has an edge to; ``"both"``: their sum.
    """
    check_choice("network", "direction", direction, DIRECTIONS)
    weights = network.weights.astype(np.float64) ** power
    shape = (network.n_nodes, network.n_nodes)
    out = sparse.csr_array((weights, network.indices, network.indptr), shape=shape)
    if direction == "out":
        return out
    return out.T.tocsr() if direction == "in" else (out + out.T).tocsr()


def normalized(matrix: Matrix, kind: str = "symmetric", self_loops: bool = True) -> Matrix:
    """Return D^-1/2 A D^-1/2 (Kipf & Welling 2017), or D^-1 A for ``"rows"``, of A with or without loops.

    A loop weighs as much as the mean edge, so that raw counts do not drown it; rows that sum to 0 stay 0.
    """
    check_choice("network", "kind", kind, ("symmetric", "rows"))
    if self_loops:
        weight = matrix.data.mean() if matrix.nnz else 1.0
        matrix = (matrix + sparse.diags_array(np.full(matrix.shape[0], weight))).tocsr()
    rows, columns = (np.asarray(matrix.sum(axis=axis), np.float64).ravel() for axis in (1, 0))
    if kind == "rows":
        matrix = (_diagonal(rows, -1.0) @ matrix).tocsr()
    else:
        matrix = (_diagonal(rows, -0.5) @ matrix @ _diagonal(columns, -0.5)).tocsr()
    return matrix


def over_entities(rows: Rows, base: NDArray[np.int32], merged: bool) -> Rows:
    """Return the rows over entities; where `merged`, entries whose nodes share a base become one."""
    if not merged:
        return rows._replace(indices=base[rows.indices])
    count, width = len(rows.indptr) - 1, int(base.max(initial=0)) + 1
    row = row_of(rows)
    pair = row * width + base[rows.indices[0]]
    distinct, place = np.unique(pair, return_inverse=True)
    weights = np.bincount(place, weights=rows.weights[0], minlength=len(distinct)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(distinct // width, minlength=count))])
    return Rows(indptr.astype(np.int64), (distinct % width).astype(np.int32)[None], weights[None])


def without(rows: Rows, entity: NDArray[np.int32], is_mean: bool) -> Rows:
    """Return the rows over entities without one entity each (−1: none); means are means of the rest."""
    row = row_of(rows)
    kept = rows.indices[0] != entity[row]
    row, indices, weights = row[kept], rows.indices[0, kept], rows.weights[0, kept]
    if is_mean:
        weights = shares_of_rows(row, weights, len(entity))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(entity)))])
    return Rows(indptr.astype(np.int64), indices[None], weights[None])


def shares_of_rows(row: NDArray[np.integer[Any]], weights: Floats, count: int) -> Floats:
    """Return the weights of entries over the sum of their row, one of `count`.

    Under a high power the weights that are left in a row may all be 0 in float32: then they stay so.
    """
    total = np.bincount(row, weights, minlength=count)[row]
    shares = np.divide(weights, total, out=np.zeros(len(weights)), where=total > 0)
    return np.asarray(shares, np.float32)


def stacked(upper: Rows, lower: Rows) -> Rows:
    """Return the rows of one, an empty row, and the rows of the other."""
    indptr = np.concatenate([upper.indptr, upper.indptr[-1:] + lower.indptr])
    indices, weights = (np.hstack(pair) for pair in zip(upper[1:], lower[1:], strict=True))
    return Rows(indptr, indices.astype(np.int32), weights.astype(np.float32))


def single(count: int, places: NDArray[np.int32]) -> Rows:
    """Return rows with one entry of weight 1 each."""
    ones = np.ones((1, count), np.float32)
    return Rows(np.arange(count + 1, dtype=np.int64), np.ascontiguousarray(places, np.int32), ones)


def row_of(rows: Rows) -> NDArray[np.int64]:
    """Return the row that each entry is in, int64 [E]."""
    return np.repeat(np.arange(len(rows.indptr) - 1, dtype=np.int64), np.diff(rows.indptr))


def entity_before(network: HigherOrderNetwork) -> NDArray[np.int32]:
    """Return the entity that each node comes from, −1 for a base node: u for ``v|u`` and for ``v|u|t``."""
    before = np.full(network.n_nodes, -1, np.int32)
    contexts = slice(network.n_entities, None)
    before[contexts] = network.grams[network.gram_offsets[:-1][contexts] + 1]
    return before


def _directed(network: HigherOrderNetwork, power: float, sums: bool) -> tuple[Rows, Rows]:
    into = _scaled(network.in_indptr, network.in_indices, network.in_weights**power, sums)
    return into, _scaled(network.indptr, network.indices, network.weights**power, sums)


def _scaled(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.floating[Any]], sums: bool
) -> Rows:
    """Return rows that add up to 1 each, or to their degree."""
    degree = np.diff(indptr)
    row = np.repeat(np.arange(len(degree)), degree)
    total = np.bincount(row, weights=weights, minlength=len(degree))
    factor = (degree if sums else 1.0) / np.where(total > 0, total, 1.0)
    scaled = (weights * factor[row]).astype(np.float32)
    return Rows(np.ascontiguousarray(indptr), np.ascontiguousarray(indices)[None], scaled[None])


def _without_diagonal(matrix: Matrix) -> Rows:
    matrix.sort_indices()
    indices = matrix.indices.astype(np.int32)
    rows = Rows(matrix.indptr.astype(np.int64), indices[None], matrix.data.astype(np.float32)[None])
    return without(rows, np.arange(matrix.shape[0], dtype=np.int32), is_mean=False)


def _diagonal(values: NDArray[np.float64], exponent: float) -> Any:
    powers = np.zeros_like(values)
    np.power(values, exponent, out=powers, where=values > 0)
    return sparse.diags_array(powers)
