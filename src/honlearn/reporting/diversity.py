"""How different and how good the learners of an ensemble are, and how they learnt.

In: the predictions of each learner of a model, and the histories of its fits. Out: one point for each
pair of learners and fold (the paper's figure of kappa against loss), and learning curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from honlearn.reporting.answers import ModelPredictions
from honlearn.results.metrics import kappas, losses

# Pairs kept for the page; more would only hide one another.
MOST_POINTS = 1500


def likeness(given: ModelPredictions) -> dict[str, Any] | None:
    """Return for each pair of learners in each fold its kappa and the mean of their two log losses.

    None where there are fewer than two learners. `mean_kappa` and `mean_loss` are over all pairs.
    """
    members = given.members
    if members is None or len(members) < 2:
        return None
    votes = members.argmax(2)
    points: list[tuple[int, int, int, float, float]] = []
    for fold in np.unique(given.fold).tolist():
        here = np.flatnonzero(given.fold == fold)
        loss = losses(given.truth[here], members[:, here]).mean(1)
        kappa = kappas(votes[:, here], len(given.classes))
        for i in range(len(members)):
            for j in range(i):
                points.append((fold, j, i, float(kappa[i, j]), float(loss[i] + loss[j]) / 2))
    finite = [point for point in points if point[3] == point[3]]
    if not finite:
        return None
    step = -(-len(finite) // MOST_POINTS)
    return {
        "points": [list(point) for point in finite[::step]],
        "pairs": len(finite),
        "mean_kappa": float(np.mean([point[3] for point in finite])),
        "mean_loss": float(np.mean([point[4] for point in finite])),
    }


def curves(histories: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the mean, least and greatest loss in each epoch over the fits of a model, by phase and curve.

    Stages of one fit (the draws of a bag* train one after another) are averaged within it first.
    """
    found = []
    for phase in ("search", "refit"):
        for curve in ("loss", "validation_loss"):
            by_epoch: dict[int, list[float]] = {}
            for history in histories:
                own: dict[int, list[float]] = {}
                for row in history:
                    if row.get("phase", "search") == phase and curve in row and "epoch" in row:
                        own.setdefault(int(row["epoch"]), []).append(float(row[curve]))
                for epoch, values in own.items():
                    by_epoch.setdefault(epoch, []).append(float(np.mean(values)))
            if by_epoch:
                epochs = sorted(by_epoch)
                found.append(
                    {
                        "phase": phase,
                        "curve": curve,
                        "epoch": epochs,
                        "mean": [float(np.mean(by_epoch[e])) for e in epochs],
                        "least": [min(by_epoch[e]) for e in epochs],
                        "most": [max(by_epoch[e]) for e in epochs],
                        "fits": [len(by_epoch[e]) for e in epochs],
                    }
                )
    return found
