"""Why a path has its class: the grams of the path, whose parts in the logits are exact.

In: a fitted :class:`~honlearn.tasks.path_classifier.PathClassifier` and one path. Out: an explanation. A
logit is a sum over columns, one for each gram and some for vectors and length; without a reason its terms are
left out of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special

from honlearn.errors import InputError, check_integer
from honlearn.paths.paths import Paths
from honlearn.tasks.explain.classifier import class_code
from honlearn.tasks.explain.support import ARROW
from honlearn.tasks.explain.value import Explanation, Reason, Reference

if TYPE_CHECKING:
    from honlearn.tasks.path_classifier import PathClassifier

_SUMMARY = ("mean vector of its entities", "vector of its first entity", "vector of its last entity")


def explain_path(model: PathClassifier, path: Paths, label: object, top: int) -> Explanation:
    """Return why a path has its prediction."""
    owner = "PathClassifier.explain"
    top = check_integer(owner, "top", top, 1)
    if len(path) != 1:
        raise InputError(f"{owner} takes one path. Got {len(path):,} paths")
    row = model._columns(path)
    logits = model.logistic_.logits(row)[0] / model.temperature_
    proba = special.softmax(logits)
    code = int(proba.argmax()) if label is None else class_code(owner, model.classes_, label)
    terms = row.data[:, None] * model.logistic_.coef[:, row.indices].T / model.temperature_
    n_grams = model.grams_.n_columns
    is_gram = row.indices < n_grams
    grams = [ARROW.join(model.grams_.gram(int(column))) for column in row.indices[is_gram]]
    summary = _summary_terms(row.indices[~is_gram] - n_grams, terms[~is_gram], model.vectors_.shape[1])
    reasons = [
        *_reasons("gram", grams, terms[is_gram], logits, code, top),
        *_reasons("summary", [name for name, _ in summary], [t for _, t in summary], logits, code, top),
    ]
    rest = special.softmax(model.logistic_.intercept / model.temperature_)
    references = (Reference("of a path of which nothing is known", float(rest[code])),)
    names = path[0]
    shown = ARROW.join(names[:8]) + (ARROW + "…" if len(names) > 8 else "")
    return Explanation(shown, str(model.classes_[code]), float(proba[code]), references, tuple(reasons))


def _summary_terms(
    columns: NDArray[np.integer], terms: NDArray[np.float64], depth: int
) -> list[tuple[str, NDArray[np.float64]]]:
    """Return the terms of each vector and of the length, summed over its columns: [C] each."""
    found = []
    for number, name in enumerate((*_SUMMARY, "length")):
        own = columns // depth == number if depth else np.zeros(0, np.bool_)
        if own.any():
            found.append((name, terms[own].sum(0)))
    return found


def _reasons(
    kind: str,
    names: Sequence[str],
    terms: Sequence[NDArray[np.float64]] | NDArray[np.float64],
    logits: NDArray[np.float64],
    code: int,
    top: int,
) -> list[Reason]:
    """Return the reasons whose terms [n, C] are largest; the others are one reason."""
    if not len(names):
        return []
    terms = np.asarray(terms)
    order = np.argsort(-np.abs(terms[:, code] - terms.mean(1)), kind="stable")
    groups = [(names[i], terms[i]) for i in order[:top]]
    if len(order) > top:
        groups.append((f"{len(order) - top:,} others", terms[order[top:]].sum(0)))
    return [
        Reason(
            kind,
            name,
            None,
            float(special.softmax(logits - term)[code]),
            logit=float(term[code] - term.mean()),
        )
        for name, term in groups
    ]
