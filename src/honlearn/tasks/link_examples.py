"""The pairs that a link predictor is trained on: pairs of the user, or links of the network and a pool.

In: arguments of ``fit``. Out: :class:`LinkExamples`, and from it what a training takes, in folds or not; and
the calibration of a fitted model and the scores of unlinked pairs that it held back.
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


def calibration_of(given: LinkExamples, trained: Trained, held: Held, n_entities: int) -> Calibration:
    """Return the calibration on what the learners held back, or by the share of links where that is nothing.

    Learners of a fit on pairs hold back the same pairs, so that their mean is the prediction of the bag.
    """
    share = given.share(n_entities)
    if not held.positions.shape[1]:
        return for_share(share)
    positions, examples = held.positions[0], trained.examples
    chance = examples.chance[positions] if isinstance(examples, FoldedPairs) else np.ones(len(positions))
    probability = held.proba[:, :, 1].mean(0, dtype=np.float64).astype(np.float32)
    return calibrate(probability, examples.labels[positions], share, chance)


def unlinked_scores(trained: Trained, held: Held, seed: int) -> NDArray[np.float32]:
    """Return the predicted probabilities of held-back unlinked pairs that stand for all unlinked pairs, [n].

    A held-back pair is kept with a probability in inverse proportion to how likely it was drawn, so that
    those kept are as if drawn uniformly. Empty where nothing is held back.
    """
    if not held.positions.shape[1]:
        return np.empty(0, np.float32)
    positions, examples = held.positions[0], trained.examples
    probability = held.proba[:, :, 1].mean(0, dtype=np.float64).astype(np.float32)
    free = examples.labels[positions] == 0
    if isinstance(examples, FoldedPairs) and free.any():
        chance = examples.chance[positions]
        least = max(float(chance[free].min()), 1e-9)
        free &= generator(seed, "unlinked scores").random(len(free)) * chance <= least
    return np.sort(probability[free])
