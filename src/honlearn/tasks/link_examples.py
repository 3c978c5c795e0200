"""The pairs that a link predictor is trained on: pairs of the user, or links of the network and a pool.

In: arguments of ``fit``. Out: :class:`LinkExamples`, and from it what a training takes, in folds or not; and
:class:`HeldPairs`: what was held back, for the calibration of a fitted model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.pair_folds import POOL, FoldedPairs, fold_pairs, pooled_pairs
from honlearn.ensemble.pair_inputs import PairSource, Scaling
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.ensemble.training import Held
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import count_unlinked
from honlearn.seeds import generator
from honlearn.tasks import link_parameters as check_links
from honlearn.tasks.inputs import Labels, NamePairs
from honlearn.tasks.pair_calibration import Calibration, calibrate, for_share
from honlearn.tasks.settings import Pairs


@dataclass(frozen=True)
class Trained:
    """What is trained on: examples, where new unlinked pairs come from (None: no new ones), the scaling."""

    examples: PairExamples
    unlinked: Unlinked | None
    scaling: Scaling | None = None

    def arrays(self) -> list[NDArray[Any]]:
        """Return all that the examples are, for a digest."""
        known: list[NDArray[Any]] = [self.examples.pairs, self.examples.labels]
        if isinstance(self.examples, FoldedPairs):
            read = [one.features for one in self.examples.extras if one.features is not None]
            return [*known, self.examples.folds, *read]
        return known if self.unlinked is None else [*known, self.unlinked.taken]


@dataclass(frozen=True)
class LinkExamples:
    """As many linked pairs as unlinked ones, and where others come from; None for pairs of the user."""

    balanced: PairExamples
    unlinked: Unlinked | None

    def trained(self, source: PairSource | None, reads: Pairs, seed: int) -> Trained:
        """Return what a training takes: folds of a pool where there is a source, else the pairs as given."""
        if source is None:
            return Trained(self.balanced, self.unlinked if reads.new_negatives else None)
        folded = fold_pairs(source, *self.pooled(reads, seed), reads.folds, seed)
        return Trained(folded, None, folded.scaling)

    def pooled(self, reads: Pairs, seed: int) -> tuple[PairExamples, NDArray[np.float64] | None]:
        """Return the pairs that are divided into folds, and how likely each unlinked one was drawn.

        Links of the network get a pool of unlinked pairs; pairs of the user are taken as given (None).
        """
        if self.unlinked is None:
            return self.balanced, None
        positives = self.balanced.pairs[self.balanced.labels == 1]
        pool = POOL if reads.new_negatives else 1
        return pooled_pairs(positives, self.unlinked, reads.negatives, pool, seed)

    def share(self, n_entities: int) -> float:
        """Return the share of linked pairs: among all pairs of entities, or among the user's."""
        linked = int(self.balanced.labels.sum())
        if self.unlinked is None:
            return linked / len(self.balanced)
        free = count_unlinked(n_entities, self.unlinked.taken, self.unlinked.directed)
        return linked / max(linked + free, 1)


def link_examples(
    owner: str,
    network: HigherOrderNetwork,
    X: NamePairs | None,
    y: Labels | None,
    exclude: NamePairs | None,
    directed: bool,
    seed: int,
) -> LinkExamples:
    """Return the pairs of ``fit(X, y, exclude=...)``, checked."""
    return LinkExamples(*check_links.training_pairs(owner, network, X, y, exclude, directed, seed))


@dataclass(frozen=True)
class HeldPairs:
    """Pairs that were held back in a fit: labels [h], how likely each was drawn, and its prediction [h]."""

    labels: NDArray[np.int64]
    chance: NDArray[np.float64]
    probability: NDArray[np.float32]

    @classmethod
    def of(cls, trained: Trained, held: Held, probability: NDArray[np.float32]) -> HeldPairs:
        """Return what the learners held back, the same for all of them, with these predictions [h]."""
        positions, examples = held.positions[0], trained.examples
        chance = np.ones(len(positions))
        if isinstance(examples, FoldedPairs):
            chance = examples.chance[positions]
        return cls(examples.labels[positions], chance, probability)

    def calibration(self, share: float) -> Calibration:
        """Return the calibration on these pairs, or by the share of links where there are none."""
        if not len(self.labels):
            return for_share(share)
        return calibrate(self.probability, self.labels, share, self.chance)

    def unlinked_scores(self, seed: int) -> NDArray[np.float32]:
        """Return the predicted probabilities of unlinked pairs that stand for all unlinked pairs, [n].

        A pair is kept with a probability in inverse proportion to how likely it was drawn, so that those kept
        are as if drawn uniformly.
        """
        free = self.labels == 0
        if not free.any():
            return np.empty(0, np.float32)
        least = max(float(self.chance[free].min()), 1e-9)
        free &= generator(seed, "unlinked scores").random(len(free)) * self.chance <= least
        return np.sort(self.probability[free])
