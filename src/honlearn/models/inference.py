"""Inference: class probabilities and representations of nodes from a trained ensemble.

In: entity codes. Out: probabilities of every member ``[L, B, C]``, averaged over draws of relatives or over
all relatives weighted by Eq. 3. With exact neighbourhoods a relative is computed once, however often drawn.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.models.ensemble import Ensemble
from honlearn.models.layers import Pass
from honlearn.models.neighborhoods import Neighborhood
from honlearn.models.runtime import Runtime
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import derive_seed

# Largest tensor of representations held at once, in numbers.
_CHUNK = 1 << 24


class Inference:
    """Predicts with a trained ensemble; `n_draws` draws of relatives for each member, 0 for all of them.

    Members are the learners of a bag. Where learners are pooled before the classes (concat, pool, attn), and
    for batch*, members are L draws of relatives through the whole model; over all relatives there is then
    only one member: its representations are expectations under Eq. 3.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        near: Neighborhood,
        sampler: RelativeSampler,
        seed: int,
        run: Runtime,
        n_draws: int,
    ) -> None:
        self.ensemble, self.near, self.sampler = ensemble.to(run.device).eval(), near, sampler
        self.seed, self.run, self.n_draws = seed, run, n_draws
        self.shape = ensemble.shape

    @torch.no_grad()
    def member_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the probabilities of each member for these entities, float32 [M, B, C]."""
        if self.shape.is_joint:
            return self._joint(nodes)
        relatives, table = self._represented(nodes)
        proba = torch.softmax(self.ensemble.head(table).double(), 2).float().cpu().numpy()
        if self.n_draws == 0:
            return self._expected(nodes, relatives, proba)
        out = np.zeros((self.shape.n_learners, len(nodes), proba.shape[2]), np.float32)
        for draw in range(self.n_draws):
            place = np.searchsorted(relatives, self._drawn(draw)[:, nodes])
            learner = np.arange(len(out))[:, None] if len(proba) > 1 else 0
            out += proba[learner, place]
        return out / np.float32(self.n_draws)

    @torch.no_grad()
    def embed(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return what the classes are read from, averaged over relatives or draws, float32 [B, d']."""
        relatives, table = self._represented(nodes)
        values = table.cpu().numpy()
        if self.n_draws == 0:
            h = self._expected(nodes, relatives, values)
        else:
            drawn = [np.searchsorted(relatives, self._drawn(d)[:, nodes]) for d in range(self.n_draws)]
            learner = np.arange(self.shape.n_learners)[:, None] if len(values) > 1 else 0
            h = np.mean([values[learner, place] for place in drawn], axis=0, dtype=np.float32)
        if self.shape.variant == "batch":
            return np.asarray(h.mean(0), np.float32)
        read: torch.Tensor = self.ensemble.head.read(torch.from_numpy(h).to(self.run.device))  # type: ignore[operator]
        return np.asarray(read.cpu().numpy(), np.float32)

    def _drawn(self, draw: int, learners: int | None = None) -> NDArray[np.int32]:
        """Return the relatives of a draw for each member, int32 [L, V]."""
        count = self.shape.n_learners if learners is None else learners
        return self.sampler.draw(self.seed, range(count), "inference", draw)

    def _needed(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the distinct relatives that a prediction for these entities reads, ascending."""
        network = self.sampler.network
        if self.n_draws == 0:
            possible = self.sampler.probabilities > 0
            return np.flatnonzero(possible & np.isin(network.base, nodes)).astype(np.int32)
        draws = self.n_draws * (self.shape.n_learners if self.shape.is_joint else 1)
        return np.unique(np.stack([self._drawn(draw)[:, nodes] for draw in range(draws)]))

    def _represented(self, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int32], torch.Tensor]:
        """Return the relatives needed [R], ascending, and their representations by each learner [P, R, d]."""
        relatives = self._needed(nodes)
        learners = 1 if self.shape.variant == "batch" else self.shape.n_learners
        streams = [derive_seed(self.seed, "inference", learner) for learner in range(learners)]
        size = max(1, _CHUNK // (learners * max(self.shape.widths)))
        parts = []
        for number, start in enumerate(range(0, len(relatives), size)):
            roots = np.repeat(relatives[None, start : start + size], learners, 0)
            this = Pass(self.run, np.array(streams, np.uint64), number)
            parts.append(self.ensemble.represent(roots, self.near, this))
        return relatives, torch.cat(parts, 1)

    def _expected(
        self, nodes: NDArray[np.int32], relatives: NDArray[np.int32], values: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the expectation of values [P, R, d] of the relatives under Eq. 3 for each node [P, B, d]."""
        network = self.sampler.network
        base, chance = network.base[relatives], self.sampler.probabilities[relatives]
        order = np.argsort(base, kind="stable")
        starts = np.flatnonzero(np.diff(base[order], prepend=-1))
        weighted = values[:, order] * chance[order].astype(np.float32)[None, :, None]
        sums = np.add.reduceat(weighted, starts, axis=1)
        return sums[:, np.searchsorted(base[order][starts], nodes)]

    def _joint(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        relatives, table = self._represented(nodes)
        learners = torch.arange(table.shape[0], device=table.device)[:, None]
        size = max(1, _CHUNK // (16 * table.shape[0] * table.shape[2]))
        members = self.shape.n_learners if self.n_draws else 1
        out = np.zeros((members, len(nodes), self.shape.n_classes), np.float32)
        for member in range(members):
            for draw in range(max(self.n_draws, 1)):
                drawn = self._drawn(member * self.n_draws + draw) if self.n_draws else None
                for start in range(0, len(nodes), size):
                    some = nodes[start : start + size]
                    if drawn is None:
                        h = torch.from_numpy(self._expected(some, relatives, table.cpu().numpy())).to(table)
                    else:
                        place = torch.from_numpy(np.searchsorted(relatives, drawn[:, some]))
                        h = table[learners, place.to(table.device)]
                    proba = torch.softmax(self.ensemble.head(h)[0].double(), 1)
                    out[member, start : start + size] += proba.float().cpu().numpy()
        return out / np.float32(max(self.n_draws, 1))
