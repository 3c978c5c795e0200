"""Ensembles over pairs: two roots for each example, an operator that joins them, and the heads as they are.

In: roots and, for each learner and pair, the places of its two ends among them. Out: logits ``[G, B, 2]``. A
node that many pairs share is represented once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.adjacency import single
from honlearn.engine.context import ForwardContext
from honlearn.engine.propagate import Dropout, drop, product, sum_rows
from honlearn.engine.weights import Generators, glorot, zeros
from honlearn.ensemble.ensemble import (
    Architecture,
    Ensemble,
    Surroundings,
    learner_generators,
    make_head,
)

OPERATORS = ("concat", "hadamard", "average", "l1", "l2")

Places = NDArray[np.int32]


@dataclass(frozen=True)
class PairArchitecture(Architecture):
    """The shape of an ensemble over pairs: also the operator, its dense layer, and whether order counts."""

    operator: str = "concat"
    pair_width: int = 64
    directed: bool = True

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators whose results are read side by side: ``"concat+hadamard"`` has two."""
        return tuple(sorted(self.operator.split("+"), key=OPERATORS.index))


class PairBatch(NamedTuple):
    """Roots int32 [1|L, R], the places of both ends of each pair among them int32 [1|L, B, 2], and what
    surrounds them in this batch.
    """

    roots: NDArray[np.int32]
    places: NDArray[np.int32]
    near: Surroundings


def pair_batch(relatives: NDArray[np.int32], possible: NDArray[np.int32], near: Surroundings) -> PairBatch:
    """Return the batch of these relatives of pairs [L, B, 2], which are among the `possible`, ascending.

    Whole neighbourhoods give a node one representation, so the possible relatives become the roots of all
    learners: all of them, so that sums add up in the same order no matter which learners train together.
    Sampled neighbourhoods are drawn anew for each place.
    """
    learners, count, _ = relatives.shape
    if not near.is_exact:
        places = np.arange(2 * count, dtype=np.int32).reshape(1, count, 2)
        return PairBatch(relatives.reshape(learners, -1), places, near)
    return PairBatch(possible[None], np.searchsorted(possible, relatives).astype(np.int32), near)


class PairEnsemble(Ensemble):
    """Stacked learners that read pairs: z = relu(W · op(h_u, h_v) + b) in each learner, then the head.

    Without direction, both orders are averaged. A `pair_width` of 0 leaves out the dense layer.
    """

    shape: PairArchitecture

    def _head(self, seed: int, owners: Sequence[int], generators: Generators) -> nn.Module:
        """Add the dense layer over pairs and return the head behind it."""
        shape = self.shape
        generators = learner_generators(seed, owners, "init", "pair")
        width = shape.width * (len(shape.operators) + ("concat" in shape.operators))
        if shape.pair_width:
            self.dense = glorot(generators, width, shape.pair_width)
            self.dense_bias = zeros(generators, shape.pair_width)
            width = shape.pair_width
        if shape.is_joint:
            generators = learner_generators(seed, ["head"], "init", "pair")
        return make_head(shape, width, generators)

    def forward(self, batch: Any, near: Surroundings, ctx: ForwardContext) -> torch.Tensor:
        """Return logits [G, B, 2] of a :class:`PairBatch`, which brings its own neighbourhood."""
        return self.score(self.represent(batch.roots, batch.near, ctx), batch.places, ctx)

    def score(self, h: torch.Tensor, places: NDArray[np.int32], ctx: ForwardContext) -> torch.Tensor:
        """Return logits [G, B, 2] of the pairs at these places [1|L, B, 2] of representations [L, R, d]."""
        u, v = (np.ascontiguousarray(places[:, :, side]) for side in (0, 1))
        ordered = self.shape.directed or "concat" not in self.shape.operators
        orders = [(u, v)] if ordered else [(u, v), (v, u)]
        joined = self._dense if self.shape.pair_width else self._plain
        parts = [joined(h, a, b, ctx) for a, b in orders]
        z = parts[0] if ordered else (parts[0] + parts[1]) / 2
        if self.shape.pair_width:
            kind = self.shape.kinds[0]
            site = ctx.site(len(kind.layer_widths), "own", float(kind.hidden_dropout or 0))
            z = drop(ctx.run, np.arange(z.shape[1], dtype=np.int32)[None], z, site)
        logits: torch.Tensor = self.head(z)
        return logits

    def _plain(self, h: torch.Tensor, u: Places, v: Places, ctx: ForwardContext) -> torch.Tensor:
        """Return what the operators make of the pairs, side by side, [L, B, k · d]."""
        h_u, h_v = _take(ctx, h, u), _take(ctx, h, v)
        return torch.cat([operate(name, h_u, h_v) for name in self.shape.operators], 2)

    def _dense(self, h: torch.Tensor, u: Places, v: Places, ctx: ForwardContext) -> torch.Tensor:
        """Return the dense layer over what the operators make of the pairs, [L, B, pair_width]."""
        run, width, start = ctx.run, h.shape[2], 0
        if self.shape.operators[0] != "concat" or u.shape[1] <= h.shape[1]:
            return torch.relu(product(run, self._plain(h, u, v, ctx), self.dense) + self.dense_bias[:, None])
        # More pairs than nodes: W [h_u ‖ h_v] = W_1 h_u + W_2 h_v, taken node by node.
        z = self.dense_bias[:, None]
        for places in (u, v):
            part = self.dense[:, start : start + width].contiguous()
            z = z + _take(ctx, product(run, h, part), places)
            start += width
        if len(self.shape.operators) > 1:
            h_u, h_v = _take(ctx, h, u), _take(ctx, h, v)
            rest = torch.cat([operate(name, h_u, h_v) for name in self.shape.operators[1:]], 2)
            z = z + product(run, rest, self.dense[:, start:].contiguous())
        return torch.relu(z)


def operate(operator: str, h_u: torch.Tensor, h_v: torch.Tensor) -> torch.Tensor:
    """Return what one operator makes of two ends [..., d] each: [..., d], or [..., 2 d] for ``"concat"``."""
    if operator == "concat":
        return torch.cat([h_u, h_v], -1)
    if operator == "hadamard":
        return h_u * h_v
    if operator == "average":
        return (h_u + h_v) / 2
    difference = h_u - h_v
    return difference.abs() if operator == "l1" else difference.square()


def _take(ctx: ForwardContext, x: torch.Tensor, rows: NDArray[np.int32]) -> torch.Tensor:
    """Return the rows [1|L, B] of x [L, R, d]: [L, B, d]."""
    one = single(x.shape[1], np.arange(x.shape[1], dtype=np.int32)[None])
    return sum_rows(ctx.run, one, rows, x.contiguous(), Dropout(0.0, np.zeros(len(x), np.uint32)))
