"""Folds of training pairs: each is trained on in a network that does not know its pairs.

In: linked pairs and a pool of unlinked ones, or pairs of the user. Out: :class:`FoldedPairs`. A pair that is
tested has left no trace in the network, so a pair that is trained on must have left none either: a fold is
hidden as a test is, contexts and paths included, and what its pairs read is computed once. Both directions of
a pair are in one fold. The first folds are the validation part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.pair_inputs import Features, PairExtras, PairSource, PairView, Scaling
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.sampling.inclusion import drawing_time, reached, shorter_time
from honlearn.sampling.negatives import draw_by_degree, end_weights, link_degrees
from honlearn.sampling.pairs import Pairs, count_unlinked, pair_keys
from honlearn.sampling.shared import Shared, input_digest
from honlearn.seeds import generator

NEGATIVES = ("uniform", "degree", "mixed")
# Unlinked pairs in the pool for each linked one; every epoch draws one of them for each linked pair.
POOL = 2


@dataclass(frozen=True, eq=False)
class FoldedPairs(PairExamples):
    """Labelled pairs with the fold of each, int64 [n], and what the pairs of each fold read.

    `places` int64 [n] is the row of a pair in its fold. `pooled` says that the unlinked pairs are more than
    an epoch takes. `chance` float64 [n] is how probable each pair is to be in the pool, relative to others;
    1 where pairs are the user's.
    """

    folds: NDArray[np.int64]
    places: NDArray[np.int64]
    views: tuple[PairView, ...]
    extras: tuple[PairExtras, ...]
    scaling: Scaling | None
    chance: NDArray[np.float64]
    pooled: bool

    def read(self, positions: NDArray[np.int64]) -> PairExtras:
        """Return what pairs of one fold read."""
        return self.extras[int(self.folds[positions[0]])].take(self.places[positions])

    def for_one_model(self) -> FoldedPairs:
        """Return the same folds with views of their own, to which a model adds what its learners read.

        What the features of a view were computed from is left behind: nobody reads it again.
        """
        return replace(self, views=tuple(replace(view, near=[]) for view in self.views))

    def for_training(self) -> FoldedPairs:
        """Return what learners are trained on: without paths and counts, from which features came."""
        source = replace(self.views[0].source, paths=None, known_lags=None)
        return replace(
            self, views=tuple(replace(view, source=source, lags=None, near=[]) for view in self.views)
        )


_known = Shared[FoldedPairs]()


def pooled_pairs(
    positives: Pairs, unlinked: Unlinked, negatives: str, size_of_pool: int, seed: int
) -> tuple[PairExamples, NDArray[np.float64]]:
    """Return the linked pairs and a pool of unlinked ones, and how likely each unlinked one was drawn.

    The pool has `size_of_pool` pairs for each linked one, or as many as there are.
    ``"mixed"`` draws half of the pool uniformly and half by degree, u by its out- and v by its in-degree. How
    likely a pair was drawn is relative to a uniform draw. Where many pairs are linked the pool holds most
    unlinked pairs, popular or not; weights make it what one unlinked pair for each linked one would be.
    """
    size, directed = unlinked.n_entities, unlinked.directed
    wanted = size_of_pool * len(positives)
    by_degree = {"uniform": 0.0, "degree": 1.0, "mixed": 0.5}[negatives]
    nobody = np.empty((0, 2), np.int32)
    keys = np.unique(pair_keys(positives, size, directed))
    degrees = link_degrees(keys, size, directed)
    random = generator(seed, "negatives", "pool")
    drawn = nobody
    if by_degree:
        drawn = draw_by_degree(random, int(wanted * by_degree), degrees, unlinked.taken, directed)
    taken = np.union1d(unlinked.taken, pair_keys(drawn, size, directed))
    free = Unlinked(size, taken, directed)
    some = free.draw_distinct(random, wanted - len(drawn))
    pool = np.concatenate([drawn, some])
    pairs = np.concatenate([positives, pool]).astype(np.int32)
    labels = np.repeat(np.array([1, 0], np.int64), [len(positives), len(pool)])
    a, b = end_weights(degrees, unlinked.taken, directed)
    draw = _Draw(
        by_degree, len(drawn), len(some), count_unlinked(size, unlinked.taken, directed), len(positives)
    )
    weights, chance = np.ones(len(pairs), np.float32), np.ones(len(pairs))
    weights[labels == 0], chance[labels == 0] = draw.weighed(a[pool[:, 0]] * b[pool[:, 1]])
    return PairExamples(pairs, labels, weights), chance


class _Draw(NamedTuple):
    """A pool: the share that is meant to be by degree, how many are by degree and how many are uniform.

    `free` is how many pairs could be drawn, `meant` how many the draw has that the weights give.
    """

    share: float
    by_degree: int
    uniform: int
    free: int
    meant: int

    def weighed(self, probability: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights of mean 1 of the pairs of the pool, and how likely each was drawn, [n] each.

        `probability` is that of each pair in one draw by degree; pairs drawn by degree stand first.
        """
        drawn = probability[: self.by_degree]
        time = drawing_time(drawn)
        popular = reached(probability, time) if self.by_degree else np.zeros(len(probability))
        there = popular + (1.0 - popular) * self.uniform / max(self.free - self.by_degree, 1)
        wanted = np.full(len(probability), (1.0 - self.share) * self.meant / max(self.free, 1))
        if self.by_degree:
            wanted = wanted + reached(probability, shorter_time(drawn, time, self.share * self.meant))
        weights = wanted / there
        return weights / max(weights.mean(), 1e-300), there * self.free / max(len(probability), 1)


def fold_pairs(
    source: PairSource,
    examples: PairExamples,
    chance: NDArray[np.float64] | None,
    n_folds: int,
    seed: int,
) -> FoldedPairs:
    """Divide pairs into folds and compute what each fold reads; `chance` None says pairs are the user's.

    Models that train on the same pairs of the same network and paths share one result.
    """
    directed = source.sampler(source.network).directed
    given = (n_folds, seed, directed, source.reads_counts, source.reads_common, chance is None)
    arrays: list[NDArray[Any]] = [examples.pairs, examples.labels, examples.weights]
    arrays += [] if chance is None else [chance]
    key = input_digest(source.network, source.paths, arrays, *given)
    return _known.get(key, lambda: _folded(source, examples, chance, n_folds, seed)).for_one_model()


def _folded(
    source: PairSource,
    examples: PairExamples,
    chance: NDArray[np.float64] | None,
    n_folds: int,
    seed: int,
) -> FoldedPairs:
    folds = _folds(examples, source.network.n_entities, n_folds, seed)
    places = np.zeros(len(folds), np.int64)
    views, found, common = [], [], []
    for fold in range(int(folds.max()) + 1):
        rows = np.flatnonzero(folds == fold)
        places[rows] = np.arange(len(rows))
        pairs = examples.pairs[rows]
        view = source.without(pairs)
        views.append(view)
        found.append(view.features(pairs) if source.reads_counts else None)
        common.append(view.common(pairs) if source.reads_common else None)
    scaling = _scaling(examples, chance, folds, found)
    extras = tuple(
        PairExtras(None if scaling is None or one is None else scaling(one), shared)
        for one, shared in zip(found, common, strict=True)
    )
    pooled, given = chance is not None, np.ones(len(folds)) if chance is None else chance
    known = (examples.pairs, examples.labels, examples.weights)
    made = FoldedPairs(*known, folds, places, tuple(views), extras, scaling, given, pooled)
    return made.for_one_model()


def _folds(examples: PairExamples, n_entities: int, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each pair: linked and unlinked pairs each divided evenly, in a random order."""
    keys = pair_keys(examples.pairs, n_entities, directed=False)
    distinct, group = np.unique(keys, return_inverse=True)
    linked = np.zeros(len(distinct), np.int64)
    np.maximum.at(linked, group, examples.labels)
    random = generator(seed, "pair folds")
    fold = np.empty(len(distinct), np.int64)
    for label in (1, 0):
        members = random.permutation(np.flatnonzero(linked == label))
        fold[members] = np.arange(len(members)) % min(n_folds, max(len(distinct), 1))
    # A fold without any pair has no place among the folds.
    return np.unique(fold, return_inverse=True)[1][group].astype(np.int64)


def _scaling(
    examples: PairExamples,
    chance: NDArray[np.float64] | None,
    folds: NDArray[np.int64],
    found: list[Features | None],
) -> Scaling | None:
    """Return the scaling of the features, linked and unlinked pairs weighed alike where a pool is larger."""
    if found[0] is None:
        return None
    features = np.concatenate([one for one in found if one is not None])
    if chance is None:
        return Scaling.of(features)
    order = np.argsort(folds, kind="stable")
    labels = examples.labels[order]
    unlinked = np.flatnonzero(labels == 0)[:: max(1, round((labels == 0).sum() / max(labels.sum(), 1)))]
    return Scaling.of(features[np.concatenate([np.flatnonzero(labels == 1), unlinked])])
