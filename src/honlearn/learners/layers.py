"""Layers that read hops: what SAGE, GIN, GCN, GCNII, GAT and GATv2 have in common.

In: a hop and the rows of the layer before ``[L, M, d]`` (None for the first layer, which reads look-ups).
Out: ``[L, R, width]``. Weights are ``[P, …]`` with P = L, or P = 1 where learners share them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import Hop, Neighborhood, SelfMask
from honlearn.engine.propagate import Dropout, Lookups, drop
from honlearn.engine.touched import Touched
from honlearn.engine.weights import Generators, InputWeight, glorot
from honlearn.learners.base import Inputs, Learner, Stack

Weight = torch.Tensor | InputWeight


class LayerShape(NamedTuple):
    """Where a layer stands: number, width in (None: look-ups) and out, last or not, dropout, inputs."""

    number: int
    width_in: int | None
    width: int
    last: bool
    input_dropout: float
    hidden_dropout: float
    inputs: Inputs
    identity: bool
    mask: SelfMask


class Layer(nn.Module):
    """Weights over look-ups or hidden rows, and dropout sites."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__()
        self.shape, self.generators = shape, generators

    def weight(self, width: int) -> Any:
        """Return a weight that multiplies the layer's input: over look-ups in the first layer."""
        shape = self.shape
        if shape.width_in is not None:
            return glorot(self.generators, shape.width_in, width)
        masked = shape.mask.active and shape.mask.vector
        n_entities, features = shape.inputs
        return InputWeight(self.generators, n_entities, features, shape.identity, width, masked)

    @property
    def drops_entries(self) -> bool:
        """Whether input dropout drops neighbours; False where it drops elements of features instead."""
        return self.shape.identity

    def input_sites(self, ctx: ForwardContext) -> tuple[Dropout, Dropout, Dropout]:
        """Return the sites of look-ups: of the node itself, and of its neighbours by direction."""
        rate, number = self.shape.input_dropout if self.drops_entries else 0.0, self.shape.number
        return ctx.site(number, "own", rate), ctx.site(number, "into", rate), ctx.site(number, "out_of", rate)

    def table(self, ctx: ForwardContext, weight: InputWeight, touched: Touched | None = None) -> torch.Tensor:
        """Return the input of a first layer times `weight`, [1|L, V, d]; of a hop's `touched`, [L, U, d]."""
        return weight.table(ctx.run, self._feature_site(ctx), touched)

    def own_table(
        self, ctx: ForwardContext, weight: InputWeight, touched: Touched | None = None
    ) -> torch.Tensor:
        """Return :meth:`table` with rows for roots whose identity is hidden, [1|L, V … 2 V, d]."""
        if not self.shape.mask.active:
            return self.table(ctx, weight, touched)
        return weight.table_for_roots(ctx.run, self._feature_site(ctx), touched)

    def _feature_site(self, ctx: ForwardContext) -> Dropout:
        """Return the site that drops elements of features, where they are all that there is."""
        rate = 0.0 if self.drops_entries else self.shape.input_dropout
        return ctx.site(self.shape.number, "features", rate)

    def hidden_site(self, ctx: ForwardContext) -> Dropout:
        """Return the site that drops values of the layer's output."""
        return ctx.site(self.shape.number, "hidden", self.shape.hidden_dropout)

    def drop_hidden(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor) -> torch.Tensor:
        """Return dropout of the layer's output."""
        return drop(ctx.run, hop.rows, x, self.hidden_site(ctx))


def loops(hop: Hop, x: torch.Tensor) -> torch.Tensor:
    """Return x [L, R, d], the rows themselves, times the weight of each row's loop."""
    assert hop.loop is not None
    return x * torch.from_numpy(hop.loop[hop.rows]).to(x)[:, :, None]


class LayerStack(Stack):
    """Layers one after another over the hops of a neighbourhood."""

    layer: type[Layer]
    normalize = False

    def __init__(self, learner: Learner, inputs: Inputs, generators: Generators) -> None:
        super().__init__()
        self.width = learner.width
        self.learner = learner
        shapes = layer_shapes(learner, inputs)
        self.layers = nn.ModuleList(self.make_layer(shape, generators) for shape in shapes)

    def make_layer(self, shape: LayerShape, generators: Generators) -> Layer:
        """Return one layer."""
        return self.layer(shape, generators)

    def represent(self, roots: NDArray[np.int32], near: Neighborhood, ctx: ForwardContext) -> torch.Tensor:
        """Return h of the roots [1|L, B] for each learner: [L, B, d]."""
        x: torch.Tensor | Lookups | None = None
        for layer, hop in zip(self.layers, near.hops(roots, ctx.streams, ctx.step), strict=True):
            x = layer(ctx, hop, x)
        assert isinstance(x, torch.Tensor)
        return nn.functional.normalize(x, dim=2) if self.normalize else x


def layer_shapes(learner: Learner, inputs: Inputs) -> list[LayerShape]:
    """Return the shape of each layer of a learner whose open parameters are resolved."""
    widths, mask = learner.layer_widths, learner.mask(inputs.features is not None)
    rates = (float(learner.input_dropout or 0), float(learner.hidden_dropout or 0))
    before: list[int | None] = [None, *widths[:-1]]
    return [
        LayerShape(i, width_in, width, i == len(widths) - 1, *rates, inputs, learner.identity, mask)
        for i, (width_in, width) in enumerate(zip(before, widths, strict=True))
    ]
