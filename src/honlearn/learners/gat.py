"""GAT: graph attention network (Veličković et al., ICLR 2018).

    h'_i = ‖ over heads of Σ_j α_ij W h_j + b,  α_i = softmax over i and its neighbours j of
    e_ij = leaky_relu(s · W h_j + t · W h_i),

with an exponential linear unit and dropout between layers; the last one is linear. Attention stands in for
edge weights, as in the paper; with `use_weights` a learned number of each head times log(1 + weight) is added
inside the leaky relu, which is what an edge attribute is to PyTorch Geometric's ``GATConv``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.nn import functional as F

from honlearn.engine.adjacency import attended
from honlearn.engine.attention import Scores, attend
from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import ExactNeighborhood, Hop, Neighborhood, SelfMask
from honlearn.engine.products import for_rows, product
from honlearn.engine.propagate import drop_rows, take
from honlearn.engine.weights import Generators, zeros
from honlearn.errors import ParameterError, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.base import Inputs, Learner, Stack
from honlearn.learners.layers import Layer, LayerShape, LayerStack


class AttentionLayer(Layer):
    """What the layers of GAT and GATv2 share: look-ups or products, attention, bias and what follows."""

    def __init__(self, shape: LayerShape, generators: Generators, n_heads: int, use_weights: bool) -> None:
        super().__init__(shape, generators)
        self.n_heads = n_heads
        self.of_weights = zeros(generators, n_heads) if use_weights else None
        self.bias = zeros(generators, shape.width)

    def scores(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | None) -> Scores:
        """Return what attention is computed from."""
        raise NotImplementedError

    def project(self, ctx: ForwardContext, x: torch.Tensor | None, weight: Any) -> torch.Tensor:
        """Return W h of every row that may be read: of look-ups, or of the layer before."""
        if x is not None:
            return product(ctx.run, x, weight)
        rate = self.shape.input_dropout if self.drops_entries else 0.0
        return drop_rows(self.own_table(ctx, weight), ctx.site(self.shape.number, "features", rate))

    def own_rows(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor) -> torch.Tensor:
        """Return the projection of each row itself, [L, R, d]."""
        return take(ctx.run, hop, x.expand(len(ctx.streams), *x.shape[1:]) if len(x) == 1 else x)

    def weight_factors(self, ctx: ForwardContext) -> torch.Tensor:
        """Return how much the log of an edge's weight counts in each head, [1|L, H]."""
        if self.of_weights is not None:
            return self.of_weights
        # One row for each learner: gradients of what learners share are summed on one thread.
        return torch.zeros(len(ctx.streams), self.n_heads, device=ctx.run.device)

    def forward(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | None) -> torch.Tensor:
        """Return the rows of this layer, [L, R, width]."""
        rate, number = self.shape.input_dropout, self.shape.number
        sites = ctx.site(number, "into", rate), ctx.site(number, "own", rate)
        scores = self.scores(ctx, hop, x)
        z = attend(ctx.run, hop.parts[0], hop.rows, scores, self.n_heads, sites)
        z = z + for_rows(self.bias, *z.shape[:2])
        return z if self.shape.last else self.drop_hidden(ctx, hop, F.elu(z))


class GATLayer(AttentionLayer):
    """Scores are a sum of one number of the source and one of the target."""

    def __init__(self, shape: LayerShape, generators: Generators, n_heads: int, use_weights: bool) -> None:
        super().__init__(shape, generators, n_heads, use_weights)
        self.linear = self.weight(shape.width)
        self.source, self.target = (head_vectors(generators, n_heads, shape.width) for _ in range(2))

    def scores(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | None) -> Scores:
        """Return W h, its products with s and t by head, and no vector."""
        values = self.project(ctx, x, self.linear)
        own = self.own_rows(ctx, hop, values)
        nothing = torch.zeros(len(own), 0, device=own.device)
        parts = (self._dot(values, self.source), self._dot(own, self.source), self._dot(own, self.target))
        return Scores(values, own, *parts, nothing, self.weight_factors(ctx))

    def _dot(self, x: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        """Return x [1|L, R, H · C] times a vector [P, H · C], summed within each head: [1|L, R, H]."""
        return torch.reshape(x * for_rows(vector, *x.shape[:2]), (*x.shape[:2], self.n_heads, -1)).sum(3)


def head_vectors(generators: Generators, n_heads: int, width: int) -> torch.nn.Parameter:
    """Return vectors [P, H · C], Glorot uniform as if they were matrices [H, C]."""
    limit = (6.0 / (n_heads + width // n_heads)) ** 0.5
    out = torch.empty(len(generators), width)
    for vector, generator in zip(out, generators, strict=True):
        vector.uniform_(-limit, limit, generator=generator)
    return torch.nn.Parameter(out)


class GATStack(LayerStack):
    """Layers of attention one after another."""

    learner: GAT
    layer: type[AttentionLayer] = GATLayer

    def make_layer(self, shape: LayerShape, generators: Generators) -> Layer:
        """Return a layer with the learner's heads."""
        return self.layer(shape, generators, self.learner.heads, self.learner.use_weights)


@dataclass(eq=False, repr=False)
class GAT(Learner):
    """Graph attention network; `direction` is as for :class:`GCN`.

    `heads` heads share the numbers of a layer; `use_weights` lets scores depend on edge weights.
    `input_dropout` drops neighbours after the softmax. One layer, as was best in the paper on most data.

    Parameters
    ----------
    widths
        Width of each layer; one number is one layer.
    edge_power
        A neighbour counts by the weight of its edge to this power; 0 ignores weights, "auto" chooses.
    identity
        Whether every entity has an input vector of its own; without it there must be features.
    input_dropout
        Share of neighbours that are dropped in training; None is what suits the task.
    hidden_dropout
        Share of values between layers that are dropped in training.
    mask_self
        Whether a labelled root is kept from reading its own identity; None is what suits the task.
    direction
        Which edges are read: "in", "out" or "both".
    heads
        Heads of the attention, which share the width of a layer.
    use_weights
        Whether weights of edges enter the attention.

    Examples
    --------
    >>> GAT(heads=4, widths=(64, 64))
    GAT(heads=4, widths=(64, 64))
    """

    widths: int | Sequence[int] = (128,)
    direction: str = "both"
    heads: int = 8
    use_weights: bool = False

    kind: ClassVar[str] = "gat"
    task_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nodes": {"input_dropout": 0.4, "hidden_dropout": 0.4, "mask_self": False},
        "links": {"input_dropout": 0.4, "hidden_dropout": 0.4, "mask_self": False},
    }
    training_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nodes": {"n_batches": 1, "max_epochs": 200, "patience": 20},
        "links": {"n_batches": 4, "max_epochs": 50},
    }
    stack_type: ClassVar[type[GATStack]] = GATStack

    @property
    def reads_weights(self) -> bool:
        """Whether the weights of edges make a difference, and so their power."""
        return bool(self.use_weights)

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        super().check()
        self._check_direction()
        self._check_flags("use_weights")
        check_integer(self.name, "heads", self.heads, 1)
        if any(width % self.heads for width in self.layer_widths):
            raise ParameterError(
                f"The 'widths' parameter of {self.name} must be multiples of 'heads' ({self.heads}). "
                f"Got {self.widths!r} instead."
            )

    def neighborhood(self, network: HigherOrderNetwork, mask: SelfMask) -> Neighborhood:
        """Return whole neighbourhoods; a node attends to itself too."""
        return ExactNeighborhood(network, len(self.layer_widths), attended(network, self.direction), mask)

    def stack(self, inputs: Inputs, generators: Generators) -> Stack:
        """Return new weights."""
        return self.stack_type(self, inputs, generators)
