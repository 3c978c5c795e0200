"""The path kernel's part in a prediction: which labelled entities move it.

In: the terms of the kernels of a fitted classifier (:mod:`honlearn.path_kernel.terms`). Out: reasons, each a
labelled entity whose path vector is like the explained one's. Without its term the kernel would give another
probability; the learners stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from honlearn.tasks.explain.nodes import PLAYERS, NodeReasons
from honlearn.tasks.explain.value import Reason
from honlearn.tasks.temperature import tempered

if TYPE_CHECKING:
    from honlearn.tasks.nodes import DGEClassifier

Numbers = NDArray[np.float64]
# Entities whose weights are computed at once; for each label that is told, so many are tried.
_BLOCK, _TRIED = 256, 16


def kernel_weights(model: DGEClassifier, entities: Sequence[int]) -> Iterator[list[Numbers]]:
    """Yield for each entity the weights of labelled ones in its scores, [n] for each kernel."""
    terms = model.kernel_terms_ if model.kernel_share_ else ()
    for start in range(0, len(entities), _BLOCK):
        some = entities[start : start + _BLOCK]
        found = [one.weights(some) for _, one in terms]
        yield from ([rows[place] for rows in found] for place in range(len(some)))


class KernelQuestion:
    """What a classifier predicts for an entity without the terms of some labelled ones."""

    def __init__(self, model: DGEClassifier, reasons: NodeReasons, weights: list[Numbers]) -> None:
        self.model, self.raw, self.entity = model, reasons.raw, reasons.entity
        self.terms = [
            (share, one, one.terms(row))
            for (share, one), row in zip(model.kernel_terms_, weights, strict=True)
        ]
        labelled = model.kernel_terms_[0][1].labelled
        self.nodes, self.labels = labelled.nodes, labelled.labels
        self.whole = self._kernel([terms.sum(0)[None] for _, _, terms in self.terms])

    def without_each(self, places: NDArray[np.int64]) -> Numbers:
        """Return the class probabilities without the term of each labelled entity at these places, [B, C]."""
        return self._mixed([terms.sum(0) - terms[places] for _, _, terms in self.terms])

    def without(self, places: list[int]) -> Numbers:
        """Return the class probabilities without the terms of all labelled entities at these places, [C]."""
        left = [(terms.sum(0) - terms[places].sum(0))[None] for _, _, terms in self.terms]
        return np.asarray(self._mixed(left)[0])

    def _mixed(self, scores: list[Numbers]) -> Numbers:
        moved = self.model.kernel_share_ * (self._kernel(scores) - self.whole)
        return tempered(np.maximum(self.raw + moved, 0.0), self.model.temperature_)

    def _kernel(self, scores: list[Numbers]) -> Numbers:
        """Return the kernels' probabilities from scores [B, C] of each: [B, C]."""
        pairs = zip(self.terms, scores, strict=True)
        mixed = [share * one.proba(self.entity, given) for (share, one, _), given in pairs]
        return np.asarray(np.sum(mixed, axis=0))

    def strongest(self, label: int, probability: float, top: int) -> list[tuple[int, float]]:
        """Return the places of labelled entities that move a class most, and its probability without each.

        Among those with the largest weights; an entity's own label has no part in its prediction.
        """
        size = sum(share * np.abs(terms).max(1) for share, _, terms in self.terms)
        heavy = np.argsort(-size, kind="stable")[: _TRIED * max(top, PLAYERS)]
        heavy = heavy[self.nodes[heavy] != self.entity]
        without = self.without_each(heavy)[:, label]
        order = np.argsort(-np.abs(probability - without), kind="stable")[:top]
        return [(int(heavy[number]), float(without[number])) for number in order]


def example_reasons(
    model: DGEClassifier, reasons: NodeReasons, weights: list[Numbers], top: int
) -> list[Reason]:
    """Return the `top` labelled entities whose terms move the probability of the explained class most."""
    if not weights:
        return []
    asked = KernelQuestion(model, reasons, weights)
    found = []
    for place, without in asked.strongest(reasons.label, float(reasons.proba[reasons.label]), top):
        name = model.network_.vocabulary[int(asked.nodes[place])]
        support = f"labelled {model.classes_[asked.labels[place]]}"
        found.append(Reason("example", name, None, without, None, support))
    return found
