"""What the fits of a row said of the nodes they were tested on, joined over folds, and what follows from it.

In: a row of a study on nodes. Out: a :class:`Said` (truth, probabilities, learners), its confusion matrix,
reliability and scores by class, and the packed form that the page shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.report.pack import pack, pack_integers, pack_shares, plain
from honlearn.results.metrics import disagreement, entropy
from honlearn.results.runs import Row, Study

BINS = 10
Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Said:
    """The test nodes of all folds of one seed: each node once, by the fit that was not trained on it.

    nodes [B], classes [C], truth and fold [B], proba [B, C]; members and drawn [L, B, C] and relatives [L, B]
    where every fold has them. `seed` is the seed; `missing` counts folds whose answers were not kept.
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

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The most probable class of each node [B]."""
        return np.asarray(self.proba.argmax(1), np.int64)


def answers_of(study: Study, row: Row) -> Said | None:
    """Return what a row said with its first seed; None where nothing was kept."""
    seed = row.seeds[0]
    kept = [(record, study.answers(record)) for record in row.of_seed(seed)]
    found = [(record, answers) for record, answers in kept if answers is not None]
    if not found:
        return None
    classes: list[str] = list(found[0][1].about["classes"])
    # Folds of one study have the same classes; a column of others would be of something else.
    found = [(record, answers) for record, answers in found if answers.about["classes"] == classes]
    number = {name: i for i, name in enumerate(classes)}

    def joined(name: str, axis: int) -> Any:
        parts = [answers.arrays[name] for _, answers in found if name in answers.arrays]
        # Folds may differ in their number of learners; then there is no axis to join them on.
        if len(parts) < len(found) or (axis and len({len(part) for part in parts}) > 1):
            return None
        return np.concatenate(parts, axis)

    def wide(name: str) -> Any:
        values = joined(name, 1)
        return None if values is None else values.astype(np.float32)

    folds = [int(record["configuration"]["fold"]) for record, _ in found]
    sizes = [len(answers.about["nodes"]) for _, answers in found]
    return Said(
        [node for _, answers in found for node in answers.about["nodes"]],
        classes,
        np.array([number[label] for _, answers in found for label in answers.about["truth"]], np.int64),
        np.repeat(folds, sizes).astype(np.int64),
        joined("proba", 0).astype(np.float32),
        wide("members"),
        wide("drawn"),
        joined("relatives", 1),
        seed,
        len(kept) - len(found),
    )


def confusion(said: Said) -> NDArray[np.int64]:
    """Return how many nodes of each class (rows) were taken for each class (columns), int64 [C, C]."""
    size = len(said.classes)
    flat = np.bincount(said.truth * size + said.predicted, minlength=size * size)
    return flat.reshape(size, size).astype(np.int64)


def class_scores(said: Said) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and support of each class; None where nothing can be divided."""
    table = confusion(said)
    rows = []
    for i, name in enumerate(said.classes):
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


def reliability(said: Said) -> dict[str, Any]:
    """Return how often the ensemble is right, by how sure it is: ten bins, and the calibration error.

    The error is Σ share of the bin · |accuracy − mean confidence|; positive `bias` means too sure.
    """
    sure = said.proba.max(1).astype(np.float64)
    right = (said.predicted == said.truth).astype(np.float64)
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    full = np.maximum(count, 1)
    confidence, accuracy = np.bincount(place, sure, BINS) / full, np.bincount(place, right, BINS) / full
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
    error = float((count * np.abs(accuracy - confidence)).sum() / max(len(sure), 1))
    return {"bins": bins, "error": error, "bias": float(sure.mean() - right.mean())}


def packed(said: Said, place: Mapping[str, int], with_learners: bool) -> dict[str, Any]:
    """Return the page's form of one row: `place` is where a node stands in the explorer, if it does."""
    page: dict[str, Any] = {
        "nodes": said.nodes,
        "at": pack([place.get(node, -1) for node in said.nodes], "i4"),
        "classes": said.classes,
        "truth": pack_integers(said.truth),
        "fold": pack_integers(said.fold),
        "proba": pack_shares(said.proba),
        "entropy": pack(entropy(said.proba), "f4"),
        "seed": said.seed,
        "missing": said.missing,
        "confusion": confusion(said).tolist(),
        "by_class": plain(class_scores(said), 5),
        "reliability": plain(reliability(said), 5),
        "learners": None,
        "disagreement": None,
    }
    if said.members is not None:
        page["disagreement"] = pack_shares(disagreement(said.members))
        if with_learners:
            page["learners"] = _learners(said, said.members)
    return page


def _learners(said: Said, members: Numbers) -> dict[str, Any]:
    """Return each learner's class and probability [L, B], over all it read and from one drawn relative."""
    found: dict[str, Any] = {
        "number": len(members),
        "vote": pack_integers(members.argmax(2)),
        "chance": pack_shares(members.max(2), "u1"),
    }
    if said.drawn is not None and said.relatives is not None:
        found["relative"] = pack_integers(said.relatives)
        found["drawn_vote"] = pack_integers(said.drawn.argmax(2))
        found["drawn_chance"] = pack_shares(said.drawn.max(2), "u1")
    return found


def learner_bytes(said: Said) -> int:
    """Return about how many characters of the page the learners of a row take."""
    if said.members is None:
        return 0
    width = 2 + (0 if said.relatives is None else 2 + (1 if said.relatives.max(initial=0) < 256 else 2))
    return int(said.members.shape[0] * said.members.shape[1] * width * 4 / 3)
