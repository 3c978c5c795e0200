"""The network as tensors: what the convolutions of the baselines take.

In: a :class:`~honlearn.hon.network.HigherOrderNetwork`. Out: a :class:`Graph` whose features are the identity
of each node's base, as in the paper: a context looks like its entity.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import sparse

from honlearn.engine.adjacency import DIRECTIONS, Matrix
from honlearn.errors import check_choice
from honlearn.hon.network import HigherOrderNetwork


@dataclass(frozen=True)
class Graph:
    """Nodes with a base, and weighted edges: `base` int64 [N], `edges` int64 [2, E], `weights` float32 [E].

    Of a network, nodes 0 … V − 1 are the base nodes, in the order of its vocabulary; a part of a graph, such
    as GraphSAINT samples, has nodes in any order.
    """

    base: torch.Tensor
    edges: torch.Tensor
    weights: torch.Tensor
    n_entities: int

    @classmethod
    def of(cls, network: HigherOrderNetwork, edge_power: float = 1.0) -> Graph:
        """Return the network's graph; weights are taken to `edge_power`."""
        source = np.repeat(np.arange(network.n_nodes), np.diff(network.indptr))
        edges = np.stack([source, network.indices]).astype(np.int64)
        weights = network.weights.astype(np.float64) ** edge_power
        return cls(
            torch.from_numpy(network.base.astype(np.int64)),
            torch.from_numpy(edges),
            torch.from_numpy(weights.astype(np.float32)),
            network.n_entities,
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes, N."""
        return len(self.base)

    def without(self, hidden: torch.Tensor) -> Graph:
        """Return the graph on the same nodes without the edges where `hidden` [E] is true."""
        return replace(self, edges=self.edges[:, ~hidden], weights=self.weights[~hidden])

    def adjacency(self, direction: str = "both") -> Any:
        """Return weights [N, N] whose row i holds the neighbours that node i receives from.

        ``"in"``: those with an edge to i; ``"out"``: those i has an edge to; ``"both"``: their sum.
        """
        check_choice("Graph", "direction", direction, DIRECTIONS)
        source, target = self.edges.numpy()
        entries = self.weights.numpy().astype(np.float64)
        out = sparse.csr_array((entries, (source, target)), shape=(self.n_nodes, self.n_nodes))
        if direction == "out":
            return out
        return out.T.tocsr() if direction == "in" else (out + out.T).tocsr()


def as_tensor(matrix: Matrix) -> torch.Tensor:
    """Return a float32 CSR tensor, which PyTorch Geometric multiplies with in place of gathering edges."""
    matrix.sort_indices()
    with warnings.catch_warnings():
        # torch calls its CSR support beta; its products are tested against dense ones here.
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            matrix.shape,
            check_invariants=False,
        )
