"""Training negatives for links: half of them uniform, half with ends as popular as those of links.

In: labelled pairs, and where unlinked ones may come from. Out: an :class:`Unlinked` that draws both halves. A
model that is trained on uniform negatives alone learns degrees, and little beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.negatives import Degrees, draw_by_degree, link_degrees
from honlearn.sampling.pairs import Pairs, linked_keys, pair_keys
from honlearn.seeds import generator


@dataclass(frozen=True)
class HalfByDegree(Unlinked):
    """Draws unlinked pairs, every other by the degrees of its ends: how often each is in a link, [V] each."""

    degrees: tuple[Degrees, Degrees]

    @classmethod
    def of(cls, unlinked: Unlinked, network: HigherOrderNetwork) -> HalfByDegree:
        """Return the same source of pairs with the degrees of a network."""
        linked = linked_keys(network, unlinked.directed)
        degrees = link_degrees(linked, unlinked.n_entities, unlinked.directed)
        return cls(unlinked.n_entities, unlinked.taken, unlinked.directed, degrees)

    def draw(self, random: np.random.Generator, count: int, held: Pairs) -> Pairs:
        """Return `count` pairs that are neither taken nor in `held`, in no order."""
        held_keys = pair_keys(held, self.n_entities, self.directed)
        taken = np.union1d(self.taken, held_keys)
        popular = draw_by_degree(random, count // 2, self.degrees, taken, self.directed)
        uniform = super().draw(random, count - len(popular), np.concatenate([held, popular]))
        return np.asarray(random.permutation(np.concatenate([popular, uniform])))


def with_popular_negatives(
    examples: PairExamples, unlinked: Unlinked, network: HigherOrderNetwork, seed: int
) -> tuple[PairExamples, Unlinked]:
    """Return the examples with new negatives, half of them by degree, and where such pairs come from."""
    mixed = HalfByDegree.of(unlinked, network)
    free = np.flatnonzero(examples.labels == 0)
    pairs = examples.pairs.copy()
    nobody = np.empty((0, 2), np.int32)
    pairs[free] = mixed.draw(generator(seed, "negatives", "half by degree"), len(free), nobody)
    return replace(examples, pairs=pairs), mixed
