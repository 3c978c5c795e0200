"""GCN: graph convolutional network (Kipf & Welling, ICLR 2017).

H' = relu(Â H W) with Â = D^-1/2 (A + I) D^-1/2. In: the identity of each node's base. Out: [N, d]. Directed
edges are heard as `direction` says, weights count to `edge_power`. One layer, as was best in the paper on
most data. On the paper's Air and Wiki, inside training folds, `dropout` 0.6 had a better log loss than the
paper's 0.4, and `edge_power` 0.25 was better than raw counts, which let a few heavy edges speak for a node.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

from honlearn.baselines.graph import Graph, as_tensor, normalized
from honlearn.baselines.neural import Encoder, Identity, Neural, NeuralClassifier, NeuralLinkPredictor


class GCNEncoder(Encoder):
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


@dataclass(eq=False, repr=False)
class GCN(Neural):
    """Graph convolutional network; see :class:`Neural` for the parameters."""

    n_layers: int = 1
    dropout: float = 0.6
    edge_power: float = 0.25

    def _encoder(self, graph: Graph) -> GCNEncoder:
        return GCNEncoder(graph, self.n_layers, self.width, self.dropout, self.direction)


@dataclass(eq=False, repr=False)
class GCNClassifier(NeuralClassifier, GCN):
    """GCN for nodes."""


@dataclass(eq=False, repr=False)
class GCNLinkPredictor(NeuralLinkPredictor, GCN):
    """GCN for links."""
