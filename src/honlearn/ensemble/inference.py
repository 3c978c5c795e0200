"""Inference: class probabilities and representations of nodes from a trained ensemble.

In: entity codes. Out: probabilities of every member ``[L, B, C]``, averaged over draws of relatives or over
all relatives weighted by Eq. 3. With exact neighbourhoods a relative is computed once, however often drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine.context import ForwardContext
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Ensemble, Surroundings
from honlearn.errors import InputError
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import derive_seed

# Largest tensor of representations held at once, in numbers.
_CHUNK = 1 << 24


def chunk_size(near: Surroundings, learners: int, width: int) -> int:
    """Return how many roots to compute at once so that no layer's output grows too large."""
    return max(1, _CHUNK // (learners * width * near.rows_a_root))


def pooled(members: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of the members' probabilities [M, B, C], float32 [B, C]."""
    mean = members.mean(0, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise InputError(
            "the predictions are not finite: weights or features are too large; train again, with a smaller "
            "learning rate or with features of a usual scale"
        )
    return np.asarray(mean / mean.sum(1, keepdims=True), np.float32)


class Inference:
    """Predicts with a trained ensemble; `n_draws` draws of relatives for each member, 0 for all of them.

    Members are the learners of a bag. Where learners are pooled before the classes (concat, pool, attn), and
    for batch*, members are L draws of relatives through the whole model. Over all relatives, the prediction
    of a pooled model reads expectations of its representations under Eq. 3, instead of its members.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        near: Surroundings,
        sampler: RelativeSampler,
        seed: int,
        run: Runtime,
        n_draws: int,
    ) -> None:
        self.ensemble, self.near, self.sampler = ensemble.to(run.device).eval(), near, sampler
        self.seed, self.run, self.n_draws = seed, run, n_draws
        self.shape = ensemble.shape

    def proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the ensemble's probabilities for these entities, float32 [B, C]."""
        return pooled(self._members(nodes, self.n_draws))

    def member_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the probabilities of each member for these entities, float32 [L, B, C]."""
        return self._members(nodes, self.n_draws if self.shape.variant == "bag" else max(self.n_draws, 1))

    def votes(self, nodes: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.int32] | None]:
        """Return what each member says from one draw [L, B, C], and the relatives it read [L, B].

        A member that pools learners reads a relative for each of them, so there the second is None.
        """
        relatives = None if self.shape.is_joint else self._drawn(0)[:, nodes]
        return self._members(nodes, 1), relatives

    @torch.no_grad()
    def _members(self, nodes: NDArray[np.int32], n_draws: int) -> NDArray[np.float32]:
        """Return what is averaged, [M, B, C]; with no draws (all relatives) M is 1 where it is not a bag."""
        if n_draws == 1 and self.shape.variant == "bag":
            # Each learner reads the relatives that it drew, not those of all.
            return self._class_table(self._drawn(0)[:, nodes])
        if self.shape.is_joint:
            return self._joint(nodes, *self._represented(nodes, n_draws), n_draws)
        relatives = self._needed(nodes, n_draws)
        proba = self._class_table(self._by_all(relatives))
        if n_draws == 0:
            return self._expected(nodes, relatives, proba)
        out = np.zeros((self.shape.n_learners, len(nodes), proba.shape[2]), np.float32)
        learner = np.arange(len(out))[:, None] if len(proba) > 1 else 0
        for draw in range(n_draws):
            out += proba[learner, np.searchsorted(relatives, self._drawn(draw)[:, nodes])]
        return out / np.float32(n_draws)

    def _classes(self, table: torch.Tensor) -> NDArray[np.float32]:
        """Return the class probabilities [P, R, C] of representations [P, R, d]."""
        out: NDArray[np.float32] = torch.softmax(self.ensemble.head(table).double(), 2).float().cpu().numpy()
        return out

    @torch.no_grad()
    def embed(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return what the classes are read from, averaged over relatives or draws, float32 [B, d']."""
        relatives, table = self._represented(nodes, self.n_draws)
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

    def _drawn(self, draw: int) -> NDArray[np.int32]:
        """Return the relatives of a draw for each learner, int32 [L, V]."""
        return self.sampler.draw(self.seed, range(self.shape.n_learners), "inference", draw)

    def _needed(self, nodes: NDArray[np.int32], n_draws: int) -> NDArray[np.int32]:
        """Return the distinct relatives that a prediction for these entities reads, ascending."""
        network = self.sampler.network
        if n_draws == 0:
            possible = self.sampler.probabilities > 0
            return np.flatnonzero(possible & np.isin(network.base, nodes)).astype(np.int32)
        draws = n_draws * (self.shape.n_learners if self.shape.is_joint else 1)
        return np.unique(np.stack([self._drawn(draw)[:, nodes] for draw in range(draws)]))

    def _represented(self, nodes: NDArray[np.int32], n_draws: int) -> tuple[NDArray[np.int32], torch.Tensor]:
        """Return the relatives needed [R], ascending, and their representations by each learner [P, R, d]."""
        relatives = self._needed(nodes, n_draws)
        return relatives, self._table(self._by_all(relatives))

    def _by_all(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the same roots [R] for each learner, [P, R]."""
        learners = 1 if self.shape.variant == "batch" else self.shape.n_learners
        return np.broadcast_to(nodes, (learners, len(nodes)))

    def _class_table(self, roots: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the class probabilities by each learner of its own roots [P, R], [P, R, C].

        No more representations are held than make a large tensor: of a million nodes they are gigabytes.
        """
        found: list[NDArray[np.float32]] = []
        parts: list[torch.Tensor] = []
        for part in self._parts(roots):
            parts.append(part)
            if sum(one.numel() for one in parts) >= _CHUNK:
                found.append(self._classes(torch.cat(parts, 1)))
                parts.clear()
        if parts:
            found.append(self._classes(torch.cat(parts, 1)))
        return np.concatenate(found, 1)

    def _table(self, roots: NDArray[np.int32]) -> torch.Tensor:
        """Return the representations by each learner of its own roots [P, R], [P, R, d]."""
        return torch.cat(list(self._parts(roots)), 1)

    def _parts(self, roots: NDArray[np.int32]) -> Iterator[torch.Tensor]:
        """Yield the same for some roots after others."""
        streams = [derive_seed(self.seed, "inference", learner) for learner in range(len(roots))]
        size = chunk_size(self.near, len(roots), self.shape.widest)
        for number, start in enumerate(range(0, roots.shape[1], size)):
            some = np.ascontiguousarray(roots[:, start : start + size])
            ctx = ForwardContext(self.run, np.array(streams, np.uint64), number)
            with self.run.step():
                part = self.ensemble.represent(some, self.near, ctx)
            yield part

    def _expected(
        self, nodes: NDArray[np.int32], relatives: NDArray[np.int32], values: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the expectation of values [P, R, d] of the relatives under Eq. 3 for each node [P, B, d]."""
        network = self.sampler.network
        base, probability = network.base[relatives], self.sampler.probabilities[relatives]
        order = np.argsort(base, kind="stable")
        starts = np.flatnonzero(np.diff(base[order], prepend=-1))
        weighted = values[:, order] * probability[order].astype(np.float32)[None, :, None]
        sums = np.add.reduceat(weighted, starts, axis=1)
        return sums[:, np.searchsorted(base[order][starts], nodes)]

    def _joint(
        self, nodes: NDArray[np.int32], relatives: NDArray[np.int32], table: torch.Tensor, n_draws: int
    ) -> NDArray[np.float32]:
        """Return the probabilities of pooled learners: for L draws, or once over all relatives."""
        size = max(1, _CHUNK // (16 * table.shape[0] * table.shape[2]))
        members = self.shape.n_learners if n_draws else 1
        out = np.zeros((members, len(nodes), self.shape.n_classes), np.float32)
        for member in range(members):
            for draw in range(max(n_draws, 1)):
                drawn = self._drawn(member * n_draws + draw) if n_draws else None
                for start in range(0, len(nodes), size):
                    some = slice(start, start + size)
                    h = self._pooled_input(nodes[some], relatives, table, drawn)
                    proba = torch.softmax(self.ensemble.head(h)[0].double(), 1)
                    out[member, some] += proba.float().cpu().numpy()
        return out / np.float32(max(n_draws, 1))

    def _pooled_input(
        self,
        nodes: NDArray[np.int32],
        relatives: NDArray[np.int32],
        table: torch.Tensor,
        drawn: NDArray[np.int32] | None,
    ) -> torch.Tensor:
        """Return the representations [L, B, d] of a draw, or their expectations."""
        if drawn is None:
            return torch.from_numpy(self._expected(nodes, relatives, table.cpu().numpy())).to(table)
        learners = torch.arange(table.shape[0], device=table.device)[:, None]
        return table[learners, torch.from_numpy(np.searchsorted(relatives, drawn[:, nodes])).to(table.device)]
