"""GCNII: deep graph convolutions with initial residual and identity mapping (Chen et al., ICML 2020).

H(l) = relu(((1 − α) Â H(l−1) + α H(0)) ((1 − β) I + β W)) with β = log(λ / l + 1), Â = D^-1/2 (A + I) D^-1/2
and H(0) = Â X W0. In: the identity of each node's base, X. Out: [N, d]. Directed edges are heard as
`direction` says, weights count to `edge_power`.

Where we depart, and what it gave inside a training fold of the paper's Wiki (F1): Chen et al. have
H(0) = relu(X W0), but with identities that is a row of the node's own, which labelled nodes learn by heart
(0.56 without the relu and 0.53 with it, against 0.65 with neighbours in it). `layer_decay` is the authors';
without it W overfits (0.63).
`dropout` 0.6 (0.4 in the paper) and `edge_power` 0.25 are as for GCN.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GCN2Conv

from honlearn.baselines.graph import Graph, as_tensor, normalized
from honlearn.baselines.neural import Encoder, Identity, Neural, NeuralClassifier, NeuralLinkPredictor
from honlearn.errors import check_real


class GCNIIEncoder(Encoder):
    """Convolutions of PyTorch Geometric over an adjacency that is normalised once."""

    def __init__(self, graph: Graph, options: GCNII) -> None:
        super().__init__()
        self.width, self.dropout, self.direction = options.width, options.dropout, options.direction
        self.identity = Identity(graph.n_entities, options.width, options.dropout)
        self.layers = nn.ModuleList(
            GCN2Conv(options.width, options.alpha, options.theta, number, normalize=False)
            for number in range(1, options.n_layers + 1)
        )
        self.layers.weight_decay = options.layer_decay  # type: ignore[assignment]

    def view(self, graph: Graph) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the base of each node and Â."""
        return graph.base, as_tensor(normalized(graph.adjacency(self.direction)))

    def forward(self, view: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return representations [N, width]."""
        base, adjacency = view
        first = h = adjacency @ self.identity(base)
        for layer in self.layers:
            h = F.dropout(h, self.dropout, self.training)
            h = torch.relu(layer(h, first, adjacency))
        return F.dropout(h, self.dropout, self.training)


@dataclass(eq=False, repr=False)
class GCNII(Neural):
    """Deep graph convolutional network; see :class:`Neural` for the other parameters.

    `alpha` (α) is the share of the first representation in every layer, `theta` (λ in the paper, θ in
    PyTorch Geometric) how much a layer's weights change it: less in later layers. `layer_decay` is the weight
    decay of these weights, `weight_decay` that of all others.
    """

    alpha: float = 0.5
    theta: float = 1.0
    layer_decay: float = 0.01
    dropout: float = 0.6
    edge_power: float = 0.25

    def _check(self) -> None:
        super()._check()
        check_real(type(self).__name__, "alpha", self.alpha, 0, 1)
        check_real(type(self).__name__, "theta", self.theta, 0, 100)
        check_real(type(self).__name__, "layer_decay", self.layer_decay, 0)

    def _encoder(self, graph: Graph) -> GCNIIEncoder:
        return GCNIIEncoder(graph, self)


@dataclass(eq=False, repr=False)
class GCNIIClassifier(NeuralClassifier, GCNII):
    """GCNII for nodes; four layers were as good as two on Wiki and better on Air and on order 2."""

    n_layers: int = 4


@dataclass(eq=False, repr=False)
class GCNIILinkPredictor(NeuralLinkPredictor, GCNII):
    """GCNII for links."""
