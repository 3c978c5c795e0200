"""Convolutions of PyTorch Geometric one after another: a part of HO-GNN and of DBGNN.

H' = relu(Â H W) with Â = D^-1/2 (A + I) D^-1/2. In: the identity of each node's base. Out: [N, d].
The graph convolutional network itself is the learner :class:`honlearn.learners.GCN`.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

from honlearn.baselines.graph import Graph, as_tensor
from honlearn.baselines.neural import Encoder, Identity
from honlearn.engine.adjacency import normalized


class Convolutions(Encoder):
    """Convolutions of PyTorch Geometric over an adjacency that is normalised once.

    The first layer's weight matrix times the one-hot of a node's base is a look-up; there Â H W costs one
    sparse product.
    """

    def __init__(self, graph: Graph, n_layers: int, width: int, dropout: float, direction: str) -> None:
        super().__init__()
        self.width, self.dropout, self.direction = width, dropout, direction
        self.identity = Identity(graph.n_entities, width, dropout)
        self.bias = nn.Parameter(torch.zeros(width))
        self.layers = nn.ModuleList(GCNConv(width, width, normalize=False) for _ in range(n_layers - 1))

    def view(self, graph: Graph) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the base of each node and Â."""
        return graph.base, as_tensor(normalized(graph.adjacency(self.direction)))

    def forward(self, view: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return representations [N, width], none below 0."""
        base, adjacency = view
        h: torch.Tensor = adjacency @ self.identity(base) + self.bias
        for layer in self.layers:
            h = F.dropout(torch.relu(h), self.dropout, self.training)
            h = layer(h, adjacency)
        return F.dropout(torch.relu(h), self.dropout, self.training)
