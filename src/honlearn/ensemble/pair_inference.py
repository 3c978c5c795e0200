"""Inference on pairs: probabilities of a link from a trained ensemble.

In: pairs of entity codes. Out: probabilities of every member ``[L, B, 2]``. Pairs go in blocks; each relative
is represented once, however many pairs it is in, so nothing grows with the number of pairs.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine.context import ForwardContext
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Surroundings
from honlearn.ensemble.inference import Inference, pooled
from honlearn.ensemble.pair_inputs import PairView, Scaling
from honlearn.ensemble.pairs import NOTHING, PairEnsemble, PairReads, common_rows
from honlearn.sampling.pairs import Pairs, PairSampler
from honlearn.sampling.relatives import RelativeSampler

BLOCK = 1 << 14
# Entities whose expected representations are kept while all their pairs are scored.
_TOGETHER = 1 << 15


class PairInference(Inference):
    """Predicts links; `n_draws` draws of relatives for each member and pair, 0 for all relatives.

    Over all relatives either end is its expected representation under Eq. 3: the product of two families
    would be the exact mean, at the price of their sizes multiplied. Draws follow Eq. 4 where `joint` says so
    and the pair has an edge that may be seen, else Eq. 3. Members are as for nodes. `view` and `scaling` give
    what pairs read beside their ends; common neighbours are represented by their base nodes.
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
    ) -> None:
        super().__init__(ensemble, near, RelativeSampler(sampler.network), seed, run, n_draws)
        self.pair_sampler, self.joint, self.view, self.scaling = sampler, joint, view, scaling

    def proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the ensemble's probabilities for these pairs [B, 2], float32 [B, 2]."""
        return pooled(self._members(nodes, self.n_draws))

    @torch.no_grad()
    def _members(self, nodes: NDArray[np.int32], n_draws: int) -> NDArray[np.float32]:
        """Return what is averaged for these pairs, [M, B, 2]."""
        parts = [nodes[start : start + BLOCK] for start in range(0, len(nodes), BLOCK)]
        if n_draws > 0:
            return np.concatenate([self._block(pairs, n_draws) for pairs in parts], 1)
        entities = np.unique(nodes).astype(np.int32)
        if len(entities) > _TOGETHER:
            return np.concatenate([self._mean_block(pairs, np.unique(pairs)) for pairs in parts], 1)
        h = self._families(entities)
        return np.concatenate([self._scored(h, entities, pairs) for pairs in parts], 1)

    def _families(self, entities: NDArray[np.int32]) -> torch.Tensor:
        """Return the expected representations of entities, which ascend, [P, R, d]."""
        relatives, table = self._represented(entities, 0)
        return torch.from_numpy(self._expected(entities, relatives, table.cpu().numpy())).to(table)

    def _mean_block(self, pairs: Pairs, entities: NDArray[np.int32]) -> NDArray[np.float32]:
        return self._scored(self._families(entities), entities, pairs)

    def _scored(self, h: torch.Tensor, entities: NDArray[np.int32], pairs: Pairs) -> NDArray[np.float32]:
        places = np.searchsorted(entities, pairs).astype(np.int32)[None]
        return self._proba(h, places, self._reads(pairs))

    def _block(self, pairs: Pairs, n_draws: int) -> NDArray[np.float32]:
        """Return the members of pairs whose relatives are drawn, [M, B, 2]."""
        entities, reads = np.unique(pairs).astype(np.int32), self._reads(pairs)
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
