"""Relatives: for each learner, one node of every family, drawn by Eq. 3.

In: a network, a seed and the learners' numbers. Out: node indices ``[L, V]``. Each learner has a stream of
its own, and a draw always covers every entity, so neither the other learners nor the nodes that a caller
asks for change what a learner draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.seeds import Label, generator


class FamilyDraws:
    """Draws a node of families by Eq. 3, from running sums of weighted out-degrees."""

    def __init__(self, network: HigherOrderNetwork) -> None:
        self._nodes = network.family_indices
        weight = np.asarray(network.out_weight)[self._nodes].astype(np.float64)
        # Integers stay exact in float64 up to 2**53, far above any count of steps.
        self._ends = np.cumsum(weight)
        starts = np.concatenate([[0.0], self._ends])[network.family_indptr]
        self._starts, self._totals = starts[:-1], np.diff(starts)
        # Rounding can carry a draw to the family's end; its last node with out-edges is meant.
        last = np.searchsorted(self._ends, self._starts + self._totals, "left")
        self._last = np.minimum(last, len(self._ends) - 1)

    def draw(self, entities: NDArray[np.int32], uniform: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return a relative of each entity [B], by a number in [0, 1) each.

        Where no relative has an out-edge it is the base node.
        """
        start, total = self._starts[entities], self._totals[entities]
        place = np.searchsorted(self._ends, start + uniform * total, "right")
        place = np.minimum(place, self._last[entities])
        return np.where(total > 0, self._nodes[place], entities).astype(np.int32)


class RelativeSampler:
    """Draws relatives u' of every entity u with P(u') = outdeg(u') / Σ outdeg of the family (Eq. 3).

    A node without out-edges is never drawn; where a whole family has none, the base node stands for it.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "C|A", "C"], ["C|A", "D", "D"], [2, 2, 6])
    >>> sampler = RelativeSampler(hon)
    >>> nodes = sampler.draw(seed=0, learners=[0, 1])
    >>> nodes.shape, bool((hon.base[nodes] == np.arange(3)).all())
    ((2, 3), True)
    >>> sampler.probabilities.round(2).tolist()
    [1.0, 0.75, 1.0, 0.25]
    """

    def __init__(self, network: HigherOrderNetwork) -> None:
        self.network = network
        self._families = FamilyDraws(network)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """P(u') of every node within its family, float64 [N]; 0 for a node that is never drawn."""
        return self.network.relative_probabilities()

    @cached_property
    def is_fixed(self) -> bool:
        """Whether every family has one node that can be drawn, so that all draws are the same."""
        return bool((self.probabilities > 0).sum() == self.network.n_entities)

    def draw(self, seed: int, learners: Sequence[int], *labels: Label) -> NDArray[np.int32]:
        """Return one relative of each entity for each learner, int32 [L, V]; `labels` name the occasion."""
        entities = np.arange(self.network.n_entities, dtype=np.int32)
        out = np.empty((len(learners), len(entities)), np.int32)
        for row, learner in enumerate(learners):
            uniform = generator(seed, "relatives", learner, *labels).random(len(entities))
            out[row] = self._families.draw(entities, uniform)
        return out


def draw_relatives(
    network: HigherOrderNetwork, n_learners: int, seed: int, *labels: Label
) -> NDArray[np.int32]:
    """Return one relative of each entity for learners 0 … n_learners − 1 by Eq. 3, int32 [L, V]."""
    return RelativeSampler(network).draw(seed, range(n_learners), *labels)
