"""The first example on the page: a telling one.

In: the contexts and entities of a page, and which predictions are right. Out: the entity whose prediction
memory changes most and which is predicted correctly, and the context with the largest evidence among those
of correctly predicted entities. Frequency does not count: the most frequent context is often a trivial one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from honlearn.reporting.answers import ModelPredictions
from honlearn.reporting.entities import ROWS
from honlearn.results.learned import LearnedFacts


def right_nodes(predictions: ModelPredictions | None) -> set[str] | None:
    """Return the nodes that the fit which had not seen them predicts correctly; None where not known."""
    if predictions is None:
        return None
    hits = predictions.predicted == predictions.truth
    return {node for node, hit in zip(predictions.nodes, hits, strict=True) if hit}


def example_context(
    contexts: Mapping[str, Any], entities: Sequence[str], right: set[str] | None
) -> int | None:
    """Return the context with the largest evidence; `entities` are the names of their bases, row by row.

    Evidence is the logarithm of the Bayes factor, else the strength, else the divergence in bits. Contexts
    of correctly predicted entities come first.
    """
    if not entities:
        return None
    rows = range(len(entities))
    known = (contexts[key] for key in ("ln_bayes_factor", "strength") if _known(contexts[key]))
    evidence = next(known, contexts["bits"])
    return max(
        rows,
        key=lambda row: (
            right is None or entities[row] in right,
            float("-inf") if evidence[row] is None else evidence[row],
            -row,
        ),
    )


def _known(values: Sequence[float | None]) -> bool:
    return any(value is not None for value in values)


def example_entity(learned: LearnedFacts | None, right: set[str] | None) -> int:
    """Return the row of the entity to show first: right on unseen data, explained, most changed by memory."""
    best, found = None, 0
    for row, entity in enumerate([] if learned is None else learned.entities[:ROWS]):
        before = entity.without_memory
        sure = max(entity.probabilities)
        correct = entity.known is None if right is None else entity.node in right
        rank = (entity.reasons is not None, correct, 0.0 if before is None else sure - before)
        if best is None or rank > best:
            best, found = rank, row
    return found
