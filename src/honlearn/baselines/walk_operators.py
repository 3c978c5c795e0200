"""Random walks as operators: how often walks from each node are at each other node after each step.

In: the neighbours that each node receives messages from, with weights. Out: for each step a sparse matrix of
visit frequencies [N, N], from walks that are drawn, or their expectation, powers of the transition matrix.
Averaging features along walks is then a sparse product.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from honlearn.baselines.graph import as_tensor
from honlearn.engine.adjacency import Matrix, normalized
from honlearn.hon.walks import following
from honlearn.jit import Floats, Integers, njit
from honlearn.mixing import splitmix64


@njit
def _visits(
    indptr: Integers,
    indices: Integers,
    ends: NDArray[np.float64],
    n_walks: int,
    seed: np.uint64,
    pointers: Integers,
    columns: Integers,
    counts: Floats,
) -> None:
    """Fill, for each step, a CSR matrix of how many walks from each node are where, in order of first visit.

    Step s of walk w from node v is drawn by the hash of its place; a node without neighbours is stayed at.
    """
    n_steps, n_nodes = columns.shape[0], len(indptr) - 1
    at = np.empty(n_walks, np.int64)
    slot = np.full(n_nodes, -1, np.int64)
    filled = np.zeros(n_steps, np.int64)
    number = np.uint64(0)
    for node in range(n_nodes):
        at[:] = node
        for step in range(n_steps):
            first = filled[step]
            for walk in range(n_walks):
                number += np.uint64(1)
                draw = np.float64(splitmix64(np.uint64(seed), number) >> np.uint64(11)) * 2.0**-53
                next_node = following(indptr, indices, ends, at[walk], draw)
                if next_node >= 0:
                    at[walk] = next_node
                if slot[at[walk]] < first:
                    slot[at[walk]] = filled[step]
                    columns[step, filled[step]] = at[walk]
                    counts[step, filled[step]] = 0.0
                    filled[step] += 1
                counts[step, slot[at[walk]]] += 1.0
            for place in range(first, filled[step]):
                slot[columns[step, place]] = -1
            pointers[step, node + 1] = filled[step]


class Walker:
    """Walks over `matrix` [N, N]: from row i to column j in proportion to the weight there.

    >>> walker = Walker(sparse.csr_array(np.array([[0.0, 1, 3], [1, 0, 0], [0, 0, 0]])))
    >>> [step.to_dense().tolist() for step in walker.expected(2)]  # doctest: +NORMALIZE_WHITESPACE
    [[[0.0, 0.25, 0.75], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
     [[0.25, 0.0, 0.75], [0.0, 0.25, 0.75], [0.0, 0.0, 1.0]]]
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.n_nodes = matrix.shape[0]
        self._ends: NDArray[np.float64] = np.cumsum(matrix.data, dtype=np.float64)
        self.transition = as_tensor(self._transition())

    def _transition(self) -> Matrix:
        alone = (np.diff(self.matrix.indptr) == 0).astype(np.float64)
        return (normalized(self.matrix, "rows", self_loops=False) + sparse.diags_array(alone)).tocsr()

    def expected(self, n_steps: int) -> list[torch.Tensor]:
        """Return what the frequencies of more and more walks tend to, a matrix for each step."""
        once, power, out = self._transition(), sparse.eye_array(self.n_nodes, format="csr"), []
        for _ in range(n_steps):
            power = (power @ once).tocsr()
            out.append(as_tensor(power))
        return out

    def drawn(self, n_walks: int, n_steps: int, seed: int) -> list[torch.Tensor]:
        """Return the frequencies of `n_walks` walks from each node, a matrix for each step."""
        room = self.n_nodes * min(n_walks, self.n_nodes)
        pointers = np.zeros((n_steps, self.n_nodes + 1), np.int64)
        columns, counts = np.empty((n_steps, room), np.int64), np.empty((n_steps, room), np.float32)
        indptr, indices = self.matrix.indptr.astype(np.int64), self.matrix.indices.astype(np.int64)
        _visits(indptr, indices, self._ends, n_walks, np.uint64(seed), pointers, columns, counts)
        out = []
        for step in range(n_steps):
            size = pointers[step, -1]
            out.append(
                self._tensor(pointers[step], columns[step, :size], counts[step, :size] / np.float32(n_walks))
            )
        return out

    def _tensor(self, pointers: Integers, columns: Integers, values: Floats) -> torch.Tensor:
        with warnings.catch_warnings():
            # torch calls its CSR support beta. Columns are not sorted, which products do not need.
            warnings.simplefilter("ignore", UserWarning)
            return torch.sparse_csr_tensor(
                torch.from_numpy(pointers),
                torch.from_numpy(columns),
                torch.from_numpy(values),
                (self.n_nodes, self.n_nodes),
                check_invariants=False,
            )
