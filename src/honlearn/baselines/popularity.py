"""The floor for links: who sends much is linked to who receives much.

In: a network and labelled pairs. Out: P(u → v) = σ(a s + b) of the score s = log(1 + out(u) in(v)), where
out(u) and in(v) count the entities that u leads to and that lead to v; a ≥ 0 and b are fitted to the training
pairs, whose order a positive a never changes. Without direction both degrees count all partners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.baselines.contract import DirectedBaseline, State
from honlearn.baselines.embedding import regression
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.errors import FormatError
from honlearn.sampling.pairs import Pairs, keyed_pairs, linked_keys, pair_keys
from honlearn.stored import Spec

Degrees = NDArray[np.int64]


@dataclass(eq=False, repr=False)
class PopularityPredictor(DirectedBaseline):
    """Product of degrees (preferential attachment), as a probability.

    A trained pair's own link is not counted in the degrees of its ends, as a tested pair's is not.
    """

    def _degrees(self) -> tuple[Degrees, Degrees]:
        """Return how many entities each leads to, and how many lead to it, int64 [V] each."""
        size = self.network.n_entities
        sources, targets = keyed_pairs(linked_keys(self.network, self.directed), size).T
        out, into = np.bincount(sources, minlength=size), np.bincount(targets, minlength=size)
        return (out, into) if self.directed else (out + into, out + into)

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        out, into = self._degrees()
        own = examples.labels * self._linked(examples.pairs)
        scores = _scores(out, into, examples.pairs, own)
        scale = float(scores.std()) or 1.0
        with threadpool_limits(1):
            coefficients, intercepts = regression(scores[:, None] / scale, examples.labels, 2, 1.0)
        line = np.array([max(coefficients[1, 0] / scale, 0.0), intercepts[1]])
        state = {"out": torch.from_numpy(out), "in": torch.from_numpy(into), "line": torch.from_numpy(line)}
        self._finish(state, [], 2)

    def _specs(self) -> Mapping[str, Spec]:
        size = self.network.n_entities
        return {"out": ("i8", (size,)), "in": ("i8", (size,)), "line": ("f8", (2,))}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        for name in ("out", "in"):
            degrees = state[name].numpy()
            if degrees.min() < 0 or degrees.max() > 2 * self.network.n_entities:
                raise FormatError(f"{name!r} holds {degrees.min()} to {degrees.max()}, which are no degrees")

    def _linked(self, pairs: Pairs) -> Degrees:
        """Return 1 for each pair that the network links, else 0."""
        known = linked_keys(self.network, self.directed)
        return np.isin(pair_keys(pairs, self.network.n_entities, self.directed), known).astype(np.int64)

    def _pairs_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        slope, at = self.state_["line"].tolist()
        scores = _scores(self.state_["out"].numpy(), self.state_["in"].numpy(), pairs, 0)
        # A line of a file may be so steep that it overflows: what is not finite then is told by the contract.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-(slope * scores + at))), np.float32)


def _scores(out: Degrees, into: Degrees, pairs: Pairs, own: Degrees | int) -> NDArray[np.float64]:
    u, v = pairs.T
    return np.log1p(np.asarray((out[u] - own) * (into[v] - own), np.float64))
