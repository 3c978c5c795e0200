"""Inference on pairs: probabilities of a link from a trained ensemble.

In: pairs of entity codes. Out: probabilities of every member ``[L, B, 2]``. Pairs go in blocks; each relative
is represented once, however many pairs it is in, so nothing grows with the number of pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine.adjacency import Rows
from honlearn.engine.context import ForwardContext
from honlearn.engine.products import product
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.count_model import CountModel
from honlearn.ensemble.ensemble import Surroundings
from honlearn.ensemble.inference import Inference, pooled
from honlearn.ensemble.pair_inputs import Features, PairView, Scaling
from honlearn.ensemble.pairs import (
    NOTHING,
    PairEnsemble,
    PairReads,
    common_rows,
    pooled_neighbors,
)
from honlearn.sampling.pairs import Pairs, PairSampler
from honlearn.sampling.relatives import RelativeSampler

BLOCK = 1 << 14
# Pairs of some sources whose counts are read at once, and the least targets of a source for one product.
_ROWS_BLOCK = 1 << 17
_ROW = 64
# Entities whose expected representations are kept while all their pairs are scored.
_TOGETHER = 1 << 15
# Members [M, b, 2] and features [b, F] of some pairs.
_Block = tuple[NDArray[np.float32], Features | None]


class PairInference(Inference):
    """Predicts links; `n_draws` draws of relatives for each member and pair, 0 for all relatives.

    Over all relatives either end is its expected representation under Eq. 3: the product of two families
    would be the exact mean, at the price of their sizes multiplied. Draws follow Eq. 4 where `joint` says so
    and the pair has an edge that may be seen, else Eq. 3. Members are as for nodes. `view` and `scaling` give
    what pairs read beside their ends; common neighbours are represented by their base nodes. `counts` has its
    share of predictions, and is no member.
    """

    ensemble: PairEnsemble

    def __init__(
        self,
        ensemble: PairEnsemble,
        near: Surroundings,
        sampler: PairSampler,
        seed: int,
        run: Runtime,
        n_draws: int,
        joint: bool,
        view: PairView | None = None,
        scaling: Scaling | None = None,
        counts: CountModel | None = None,
    ) -> None:
        super().__init__(ensemble, near, RelativeSampler(sampler.network), seed, run, n_draws)
        self.pair_sampler, self.joint, self.view, self.scaling = sampler, joint, view, scaling
        self.counts = counts

    def proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the probabilities of these pairs [B, 2], of members and counts by their shares, [B, 2]."""
        parts = [
            self._with_counts(pooled(members), features)
            for members, features in self._blocks(nodes, self.n_draws)
        ]
        return np.concatenate(parts)

    def _with_counts(self, proba: NDArray[np.float32], features: Features | None) -> NDArray[np.float32]:
        """Return the probabilities [B, 2] of the learners with the share of the count model."""
        if self.counts is None:
            return proba
        linked = self.counts.mixed(proba[:, 1], features)
        return np.stack([1 - linked, linked], 1)

    def link_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        """Return the probability of a link of pairs [B, 2], in which pairs of one source stand together, [B].

        Many targets of one source are scored by one product of matrices, which rounds otherwise than
        :meth:`proba`.
        """
        starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1)) if len(pairs) else np.empty(0, np.int64)
        if not self._scores_rows or len(starts) * _ROW > len(pairs):
            return np.asarray(self.proba(pairs)[:, 1])
        out, begin = np.empty(len(pairs), np.float32), 0
        ends = np.append(starts[1:], len(pairs))
        while begin < len(starts):
            # As many sources as fit a block, and at least one.
            end = max(begin + 1, int(np.searchsorted(ends, starts[begin] + _ROWS_BLOCK, "right")))
            some = slice(int(starts[begin]), int(ends[end - 1]))
            out[some] = self._rows(pairs[some], starts[begin:end] - some.start)
            begin = end
        return out

    def shortlist(
        self, sources: NDArray[np.int32], allowed: NDArray[np.bool_], most: int | None
    ) -> tuple[Pairs, NDArray[np.int64]]:
        """Return pairs of each source, source by source [n, 2], and the place of the source of each, [n].

        `allowed` [S, V] says which targets a source may have. Of more than `most` those are kept that the
        count model ranks first; without a count model all of them are.
        """
        if self._ranks_rows and most is not None and (allowed.sum(1) > most).any():
            assert self.counts is not None
            assert self.view is not None
            assert self.scaling is not None
            logits = self.counts.row_logits(self.view.count_columns(sources), self.scaling)
            logits[~allowed] = -np.inf
            kept = np.argpartition(-logits, most - 1, axis=1)[:, :most]
            short = np.zeros_like(allowed)
            np.put_along_axis(short, kept, True, axis=1)
            allowed = allowed & short
        places, targets = np.nonzero(allowed)
        return np.stack([sources[places], targets], 1).astype(np.int32), places

    @property
    def _ranks_rows(self) -> bool:
        """Whether there is a count model that can rank all targets of a source."""
        return self.counts is not None and self.view is not None and self.scaling is not None

    @property
    def _scores_rows(self) -> bool:
        """Whether all targets of a source can be scored by one product of matrices."""
        shape, size = self.ensemble.shape, self.pair_sampler.network.n_entities
        return bool(
            self.n_draws == 0
            and shape.operators == ("product",)
            and shape.pair_width
            and shape.directed
            and size <= _TOGETHER
        )

    @torch.no_grad()
    def _rows(self, pairs: Pairs, starts: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the probability of a link of pairs [B, 2] whose sources change at `starts`, [B]."""
        (source, target), neighbors = self._row_tables
        ctx = ForwardContext(self.run, np.zeros(len(source), np.uint64), 0)
        shared, features = [], None
        if self.view is not None:
            features, common = self.view.extras(pairs, self.scaling)
            if common is not None and neighbors is not None:
                rows = Rows(common.indptr, common.entities[None], common.weights[None])
                shared.append(pooled_neighbors(neighbors, rows, ctx))
            if features is not None:
                shared.append(torch.from_numpy(np.ascontiguousarray(features)).to(source)[None])
        out = np.empty(len(pairs), np.float32)
        places = torch.from_numpy(pairs.astype(np.int64)).to(source.device)
        for start, end in itertools.pairwise([*starts.tolist(), len(pairs)]):
            one = source[:, places[start : start + 1, 0]]
            targets = target.index_select(1, places[start:end, 1])
            logits = self.ensemble.score_row(one, targets, [part[:, start:end] for part in shared], ctx)
            difference = (logits[:, :, 1] - logits[:, :, 0]).double()
            out[start:end] = torch.sigmoid(difference).mean(0).float().cpu().numpy()
        return out if self.counts is None else self.counts.mixed(out, features)

    @cached_property
    def _row_tables(self) -> tuple[tuple[torch.Tensor, ...], torch.Tensor | None]:
        """Every entity as a source and as a target [P, V, d], and as a common neighbour [P, V, c]."""
        entities = np.arange(self.pair_sampler.network.n_entities, dtype=np.int32)
        h = self._families(entities)
        ctx = ForwardContext(self.run, np.zeros(len(h), np.uint64), 0)
        reads = self.ensemble.shape.common_width and self.view is not None
        common = product(self.run, self._base_nodes, self.ensemble.common) if reads else None
        return self.ensemble.tables(h, ctx), common

    def _members(self, nodes: NDArray[np.int32], n_draws: int) -> NDArray[np.float32]:
        """Return what is averaged for these pairs, [M, B, 2]."""
        return np.concatenate([members for members, _ in self._blocks(nodes, n_draws)], 1)

    @torch.no_grad()
    def _blocks(self, nodes: NDArray[np.int32], n_draws: int) -> Iterator[_Block]:
        """Yield what is averaged for these pairs [M, b, 2], and the features of the pairs, block by block."""
        entities = np.unique(nodes).astype(np.int32)
        together = n_draws == 0 and len(entities) <= _TOGETHER
        h = self._families(entities) if together else None
        for start in range(0, len(nodes), BLOCK):
            pairs = nodes[start : start + BLOCK]
            reads = self._reads(pairs)
            if n_draws > 0:
                yield self._drawn_members(pairs, n_draws, reads), reads.features
            elif h is not None:
                yield self._scored(h, entities, pairs, reads), reads.features
            else:
                some = np.unique(pairs).astype(np.int32)
                yield self._scored(self._families(some), some, pairs, reads), reads.features

    def _families(self, entities: NDArray[np.int32]) -> torch.Tensor:
        """Return the expected representations of entities, which ascend, [P, R, d]."""
        relatives, table = self._represented(entities, 0)
        return torch.from_numpy(self._expected(entities, relatives, table.cpu().numpy())).to(table)

    def _scored(
        self, h: torch.Tensor, entities: NDArray[np.int32], pairs: Pairs, reads: PairReads
    ) -> NDArray[np.float32]:
        places = np.searchsorted(entities, pairs).astype(np.int32)[None]
        return self._proba(h, places, reads)

    def _drawn_members(self, pairs: Pairs, n_draws: int, reads: PairReads) -> NDArray[np.float32]:
        """Return the members of pairs whose relatives are drawn, [M, B, 2]."""
        entities = np.unique(pairs).astype(np.int32)
        relatives, table = self._represented(entities, n_draws)
        members = self.shape.n_learners
        draws = members * n_draws if self.shape.is_joint else n_draws
        parts = []
        for draw in range(draws):
            drawn = self.pair_sampler.draw(
                pairs, self.seed, range(members), "inference", draw, joint=self.joint
            )
            places = np.searchsorted(relatives, drawn).astype(np.int32)
            if self.shape.variant == "batch":
                part = np.concatenate([self._proba(table, place[None], reads) for place in places])
            else:
                part = self._proba(table, places, reads)
            parts.append(part)
        out = np.stack(parts)
        if self.shape.is_joint:
            return np.asarray(out.reshape(members, n_draws, len(pairs), -1).mean(1), np.float32)
        return np.asarray(out.mean(0), np.float32)

    def _proba(self, h: torch.Tensor, places: NDArray[np.int32], reads: PairReads) -> NDArray[np.float32]:
        """Return the probabilities [G, B, 2] of pairs at these places [1|L, B, 2] of h [P, R, d]."""
        ctx = ForwardContext(self.run, np.zeros(len(h), np.uint64), 0)
        logits = self.ensemble.score(h, places, ctx, reads)
        return torch.softmax(logits.double(), 2).float().cpu().numpy()

    def _reads(self, pairs: Pairs) -> PairReads:
        """Return what pairs read beside their ends."""
        if self.view is None:
            return NOTHING
        features, common = self.view.extras(pairs, self.scaling)
        if common is None:
            return PairReads(features)
        entities, rows = common_rows(common)
        return PairReads(features, rows, self._base_nodes[:, torch.from_numpy(entities.astype(np.int64))])

    @property
    def _base_nodes(self) -> torch.Tensor:
        """The representation of every base node, computed once, [P, V, d]."""
        if self._bases is None:
            bases = np.arange(self.pair_sampler.network.n_entities, dtype=np.int32)
            self._bases = self._table(bases)
        return self._bases

    _bases: torch.Tensor | None = None

    def _needed(self, nodes: NDArray[np.int32], n_draws: int) -> NDArray[np.int32]:
        """Return the relatives of these entities that may be read, ascending."""
        return self.pair_sampler.possible(nodes, self.joint and n_draws > 0)
