"""GATv2: graph attention whose ranking of neighbours depends on the target (Brody et al., ICLR 2022).

As GAT, but with e_ij = a · leaky_relu(W h_j + W' h_i). Edge weights are not used, as in the paper; with
`use_weights` a learned number of each head times log(1 + weight) is added to e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from honlearn.engine.attention import Scores
from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import Hop
from honlearn.engine.weights import Generators
from honlearn.learners.gat import GAT, AttentionLayer, GATStack, head_vectors
from honlearn.learners.layers import LayerShape


class GATv2Layer(AttentionLayer):
    """Scores are a vector over the leaky sum of two projections."""

    def __init__(self, shape: LayerShape, generators: Generators, n_heads: int, use_weights: bool) -> None:
        super().__init__(shape, generators, n_heads, use_weights)
        self.linear, self.linear_target = self.weight(shape.width), self.weight(shape.width)
        self.vector = head_vectors(generators, n_heads, shape.width)

    def scores(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | None) -> Scores:
        """Return W h as values and scores of sources, W' h of targets, and the vector."""
        values = self.project(ctx, x, self.linear)
        own = self.own_rows(ctx, hop, values)
        target = self.own_rows(ctx, hop, self.project(ctx, x, self.linear_target))
        return Scores(values, own, values, own, target, self.vector, self.weight_factors(ctx))


class GATv2Stack(GATStack):
    """Layers of attention one after another."""

    layer = GATv2Layer


@dataclass(eq=False, repr=False)
class GATv2(GAT):
    """Graph attention network, second version; parameters as for :class:`GAT`.

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
    """

    kind: ClassVar[str] = "gatv2"
    stack_type: ClassVar[type[GATStack]] = GATv2Stack
