"""HO-GNN: graph neural network for higher-order dependency networks (Jin et al., WWW 2022).

z(u) = mean of h(u') over all relatives u' in the family Ω(u), with h from a GCN on the higher-order network.
In: the identity of each node's base. Out: one row for each entity, [V, d]. Every relative counts the same,
however often it was visited, as in the paper's description of this model. On a first-order network each
family is its base node alone, and HO-GNN is GCN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse

from honlearn.baselines.convolutions import Convolutions
from honlearn.baselines.graph import Graph, as_tensor
from honlearn.baselines.neural import Encoder, Neural, NeuralClassifier, NeuralLinkPredictor
from honlearn.engine.adjacency import normalized


class FamilyView(NamedTuple):
    """What the GCN takes, and the mean over families: a CSR tensor [V, N] whose rows sum to 1."""

    nodes: tuple[torch.Tensor, torch.Tensor]
    families: torch.Tensor


class HOGNNEncoder(Encoder):
    """A GCN over all nodes, then the mean over each family: base node and contexts alike."""

    def __init__(self, graph: Graph, n_layers: int, width: int, dropout: float, direction: str) -> None:
        super().__init__()
        self.width = width
        self.nodes = Convolutions(graph, n_layers, width, dropout, direction)

    def view(self, graph: Graph) -> FamilyView:
        """Return the GCN's view and which nodes belong to which family."""
        ones, shape = np.ones(graph.n_nodes), (graph.n_entities, graph.n_nodes)
        member = sparse.csr_array((ones, (graph.base.numpy(), np.arange(graph.n_nodes))), shape=shape)
        return FamilyView(self.nodes.view(graph), as_tensor(normalized(member, "rows", self_loops=False)))

    def forward(self, view: FamilyView) -> torch.Tensor:
        """Return representations [V, width]."""
        return view.families @ self.nodes(view.nodes)  # type: ignore[no-any-return]


@dataclass(eq=False, repr=False)
class HOGNN(Neural):
    """GCN on the higher-order network with the mean over relatives; see :class:`Neural`.

    Defaults are those of our GCN.
    """

    n_layers: int = 1
    dropout: float = 0.6
    edge_power: float = 0.25

    def _encoder(self, graph: Graph) -> HOGNNEncoder:
        return HOGNNEncoder(graph, self.n_layers, self.width, self.dropout, self.direction)


@dataclass(eq=False, repr=False)
class HOGNNClassifier(NeuralClassifier, HOGNN):
    """HO-GNN for nodes."""


@dataclass(eq=False, repr=False)
class HOGNNLinkPredictor(NeuralLinkPredictor, HOGNN):
    """HO-GNN for links."""
