"""Ensembles over pairs: two roots for each example, an operator that joins them, and the heads as they are.

In: roots and, for each learner and pair, the places of its two ends among them; perhaps features and common
neighbours of each pair. Out: logits ``[G, B, 2]``. A node that many pairs share is represented once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.adjacency import Rows, single
from honlearn.engine.context import ForwardContext
from honlearn.engine.products import product
from honlearn.engine.propagate import drop, sum_all
from honlearn.engine.weights import Generators, glorot, zeros
from honlearn.ensemble.ensemble import (
    Architecture,
    Ensemble,
    Surroundings,
    learner_generators,
    make_head,
)
from honlearn.ensemble.pair_inputs import PairExtras
from honlearn.sampling.common_neighbors import Common

OPERATORS = ("concat", "hadamard", "average", "l1", "l2", "product")
# Of these the order of the two ends matters.
_ORDERED = ("concat", "product")

Places = NDArray[np.int32]


@dataclass(frozen=True)
class PairArchitecture(Architecture):
    """The shape of an ensemble over pairs: also the operator, its dense layer, and whether order counts.

    `n_features` is the number of features that a pair brings, `common_width` the number of values that are
    read of each common neighbour; 0 where there are none.
    """

    operator: str = "concat"
    pair_width: int = 64
    directed: bool = True
    n_features: int = 0
    common_width: int = 0
    usual_rows: ClassVar[int] = 4096

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators whose results are read side by side: ``"concat+hadamard"`` has two."""
        return tuple(sorted(self.operator.split("+"), key=OPERATORS.index))


class PairBatch(NamedTuple):
    """A batch of pairs.

    Roots int32 [1|L, R]; the places of both ends of each pair among them, int32 [1|L, B, 2]; what surrounds
    them; standardised features float32 [B, F]; and the common neighbours as rows over the roots.
    """

    roots: NDArray[np.int32]
    places: NDArray[np.int32]
    near: Surroundings
    features: NDArray[np.float32] | None = None
    common: Rows | None = None


class PairReads(NamedTuple):
    """What pairs read beside their ends: features [B, F]; common neighbours as rows of `neighbors`
    [P, W, d], their representations.
    """

    features: NDArray[np.float32] | None = None
    common: Rows | None = None
    neighbors: torch.Tensor | None = None


NOTHING = PairReads()


def common_rows(common: Common) -> tuple[NDArray[np.int32], Rows]:
    """Return the distinct common neighbours [W] and each pair's as rows over them."""
    met = np.zeros(int(common.entities.max(initial=-1)) + 1, bool)
    met[common.entities] = True
    place = (np.cumsum(met) - 1).astype(np.int32)[common.entities]
    rows = Rows(common.indptr, place[None], np.ascontiguousarray(common.weights)[None])
    return np.flatnonzero(met).astype(np.int32), rows


def with_extras(batch: PairBatch, extras: PairExtras) -> PairBatch:
    """Return a batch whose pairs read features and common neighbours; these are represented as base nodes.

    Where all learners have the same roots, a neighbour that is a root already is represented once.
    """
    if extras.common is None:
        return batch._replace(features=extras.features)
    entities, rows = common_rows(extras.common)
    roots, places = batch.roots, batch.places
    if batch.near.is_exact:
        known = roots[0]
        roots = np.union1d(known, entities).astype(np.int32)[None]
        places = np.searchsorted(roots[0], known).astype(np.int32)[places]
        met = np.searchsorted(roots[0], entities)
    else:
        roots = np.concatenate([roots, np.repeat(entities[None], len(roots), 0)], 1)
        met = np.arange(roots.shape[1] - len(entities), roots.shape[1])
    rows = rows._replace(indices=met.astype(np.int32)[rows.indices])
    return batch._replace(roots=roots, places=places, features=extras.features, common=rows)


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
    place = np.zeros(int(possible[-1]) + 1 if len(possible) else 0, np.int32)
    place[possible] = np.arange(len(possible), dtype=np.int32)
    return PairBatch(possible[None], place[relatives], near)


class PairEnsemble(Ensemble):
    """Stacked learners that read pairs: z = relu(W · [op(h_u, h_v) ‖ c ‖ x] + b) in each, then the head.

    The operator ``"product"`` is (S h_u) ⊙ (T h_v): an entity is another one as a source than as a target. c
    is Σ a_w C h_w over the common neighbours w of u and v, x the features of the pair. Without direction,
    both orders are averaged. A `pair_width` of 0 leaves out the dense layer.
    """

    shape: PairArchitecture

    def _head(self, seed: int, owners: Sequence[int], generators: Generators) -> nn.Module:
        """Add the dense layer over pairs and return the head behind it."""
        shape = self.shape
        generators = learner_generators(seed, owners, "init", "pair")
        width = shape.width * (len(shape.operators) + ("concat" in shape.operators))
        width += shape.n_features + shape.common_width
        if "product" in shape.operators:
            self.source = glorot(generators, shape.width, shape.width)
            self.target = glorot(generators, shape.width, shape.width)
        if shape.common_width:
            self.common = glorot(generators, shape.width, shape.common_width)
        if shape.pair_width:
            self.dense = glorot(generators, width, shape.pair_width)
            self.dense_bias = zeros(generators, shape.pair_width)
            width = shape.pair_width
        if shape.is_joint:
            generators = learner_generators(seed, ["head"], "init", "pair")
        return make_head(shape, width, generators)

    def forward(self, batch: Any, near: Surroundings, ctx: ForwardContext) -> torch.Tensor:
        """Return logits [G, B, 2] of a :class:`PairBatch`, which brings its own neighbourhood."""
        h = self.represent(batch.roots, batch.near, ctx)
        return self.score(h, batch.places, ctx, PairReads(batch.features, batch.common, h))

    def score(
        self, h: torch.Tensor, places: NDArray[np.int32], ctx: ForwardContext, reads: PairReads = NOTHING
    ) -> torch.Tensor:
        """Return logits [G, B, 2] of the pairs at these places [1|L, B, 2] of representations [L, R, d]."""
        u, v = (np.ascontiguousarray(places[:, :, side]) for side in (0, 1))
        ordered = self.shape.directed or not set(_ORDERED) & set(self.shape.operators)
        shared = self._shared(h, reads, ctx)
        tables = self.tables(h, ctx)
        orders = [(u, v)] if ordered else [(u, v), (v, u)]
        parts = [self._joined(_Ends(h, tables, *order), shared, ctx) for order in orders]
        z = parts[0] if ordered else (parts[0] + parts[1]) / 2
        if self.shape.pair_width:
            kind = self.shape.kinds[0]
            site = ctx.site(len(kind.layer_widths), "own", float(kind.hidden_dropout or 0))
            z = drop(ctx.run, np.arange(z.shape[1], dtype=np.int32)[None], z, site)
        logits: torch.Tensor = self.head(z)
        return logits

    def tables(self, h: torch.Tensor, ctx: ForwardContext) -> tuple[torch.Tensor, ...]:
        """Return every root as a source and as a target, [L, R, d] each; nothing where they are the same."""
        if "product" not in self.shape.operators:
            return ()
        return product(ctx.run, h, self.source), product(ctx.run, h, self.target)

    def score_row(
        self, source: torch.Tensor, targets: torch.Tensor, shared: Sequence[torch.Tensor], ctx: ForwardContext
    ) -> torch.Tensor:
        """Return logits [G, B, 2] of the pairs of one source [L, 1, d] with targets [L, B, d] of the tables.

        W [(s ⊙ t) ‖ c ‖ x] = (W_1 diag(s)) t + W_2 c + W_3 x: one product of matrices for all targets. For
        the operator ``"product"`` with a dense layer, in one order, without dropout; `shared` are c and x.
        """
        width = source.shape[2]
        z = product(ctx.run, targets, self.dense[:, :width] * source.transpose(1, 2))
        start = width
        for part in shared:
            weight = self.dense[:, start : start + part.shape[2]]
            z += product(ctx.run, part.expand(len(z), -1, -1), weight)
            start += part.shape[2]
        z += self.dense_bias[:, None]
        logits: torch.Tensor = self.head(z.relu_())
        return logits

    def _shared(self, h: torch.Tensor, reads: PairReads, ctx: ForwardContext) -> list[torch.Tensor]:
        """Return what a pair reads whatever the order of its ends: [L, B, ...] each."""
        out = []
        if self.shape.common_width:
            assert reads.common is not None
            assert reads.neighbors is not None
            out.append(pooled_neighbors(product(ctx.run, reads.neighbors, self.common), reads.common, ctx))
        if self.shape.n_features:
            assert reads.features is not None
            given = torch.from_numpy(np.ascontiguousarray(reads.features)).to(h)
            out.append(given.expand(len(h), *given.shape))
        return out

    def _joined(self, ends: _Ends, shared: list[torch.Tensor], ctx: ForwardContext) -> torch.Tensor:
        """Return what the pairs read, side by side or behind the dense layer, [L, B, ...]."""
        run, operators = ctx.run, self.shape.operators
        width, start = ends.h.shape[2], 0
        if not self.shape.pair_width:
            return torch.cat([*ends.operated(operators, ctx), *shared], 2)
        if operators[0] != "concat" or ends.u.shape[1] <= ends.h.shape[1]:
            joined = torch.cat([*ends.operated(operators, ctx), *shared], 2)
            return torch.relu(product(run, joined, self.dense) + self.dense_bias[:, None])
        # More pairs than nodes: W [h_u ‖ h_v] = W_1 h_u + W_2 h_v, taken node by node.
        z = self.dense_bias[:, None]
        for places in (ends.u, ends.v):
            part = self.dense[:, start : start + width].contiguous()
            z = z + _take(ctx, product(run, ends.h, part), places)
            start += width
        rest = [*ends.operated(operators[1:], ctx), *shared]
        if rest:
            z = z + product(run, torch.cat(rest, 2), self.dense[:, start:].contiguous())
        return torch.relu(z)


class _Ends(NamedTuple):
    """The two ends of pairs in one order: representations [L, R, d], tables, and places [1|L, B] of both."""

    h: torch.Tensor
    tables: tuple[torch.Tensor, ...]
    u: Places
    v: Places

    def operated(self, operators: Sequence[str], ctx: ForwardContext) -> list[torch.Tensor]:
        """Return what each operator makes of the pairs, [L, B, ...] each."""
        plain = [name for name in operators if name != "product"]
        ends = (_take(ctx, self.h, self.u), _take(ctx, self.h, self.v)) if plain else ()
        out = [operate(name, *ends) for name in plain]
        if "product" in operators:
            out.append(_take(ctx, self.tables[0], self.u) * _take(ctx, self.tables[1], self.v))
        return out


def pooled_neighbors(x: torch.Tensor, common: Rows, ctx: ForwardContext) -> torch.Tensor:
    """Return the weighted sum of rows of x [L, W, c] over the common neighbours of each pair, [L, B, c]."""
    count = len(common.indptr) - 1
    if not x.shape[1]:
        return x.new_zeros(len(x), count, x.shape[2])
    rows = np.arange(count, dtype=np.int32)[None]
    return sum_all(ctx.run, common, rows, x)


def operate(operator: str, h_u: torch.Tensor, h_v: torch.Tensor) -> torch.Tensor:
    """Return what one operator makes of two ends [..., d] each: [..., d], or [..., 2 d] for ``"concat"``."""
    if operator == "concat":
        return torch.cat([h_u, h_v], -1)
    if operator in ("hadamard", "product"):
        return h_u * h_v
    if operator == "average":
        return (h_u + h_v) / 2
    difference = h_u - h_v
    return difference.abs() if operator == "l1" else difference.square()


def _take(ctx: ForwardContext, x: torch.Tensor, rows: NDArray[np.int32]) -> torch.Tensor:
    """Return the rows [1|L, B] of x [L, R, d]: [L, B, d]."""
    one = single(x.shape[1], np.arange(x.shape[1], dtype=np.int32)[None])
    return sum_all(ctx.run, one, rows, x)
