"""PathGCN: operators learned along random walks (Eliasof, Haber & Treister, ICML 2022).

f' = relu(f + W Σ_j θ_j ⊙ mean of f over walks after j steps), j = 0 … walk length, with weights θ_j for each
step and channel. In: the identity of each node's base. Out: [N, d].

In training every layer has walks of its own, drawn anew in every epoch. A layer is linear in the mean over
walks, so predictions use its expectation, as from more and more walks: powers of the transition matrix.
Walks go from a node to those that send it messages (`direction`), in proportion to weights to `edge_power`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from honlearn.baselines.graph import Graph
from honlearn.baselines.neural import Encoder, Identity, Neural, NeuralClassifier, NeuralLinkPredictor
from honlearn.baselines.walk_operators import Walker
from honlearn.errors import check_integer

View = tuple[torch.Tensor, Walker]


class PathGCNEncoder(Encoder):
    """Layers that weigh the steps of walks, channel by channel, and then mix the channels."""

    def __init__(
        self,
        graph: Graph,
        n_layers: int,
        width: int,
        dropout: float,
        direction: str,
        n_walks: int,
        walk_length: int,
    ) -> None:
        super().__init__()
        self.width, self.dropout, self.direction = width, dropout, direction
        self.n_walks, self.walk_length = n_walks, walk_length
        self.identity = Identity(graph.n_entities, width, dropout)
        # A node's own f is there already, so step 0 starts with no weight and the others with equal ones.
        self.steps = nn.Parameter(torch.full((n_layers, walk_length + 1, width), 1.0 / walk_length))
        nn.init.zeros_(self.steps[:, 0])
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(n_layers))

    def view(self, graph: Graph) -> View:
        """Return the base of each node and what walks over the graph."""
        return graph.base, Walker(graph.adjacency(self.direction))

    def forward(self, view: View) -> torch.Tensor:
        """Return representations [N, width]."""
        base, walker = view
        f: torch.Tensor = self.identity(base)
        for layer, weights in zip(self.layers, self.steps, strict=True):
            along = torch.zeros_like(f)
            for weight, part in zip(weights, self._along(walker, f), strict=True):
                along = along + weight * part
            f = torch.relu(f + layer(F.dropout(along, self.dropout, self.training)))
        return f

    def _along(self, walker: Walker, f: torch.Tensor) -> Iterator[torch.Tensor]:
        """Yield the mean of f over walks after 0, 1, … steps, each [N, width]."""
        yield f
        if self.training:
            # The stream of the epoch is torch's, so that a resumed training walks as it would have.
            seed = int(torch.randint(2**62, ()))
            for frequencies in walker.drawn(self.n_walks, self.walk_length, seed):
                yield frequencies @ f
        else:
            for _ in range(self.walk_length):
                f = walker.transition @ f
                yield f


@dataclass(eq=False, repr=False)
class PathGCN(Neural):
    """PathGCN; see :class:`Neural` for the other parameters.

    `n_walks` walks of `walk_length` steps start at each node; the paper tried 10 to 200 (at least 100 were
    best) of 2 to 5 steps, in 1 to 3 layers, with a dropout of 0.4. On inner parts of Wiki and Air one layer
    did better than two, both with a dropout of 0.6. An `edge_power` of 0 lets every neighbour be as likely,
    as in the original; with fourth roots of the weights Air lost 0.04, and Wiki nothing.
    """

    n_layers: int = 1
    dropout: float = 0.6
    edge_power: float = 0.0
    n_walks: int = 100
    walk_length: int = 2

    def _check(self) -> None:
        super()._check()
        check_integer(type(self).__name__, "n_walks", self.n_walks, 1)
        check_integer(type(self).__name__, "walk_length", self.walk_length, 1)

    def _encoder(self, graph: Graph) -> PathGCNEncoder:
        return PathGCNEncoder(
            graph, self.n_layers, self.width, self.dropout, self.direction, self.n_walks, self.walk_length
        )


@dataclass(eq=False, repr=False)
class PathGCNClassifier(NeuralClassifier, PathGCN):
    """PathGCN for nodes."""


@dataclass(eq=False, repr=False)
class PathGCNLinkPredictor(NeuralLinkPredictor, PathGCN):
    """PathGCN for links."""
