"""The layers of the base learners: GraphSAGE with mean or max-pool, and GIN; directed, stacked over learners.

In: a hop and the rows of the layer before ``[L, M, d]`` (None for the first layer, which reads look-ups).
Out: ``[L, R, width]``, with relu and dropout unless the layer is the last. Weights are ``[P, …]`` with P = L,
or P = 1 where learners share them. Each layer has groups of its own width for the node itself, its
in-neighbours and its out-neighbours, side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.hashing import short_keys, site_keys
from honlearn.engine.neighborhoods import Hop
from honlearn.engine.propagate import (
    Dropout,
    Lookups,
    LookupSites,
    drop,
    gather,
    max_rows,
    product,
    sum_rows,
)
from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features, Generators, InputWeight, glorot, split_width, zeros

_USES = ("own", "into", "out_of", "hidden", "features")


class Pass(NamedTuple):
    """One pass through the layers: the learners' streams uint64 [L], the step, and the dropout rates."""

    run: Runtime
    streams: NDArray[np.uint64]
    step: int
    input_dropout: float = 0.0
    hidden_dropout: float = 0.0

    def site(self, layer: int, use: str, rate: float) -> Dropout:
        """Return the dropout site of this use in this layer."""
        if rate == 0:
            return Dropout(0.0, np.zeros(len(self.streams), np.uint32))
        keys = site_keys(self.streams, self.step, layer * len(_USES) + _USES.index(use))
        return Dropout(rate, short_keys(keys))


class LayerShape(NamedTuple):
    """Where a layer stands: number, input width (None: look-ups), output width, last or not, its input.

    With `echo` roots look themselves up as others do, without it their features only.
    """

    number: int
    width_in: int | None
    width: int
    last: bool
    n_entities: int
    features: Features | None
    identity: bool
    echo: bool = True


class Layer(nn.Module):
    """What the three layers have in common: weights over look-ups or hidden rows, and dropout sites."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__()
        self.shape, self.generators = shape, generators

    def weight(self, width: int) -> Any:
        """Return a weight that multiplies the layer's input: over look-ups in the first layer."""
        shape = self.shape
        if shape.width_in is None:
            return InputWeight(self.generators, shape.n_entities, shape.features, shape.identity, width)
        return glorot(self.generators, shape.width_in, width)

    @property
    def entry_dropout(self) -> bool:
        """Whether input dropout drops neighbours; False where it drops elements of features instead."""
        return self.shape.identity

    def input_sites(self, this: Pass) -> tuple[Dropout, Dropout, Dropout]:
        """Return the sites of the three uses of look-ups."""
        rate = this.input_dropout if self.entry_dropout else 0.0
        number = self.shape.number
        own, into, out_of = (this.site(number, use, rate) for use in _USES[:3])
        return own, into, out_of

    def table(self, this: Pass, weight: Any) -> torch.Tensor:
        """Return the input of a first layer times `weight`, [1|L, V, d]."""
        out: torch.Tensor = weight.table(this.run, self._feature_site(this))
        return out

    def own_table(self, this: Pass, weight: Any) -> torch.Tensor:
        """Return :meth:`table` for the use `own`: without echo with rows for roots, [1|L, V|2 V, d]."""
        if self.shape.echo:
            return self.table(this, weight)
        out: torch.Tensor = weight.table_for_roots(this.run, self._feature_site(this))
        return out

    def _feature_site(self, this: Pass) -> Dropout:
        """Return the site that drops elements of features, where they are all that there is."""
        return this.site(self.shape.number, "features", 0.0 if self.entry_dropout else this.input_dropout)

    def finish(self, this: Pass, hop: Hop, x: torch.Tensor) -> torch.Tensor:
        """Return relu and dropout of x, or x itself in the last layer."""
        if self.shape.last:
            return x
        return drop(
            this.run, hop.rows, torch.relu(x), this.site(self.shape.number, "hidden", this.hidden_dropout)
        )


class MeanLayer(Layer):
    """GraphSAGE with weighted means: h' = [W_s h ‖ W_i mean_in h ‖ W_o mean_out h] + b."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        own, into, out_of = split_width(shape.width, 3)
        self.own, self.into, self.out_of = self.weight(own), self.weight(into), self.weight(out_of)
        self.bias = zeros(generators, shape.width)

    def forward(self, this: Pass, hop: Hop, x: torch.Tensor | Lookups | None) -> torch.Tensor | Lookups:
        """Return the rows of this layer, [L, R, width]; of a first layer, unless it is the last, look-ups."""
        weights = (self.own, self.into, self.out_of)
        if x is None:
            own = self.own_table(this, self.own)
            into, out_of = self.table(this, self.into), self.table(this, self.out_of)
            hidden = this.site(self.shape.number, "hidden", this.hidden_dropout)
            sites = LookupSites(*self.input_sites(this), hidden)
            looked_up = Lookups(this.run, hop, (own, into, out_of), self.bias, sites)
            return looked_up.rows(activated=False) if self.shape.last else looked_up
        parts = gather(this.run, hop, x)
        z = torch.cat(
            [product(this.run, part, weight) for part, weight in zip(parts, weights, strict=True)], 2
        )
        return self.finish(this, hop, z + self.bias[:, None])


class MaxPoolLayer(Layer):
    """GraphSAGE with max-pooling: for each direction W · max over neighbours of relu(W_p h + b_p)."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        own, into, out_of = split_width(shape.width, 3)
        self.own, self.pool_into, self.pool_out_of = self.weight(own), self.weight(into), self.weight(out_of)
        self.pool_bias = zeros(generators, into + out_of)
        self.into, self.out_of = glorot(generators, into, into), glorot(generators, out_of, out_of)
        self.bias = zeros(generators, shape.width)

    def forward(self, this: Pass, hop: Hop, x: torch.Tensor | None) -> torch.Tensor:
        """Return the rows of this layer, [L, R, width]."""
        run, still = this.run, this.site(0, "own", 0.0)
        if x is None:
            sites = self.input_sites(this)
            tables = [self.table(this, w) for w in (self.pool_into, self.pool_out_of)]
            own = sum_rows(run, hop.own, hop.rows, self.own_table(this, self.own), sites[0])
        else:
            sites = (still, still, still)
            tables = [product(run, x, self.pool_into), product(run, x, self.pool_out_of)]
            own = product(run, sum_rows(run, hop.own, hop.rows, x, still), self.own)
        # relu and a bias keep the order of values, so they can follow the maximum.
        into = max_rows(run, hop.into, hop.rows, tables[0], sites[1])
        out_of = max_rows(run, hop.out_of, hop.rows, tables[1], sites[2])
        pooled = torch.relu(torch.cat([into, out_of], 2) + self.pool_bias[:, None])
        width = into.shape[2]
        z = torch.cat([own, pooled[..., :width] @ self.into, pooled[..., width:] @ self.out_of], 2)
        return self.finish(this, hop, z + self.bias[:, None])


class GINLayer(Layer):
    """GIN in each direction: h' = ‖_{in, out} MLP((1 + ε) h + Σ over neighbours of h), ε learned.

    Sums take weights that average 1 within a neighbourhood, so equal weights give the plain sum, and a
    sample of n neighbours estimates it by degree times mean. (The published program has sums only.)
    """

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        widths = split_width(shape.width, 2)
        self.epsilon = zeros(generators, 2)
        self.into, self.out_of = self.weight(widths[0]), self.weight(widths[1])
        self.bias = zeros(generators, shape.width)
        self.into_2, self.out_of_2 = (
            glorot(generators, *[widths[0]] * 2),
            glorot(generators, *[widths[1]] * 2),
        )
        self.bias_2 = zeros(generators, shape.width)

    def forward(self, this: Pass, hop: Hop, x: torch.Tensor | None) -> torch.Tensor:
        """Return the rows of this layer, [L, R, width]."""
        run, rows = this.run, hop.rows
        factor = 1 + self.epsilon[:, None]
        if x is None:
            sites = self.input_sites(this)
            tables = [self.own_table(this, w) for w in (self.into, self.out_of)]
            parts = [
                factor[..., i : i + 1] * sum_rows(run, hop.own, rows, tables[i], sites[0])
                + sum_rows(run, part, rows, tables[i], sites[1 + i])
                for i, part in enumerate((hop.into, hop.out_of))
            ]
        else:
            own, into, out_of = gather(run, hop, x)
            parts = [
                (factor[..., :1] * own + into) @ self.into,
                (factor[..., 1:] * own + out_of) @ self.out_of,
            ]
        hidden = torch.relu(torch.cat(parts, 2) + self.bias[:, None])
        width = parts[0].shape[2]
        z = torch.cat([hidden[..., :width] @ self.into_2, hidden[..., width:] @ self.out_of_2], 2)
        return self.finish(this, hop, z + self.bias_2[:, None])


LAYERS: dict[str, type[Layer]] = {"mean": MeanLayer, "max": MaxPoolLayer, "gin": GINLayer}
