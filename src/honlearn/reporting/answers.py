"""The predictions of a model for the test nodes of its fits, joined over folds, and their quality.

In: a model of a study on nodes. Out: :class:`ModelPredictions` (truth, probabilities, learners), their
confusion matrix, reliability and scores by class, and the packed form that the page shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.reporting.naming import class_order
from honlearn.reporting.pack import pack, pack_integers, pack_shares, plain
from honlearn.results import calibration
from honlearn.results.metrics import disagreement, entropy
from honlearn.results.runs import ModelRecords, Study

BINS = calibration.BINS
Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ModelPredictions:
    """The test nodes of all folds of one seed: each node once, by the fit that was not trained on it.

    nodes [B], classes [C], truth and fold [B], proba [B, C]; members and drawn [L, B, C] and relatives [L, B]
    where every fold has them, as p_values [B, C] of prediction sets. `seed` is the seed; `missing` counts
    folds whose answers were not kept; `reasons` explain some of the predictions.
    """

    nodes: list[str]
    classes: list[str]
    truth: NDArray[np.int64]
    fold: NDArray[np.int64]
    proba: Numbers
    members: Numbers | None
    drawn: Numbers | None
    relatives: NDArray[np.int64] | None
    seed: int
    missing: int
    p_values: Numbers | None = None
    reasons: list[dict[str, Any]] = field(default_factory=list)

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The most probable class of each node [B]."""
        return np.asarray(self.proba.argmax(1), np.int64)


def answers_of(study: Study, model: ModelRecords) -> ModelPredictions | None:
    """Return the predictions of a model with its first seed; None where nothing was kept."""
    seed = model.seeds[0]
    kept = [(record, study.answers(record)) for record in model.of_seed(seed)]
    found = [(record, answers) for record, answers in kept if answers is not None]
    if not found:
        return None
    classes: list[str] = list(found[0][1].about["classes"])
    # Folds of one study have the same classes; a column of others would be of something else.
    found = [(record, answers) for record, answers in found if answers.about["classes"] == classes]
    ordered = class_order(classes)
    number = {name: i for i, name in enumerate(ordered)}
    columns = [classes.index(name) for name in ordered]

    def joined(name: str, axis: int) -> Any:
        parts = [answers.arrays[name] for _, answers in found if name in answers.arrays]
        # Folds may differ in their number of learners; then there is no axis to join them on.
        if len(parts) < len(found) or (axis and len({len(part) for part in parts}) > 1):
            return None
        whole = np.concatenate(parts, axis)
        return whole if name == "relatives" else whole[..., columns]

    def wide(name: str) -> Any:
        values = joined(name, 1)
        return None if values is None else values.astype(np.float32)

    folds = [record.configuration.fold for record, _ in found]
    sizes = [len(answers.about["nodes"]) for _, answers in found]
    return ModelPredictions(
        [node for _, answers in found for node in answers.about["nodes"]],
        ordered,
        np.array([number[label] for _, answers in found for label in answers.about["truth"]], np.int64),
        np.repeat(folds, sizes).astype(np.int64),
        joined("proba", 0).astype(np.float32),
        wide("members"),
        wide("drawn"),
        joined("relatives", 1),
        seed,
        len(kept) - len(found),
        joined("p_values", 0),
        [one for _, answers in found for one in answers.about.get("reasons") or []],
    )


def confusion(given: ModelPredictions) -> NDArray[np.int64]:
    """Return how many nodes of each class (rows) were taken for each class (columns), int64 [C, C]."""
    size = len(given.classes)
    flat = np.bincount(given.truth * size + given.predicted, minlength=size * size)
    return flat.reshape(size, size).astype(np.int64)


def class_scores(given: ModelPredictions) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and support of each class; None where nothing can be divided."""
    table = confusion(given)
    rows = []
    for i, name in enumerate(given.classes):
        right, support, claimed = (int(n) for n in (table[i, i], table[i].sum(), table[:, i].sum()))
        rows.append(
            {
                "class": name,
                "support": support,
                "predicted": claimed,
                "precision": right / claimed if claimed else None,
                "recall": right / support if support else None,
                "f1": 2 * right / (support + claimed) if support + claimed else None,
            }
        )
    return rows


def reliability(given: ModelPredictions) -> dict[str, Any]:
    """Return how often the ensemble is right, by how sure it is: ten bins, and the calibration error.

    The error is Σ share of the bin · |accuracy − mean confidence|; positive `bias` means too sure.
    """
    sure, right = given.proba.max(1).astype(np.float64), given.predicted == given.truth
    found = calibration.reliability(given.truth, given.proba)
    count, confidence, accuracy = found
    bins = [
        {
            "from": i / BINS,
            "to": (i + 1) / BINS,
            "nodes": int(count[i]),
            "confidence": float(confidence[i]) if count[i] else None,
            "accuracy": float(accuracy[i]) if count[i] else None,
        }
        for i in range(BINS)
    ]
    return {"bins": bins, "error": found.error, "bias": float(sure.mean() - right.mean())}


def sets_of(given: ModelPredictions) -> list[dict[str, Any]] | None:
    """Return coverage, its interval and sizes of prediction sets, over all nodes and by class, by level."""
    if given.p_values is None:
        return None
    rows, width = [], len(given.classes)
    for level in calibration.LEVELS:
        inside = given.p_values > (100 - level) / 100
        covered, sizes = inside[np.arange(len(given.truth)), given.truth], inside.sum(1)
        by_class = [covered[given.truth == code] for code in range(width)]
        low, high = calibration.coverage_interval(int(covered.sum()), len(covered))
        rows.append(
            {
                "level": level / 100,
                "coverage": float(covered.mean()),
                "low": low,
                "high": high,
                "size": float(sizes.mean()),
                "sizes": np.bincount(sizes, minlength=width + 1).tolist(),
                "by_class": [float(one.mean()) if len(one) else None for one in by_class],
            }
        )
    return rows


def abstention(given: ModelPredictions) -> list[dict[str, float]]:
    """Return the accuracy of the surest part of the nodes, for parts from a tenth to all of them."""
    curve = calibration.abstention_curve(given.truth, given.proba)
    shares = [k / BINS for k in range(1, BINS + 1)]
    return [{"share": s, "accuracy": float(curve[max(1, round(len(curve) * s)) - 1])} for s in shares]


def packed(
    given: ModelPredictions, place: Mapping[str, int], with_learners: bool, with_reasons: bool = True
) -> dict[str, Any]:
    """Return the page's form of one model: `place` is where a node is in the explorer, if it is there."""
    page: dict[str, Any] = {
        "nodes": given.nodes,
        "at": pack([place.get(node, -1) for node in given.nodes], "i4"),
        "classes": given.classes,
        "truth": pack_integers(given.truth),
        "fold": pack_integers(given.fold),
        "proba": pack_shares(given.proba),
        "entropy": pack(entropy(given.proba), "f4"),
        "seed": given.seed,
        "missing": given.missing,
        "confusion": confusion(given).tolist(),
        "by_class": plain(class_scores(given), 5),
        "reliability": plain(reliability(given), 5),
        "sets": plain(sets_of(given), 5),
        "abstention": plain(abstention(given), 5),
        "learners": None,
        "disagreement": None,
        "reasons": plain(_explained(given), 5) if with_reasons else {},
    }
    if given.members is not None:
        page["disagreement"] = pack_shares(disagreement(given.members))
        if with_learners:
            page["learners"] = _learners(given, given.members)
    return page


def _explained(given: ModelPredictions) -> dict[str, Any]:
    """Return the reasons for predictions by the place of their nodes."""
    place = {node: number for number, node in enumerate(given.nodes)}
    return {str(place[one["node"]]): one for one in given.reasons}


def reason_bytes(given: ModelPredictions) -> int:
    """Return about how many characters of the page the reasons of a model take."""
    return len(json.dumps(given.reasons))


def _learners(given: ModelPredictions, members: Numbers) -> dict[str, Any]:
    """Return each learner's class and probability [L, B], over all it read and from one drawn relative."""
    found: dict[str, Any] = {
        "number": len(members),
        "vote": pack_integers(members.argmax(2)),
        "chance": pack_shares(members.max(2), "u1"),
    }
    if given.drawn is not None and given.relatives is not None:
        found["relative"] = pack_integers(given.relatives)
        found["drawn_vote"] = pack_integers(given.drawn.argmax(2))
        found["drawn_chance"] = pack_shares(given.drawn.max(2), "u1")
    return found


def learner_bytes(given: ModelPredictions) -> int:
    """Return about how many characters of the page the learners of a model take."""
    if given.members is None:
        return 0
    width = 2 + (0 if given.relatives is None else 2 + (1 if given.relatives.max(initial=0) < 256 else 2))
    return int(given.members.shape[0] * given.members.shape[1] * width * 4 / 3)
