"""GIN: graph isomorphism network (Xu et al., ICLR 2019), directed and weighted.

    h' = ‖ over in and out of MLP((1 + ε) h + Σ over these neighbours h), ε learned.

Sums take weights that average 1 within a neighbourhood, so equal weights give the plain sum, and a sample of
n neighbours estimates it by degree times mean. (The published program has sums only, without MLP and ε.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from honlearn.engine.adjacency import directed_sums
from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import ExactNeighborhood, Hop, Neighborhood, SelfMask
from honlearn.engine.products import for_rows, product
from honlearn.engine.propagate import gather, sum_rows
from honlearn.engine.sampled import SampledNeighborhood
from honlearn.engine.weights import Generators, glorot, split_width, zeros
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.base import Inputs, Learner, Stack
from honlearn.learners.layers import Layer, LayerShape, LayerStack
from honlearn.learners.sage import SAGE, check_fan_outs, fan_outs_of


class GINLayer(Layer):
    """One GIN layer, in each direction."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        into, out_of = split_width(shape.width, 2)
        self.epsilon = zeros(generators, 2)
        self.into, self.out_of = self.weight(into), self.weight(out_of)
        self.bias = zeros(generators, shape.width)
        self.into_2, self.out_of_2 = glorot(generators, into, into), glorot(generators, out_of, out_of)
        self.bias_2 = zeros(generators, shape.width)

    def forward(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | None) -> torch.Tensor:
        """Return the rows of this layer, [L, R, width]."""
        run, rows = ctx.run, hop.rows
        factor = 1 + for_rows(self.epsilon, len(ctx.streams), hop.rows.shape[1])
        if x is None:
            sites = self.input_sites(ctx)
            touched = None if hop.touched is None else hop.touched[0]
            tables = [self.own_table(ctx, w, touched) for w in (self.into, self.out_of)]
            parts = [
                factor[..., i : i + 1] * sum_rows(run, hop.own, rows, tables[i], sites[0])
                + sum_rows(run, part, rows, tables[i], sites[1 + i])
                for i, part in enumerate(hop.parts)
            ]
        else:
            own, into, out_of = gather(run, hop, x)
            parts = [
                product(run, factor[..., :1] * own + into, self.into),
                product(run, factor[..., 1:] * own + out_of, self.out_of),
            ]
        joined = torch.cat(parts, 2)
        hidden = torch.relu(joined + for_rows(self.bias, *joined.shape[:2]))
        width = parts[0].shape[2]
        halves = hidden[..., :width], hidden[..., width:]
        weights = self.into_2, self.out_of_2
        z = torch.cat([product(run, x, weight) for x, weight in zip(halves, weights, strict=True)], 2)
        z = z + for_rows(self.bias_2, *z.shape[:2])
        return z if self.shape.last else self.drop_hidden(ctx, hop, torch.relu(z))


class GINStack(LayerStack):
    """GIN layers, and representations of length 1."""

    layer = GINLayer
    learner: GIN

    @property
    def normalize(self) -> bool:  # type: ignore[override]
        """Whether representations are scaled to length 1."""
        return bool(self.learner.normalize)


@dataclass(eq=False, repr=False)
class GIN(Learner):
    """Graph isomorphism network; `fan_outs` and `normalize` are as for :class:`SAGE`.

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
    fan_outs
        Neighbours that each layer draws; one number is one layer, None reads all.
    normalize
        Whether representations have unit length; None is what suits the task.
    """

    fan_outs: int | Sequence[int] | None = None
    normalize: bool | None = None

    kind: ClassVar[str] = "gin"
    task_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = SAGE.task_defaults

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        super().check()
        self._check_flags("normalize")
        check_fan_outs(self)

    @property
    def masks_by_vector(self) -> bool:
        """A root reads nothing in place of its identity."""
        return False

    def neighborhood(self, network: HigherOrderNetwork, mask: SelfMask) -> Neighborhood:
        """Return whole or sampled neighbourhoods, in- and out-neighbours apart."""
        fan_outs = fan_outs_of(self)
        if fan_outs is not None:
            return SampledNeighborhood(network, fan_outs, True, self.power, mask)
        sums = directed_sums(network, self.power)
        return ExactNeighborhood(network, len(self.layer_widths), sums, mask)

    def stack(self, inputs: Inputs, generators: Generators) -> Stack:
        """Return new weights."""
        return GINStack(self, inputs, generators)
