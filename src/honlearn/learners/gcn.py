"""GCN: graph convolutional network (Kipf & Welling, ICLR 2017).

    H' = relu(Â H W + b),  Â = D^-1/2 (A + I) D^-1/2,

with dropout after every layer. A holds edges as `direction` says, weights to `edge_power`; a loop weighs as
much as the mean edge. One layer, as was best in the paper on most data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from honlearn.engine.adjacency import normalized_adjacency
from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import ExactNeighborhood, Hop, Neighborhood, SelfMask
from honlearn.engine.products import for_rows, product
from honlearn.engine.propagate import gather, sum_rows
from honlearn.engine.weights import Generators, InputWeight, zeros
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.base import Inputs, Learner, Stack
from honlearn.learners.layers import Layer, LayerShape, LayerStack, loops


class GCNLayer(Layer):
    """One convolution: the loop of each row times itself, and the sum over its neighbours."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        self.linear, self.bias = self.weight(shape.width), zeros(generators, shape.width)

    def forward(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | None) -> torch.Tensor:
        """Return the rows of this layer, [L, R, width], none below 0."""
        if x is None:
            z = convolved_input(self, ctx, hop, self.linear)
        else:
            own, near = gather(ctx.run, hop, x)
            z = product(ctx.run, loops(hop, own) + near, self.linear)
        return self.drop_hidden(ctx, hop, torch.relu(z + for_rows(self.bias, *z.shape[:2])))


def convolved_input(layer: Layer, ctx: ForwardContext, hop: Hop, weight: InputWeight) -> torch.Tensor:
    """Return Â X W for the rows of a first layer: a look-up for each one-hot row of X, [L, R, d]."""
    table, sites = layer.own_table(ctx, weight), layer.input_sites(ctx)
    own = sum_rows(ctx.run, hop.own, hop.rows, table, sites[0])
    return loops(hop, own) + sum_rows(ctx.run, hop.parts[0], hop.rows, table, sites[1])


class GCNStack(LayerStack):
    """Convolutions one after another."""

    layer = GCNLayer


@dataclass(eq=False, repr=False)
class GCN(Learner):
    """Graph convolutional network; see :class:`Learner` for the parameters that all learners have.

    `direction` says whose messages a node receives: ``"in"`` (along the edges), ``"out"`` or ``"both"``. On
    the paper's Air and Wiki, inside training folds, dropout 0.6 had a better log loss than the paper's 0.4,
    and `edge_power` 0.25 was better than raw counts, in which a few heavy edges dominate.

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
    """

    widths: int | Sequence[int] = (128,)
    edge_power: float | str = 0.25
    direction: str = "both"

    kind: ClassVar[str] = "gcn"
    task_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nodes": {"input_dropout": 0.6, "hidden_dropout": 0.6, "mask_self": False},
        "links": {"input_dropout": 0.6, "hidden_dropout": 0.6, "mask_self": False},
    }
    training_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nodes": {"n_batches": 1, "max_epochs": 200, "patience": 20},
        "links": {"n_batches": 4, "max_epochs": 50},
    }

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        super().check()
        self._check_direction()

    def neighborhood(self, network: HigherOrderNetwork, mask: SelfMask) -> Neighborhood:
        """Return whole neighbourhoods under Â."""
        adjacency = normalized_adjacency(network, self.power, self.direction)
        return ExactNeighborhood(network, len(self.layer_widths), adjacency, mask)

    def stack(self, inputs: Inputs, generators: Generators) -> Stack:
        """Return new weights."""
        return GCNStack(self, inputs, generators)
