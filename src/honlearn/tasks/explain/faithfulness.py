"""Are explanations faithful? Deleting the top reasons must move a prediction more than deleting random ones.

In: a fitted classifier and entities. Out: for each kind of reason and each entity, how far the probability of
the explained class moves without the `k` top reasons, and without `k` random ones of the same kind, a mean
over draws. Of an entity with less than 2 k reasons half of them are deleted; one with a single reason tells
nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.seeds import generator
from honlearn.tasks.explain.kernel import KernelQuestion, kernel_weights
from honlearn.tasks.explain.nodes import Effects, NodeExplainer, NodeReasons

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How far predictions move without the top reasons and without random ones, [n] each."""

    kind: str
    k: int
    top: Numbers
    random: Numbers

    @property
    def ratio(self) -> float:
        """How many times farther the top reasons move predictions, on average."""
        return float(self.top.mean() / max(self.random.mean(), 1e-12)) if len(self.top) else float("nan")

    @property
    def gain(self) -> tuple[float, float]:
        """The mean difference, and its standard error."""
        apart = self.top - self.random
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        return (float(apart.mean()), float(error)) if len(apart) else (float("nan"), float("nan"))


def faithfulness(
    model: Any, entities: Sequence[int], k: int = 3, draws: int = 8, seed: int = 0
) -> list[Faithfulness]:
    """Return the test for memories, neighbours and labels in the path kernel, on some entities."""
    explainer = NodeExplainer(model, max(k, 5), seed)
    moved: dict[str, list[tuple[float, float]]] = {"memory": [], "neighbor": [], "example": []}
    for reasons in explainer.explain(entities, [None] * len(entities)):
        random = generator(seed, "faithfulness", reasons.entity)
        for kind, question in _questions(model, explainer, reasons, k).items():
            top, every, without = question
            size = min(k, len(every) // 2)
            if not size:
                continue
            drawn = (random.choice(len(every), size, replace=False).tolist() for _ in range(draws))
            sets: list[list[int]] = [top[:size], *drawn]
            found = without([[every[i] for i in one] for one in sets])
            change = np.abs(found[:, reasons.label] - reasons.proba[reasons.label])
            moved[kind].append((float(change[0]), float(change[1:].mean())))
    return [
        Faithfulness(kind, k, *np.array(rows, np.float64).reshape(-1, 2).T) for kind, rows in moved.items()
    ]


Question = tuple[list[int], list[Any], Callable[[Sequence[Sequence[Any]]], Numbers]]


def _questions(model: Any, explainer: NodeExplainer, reasons: NodeReasons, k: int) -> dict[str, Question]:
    """Return for each kind: the places of the top reasons, all reasons, and what predicts without some."""
    entity = reasons.entity
    contexts = [gram for members in reasons.memory.members for gram in members]
    near = [other for members in reasons.neighbors.members for other in members]
    found: dict[str, Question] = {
        "memory": (
            _top(reasons.memory, k),
            contexts,
            lambda sets: explainer.without_memories(entity, sets),
        ),
        "neighbor": (
            _top(reasons.neighbors, k),
            near,
            lambda sets: explainer.without_neighbors(entity, sets),
        ),
    }
    if model.kernel_terms_ and model.kernel_share_:
        found["example"] = _examples(model, reasons, k)
    return found


def _top(effects: Effects, k: int) -> list[int]:
    """Return the places of the k players with the largest values, those that are alone."""
    alone = len(effects.members) - effects.is_rest
    order: list[int] = np.argsort(-np.abs(effects.values[:alone]), kind="stable")[:k].tolist()
    return order


def _examples(model: Any, reasons: NodeReasons, k: int) -> Question:
    (weights,) = kernel_weights(model, [reasons.entity])
    asked = KernelQuestion(model, reasons, weights)
    top = [place for place, _ in asked.strongest(reasons.label, float(reasons.proba[reasons.label]), k)]
    places = np.flatnonzero(asked.nodes != reasons.entity)
    order: list[int] = np.searchsorted(places, top).tolist()
    return order, places.tolist(), lambda sets: np.stack([asked.without(list(some)) for some in sets])
