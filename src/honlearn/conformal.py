"""Conformal prediction: sets of classes that hold the true class with probability 1 − alpha.

In: class probabilities and true classes of calibration examples that the model was not trained on, and class
probabilities of new examples. Out: a p-value for each class of each new example, and from these its set. With
a score s(x, y), the larger the worse y fits x, and calibration scores s_i = s(x_i, y_i), i = 1 … n,

    p(y) = (1 + #{i : s_i ≥ s(x, y)}) / (n + 1),      C(x) = {y : p(y) > alpha}.

Guaranteed (Vovk et al. 2005): where the new example and the calibration examples are exchangeable and the
score does not depend on them, P(y ∈ C(x)) ≥ 1 − alpha, and at most 1 − alpha + 1 / (n + 1) where scores do
not tie. With the calibration examples of class y alone (class-conditional, Mondrian) the same holds for the
examples of each class. Nothing is guaranteed for one example, or for a group of examples chosen by its
predictions. Scores:

    lac    1 − p_y                                                   (Sadinle et al. 2019: smallest sets)
    aps    Σ p_k over classes k more probable than y, + u p_y        (Romano et al. 2020: adaptive)
    raps   aps + penalty · max(0, rank of y − free)                  (Angelopoulos et al. 2021)

with u uniform on [0, 1], one number for each example. Where calibration examples were predicted by other
models than the new example, the score depends on who predicts. Comparing each calibration example i with the
new one by the model that has not seen example i (jackknife+, cross-conformal prediction) gives a set of the
same form, with s(x, y) taken anew for each i. It holds the true class with probability at least 1 − 2 alpha,
and in practice with 1 − alpha (Barber et al. 2021): `jackknife` in :mod:`honlearn.tasks.crossed`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import check_real

Rows = NDArray[np.float64]
KINDS = ("jackknife", "lac", "aps", "raps")


@dataclass(frozen=True)
class ScoreRule:
    """A score of one example alone: ``"lac"``, ``"aps"``, or ``"raps"`` with its penalty and free ranks."""

    kind: str
    penalty: float = 0.0
    free: int = 1

    def scores(self, proba: NDArray[np.floating], uniform: Rows) -> Rows:
        """Return the score of every class, [B, C], from probabilities [B, C] and numbers in [0, 1], [B].

        >>> proba, half = np.array([[0.6, 0.1, 0.3]]), np.array([0.5])
        >>> ScoreRule("lac").scores(proba, half).round(2).tolist()
        [[0.4, 0.9, 0.7]]
        >>> ScoreRule("aps").scores(proba, half).round(2).tolist()
        [[0.3, 0.95, 0.75]]
        """
        exact = np.asarray(proba, np.float64)
        if self.kind == "lac":
            return np.asarray(1.0 - exact, np.float64)
        order = np.argsort(-exact, axis=1, kind="stable")
        ranked = np.take_along_axis(exact, order, 1)
        above = np.cumsum(ranked, 1) - ranked
        rank = np.arange(1, exact.shape[1] + 1)
        scores = above + uniform[:, None] * ranked + self.penalty * np.maximum(rank - self.free, 0)
        out: Rows = np.empty(scores.shape)
        np.put_along_axis(out, order, scores, 1)
        return out


def p_values(scores: NDArray[np.floating], known: Rows) -> Rows:
    """Return the p-value of each score, of the same shape, given calibration scores [n].

    >>> p_values(np.array([0.1, 0.35, 0.9]), np.array([0.2, 0.3, 0.4])).tolist()
    [1.0, 0.5, 0.25]
    """
    below = np.searchsorted(np.sort(known), scores, side="left")
    return np.asarray((1.0 + len(known) - below) / (len(known) + 1.0))


def threshold(scores: Rows, weights: Rows, n: float, alpha: float) -> float:
    """Return the largest score whose p-value is greater than alpha, for calibration scores with weights.

    With weights w_i that sum to n, such as 1 / (number of steps of a path) for each step of n paths,
    p(s) = (1 + Σ_i w_i [s_i ≥ s]) / (n + 1). Infinite where any score has a p-value above alpha, minus
    infinity where none has.

    >>> scores, once = np.array([0.2, 0.3, 0.4]), np.ones(3)
    >>> [threshold(scores, once, 3, alpha) for alpha in (0.2, 0.25, 0.5, 1)]
    [inf, 0.4, 0.3, -inf]
    """
    if 1.0 / (n + 1.0) > alpha:
        return float("inf")
    values, place = np.unique(scores, return_inverse=True)
    above = np.cumsum(np.bincount(place, weights, len(values))[::-1])[::-1]
    known = values[(1.0 + above) / (n + 1.0) > alpha + 1e-12]
    return float(known[-1]) if len(known) else float("-inf")


def link_p_values(scores: NDArray[np.floating], unlinked: NDArray[np.floating]) -> Rows:
    """Return the p-value of each suggested link, given scores of pairs that are known to be unlinked [n].

    p = (1 + #{unlinked pairs with a score at least as high}) / (n + 1): a suggestion that is in truth no link
    has p ≤ t with probability at most t, where its score is exchangeable with those of the unlinked pairs.
    So these have to be drawn as the suggestions are (from the same entities, by the same rule) and be no part
    of the training. Links hidden among them make p-values larger, never smaller. None is below 1 / (n + 1).

    >>> link_p_values(np.array([0.95, 0.5]), np.array([0.1, 0.4, 0.6, 0.2])).tolist()
    [0.2, 0.4]
    """
    return p_values(np.asarray(scores, np.float64), np.asarray(unlinked, np.float64))


def class_p_values(scores: Rows, known: Rows, labels: NDArray[np.int64] | None = None) -> Rows:
    """Return the p-value of each class, [B, C], given calibration scores [n] of true classes.

    With `labels` [n], the classes of the calibration examples, a class is compared with its own examples
    alone; one that has none gets 1.
    """
    if labels is None:
        return p_values(scores, known)
    columns = [p_values(scores[:, code], known[labels == code]) for code in range(scores.shape[1])]
    return np.stack(columns, axis=1) if columns else np.ones_like(scores)


def crossed_p_values(scores: Rows, labels: NDArray[np.int64], parts: int = 5) -> Rows:
    """Return the p-value of each class of calibration examples, [n, C], by the examples of the other parts.

    Example i is in part i mod `parts`, and its scores [n, C] are compared with those of the true classes of
    all examples in other parts. The coverage of sets of these p-values estimates that of new examples.

    >>> scores = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> crossed_p_values(scores, np.array([0, 1, 0, 1]), 2).round(2).tolist()
    [[1.0, 0.33], [0.33, 0.67], [0.67, 0.33], [0.33, 0.33]]
    """
    part = np.arange(len(labels)) % parts
    of_truth, out = scores[np.arange(len(labels)), labels], np.empty(scores.shape)
    for number in range(parts):
        own = part == number
        out[own] = p_values(scores[own], of_truth[~own])
    return out


def check_alpha(owner: str, alpha: object) -> float:
    """Return how often a set may lack the true class, or raise a ParameterError unless it is a share."""
    return check_real(owner, "alpha", alpha, 0, 1)
