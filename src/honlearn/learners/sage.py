"""GraphSAGE: sample and aggregate (Hamilton, Ying & Leskovec, NeurIPS 2017), directed and weighted.

    h' = [W_s h ‖ W_i AGG over in-neighbours h ‖ W_o AGG over out-neighbours h] + b,

with relu and dropout between layers, and h scaled to length 1 after the last. AGG is the mean weighted by
edge weight ** `edge_power`, or max-pooling, max over neighbours of relu(W_p h + b_p). The paper's base
learner. PyTorch Geometric's ``SAGEConv`` knows neither weights nor direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from honlearn.engine.adjacency import directed_means
from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import ExactNeighborhood, Hop, Neighborhood, SelfMask
from honlearn.engine.products import product
from honlearn.engine.propagate import Lookups, LookupSites, gather, lookup_layer, max_rows, sum_rows, take
from honlearn.engine.sampled import SampledNeighborhood
from honlearn.engine.weights import Generators, glorot, split_width, zeros
from honlearn.errors import ParameterError, check_choice, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.base import Inputs, Learner, Stack, check_sequence
from honlearn.learners.layers import Layer, LayerShape, LayerStack
from honlearn.sampling.neighbors import as_fan_outs


class MeanLayer(Layer):
    """Weighted means: h' = [W_s h ‖ W_i mean_in h ‖ W_o mean_out h] + b."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        own, into, out_of = split_width(shape.width, 3)
        self.own, self.into, self.out_of = self.weight(own), self.weight(into), self.weight(out_of)
        self.bias = zeros(generators, shape.width)

    def forward(
        self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | Lookups | None
    ) -> torch.Tensor | Lookups:
        """Return the rows of this layer, [L, R, width]; of a first layer, unless it is the last, look-ups."""
        weights = (self.own, self.into, self.out_of)
        if x is None:
            touched = hop.touched or (None, None, None)
            own = self.own_table(ctx, self.own, touched[0])
            into, out_of = (self.table(ctx, *both) for both in zip(weights[1:], touched[1:], strict=True))
            sites = LookupSites(*self.input_sites(ctx), self.hidden_site(ctx))
            looked_up = Lookups(ctx.run, hop, (own, into, out_of), self.bias, sites)
            return looked_up.rows(activated=False) if self.shape.last else looked_up
        if isinstance(x, Lookups) and not hop.once:
            x = x.rows()
        if not isinstance(x, Lookups) and self._transforms_first(hop, x.shape[2]):
            tables = (
                product(ctx.run, x, self.own),
                product(ctx.run, x, self.into),
                product(ctx.run, x, self.out_of),
            )
            still = ctx.site(0, "own", 0.0)
            sites = LookupSites(still, still, still, self.hidden_site(ctx))
            return lookup_layer(ctx.run, hop, tables, self.bias, sites, not self.shape.last)
        parts = gather(ctx.run, hop, x)
        z = torch.cat(
            [product(ctx.run, part, weight) for part, weight in zip(parts, weights, strict=True)], 2
        )
        z = z + self.bias[:, None]
        return z if self.shape.last else self.drop_hidden(ctx, hop, torch.relu(z))

    def _transforms_first(self, hop: Hop, width: int) -> bool:
        if hop.own_rows:
            return False
        nodes, entries = len(hop.parts[0].indptr) - 1, sum(part.indices.shape[1] for part in hop.parts)
        return transforms_first(nodes, entries, hop.usual_rows, width, self.into.shape[2])


def transforms_first(nodes: int, entries: int, usual_rows: int, width: int, narrow: int) -> bool:
    """Return whether to multiply all inputs by the weights before neighbours are summed, which is the same.

    It sums rows of `narrow` in place of `width` numbers, but multiplies the input of every node and not the
    rows of the hop alone. A number that is summed costs about as much as :data:`_MULTIPLIED` that are
    multiplied in a matrix product. The sizes of the network and of a usual batch decide, never the batch at
    hand: a row would be rounded otherwise in other company.
    """
    asked = min(nodes, usual_rows)
    read = entries * (asked / max(nodes, 1))
    return _MULTIPLIED * read * (width - narrow) > (nodes - asked) * width * narrow * (1 + _DIRECTIONS)


_MULTIPLIED, _DIRECTIONS = 8, 2


class MaxPoolLayer(Layer):
    """Max-pooling: for each direction W · max over neighbours of relu(W_p h + b_p)."""

    def __init__(self, shape: LayerShape, generators: Generators) -> None:
        super().__init__(shape, generators)
        own, into, out_of = split_width(shape.width, 3)
        self.own, self.pool_into, self.pool_out_of = self.weight(own), self.weight(into), self.weight(out_of)
        self.pool_bias = zeros(generators, into + out_of)
        self.into, self.out_of = glorot(generators, into, into), glorot(generators, out_of, out_of)
        self.bias = zeros(generators, shape.width)

    def forward(self, ctx: ForwardContext, hop: Hop, x: torch.Tensor | None) -> torch.Tensor:
        """Return the rows of this layer, [L, R, width]."""
        run, still = ctx.run, ctx.site(0, "own", 0.0)
        if x is None:
            sites = self.input_sites(ctx)
            touched = hop.touched or (None, None, None)
            pools = self.pool_into, self.pool_out_of
            tables = [self.table(ctx, *both) for both in zip(pools, touched[1:], strict=True)]
            table = self.own_table(ctx, self.own, touched[0])
            own = sum_rows(run, hop.own, hop.rows, table, sites[0])
        else:
            sites = (still, still, still)
            tables = [product(run, x, self.pool_into), product(run, x, self.pool_out_of)]
            own = product(run, take(run, hop, x), self.own)
        # relu and a bias keep the order of values, so they can follow the maximum.
        into = max_rows(run, hop.into, hop.rows, tables[0], sites[1])
        out_of = max_rows(run, hop.out_of, hop.rows, tables[1], sites[2])
        pooled = torch.relu(torch.cat([into, out_of], 2) + self.pool_bias[:, None])
        width = into.shape[2]
        halves = product(run, pooled[..., :width], self.into), product(run, pooled[..., width:], self.out_of)
        z = torch.cat([own, *halves], 2)
        z = z + self.bias[:, None]
        return z if self.shape.last else self.drop_hidden(ctx, hop, torch.relu(z))


AGGREGATORS: dict[str, type[Layer]] = {"mean": MeanLayer, "max": MaxPoolLayer}


class SAGEStack(LayerStack):
    """GraphSAGE layers, and representations of length 1."""

    learner: SAGE

    @property
    def normalize(self) -> bool:  # type: ignore[override]
        """Whether representations are scaled to length 1."""
        return bool(self.learner.normalize)

    def make_layer(self, shape: LayerShape, generators: Generators) -> Layer:
        """Return a layer with the learner's aggregator."""
        return AGGREGATORS[self.learner.aggregator](shape, generators)


@dataclass(eq=False, repr=False)
class SAGE(Learner):
    """GraphSAGE; see :class:`Learner` for the parameters that all learners have.

    `aggregator` is ``"mean"`` or ``"max"``. `fan_outs` None reads whole neighbourhoods, a sequence samples
    that many in- and out-neighbours at each depth (the paper: 64 and 1). `normalize` scales representations
    to length 1, as the published program does. Defaults of dropout are 0.6 for nodes (0.4 in the paper: 0.6
    was better inside the training folds of Wiki), 0.4 and 0.2 for links.

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
    aggregator
        ``"mean"`` or ``"max"`` of the neighbours.
    fan_outs
        Neighbours that each layer draws; one number is one layer, None reads all.
    normalize
        Whether representations have unit length; None is what suits the task.

    Examples
    --------
    >>> SAGE(widths=(64, 64)), SAGE().resolved("links").normalize
    (SAGE(widths=(64, 64)), False)
    """

    aggregator: str = "mean"
    fan_outs: int | Sequence[int] | None = None
    normalize: bool | None = None

    kind: ClassVar[str] = "sage"
    task_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nodes": {"input_dropout": 0.6, "hidden_dropout": 0.6, "normalize": True, "mask_self": True},
        "links": {"input_dropout": 0.4, "hidden_dropout": 0.2, "normalize": False, "mask_self": False},
    }

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        super().check()
        check_choice(self.name, "aggregator", self.aggregator, AGGREGATORS)
        self._check_flags("normalize")
        check_fan_outs(self)

    @property
    def masks_by_vector(self) -> bool:
        """A root reads nothing in place of its identity: the bias of its own part learns what that means."""
        return False

    def sums_over_rows(self, near: Neighborhood) -> bool:
        """Return whether rows of other nodes than the roots are multiplied, in torch."""
        is_known = len(self.layer_widths) == 2 and self.aggregator == "mean"
        if not is_known or not isinstance(near, ExactNeighborhood):
            return super().sums_over_rows(near)
        width, narrow = self.layer_widths[0], split_width(self.width, 3)[1]
        return transforms_first(near.n_nodes, near.n_entries, near.usual_rows, width, narrow)

    def neighborhood(self, network: HigherOrderNetwork, mask: SelfMask) -> Neighborhood:
        """Return whole or sampled neighbourhoods, in- and out-neighbours apart."""
        fan_outs = fan_outs_of(self)
        if fan_outs is not None:
            return SampledNeighborhood(network, fan_outs, False, self.power, mask)
        means = directed_means(network, self.power)
        return ExactNeighborhood(network, len(self.layer_widths), means, mask)

    def stack(self, inputs: Inputs, generators: Generators) -> Stack:
        """Return new weights."""
        return SAGEStack(self, inputs, generators)


# Dropout sites of more layers would be those of the sampling (engine/sampled.py).
_MOST_SAMPLED = 6


def fan_outs_of(learner: Any) -> tuple[int, ...] | None:
    """Return the fan-out of each layer, None where whole neighbourhoods are read.

    >>> fan_outs_of(SAGE(widths=64, fan_outs=8)), fan_outs_of(SAGE(fan_outs=[64, 1])), fan_outs_of(SAGE())
    ((8,), (64, 1), None)
    """
    return as_fan_outs(getattr(learner, "fan_outs", None))


def check_fan_outs(learner: Any) -> None:
    """Raise unless there is one fan-out, at least 1, for each layer, or none at all."""
    if learner.fan_outs is not None:
        check_sequence(learner.name, "fan_outs", learner.fan_outs)
    numbers = fan_outs_of(learner)
    if numbers is None:
        return
    if len(numbers) != len(learner.layer_widths):
        raise ParameterError(
            f"The 'fan_outs' parameter of {learner.name} must have one number for each of the "
            f"{len(learner.layer_widths)} layers in widths. Got {learner.fan_outs!r} instead."
        )
    if len(numbers) > _MOST_SAMPLED:
        raise ParameterError(
            f"The 'fan_outs' parameter of {learner.name} may have at most {_MOST_SAMPLED} numbers, one for "
            f"each layer. Got {len(numbers)}; leave it out to read whole neighbourhoods."
        )
    for count in numbers:
        check_integer(learner.name, "fan_outs", count, 1, 2**31 - 1)
