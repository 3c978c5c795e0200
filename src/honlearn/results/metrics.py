"""Scores of predictions on a test part, and tests of whether two models differ.

In: true classes [B], probabilities [B, C] and perhaps those of each member [L, B, C]. Out: plain numbers.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import ParameterError
from honlearn.results.calibration import calibration_scores

Numbers = NDArray[np.floating[Any]]

# The resolution of a float32 near 1, and where the paper's program clips. A class that the training part
# lacks has probability 0, so each of its nodes costs -log(1e-7) = 16.1 rather than infinity.
FLOOR = 1e-7

# Fewer differences than this may be equal by accident, and then a t-test would be sure of anything.
LEAST_PAIRS = 5


def scores(truth: NDArray[np.int64], proba: Numbers, members: Numbers | None = None) -> dict[str, Any]:
    """Return the scores of one test part; those of single members are None where there are no members.

    `ece`, `brier` and accuracies of the surest nodes are those of :mod:`honlearn.results.calibration`.
    `macro_f1` is over the classes that occur in the test part or its predictions. `single_micro_f1` and
    `single_log_loss` are means over the members, `gain` is what the ensemble adds to the micro F1 of its
    mean member, `disagreement` the mean of :func:`disagreement`.
    """
    from sklearn.metrics import accuracy_score, f1_score

    predicted = proba.argmax(1)
    micro = float(f1_score(truth, predicted, average="micro"))
    result: dict[str, Any] = {
        "micro_f1": micro,
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
        "log_loss": log_loss(truth, proba),
        "accuracy": float(accuracy_score(truth, predicted)),
        **calibration_scores(truth, proba),
        "single_micro_f1": None,
        "single_log_loss": None,
        "gain": None,
        "disagreement": None,
    }
    if members is not None:
        single = float((members.argmax(2) == truth).mean())
        result["single_micro_f1"] = single
        result["single_log_loss"] = float(np.mean([log_loss(truth, member) for member in members]))
        result["gain"] = micro - single
        result["disagreement"] = float(disagreement(members).mean())
    return result


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the standard deviation (n − 1); the deviation of a single value is None.

    >>> mean_and_deviation([0.5, 0.75]), mean_and_deviation([0.5])
    ((0.625, 0.1767766952966369), (0.5, None))
    """
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


def log_loss(truth: NDArray[np.int64], proba: Numbers) -> float:
    """Return the mean of −log p(true class), p at least :data:`FLOOR`.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]])), 3)
    8.406
    """
    return float(losses(truth, proba).mean())


def losses(truth: NDArray[np.int64], proba: Numbers) -> NDArray[np.float64]:
    """Return −log p(true class) of each node [B], p at least :data:`FLOOR`; of members [L, B, C], [L, B].

    >>> losses(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]])).round(3).tolist()
    [0.693, -0.0]
    """
    chosen = np.asarray(proba, np.float64)[..., np.arange(len(truth)), truth]
    return np.asarray(-np.log(np.clip(chosen, FLOOR, 1.0)))


def area_under_roc(truth: NDArray[np.int64], proba: Numbers) -> float | None:
    """Return the area under the ROC curve: of two classes, or the mean over classes, each against the others.

    Classes that do not occur in `truth`, or alone, have none and are left out; None where all are.

    >>> area_under_roc(np.array([0, 1, 1]), np.array([[0.8, 0.2], [0.6, 0.4], [0.9, 0.1]]))
    0.5
    """
    from sklearn.metrics import roc_auc_score

    columns = [1] if proba.shape[1] == 2 else range(proba.shape[1])
    own = [(truth == column, proba[:, column]) for column in columns]
    found = [float(roc_auc_score(is_own, p)) for is_own, p in own if 0 < is_own.sum() < len(is_own)]
    return float(np.mean(found)) if found else None


def disagreement(members: Numbers) -> NDArray[np.float64]:
    """Return the share of pairs of members [L, B, C] that predict different classes, for each node, [B].

    >>> disagreement(np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]]])).round(3).tolist()
    [0.667]
    """
    votes = members.argmax(2)
    number = len(votes)
    if number == 1:
        return np.zeros(votes.shape[1])
    counts = (votes[:, :, None] == np.arange(members.shape[2])).sum(0)
    return np.asarray(1.0 - (counts * (counts - 1)).sum(1) / (number * (number - 1)), np.float64)


def kappas(votes: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Return Cohen's kappa of each pair of learners, [L, L], from their votes [L, B].

    Agreement beyond chance; NaN where two learners give every node one and the same class.

    >>> kappas(np.array([[0, 0, 1, 1], [0, 1, 1, 1]]), 2).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    chosen = votes[:, :, None] == np.arange(classes)
    shares = chosen.mean(1)
    observed = np.einsum("abc,dbc->ad", chosen.astype(np.float64), chosen.astype(np.float64)) / votes.shape[1]
    chance = shares @ shares.T
    room = 1.0 - chance
    return np.where(room > 1e-12, (observed - chance) / np.where(room > 1e-12, room, 1.0), np.nan)


def entropy(proba: Numbers) -> NDArray[np.float64]:
    """Return the entropy of each row in nats, [B]."""
    exact = np.asarray(proba, np.float64)
    return np.asarray(-(exact * np.log(np.maximum(exact, 1e-300))).sum(1), np.float64)


def corrected_t_test(differences: Sequence[float], test_share: float) -> float | None:
    """Return the two-sided p-value of the corrected resampled t-test (Nadeau & Bengio 2003).

    `differences` are the paired differences of a score, one for each fold and seed; `test_share` is
    n_test / n_train. Training parts overlap, so the variance of the mean is (1/k + n_test/n_train) s², not
    s²/k. None for fewer than two differences, and for fewer than :data:`LEAST_PAIRS` that are all the same.

    >>> round(corrected_t_test([0.02, 0.01, 0.03, 0.02, 0.02], 0.25), 4)
    0.0135
    """
    if not test_share > 0:
        raise ParameterError(f"'test_share' is n_test / n_train, greater than 0. Got {test_share!r} instead.")
    values = np.asarray(differences, np.float64)
    if len(values) < 2:
        return None
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    if variance <= 1e-30:
        if abs(mean) <= 1e-15:
            return 1.0
        return 0.0 if len(values) >= LEAST_PAIRS else None
    from scipy.stats import t

    statistic = mean / math.sqrt((1 / len(values) + test_share) * variance)
    return float(2 * t.sf(abs(statistic), len(values) - 1))
