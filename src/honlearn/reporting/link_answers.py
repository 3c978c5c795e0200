"""The predictions of a model for the test pairs of its fits, and the links that it expects.

In: a model of a study on links. Out: the packed form for the page: test pairs with their probabilities,
a precision-recall curve, and new links.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.reporting.pack import pack_integers, pack_shares, plain
from honlearn.results.metrics import disagreement
from honlearn.results.runs import ModelRecords, Study

# Test pairs of a model that the page lists, and points of its curve.
PAIRS, POINTS = 2_000, 120
# The kind of test pairs whose ends were drawn by degree; linked ones are 0, uniform ones 1.
DRAWN_BY_DEGREE = 2


def link_answers(study: Study, model: ModelRecords) -> dict[str, Any] | None:
    """Return the predictions of a model, for the page; None where nothing was kept."""
    kept = [study.answers(record) for record in model.of_seed(model.seeds[0])]
    found = [answers for answers in kept if answers is not None]
    if not found:
        return None
    first = found[0]
    members = first.arrays.get("members")
    leading = [_leading(answers.arrays) for answers in found]
    linked = np.concatenate([a.arrays["linked"][rows] for a, rows in zip(found, leading, strict=True)])
    truth = np.concatenate([a.arrays["truth"][rows] for a, rows in zip(found, leading, strict=True)])
    chosen = np.argsort(-first.arrays["linked"], kind="stable")[:PAIRS]
    apart = None
    if members is not None:
        each = members.astype(np.float32)
        apart = disagreement(np.stack([1.0 - each, each], 2))[chosen]
    new = [
        [u, v, float(p), None if d is None else float(d)]
        for (u, v), p, d in zip(
            first.about.get("new_pairs", []),
            first.arrays.get("new_linked", np.zeros(0)),
            first.arrays.get("new_disagreement", [None] * len(first.about.get("new_pairs", []))),
            strict=False,
        )
    ]
    return {
        "pairs": [first.about["pairs"][i] for i in chosen],
        "truth": pack_integers(first.arrays["truth"][chosen]),
        "linked": pack_shares(first.arrays["linked"][chosen]),
        "disagreement": None if apart is None else pack_shares(apart),
        "tested": len(first.about["pairs"]),
        "curve": plain(precision_recall(truth, linked), 5),
        "new": plain(new, 5),
        "missing": len(kept) - len(found),
    }


def _leading(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    """Return the test pairs of the main score: linked ones and those drawn by degree, if there are any."""
    kinds = arrays.get("kinds", np.zeros(len(arrays["truth"]), np.int8))
    if not (kinds == DRAWN_BY_DEGREE).any():
        return np.arange(len(kinds))
    return np.flatnonzero((arrays["truth"] == 1) | (kinds == DRAWN_BY_DEGREE))


def precision_recall(truth: NDArray[Any], linked: NDArray[Any]) -> list[list[float]]:
    """Return points [recall, precision, threshold] from the surest pair on, at most :data:`POINTS`."""
    recall, precision, threshold = _curve(truth, linked)
    picked = np.unique(np.linspace(0, len(recall) - 1, min(POINTS, len(recall))).round().astype(int))
    return [[float(recall[i]), float(precision[i]), float(threshold[i])] for i in picked]


def _curve(truth: NDArray[Any], score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return recall, precision and threshold, the largest score first; equal scores come together."""
    order = np.argsort(-score, kind="stable")
    found = np.cumsum(truth[order])
    number = np.arange(1, len(order) + 1)
    last = np.append(np.diff(score[order]) != 0, True)
    return (found / max(int(found[-1]), 1))[last], (found / number)[last], score[order][last]


def degree_average_precision(
    network: HigherOrderNetwork, pairs: list[list[str]], truth: NDArray[Any]
) -> float | None:
    """Return the average precision of the product of the ends' degrees, the least a model should beat.

    The tested links still count in the degrees, so it is a little too good. Products are whole numbers that
    are often equal; such pairs are taken together, in whatever order they are listed. None where a name is
    unknown.
    """
    first = network.first_order()
    known: Mapping[str, int] = {name: i for i, name in enumerate(first.vocabulary.names)}
    if not pairs or not all(u in known and v in known for u, v in pairs):
        return None
    out, into = np.diff(first.indptr), np.diff(first.in_indptr)
    score = np.array([float(out[known[u]]) * float(into[known[v]]) for u, v in pairs])
    recall, precision, _ = _curve(truth, score)
    return float((np.diff(recall, prepend=0.0) * precision).sum())
