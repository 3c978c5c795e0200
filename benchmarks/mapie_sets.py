"""Prediction sets of MAPIE on probabilities that a honlearn classifier has: for comparison, no part of it.

In: what a fit compared (arguments of ``honlearn.tasks.crossed.count_fits``) and the final probabilities of
test nodes. Out: masks bool [B, C, levels]. *Split* calibrates MAPIE's split conformal classifier on held-back
probabilities and asks it for the final ones. *Cross* gives its cross-conformal classifier the learners that
held each node back, as the models of its folds, so that it compares by the probabilities that ours compares
by; ``agg_scores="crossval"`` counts, ``"mean"`` takes the mean over the models of all folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import PredefinedSplit

from honlearn.tasks.crossed import Crossed, Kernel, group_proba
from honlearn.tasks.temperature import tempered


class Rows(ClassifierMixin, BaseEstimator):
    """A classifier whose inputs are row numbers of tables of probabilities [G, R, C].

    `groups` [n] has for each of the first n rows the table by whose learners it was held back. Fitted on all
    rows but those of one group, it predicts by the table of that group.
    """

    def __init__(self, tables: Any = None, groups: Any = None) -> None:
        self.tables = tables
        self.groups = groups

    def fit(self, X: Any, y: Any) -> Rows:
        """Find the group that is missing; of several (all rows are there) the first."""
        there = np.isin(np.arange(len(self.groups)), np.asarray(X)[:, 0].astype(int))
        missing = self.groups[~there]
        self.table_ = int(missing[0]) if len(missing) else 0
        self.classes_ = np.arange(self.tables.shape[2])
        self.n_features_in_ = 1
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return rows of the table."""
        return self.tables[self.table_][np.asarray(X)[:, 0].astype(int)]

    def predict(self, X: Any) -> Any:
        """Return the most probable classes."""
        return self.predict_proba(X).argmax(1)


def split_sets(
    held: np.ndarray, labels: np.ndarray, final: np.ndarray, score: str, levels: Sequence[float]
) -> np.ndarray:
    """Return sets of rows `final` [B, C], calibrated on rows `held` [n, C] of classes `labels`."""
    from mapie.classification import SplitConformalClassifier

    table = np.concatenate([held, final]).astype(np.float64)
    table /= table.sum(1, keepdims=True)
    rows, n = np.arange(len(table))[:, None], len(held)
    model = Rows(table[None], np.zeros(n, np.int64)).fit(rows[:n], labels)
    conformal = SplitConformalClassifier(model, confidence_level=list(levels), conformity_score=score)
    return np.asarray(conformal.conformalize(rows[:n], labels).predict_set(rows[n:])[1])


def cross_sets(
    parts: Sequence[Crossed],
    kernel: Kernel | None,
    known: tuple[np.ndarray, np.ndarray, np.ndarray],
    temperature: float,
    codes: np.ndarray,
    aggregate: str,
    levels: Sequence[float],
) -> np.ndarray:
    """Return sets of entities (`codes`) by the learners that held the examples of each group back.

    MAPIE takes classes from the examples, so one of which none was held back is in no set.
    """
    from mapie.classification import CrossConformalClassifier

    _, held, labels = known
    tables, groups = [], np.empty(len(labels), np.int64)
    for number, (mixed, own) in enumerate(group_proba(parts, kernel, known[0])):
        groups[own] = number
        tables.append(np.concatenate([tempered(held, temperature), tempered(mixed, temperature)[codes]]))
    every, there = np.stack(tables).astype(np.float64), np.unique(labels)
    out = np.zeros((len(codes), every.shape[2], len(levels)), bool)
    every = every[:, :, there] / every[:, :, there].sum(2, keepdims=True)
    labels = np.searchsorted(there, labels)
    rows, n = np.arange(every.shape[1])[:, None], len(labels)
    conformal = CrossConformalClassifier(
        Rows(every, groups), confidence_level=list(levels), conformity_score="lac", cv=PredefinedSplit(groups)
    )
    conformal.fit_conformalize(rows[:n], labels)
    out[:, there] = conformal.predict_set(rows[n:], agg_scores=aggregate)[1]
    return out
