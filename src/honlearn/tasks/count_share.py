"""The count model of a link predictor and its share, both from training pairs.

In: folds of training pairs, each with the counts that it has while it is hidden, and what the learners
predicted for the pairs that they held back. Out: a :class:`~honlearn.ensemble.count_model.CountModel`. The
regression that is judged did not see the held-back pairs either; the one that predicts is fitted on all of
them, with the same penalty. Its share is found by stacking, as the shares of a bag for nodes are
(:mod:`honlearn.tasks.shares`): what cannot be told apart on the held-back pairs has about equal shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from honlearn.ensemble.count_model import CountModel
from honlearn.ensemble.pair_folds import FoldedPairs
from honlearn.ensemble.pair_training import PairExamples
from honlearn.ensemble.training import Held
from honlearn.sampling.pair_counts import PairCounts
from honlearn.seeds import generator
from honlearn.tasks.logistic import choose_logistic, fit_logistic
from honlearn.tasks.path_grams import Matrix
from honlearn.tasks.shares import stacked_shares

N_COUNTS = len(PairCounts.names)
# Inverse strengths of the L2 penalty that training pairs choose from, the strongest first.
STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
PENALTY_FOLDS = 5
# As many pairs as tell some thirty coefficients; more would only take longer.
_MOST_PAIRS = 40_000


class _Rows(NamedTuple):
    """What a regression takes: counts of pairs [n, C], whether they are linked, two classes, weights [n]."""

    counts: Matrix
    labels: NDArray[np.int64]
    n_classes: int
    weights: NDArray[np.float64]


class CountPart(NamedTuple):
    """The count model of a fit, None for none, and what was predicted for held-back pairs, float32 [h].

    For these the learners are mixed with a regression that did not see them.
    """

    model: CountModel | None
    held: NDArray[np.float32]


def count_part(examples: PairExamples, held: Held, share: float | str, seed: int) -> CountPart:
    """Return the regression on all pairs with its share.

    There is none where pairs have no counts, where only one kind of pair is there, and where the share is 0.

    Parameters
    ----------
    examples : all pairs of a fit.
    held : what the learners of the fit held back, the same pairs for all of them.
    share : the share; ``"auto"`` chooses it, and takes one half where nothing was held back.
    seed : of the fit.
    """
    learned: NDArray[np.float32] = held.proba[:, :, 1].mean(0, dtype=np.float64).astype(np.float32)
    if not isinstance(examples, FoldedPairs) or examples.scaling is None or share == 0:
        return CountPart(None, learned)
    positions = held.positions[0]
    judged = np.isin(examples.folds, np.unique(examples.folds[positions]))
    rows = _rows(examples, np.flatnonzero(~judged), seed)
    if len(np.unique(rows.labels)) < 2:
        return CountPart(None, learned)
    strength = choose_logistic(*rows, STRENGTHS, PENALTY_FOLDS, seed).C
    inner, features = _fitted(rows, strength), _features(examples, positions)
    if isinstance(share, str):
        found = special.expit(inner.logits(features))
        given = examples.labels[positions], examples.weights[positions].astype(np.float64)
        share = _stacked(learned, found, *given, seed) if len(positions) else 0.5
    whole = _fitted(_rows(examples, np.arange(len(examples)), seed), strength) if judged.any() else inner
    mixed = inner._replace(share=float(share)).mixed(learned, features)
    return CountPart(whole._replace(share=float(share)), mixed)


def _stacked(
    learned: NDArray[np.float32],
    counts: NDArray[np.float64],
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    seed: int,
) -> float:
    """Return the share of the count model beside the learners, from the probability of a link by each."""
    parts = [learned.astype(np.float64), counts]
    truth = [np.where(labels == 1, linked, 1.0 - linked) for linked in parts]
    return float(stacked_shares(truth, weights, seed)[1])


def _features(examples: FoldedPairs, positions: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the standardised counts of the pairs at these positions, float32 [n, C]."""
    out = np.empty((len(positions), N_COUNTS), np.float32)
    fold, place = examples.folds[positions], examples.places[positions]
    for number in np.unique(fold).tolist():
        found = examples.extras[number].features
        assert found is not None
        some = fold == number
        out[some] = found[place[some], :N_COUNTS]
    return out


def _rows(examples: FoldedPairs, positions: NDArray[np.int64], seed: int) -> _Rows:
    """Return what a regression reads of pairs; of a pool, linked and unlinked ones weigh the same."""
    if len(positions) > _MOST_PAIRS:
        drawn = generator(seed, "count model").permutation(len(positions))[:_MOST_PAIRS]
        positions = positions[np.sort(drawn)]
    labels, weights = examples.labels[positions], examples.weights[positions].astype(np.float64)
    if examples.pooled:
        linked = labels == 1
        weights = weights * np.where(linked, 1.0, linked.sum() / max((~linked).sum(), 1))
    counts = sparse.csr_array(_features(examples, positions).astype(np.float64))
    return _Rows(counts, labels, 2, weights)


def _fitted(rows: _Rows, strength: float) -> CountModel:
    found = fit_logistic(*rows, strength)
    intercept = float(found.intercept[1] - found.intercept[0])
    return CountModel(np.asarray(found.coef[1] - found.coef[0]), intercept, 1.0)
