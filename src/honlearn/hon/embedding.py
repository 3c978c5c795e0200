"""Vectors of entities by a factorisation of how often entities follow each other on a network.

In: a network. Out: vectors [V, d], deterministic. Entities are alike that are passed after the same others
and before the same others, up to `reach` steps away; two steps are followed through the contexts, so that who
comes from u at v goes on as those from u do. What is factorised is the positive part of

    log( M(i, j) / (M(i) · P(j)) ),    P(j) ∝ M(j)^smoothing,    M = Σ_t (steps of length t),

beside the same of the steps back, Mᵀ: [V, 2 V]. Skip-gram with negative sampling approximates such a matrix
(Levy & Goldberg, NeurIPS 2014).
"""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.hon.network import HigherOrderNetwork

# Pairs of nodes that a step further may make at most.
_MOST = 50_000_000
_NOISE = 1e-9
# Entries whose information is computed at once.
_BLOCK = 1 << 22
# Rows that are brought to a length of 1 at once.
_ROWS = 1 << 16
# Above so many rows, and up to so many dimensions, vectors are sketched, not computed to the last place.
SKETCHED_ABOVE, _MOST_SKETCHED = 10_000, 512
_MORE_COLUMNS, _KRYLOV_STEPS, _SKETCH_SEED, _SKETCH_NOISE = 16, 5, 0, 1e-5
_MOST_NUMBERS = 1 << 28

Sparse: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
"""A sparse matrix by rows, of counts or what is made of them."""

_Factors = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def steps_apart(network: HigherOrderNetwork, reach: int = 2) -> Sparse:
    """Return how often j is passed 1 … `reach` steps after i, a SciPy CSR array [V, V].

    One step is what was counted. Further ones are expected: of those who came to a node as many go on as
    leave it, by its shares. Where the context was kept that is what was counted, too. A step further that
    would make more than 50 million pairs is not taken.

    >>> from honlearn.hon.build import grow
    >>> network = grow([["A", "C", "D"], ["B", "C", "E"], ["B", "C"]] * 6)
    >>> steps_apart(network).toarray()[0].tolist()  # A: C is next, then D and never E
    [0.0, 0.0, 6.0, 6.0, 0.0]
    """
    size, nodes, sources, order = network.n_entities, network.n_nodes, network.sources, network.order
    weights = network.weights.astype(np.float64)
    # The edges of base nodes count every step once; those of contexts tell the same steps again. Who came to
    # a context is told by the node that is one shorter (v|u by u), who came to an entity by all base nodes.
    first, shorter = order[sources] == 1, order[sources] == order[network.indices] - 1
    arrived = np.bincount(network.indices[shorter], weights[shorter], minlength=nodes)
    arrived[:size] = np.bincount(network.base[network.indices[first]], weights[first], minlength=size)
    left = np.bincount(sources, weights, minlength=nodes)
    # More leave than came where paths begin: then everyone who came goes on.
    onward = sparse.csr_array(
        (weights / np.maximum(arrived, left)[sources], (sources, network.indices)), shape=(nodes, nodes)
    )
    base = sparse.csr_array((np.ones(nodes), (np.arange(nodes), network.base)), shape=(nodes, size))
    at = sparse.csr_array(
        (weights[first], (network.base[sources[first]], network.indices[first])), shape=(size, nodes)
    )
    found = at @ base
    for _ in range(reach - 1):
        if float(np.diff(onward.indptr)[at.indices].sum()) > _MOST:
            break
        at = at @ onward
        found = found + at @ base
    return found.tocsr()


def column_shares(counts: Sparse | sparse.coo_array[Any], smoothing: float) -> NDArray[np.float64]:
    """Return P(j) ∝ M(j)^smoothing of counts [V, V], the smoothed share of each column."""
    columns: NDArray[np.float64] = np.asarray(counts.sum(0), np.float64).ravel() ** smoothing
    columns /= max(columns.sum(), 1e-300)
    return columns


def information(counts: Sparse | sparse.csc_array[Any], smoothing: float) -> Sparse:
    """Return the positive pointwise mutual information of counts [V, V], with smoothed columns, as CSR."""
    matrix = counts.tocsr(copy=True).astype(np.float64, copy=False)
    entries = matrix.tocoo(copy=False)
    rows = np.asarray(entries.sum(1)).ravel()
    columns = column_shares(entries, smoothing)
    values = matrix.data
    for start in range(0, len(values), _BLOCK):
        some = slice(start, start + _BLOCK)
        chance = rows[entries.row[some]] * columns[entries.col[some]]
        values[some] = np.log(values[some] / chance)
    # Pairs that are met as often as expected by chance have 0, but for rounding.
    values[~(values > _NOISE)] = 0.0
    matrix.eliminate_zeros()
    return matrix


def factors(
    matrix: Sparse, dimensions: int, both: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return U √Σ and V √Σ of a truncated SVD, [V, d] and [W, d] for a matrix [V, W] with V ≤ W.

    d is `dimensions`, or fewer if there are no more; largest first. The sign of a pair of vectors is free:
    the largest number of U is made positive. Without `both` the second may be empty.
    """
    if _is_sketched(matrix.shape[0], dimensions):
        left, values, right = sketched(matrix, dimensions, both)
    else:
        find = _leading if dimensions < matrix.shape[0] // 2 else _all
        left, values, right = find(matrix, dimensions)
    kept = np.argsort(-values, kind="stable")[:dimensions]
    left, values, right = left[:, kept], values[kept], right[kept].T
    # Where the rank is less, rounding errors stand for vectors that are not there.
    values = np.where(values > _NOISE * values[0], values, 0.0)
    largest = [np.abs(column).argmax() for column in left.T]
    scale = np.sign(left[largest, np.arange(len(kept))]) * np.sqrt(values)
    # In place: of a million entities, a copy is a gigabyte.
    left *= scale
    return left, right * scale


def _is_sketched(size: int, dimensions: int) -> bool:
    return size > SKETCHED_ABOVE and dimensions <= _MOST_SKETCHED


def _all(matrix: Sparse, dimensions: int) -> _Factors:
    return np.linalg.svd(matrix.toarray(), full_matrices=False)


def _leading(matrix: Sparse, dimensions: int) -> _Factors:
    """Return a truncated SVD from the eigenvectors of M Mᵀ, as SciPy's svds does, but the same each time.

    Where it has seen all that can be reached from where it began, the solver goes on from a random place, and
    svds takes no seed for it.
    """
    from scipy.linalg import svd
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = matrix.shape[0]
    back = matrix.T.tocsr()
    gram = LinearOperator((size, size), matvec=lambda rows: matrix @ (back @ rows), dtype=np.float64)
    # SciPy before 1.17 takes none: its solver has a sequence of its own.
    seeded: dict[str, Any] = {"rng": 0} if "rng" in inspect.signature(eigsh).parameters else {}
    vectors = eigsh(gram, k=dimensions, v0=np.full(size, size**-0.5), **seeded)[1]
    vectors = np.linalg.qr(vectors)[0]
    right, values, turn = svd(back @ vectors, full_matrices=False)
    return vectors @ turn.T, values, right.T


def sketched(matrix: Sparse, dimensions: int, both: bool = True) -> _Factors:
    """Return a truncated SVD by block Krylov iteration from random columns (Musco & Musco, NeurIPS 2015).

    All columns are multiplied at once and in float32, where :func:`_leading` goes one by one. On 17,000
    entities without any gap in their spectrum, 128 vectors hold 0.995 of the squares that the exact ones
    hold, in a tenth of the time (``benchmarks/bench_large.py``). The columns are drawn from a seed of their
    own, and nothing depends on the number of threads. Without `both` there are no right vectors.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    ahead = matrix.astype(np.float32, copy=False)
    back = ahead.T.tocsr()
    size, width = matrix.shape[0], dimensions + min(_MORE_COLUMNS, dimensions)
    block = np.random.default_rng(_SKETCH_SEED).standard_normal((size, width), np.float32)
    # Of so many rows that all blocks would be too large, only the last ones are kept.
    most, blocks = max(1, _MOST_NUMBERS // (size * width)), list[NDArray[np.float32]]()
    # On several threads sums come out in another order, and with them the last bits.
    with threadpool_limits(1):
        for _ in range(_KRYLOV_STEPS):
            block = _orthonormal(ahead @ (back @ block))
            blocks = [*blocks, block][-most:]
        basis = block if len(blocks) == 1 else _orthonormal(np.hstack(blocks))
        blocks.clear()
        small = back @ basis
        squares, turn = np.linalg.eigh((small.T @ small).astype(np.float64))
        small = small if both else small[:0].copy()
        turn = turn[:, ::-1][:, :dimensions].astype(np.float32)
        values = np.sqrt(np.maximum(squares[::-1][:dimensions], 0))
        # Of a lower rank, rounding errors in float32 stand for vectors that are not there.
        values = np.where(values > _SKETCH_NOISE * values[0], values, 0.0)
        left = (basis @ turn).astype(np.float64)
        right = (small @ turn).astype(np.float64)
    return left, values, (right / np.where(values > 0, values, 1.0)).T


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an orthonormal basis of the columns [V, b], without those that depend on others.

    By the eigenvectors of their products, twice for rounding: far quicker than reflections where V is large.
    """
    for _ in range(2):
        values, vectors = np.linalg.eigh((columns.T @ columns).astype(np.float64))
        kept = values > _SKETCH_NOISE * values[-1]
        columns = columns @ (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32)
    return columns


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each row at a length of 1; one without any length stays as it is."""
    out = np.empty_like(rows)
    # By blocks: of a million rows, the squares that are summed would be a gigabyte.
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        length = np.linalg.norm(some, axis=1, keepdims=True)
        np.divide(some, np.where(length > 1e-9, length, 1.0), out=out[start : start + _ROWS])
    return out


def path_embedding(
    network: HigherOrderNetwork, dimensions: int, reach: int = 2, smoothing: float = 1.0
) -> NDArray[np.float64]:
    """Return factors of what comes after and of what before each entity, [V, d], the weightiest first.

    d is at most `dimensions`. Isolated entities have zeros, and so have those that are met only as often as
    expected by chance.

    >>> from honlearn.hon.build import grow
    >>> sides = (("X", "abc"), ("Y", "def"))
    >>> trips = [[a, hub, b] for hub, side in sides for a in side for b in side if a != b]
    >>> vectors = unit(path_embedding(grow(trips), 4))
    >>> alike = vectors @ vectors.T
    >>> bool(alike[2, 3] > 0.9), bool(abs(alike[2, 5]) < 0.1)  # a and b, a and d
    (True, True)
    """
    return embedding(steps_to_others(network, reach), dimensions, smoothing)


def steps_to_others(network: HigherOrderNetwork, reach: int) -> Sparse:
    """Return :func:`steps_apart` without those that lead back to where they began.

    One step is counted alike on every network of the same paths, whatever its contexts: the same arrays.
    """
    ahead = steps_apart(network, reach)
    ahead.setdiag(0)
    ahead.eliminate_zeros()
    ahead.sort_indices()
    return ahead


def embedding(ahead: Sparse, dimensions: int, smoothing: float) -> NDArray[np.float64]:
    """Return :func:`path_embedding` from the steps to others [V, V]: many, where they are counted once."""
    # What is sketched is read in float32, and takes half of the memory.
    kind = np.float32 if _is_sketched(ahead.shape[0], dimensions) else np.float64
    sides = [information(steps, smoothing).astype(kind, copy=False) for steps in (ahead, ahead.T)]
    both = sparse.hstack(sides).tocsr()
    del sides
    if both.nnz == 0:
        return np.zeros((ahead.shape[0], min(dimensions, ahead.shape[0])))
    vectors = factors(both, dimensions, both=False)[0]
    # The solver leaves a rounding error where a row is empty.
    vectors[np.diff(both.indptr) == 0] = 0
    return vectors
