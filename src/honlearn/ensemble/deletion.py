"""Predictions of nodes with some of their neighbours or relatives left out.

In: a trained ensemble on a network, and copies of nodes that read only some of their neighbours. Out: what a
prediction is mixed from, one row for each copy, and the class probabilities of mixtures. Of a bag these are
probabilities already; learners that are pooled before the classes mix representations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from honlearn.engine.context import ForwardContext
from honlearn.engine.copies import CopiedNeighborhood, Copies
from honlearn.engine.neighborhoods import ExactNeighborhood
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Ensemble, Surroundings, surroundings
from honlearn.ensemble.inference import chunk_size
from honlearn.ensemble.node_model import NodeModel
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.base import Learner
from honlearn.sampling.pairs import Pairs
from honlearn.seeds import derive_seed

Hide = Callable[[HigherOrderNetwork, Pairs], HigherOrderNetwork]


class Deletions:
    """What an ensemble predicts without some neighbours; all neighbours are read, none are sampled.

    `hide` gives a network without the edges between pairs of families: learners that read the network as a
    whole (:class:`~honlearn.learners.TorchLearner`) read it once for each set of neighbours left out. There a
    deletion takes the edges away from both ends.
    """

    def __init__(self, model: NodeModel, ensemble: Ensemble, run: Runtime, hide: Hide) -> None:
        self.network, self.seed, self.run, self.hide = model.network, model.seed, run, hide
        self.ensemble = ensemble.to(run.device).eval()
        self.shape = dataclasses.replace(
            ensemble.shape, kinds=tuple(_reading_all(kind) for kind in model.shape.kinds)
        )
        self.has_features = model.features is not None
        sampled = any(getattr(kind, "fan_outs", None) is not None for kind in model.shape.kinds)
        self.near = surroundings(self.network, self.shape, self.has_features) if sampled else model.near
        self.probabilities = model.sampler.probabilities

    @property
    def takes_copies(self) -> bool:
        """Whether many deletions are computed in one pass."""
        return all(isinstance(near, ExactNeighborhood) for near in self.near.of_kind)

    @torch.no_grad()
    def rows(self, copies: Copies) -> NDArray[np.float32]:
        """Return what predictions are mixed from, one row for each copy: float32 [A, K, D]."""
        if not len(copies.origin):
            empty = Copies(np.zeros(1, np.int32), np.zeros(1, np.uint64), copies.players)
            return self.rows(empty)[:, :0]
        parts = self._in_one_pass(copies) if self.takes_copies else self._one_by_one(copies)
        order, tables = zip(*parts, strict=True)
        back = np.argsort(np.concatenate(order), kind="stable")
        return np.concatenate(tables, 1)[:, back]

    @torch.no_grad()
    def proba(self, mixed: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the class probabilities [B, C] of mixtures [A, B, D] of rows."""
        if not self.shape.is_joint:
            return np.asarray(mixed[0], np.float64)
        logits = self.ensemble.head(torch.from_numpy(np.ascontiguousarray(mixed)).to(self.run.device))[0]
        return np.asarray(torch.softmax(logits.double(), 1).cpu().numpy(), np.float64)

    def _in_one_pass(self, copies: Copies) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        learners = 1 if self.shape.variant == "batch" else self.shape.n_learners
        size = chunk_size(self.near, learners, self.shape.widest)
        for start in range(0, len(copies.origin), size):
            place = np.arange(start, min(start + size, len(copies.origin)))
            some = Copies(copies.origin[place], copies.groups[place], copies.players)
            near = Surroundings(tuple(CopiedNeighborhood(one, some) for one in self.near.of_kind))
            roots = self.network.n_nodes + np.arange(len(place), dtype=np.int32)
            yield place, self._represented(roots, near)

    def _one_by_one(self, copies: Copies) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Yield the rows of the copies of one entity that read the same groups, on a network of their own."""
        entity = self.network.base[copies.origin].astype(np.int64)
        kinds = np.stack([entity, copies.groups.astype(np.int64)])
        distinct, which = np.unique(kinds, axis=1, return_inverse=True)
        players, size = copies.players, self.network.n_entities
        for number, (u, groups) in enumerate(distinct.T.tolist()):
            place = np.flatnonzero(which.ravel() == number)
            low, high = np.searchsorted(players.keys, [u * size, (u + 1) * size])
            left = (groups >> players.group[low:high].astype(np.int64)) & 1 == 0
            others = (players.keys[low:high][left] % size).astype(np.int32)
            network = self.hide(self.network, np.stack([np.full_like(others, u), others], axis=1))
            near = surroundings(network, self.shape, self.has_features)
            yield place, self._represented(copies.origin[place], near)

    def _represented(self, roots: NDArray[np.int32], near: Surroundings) -> NDArray[np.float32]:
        """Return probabilities, a mean over learners [1, R, C], or of pooled learners h [L, R, d]."""
        learners = 1 if self.shape.variant == "batch" else self.shape.n_learners
        streams = [derive_seed(self.seed, "inference", learner) for learner in range(learners)]
        ctx = ForwardContext(self.run, np.array(streams, np.uint64), 0)
        with self.run.step():
            h = self.ensemble.represent(roots[None], near, ctx)
            if self.shape.is_joint:
                return np.asarray(h.cpu().numpy(), np.float32)
            proba = torch.softmax(self.ensemble.head(h).double(), 2).mean(0, keepdim=True)
            return np.asarray(proba.float().cpu().numpy(), np.float32)


def _reading_all(kind: Learner) -> Learner:
    """Return the learner as it is, but reading whole neighbourhoods."""
    if getattr(kind, "fan_outs", None) is None:
        return kind
    out: Learner = clone(kind).set_params(fan_outs=None)
    return out
