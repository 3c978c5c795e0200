"""Prediction sets of a classifier of whole paths, and what of them is saved.

In: probabilities of training paths that were held out while the penalty was chosen
(:mod:`honlearn.tasks.logistic`), and their classes. Out: a p-value for each class of a new path, by the score
1 − p (:mod:`honlearn.conformal`). This is cross-conformal prediction: held-out paths are scored by
regressions on the other folds, new paths by that on all of them. What is guaranteed and what is measured:
``docs/uncertainty.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.conformal import Rows, ScoreRule, class_p_values
from honlearn.errors import FormatError
from honlearn.stored import Spec, check_arrays
from honlearn.tasks.storage import ADVICE

SCORES, LABELS = "held_out.scores", "held_out.labels"
_RULE = ScoreRule("lac")


@dataclass(frozen=True, eq=False)
class PathCalibration:
    """Scores of the true classes of held-out paths, float64 [n], and these classes, int64 [n].

    A row of the training paths is one example, whatever its count or weight.
    """

    scores: Rows
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, proba: NDArray[np.float64], labels: NDArray[np.int64]) -> PathCalibration:
        """Return the calibration by probabilities [n, C] of held-out paths of these classes [n]."""
        return cls(_scores(proba)[np.arange(len(labels)), labels], labels)

    def p_values(self, proba: NDArray[np.float64], class_conditional: bool) -> Rows:
        """Return the p-value of each class, [B, C], from probabilities [B, C] of new paths."""
        return class_p_values(_scores(proba), self.scores, self.labels if class_conditional else None)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is saved with a model."""
        return {SCORES: self.scores, LABELS: self.labels}

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], n_classes: int, where: str
    ) -> PathCalibration | None:
        """Return what was saved among these arrays, all of it checked; None where nothing was held out."""
        there = {SCORES, LABELS} & set(arrays)
        if not there:
            return None
        if len(there) < 2:
            raise FormatError(f"{where}: held-out scores are not whole; {ADVICE}")
        specs: dict[str, Spec] = {SCORES: ("f8", ("n",)), LABELS: ("i8", ("n",))}
        check_arrays(dict(arrays), specs, where, advice=ADVICE)
        scores, labels = arrays[SCORES], arrays[LABELS]
        if not len(scores) or scores.min() < 0 or scores.max() > 1:
            raise FormatError(f"{where}: {SCORES!r} must hold numbers from 0 to 1; {ADVICE}")
        if labels.min() < 0 or labels.max() >= n_classes:
            raise FormatError(f"{where}: {LABELS!r} must hold places of {n_classes} classes; {ADVICE}")
        return cls(scores, labels)


def _scores(proba: NDArray[np.float64]) -> Rows:
    """Return 1 − p, from 0 to 1 whatever was rounded; this score takes no random numbers."""
    return np.asarray(np.clip(_RULE.scores(proba, np.zeros(len(proba))), 0.0, 1.0))
