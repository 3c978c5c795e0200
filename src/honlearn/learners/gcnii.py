"""GCNII: deep graph convolutions with initial residual and identity mapping (Chen et al., ICML 2020).

    H(l) = relu(((1 − α) Â H(l−1) + α H(0)) ((1 − β) I + β W(l))),  β = log(θ / l + 1),  H(0) = Â X W(0),

with Â as for GCN and dropout before every layer and after the last.

Where we depart, and what it gave inside a training fold of the paper's Wiki (F1): Chen et al. have
H(0) = relu(X W(0)), but with identities that is a row of the node's own, which labelled nodes learn by heart
(0.56 without the relu and 0.53 with it, against 0.65 with neighbours in it). `layer_decay` is the authors';
without it W overfits (0.63).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.adjacency import normalized_adjacency
from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import ExactNeighborhood, Hop, Neighborhood, SelfMask
from honlearn.engine.products import product
from honlearn.engine.propagate import Dropout, drop, gather, is_compiled, take
from honlearn.engine.residual import Convolution, ResidualLayers, residual_layers
from honlearn.engine.weights import Generators, glorot
from honlearn.errors import ParameterError, check_real
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.base import Inputs, Learner, Stack
from honlearn.learners.gcn import GCN, convolved_input
from honlearn.learners.layers import Layer, LayerShape, layer_shapes, loops


class _First(Layer):
    """H(0) = Â X W(0)."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        self.linear = self.weight(shape.width)

    def forward(self, ctx: ForwardContext, hop: Hop) -> torch.Tensor:
        """Return the rows of H(0), [L, R, width]."""
        return convolved_input(self, ctx, hop, self.linear)


class GCNIIStack(Stack):
    """The first convolution, then the residual ones: as many hops as layers and one more."""

    def __init__(self, learner: GCNII, inputs: Inputs, generators: Generators) -> None:
        super().__init__()
        self.width, self.learner = learner.width, learner
        self.first = _First(layer_shapes(learner, inputs)[0], generators)
        width = learner.width
        self.layers = nn.ParameterList(glorot(generators, width, width) for _ in learner.layer_widths)
        self.layers.weight_decay = learner.layer_decay  # type: ignore[assignment]

    def represent(self, roots: NDArray[np.int32], near: Neighborhood, ctx: ForwardContext) -> torch.Tensor:
        """Return h of the roots [1|L, B] for each learner: [L, B, d]."""
        found = near.convolution if isinstance(near, ExactNeighborhood) else None
        if found is not None and is_compiled(self.layers[0]) and len(self.layers[0]) == len(ctx.streams):
            roots = np.repeat(roots, len(ctx.streams) // len(roots), 0)
            hop, rows = near.rows_by_learner(roots)  # type: ignore[attr-defined]
            layers = ResidualLayers(rows, self._sites(ctx), self._betas)
            convolution = Convolution(*found, self.learner.alpha)
            return residual_layers(ctx.run, convolution, layers, self.first(ctx, hop), list(self.layers))
        return self._by_tensors(near.hops(roots, ctx.streams, ctx.step), ctx)

    def _by_tensors(self, hops: Sequence[Hop], ctx: ForwardContext) -> torch.Tensor:
        """Return what :func:`residual_layers` does, in tensor operations."""
        run, alpha, sites = ctx.run, self.learner.alpha, self._sites(ctx)
        hop, *later = hops
        first = h = self.first(ctx, hop)
        for weight, after, site, beta in zip(self.layers, later, sites, self._betas, strict=False):
            h = drop(run, hop.rows, h, site)
            hop = after
            own, sums = gather(run, hop, h)
            first = take(run, hop, first)
            z = (1 - alpha) * (loops(hop, own) + sums) + alpha * first
            h = torch.relu((1 - beta) * z + beta * product(run, z, weight))
        return drop(run, hop.rows, h, sites[-1])

    @property
    def _betas(self) -> list[float]:
        """How much the weights of each layer change it."""
        return [math.log(self.learner.theta / number + 1) for number in range(1, len(self.layers) + 1)]

    def _sites(self, ctx: ForwardContext) -> list[Dropout]:
        """Return the dropout sites: after the first convolution and after each layer."""
        rate = float(self.learner.hidden_dropout or 0)
        return [ctx.site(number, "hidden", rate) for number in range(len(self.layers) + 1)]


@dataclass(eq=False, repr=False)
class GCNII(Learner):
    """Deep graph convolutional network; `direction` is as for :class:`GCN`.

    `widths` has the same number for every layer; four layers were as good as two on Wiki, for nodes, and
    better on Air and on order 2. `alpha` (α) is the share of the first representation in every layer, `theta`
    (λ in the paper, θ in PyTorch Geometric) how much a layer's weights change it: less in later layers.
    `layer_decay` is the weight decay of these weights.

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
    alpha
        Share of the first layer's output in every layer.
    theta
        Strength of the weights, falling with depth.
    layer_decay
        Weight decay of the inner layers.
    """

    edge_power: float | str = 0.25
    widths: int | Sequence[int] = (128, 128, 128, 128)
    direction: str = "both"
    alpha: float = 0.5
    theta: float = 1.0
    layer_decay: float = 0.01

    kind: ClassVar[str] = "gcnii"
    task_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = GCN.task_defaults
    training_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = GCN.training_defaults

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        super().check()
        self._check_direction()
        if len(set(self.layer_widths)) > 1:
            raise ParameterError(
                f"The 'widths' parameter of {self.name} must have the same number for every layer, since "
                f"each adds to the first. Got {self.widths!r} instead."
            )
        check_real(self.name, "alpha", self.alpha, 0, 1)
        check_real(self.name, "theta", self.theta, 0, 100)
        check_real(self.name, "layer_decay", self.layer_decay, 0)

    def sums_over_rows(self, near: Neighborhood) -> bool:
        """There is always a layer between the first convolution and the roots."""
        return True

    def neighborhood(self, network: HigherOrderNetwork, mask: SelfMask) -> Neighborhood:
        """Return whole neighbourhoods under Â."""
        adjacency = normalized_adjacency(network, self.power, self.direction)
        return ExactNeighborhood(network, len(self.layer_widths) + 1, adjacency, mask)

    def stack(self, inputs: Inputs, generators: Generators) -> Stack:
        """Return new weights."""
        return GCNIIStack(self, inputs, generators)
