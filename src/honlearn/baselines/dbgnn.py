"""DBGNN: De Bruijn graph neural network (Qarkaxhija, Perri & Scholtes, LoG 2022).

    H¹ = GCN(G_1),  Hᵏ = GCN(G_k),  z(v) = relu(H¹(v) + W mean of Hᵏ(u) over the nodes u that end in v)

In: the identity of each node's base, once for either graph. Out: one row for each entity, [V, d].

G_1 is the first-order graph: the rows of the base nodes, targets collapsed to their entities. G_k are the
contexts and their edges; of a network that was grown with ``alpha=1`` this is the De Bruijn graph of its
order. A pruned network keeps a context only where it is informative, so an edge of a context may lead to a
base node; then that base node stands in G_k for all contexts that were not kept. ``C|B|A`` ends in C. On a
first-order network G_k is empty, and DBGNN is GCN. `direction` decides along which edges messages pass;
weights count to `edge_power`.

The authors sum W (Hᵏ(u) + H¹(v)) over u. A pruned network has many entities that no context ends in, for
which a sum would be 0; so H¹(v) is added once, and Hᵏ by its mean. Inside training folds of Wiki, a matrix of
its own for H¹(v) did worse (micro F1 0.60 for 0.63).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import nn

from honlearn.baselines.convolutions import Convolutions
from honlearn.baselines.graph import Graph, as_tensor
from honlearn.baselines.neural import Encoder, Neural, NeuralClassifier, NeuralLinkPredictor
from honlearn.engine.adjacency import normalized


def first_order(graph: Graph) -> Graph:
    """Return G_1: the edges of the base nodes, each target collapsed to its entity."""
    kept = graph.edges[0] < graph.n_entities
    source, target = graph.edges[:, kept]
    edges = torch.stack([source, graph.base[target]])
    return Graph(torch.arange(graph.n_entities), edges, graph.weights[kept], graph.n_entities)


def higher_order(graph: Graph) -> tuple[Graph, torch.Tensor]:
    """Return G_k, and its nodes as nodes of `graph`, int64 [M]: contexts, and where they lead to."""
    kept = graph.edges[0] >= graph.n_entities
    among = torch.zeros(graph.n_nodes, dtype=torch.bool)
    among[graph.n_entities :] = True
    among[graph.edges[1, kept]] = True
    nodes = torch.nonzero(among).squeeze(1)
    place = torch.cumsum(among.long(), 0) - 1
    return Graph(graph.base[nodes], place[graph.edges[:, kept]], graph.weights[kept], graph.n_entities), nodes


class Views(NamedTuple):
    """What either GCN takes, and the mean over the nodes that end in an entity: a CSR tensor [V, M]."""

    first: tuple[torch.Tensor, torch.Tensor]
    higher: tuple[torch.Tensor, torch.Tensor]
    ends: torch.Tensor


class DBGNNEncoder(Encoder):
    """Two GCNs and the bipartite layer from higher-order to first-order nodes."""

    def __init__(self, graph: Graph, n_layers: int, width: int, dropout: float, direction: str) -> None:
        super().__init__()
        self.width = width
        self.first = Convolutions(graph, n_layers, width, dropout, direction)
        self.higher = Convolutions(graph, n_layers, width, dropout, direction)
        self.bipartite = nn.Linear(width, width, bias=False)

    def view(self, graph: Graph) -> Views:
        """Return both graphs' views and which nodes end in which entity."""
        higher, nodes = higher_order(graph)
        shape = (graph.n_entities, len(nodes))
        ends = sparse.csr_array(
            (np.ones(len(nodes)), (higher.base.numpy(), np.arange(len(nodes)))), shape=shape
        )
        mean = as_tensor(normalized(ends, "rows", self_loops=False))
        return Views(self.first.view(first_order(graph)), self.higher.view(higher), mean)

    def forward(self, view: Views) -> torch.Tensor:
        """Return representations [V, width]."""
        of_contexts = view.ends @ self.bipartite(self.higher(view.higher))
        return torch.relu(self.first(view.first) + of_contexts)


@dataclass(eq=False, repr=False)
class DBGNN(Neural):
    """De Bruijn graph neural network; see :class:`Neural` for the parameters."""

    n_layers: int = 1
    edge_power: float = 0.25

    def _encoder(self, graph: Graph) -> DBGNNEncoder:
        return DBGNNEncoder(graph, self.n_layers, self.width, self.dropout, self.direction)


@dataclass(eq=False, repr=False)
class DBGNNClassifier(NeuralClassifier, DBGNN):
    """DBGNN for nodes; inside training folds of Wiki a dropout of 0.8 did best (micro F1 0.64, 0.6: 0.62)."""

    dropout: float = 0.8


@dataclass(eq=False, repr=False)
class DBGNNLinkPredictor(NeuralLinkPredictor, DBGNN):
    """DBGNN for links."""

    dropout: float = 0.6
