"""GraphSAINT: training on sampled subgraphs (Zeng et al., ICLR 2020).

h'_v = relu(W_1 h_v + W_2 Σ_u (ã_vu / α_vu) h_u + b) on the nodes of random walks, with Ã = D^-1 A; the loss
of node v is divided by λ_v. α and λ are counted on subgraphs drawn before training, so that sums and losses
are unbiased; predictions use the whole graph, where both are 1. In: the identity of each node's base. Out:
[N, d]. Edges count by weight to `edge_power`; `direction` decides along which messages pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GraphConv

from honlearn.baselines.graph import Graph, as_tensor
from honlearn.baselines.neural import (
    Encoder,
    Identity,
    Neural,
    NeuralClassifier,
    NeuralLinkPredictor,
    NodeModel,
    PairModel,
)
from honlearn.baselines.pair_head import PairBatches
from honlearn.baselines.training import Losses
from honlearn.baselines.walk_subgraphs import Parts
from honlearn.engine.adjacency import normalized
from honlearn.errors import check_integer

View = tuple[torch.Tensor, torch.Tensor]


class GraphSAINTEncoder(Encoder):
    """Graph convolutions of PyTorch Geometric: weights for a node itself, and weights for its neighbours."""

    def __init__(self, graph: Graph, n_layers: int, width: int, dropout: float, direction: str) -> None:
        super().__init__()
        self.width, self.dropout, self.direction = width, dropout, direction
        # A one-hot times a weight matrix is a look-up: the first layer has two.
        self.own = Identity(graph.n_entities, width, dropout)
        self.neighbors = Identity(graph.n_entities, width, dropout)
        self.bias = nn.Parameter(torch.zeros(width))
        self.layers = nn.ModuleList(GraphConv(width, width) for _ in range(n_layers - 1))

    def view(self, graph: Graph) -> View:
        """Return the base of each node and D^-1 A of the whole graph."""
        matrix = normalized(graph.adjacency(self.direction), "rows", self_loops=False)
        return graph.base, as_tensor(matrix)

    def forward(self, view: View) -> torch.Tensor:
        """Return representations [n, width] of the nodes in the view; the last layer is linear."""
        base, adjacency = view
        h: torch.Tensor = self.own(base) + adjacency @ self.neighbors(base) + self.bias
        for layer in self.layers:
            h = F.dropout(torch.relu(h), self.dropout, self.training)
            h = layer(h, adjacency)
        return h


@dataclass(eq=False, repr=False)
class GraphSAINT(Neural):
    """GraphSAINT with the random-walk sampler; see :class:`Neural` for the other parameters.

    A subgraph holds the nodes of `n_roots` walks of `walk_length` steps that start at base nodes; an epoch
    has as many as hold the number of all base nodes. The paper tried 256 to 4,096 roots (512 on Wiki and Air)
    and walks of 2 to 4 steps. Its dropout is 0.4, and its weights count in full. On inner parts 0.7 did
    better than 0.6 on Wiki (not on Air), and fourth roots of the weights better than square roots on Air (on
    Wiki they made no odds).
    """

    dropout: float = 0.7
    edge_power: float = 0.25
    n_roots: int = 512
    walk_length: int = 4

    def _check(self) -> None:
        super()._check()
        check_integer(type(self).__name__, "n_roots", self.n_roots, 1)
        check_integer(type(self).__name__, "walk_length", self.walk_length, 0)

    def _encoder(self, graph: Graph) -> GraphSAINTEncoder:
        return GraphSAINTEncoder(graph, self.n_layers, self.width, self.dropout, self.direction)

    def _parts(self, graph: Graph) -> Parts:
        return Parts(graph, self.direction, self.n_roots, self.walk_length, self.seed_)


@dataclass(eq=False, repr=False)
class GraphSAINTClassifier(NeuralClassifier, GraphSAINT):
    """GraphSAINT for nodes."""

    def _losses(
        self, module: NodeModel, graph: Graph, nodes: NDArray[np.int32], codes: NDArray[np.int64]
    ) -> Losses:
        parts = self._parts(graph)
        shown, found = parts.shown(), torch.from_numpy(parts.coefficients.found).float()
        label = np.full(graph.n_nodes, -1)
        label[nodes] = codes

        def losses(epoch: int) -> Iterator[torch.Tensor]:
            for step in range(parts.n_steps):
                some, view = parts.draw(shown, epoch, step)
                known = np.flatnonzero(label[some] >= 0)
                if not len(known):
                    continue
                truth = torch.from_numpy(label[some[known]])
                probability = found[torch.from_numpy(some[known])]
                loss = F.cross_entropy(module(view)[torch.from_numpy(known)], truth, reduction="none")
                yield (loss / probability).sum() / len(nodes)

        return losses


@dataclass(eq=False, repr=False)
class GraphSAINTLinkPredictor(NeuralLinkPredictor, GraphSAINT):
    """GraphSAINT for links: a step trains on those of its pairs whose ends are both in its subgraph.

    Linked pairs are found together more often than others, so either kind counts by its share of all pairs.
    """

    def _pair_losses(self, module: PairModel, graph: Graph, batches: PairBatches) -> Losses:
        parts = self._parts(graph)

        def losses(epoch: int) -> Iterator[torch.Tensor]:
            for number, (pairs, labels, hidden) in enumerate(batches.epoch(epoch, self.n_batches)):
                shown = parts.shown(hidden)
                for step in range(parts.n_steps):
                    some, view = parts.draw(shown, epoch, number * parts.n_steps + step)
                    local = torch.full((graph.n_nodes,), -1)
                    local[torch.from_numpy(some)] = torch.arange(len(some))
                    places = local[pairs]
                    inside = (places >= 0).all(1)
                    if inside.any():
                        yield _balanced(module(view, places[inside]), labels[inside], labels.mean())

        return losses


def _balanced(logits: torch.Tensor, labels: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Return the loss in which linked pairs count by `share` and the others by the rest."""
    loss = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    linked, others = labels.sum().clamp_min(1), (1 - labels).sum().clamp_min(1)
    return (loss * torch.where(labels > 0, share / linked, (1 - share) / others)).sum()
