"""The path kernel's part in a prediction: which labelled entities move it.

In: the terms of the kernels of a fitted classifier (:mod:`honlearn.path_kernel.terms`). Out: reasons, each a
labelled entity whose path vector is like the explained one's. Without its term the kernel would give another
probability; the learners stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from honlearn.tasks.explain.nodes import NodeReasons
from honlearn.tasks.explain.value import Reason
from honlearn.tasks.temperature import tempered

if TYPE_CHECKING:
    from honlearn.tasks.nodes import DGEClassifier


class KernelQuestion:
    """What a classifier predicts for an entity without the terms of some labelled ones."""

    def __init__(self, model: DGEClassifier, reasons: NodeReasons) -> None:
        self.model, self.raw, self.entity = model, reasons.raw, reasons.entity
        self.terms = [(share, one, one.terms(self.entity)) for share, one in model.kernel_terms_]
        labelled = model.kernel_terms_[0][1].labelled
        self.nodes, self.labels = labelled.nodes, labelled.labels
        self.whole = self._kernel([terms.sum(0)[None] for _, _, terms in self.terms])

    def without_each(self) -> NDArray[np.float64]:
        """Return the class probabilities without the term of each labelled entity, [n, C]."""
        return self._mixed([terms.sum(0) - terms for _, _, terms in self.terms])

    def without(self, places: list[int]) -> NDArray[np.float64]:
        """Return the class probabilities without the terms of the labelled entities at these places, [C]."""
        return self._mixed([(t.sum(0) - t[places].sum(0))[None] for _, _, t in self.terms])[0]

    def _mixed(self, scores: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        moved = self.model.kernel_share_ * (self._kernel(scores) - self.whole)
        return tempered(np.maximum(self.raw + moved, 0.0), self.model.temperature_)

    def _kernel(self, scores: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the kernels' probabilities from scores [B, C] of each: [B, C]."""
        pairs = zip(self.terms, scores, strict=True)
        mixed = [share * one.proba(self.entity, given) for (share, one, _), given in pairs]
        return np.asarray(np.sum(mixed, axis=0))


def example_reasons(model: DGEClassifier, reasons: NodeReasons, top: int) -> list[Reason]:
    """Return the `top` labelled entities whose terms move the probability of the explained class most."""
    if not model.kernel_terms_ or not model.kernel_share_:
        return []
    asked = KernelQuestion(model, reasons)
    without = asked.without_each()[:, reasons.label]
    effect = reasons.proba[reasons.label] - without
    found = []
    for place in np.argsort(-np.abs(effect), kind="stable")[:top].tolist():
        # An entity's own label has no part in its prediction.
        if asked.nodes[place] == reasons.entity:
            continue
        name = model.network_.vocabulary[int(asked.nodes[place])]
        support = f"labelled {model.classes_[asked.labels[place]]}"
        found.append(Reason("example", name, None, float(without[place]), None, support))
    return found
