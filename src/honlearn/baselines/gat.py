"""GAT: graph attention network (Veličković et al., ICLR 2018).

h'(i) = ‖_k Σ_j a(i, j) W h(j) over the neighbours j of i and i itself, where a(i, ·) is the softmax of
e(i, j) = leaky_relu(s · W h(j) + t · W h(i)), for each of k heads, whose results are joined. In: the identity
of each node's base. Out: [N, d]. Attention stands in for edge weights, as in the paper; with `use_weights` a
learnt number of each head times log(1 + weight) is added inside the leaky relu, which is what an edge
attribute is to PyTorch Geometric. A layer computes what its ``GATConv`` does (a test compares them); see
:mod:`honlearn.baselines.attention` for why not with it. Edges are heard as `direction` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from honlearn.baselines.attention import Neighbours, softmax_rows, weighted_sum
from honlearn.baselines.graph import Graph
from honlearn.baselines.neural import Encoder, Identity, Neural, NeuralClassifier, NeuralLinkPredictor
from honlearn.errors import ParameterError, check_integer

SLOPE = 0.2


class Heads(nn.Module):
    """Attention of several heads over rows that are projected already; s and t are [H, C] each.

    `rows` is how many projections of a node a layer needs.
    """

    rows: ClassVar[int] = 1

    def __init__(self, n_heads: int, width: int, dropout: float, use_weights: bool) -> None:
        super().__init__()
        self.shape, self.dropout = (n_heads, width // n_heads), dropout
        self.weight = nn.Parameter(torch.zeros(n_heads)) if use_weights else None
        self.bias = nn.Parameter(torch.zeros(width))
        self._make()

    def _make(self) -> None:
        self.sender, self.listener = glorot(*self.shape), glorot(*self.shape)

    def forward(self, projected: torch.Tensor, near: Neighbours) -> torch.Tensor:
        """Take [N, rows · H · C], return [N, H · C]."""
        parts = projected.view(len(projected), self.rows, *self.shape).unbind(1)
        attention = softmax_rows(near, self._scores(near, parts[0], parts[-1]))
        attention = F.dropout(attention, self.dropout, self.training)
        return weighted_sum(near, attention, parts[0]).flatten(1) + self.bias

    def _scores(self, near: Neighbours, heard: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        """Return e [E, H] of projections [N, H, C]."""
        sent = (heard * self.sender).sum(2).index_select(0, near.heard)
        received = (own * self.listener).sum(2).index_select(0, near.listener)
        return F.leaky_relu(sent + received + self._of_weights(near), SLOPE)

    def _of_weights(self, near: Neighbours) -> torch.Tensor:
        return torch.zeros(1) if self.weight is None else near.weights.log1p()[:, None] * self.weight


class GATEncoder(Encoder):
    """Layers of attention with an exponential linear unit between them; the last one is linear."""

    def __init__(self, graph: Graph, options: GAT) -> None:
        super().__init__()
        self.width, self.dropout, self.direction = options.width, options.dropout, options.direction
        size = options.width * options.heads.rows
        self.identity = Identity(graph.n_entities, size, options.dropout)
        later = range(options.n_layers - 1)
        self.maps = nn.ModuleList(nn.Linear(options.width, size, options.heads.rows > 1) for _ in later)
        self.heads = nn.ModuleList(
            options.heads(options.n_heads, options.width, options.dropout, options.use_weights)
            for _ in range(options.n_layers)
        )
        for name, parameter in self.maps.named_parameters():
            if name.endswith("weight"):
                nn.init.xavier_uniform_(parameter)

    def view(self, graph: Graph) -> tuple[torch.Tensor, Neighbours]:
        """Return the base of each node and whom it listens to."""
        return graph.base, Neighbours.of(graph, self.direction)

    def forward(self, view: tuple[torch.Tensor, Neighbours]) -> torch.Tensor:
        """Return representations [N, width]."""
        base, near = view
        h: torch.Tensor = self.heads[0](self.identity(base), near)
        for layer, heads in zip(self.maps, list(self.heads)[1:], strict=True):
            h = F.dropout(F.elu(h), self.dropout, self.training)
            h = heads(layer(h), near)
        return h


def glorot(*shape: int) -> nn.Parameter:
    """Return a parameter with values drawn as Glorot and Bengio say, uniformly."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape)))


@dataclass(eq=False, repr=False)
class GAT(Neural):
    """Graph attention network; see :class:`Neural` for the other parameters.

    `n_heads` heads share the `width` numbers of a layer; `use_weights` lets scores depend on edge weights.
    One layer, as was best in the paper on most data. `learning_rate` is the one of the other models: inside a
    training fold of Wiki it gave F1 0.671 after 33 epochs, the paper's 0.0005 without a refit 0.647 after 468
    (it needs `max_epochs` of 800).
    """

    n_layers: int = 1
    n_heads: int = 8
    use_weights: bool = False

    heads: ClassVar[type[Heads]] = Heads

    def _check(self) -> None:
        super()._check()
        name = type(self).__name__
        check_integer(name, "n_heads", self.n_heads, 1)
        if self.width % self.n_heads:
            raise ParameterError(
                f"The 'width' parameter of {name} must be a multiple of 'n_heads' ({self.n_heads}). "
                f"Got {self.width} instead."
            )
        if not isinstance(self.use_weights, bool):
            raise ParameterError(
                f"The 'use_weights' parameter of {name} must be True or False. "
                f"Got {self.use_weights!r} instead."
            )

    def _encoder(self, graph: Graph) -> GATEncoder:
        return GATEncoder(graph, self)


@dataclass(eq=False, repr=False)
class GATClassifier(NeuralClassifier, GAT):
    """GAT for nodes."""


@dataclass(eq=False, repr=False)
class GATLinkPredictor(NeuralLinkPredictor, GAT):
    """GAT for links."""
