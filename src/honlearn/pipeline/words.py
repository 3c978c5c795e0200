"""The result in plain words: one headline, and a closing paragraph.

In: the parts of a result. Out: sentences. They say no more than the numbers do: what is not significant is
called so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.pipeline.entities import EntityPredictions
    from honlearn.pipeline.validation import Validation

_SURE = 0.001


@dataclass(frozen=True)
class Memories:
    """Significant contexts of two entities: how many, at how many entities, of how many tested."""

    contexts: int
    entities: int
    tested: int
    alpha: float

    def __str__(self) -> str:
        if not self.contexts:
            return f"no context is significant (of {self.tested:,} tested)"
        return (
            f"{self.contexts:,} of {self.tested:,} tested contexts at {self.entities:,} entities are "
            "significant"
        )


def memories(counts: GramCounts, alpha: float = 0.05) -> Memories:
    """Return which memories of one step are real: contexts ``C|A`` whose next steps differ from C's."""
    if counts.order < 2:
        return Memories(0, 0, 0, alpha)
    network: HigherOrderNetwork = counts.grow(2, alpha=alpha)
    bases = np.unique(network.base[network.n_entities :])
    return Memories(network.n_conditional, len(bases), counts.evidence(2).n_tested, alpha)


def headline(validation: Validation | None, found: Memories, sentence: str = "") -> str:
    """Return in one sentence whether memory matters.

    `sentence` is that of the next steps, which is used where there are no labels.
    """
    if validation is None:
        return f"{sentence} {_capital(str(found))}." if sentence else f"{_capital(str(found))}."
    if validation.first_order is None:
        return f"No effect of memory could be shown: {found}."
    before, after = f"{validation.first_order.mean:.2f}", f"{validation.score.mean:.2f}"
    if before == after and not validation.memory_helps:
        return (
            f"No effect of memory on the labels could be shown: the micro F1 is {after} with and without it "
            f"({validation.folds} folds{_p(validation.p_value)}); {found}."
        )
    change = f"from {before} to {after} ({validation.folds} folds{_p(validation.p_value)})"
    if validation.memory_helps:
        return f"Where a path came from matters: it lifts the micro F1 {change}; {found}."
    if validation.memory_helps is None:
        return (
            f"Whether memory helps to predict the labels is not clear: the micro F1 goes {change}; {found}."
        )
    return f"Memory does not help to predict the labels: the micro F1 falls {change}; {found}."


def closing(validation: Validation, predicted: EntityPredictions) -> str:
    """Return what was predicted and how far to trust it, in a few sentences."""
    sentences = [
        f"On held-out nodes the model was right for {validation.score.mean:.0%} "
        f"(± {validation.score.deviation:.0%} over {validation.folds} folds); always predicting the largest "
        f"class is right for {validation.majority:.0%}."
    ]
    sets = predicted.sets
    some = predicted.n_unlabelled
    sentences.append(
        f"All {len(predicted.nodes):,} entities have a prediction, {some:,} of them without a label."
        if some
        else f"All {len(predicted.nodes):,} entities have a prediction; each of them had a label."
    )
    if sets is not None:
        single = sum(len(one) == 1 for one in sets) / max(len(sets), 1)
        empty = sum(len(one) == 0 for one in sets) / max(len(sets), 1)
        none = f", {empty:.0%} none, since no class fits well enough" if empty else ""
        mean = sum(map(len, sets)) / max(len(sets), 1)
        measured = "" if validation.coverage is None else f" (in the validation: {validation.coverage:.0%})"
        level = f"{1 - predicted.alpha:.0%}"
        shown = measured if abs(predicted.alpha - 0.1) < 1e-9 else ""
        sentences.append(
            f"Prediction sets are built to contain the true class of {level} of unseen entities{shown}; they "
            f"have {mean:.1f} classes on average, and {single:.0%} have one{none}."
        )
    return " ".join(sentences)


def _p(value: float | None) -> str:
    if value is None:
        return ", too few for a test"
    return f", p < {_SURE}" if value < _SURE else f", p = {value:.2g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
