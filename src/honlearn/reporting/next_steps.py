"""Models of the next step for the page: their scores by position and by order.

In: a study on next steps. Out: plain values, one row for each point of the two charts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from honlearn.reporting.pack import plain
from honlearn.reporting.scores import spread
from honlearn.results.runs import ModelRecords, Study

POSITIONS = {1: "1", 2: "2", 3: "3", 4: "4 or more"}
"""How many entities came before, and what the chart calls it."""
MAIN = ("bits", "top1")
"""The scores that records have by position."""


def next_steps_page(study: Study) -> dict[str, Any]:
    """Return what the section shows: scores by ``positions`` and by ``orders``."""
    return {
        "positions": plain([row for model in study.models for row in _by_position(model)], 6),
        "orders": plain([row for model in study.models if (row := _by_order(model))], 6),
    }


def _by_position(model: ModelRecords) -> Iterator[dict[str, Any]]:
    for position, title in POSITIONS.items():
        found = {score: _spread(model, f"{score}_after_{position}") for score in MAIN}
        if any(found.values()):
            yield {"name": model.name, "position": title, **found}


def _by_order(model: ModelRecords) -> dict[str, Any] | None:
    """Return the scores of a model of one order; `order` is None where the model has none."""
    order = model.parameters.get("order")
    found = {score: _spread(model, score) for score in MAIN}
    if not any(found.values()):
        return None
    return {"model": model.model, "name": model.name, "order": order if type(order) is int else None, **found}


def _spread(model: ModelRecords, score: str) -> dict[str, Any] | None:
    found = spread([record.scores.get(score) for record in model.records])
    return None if found is None else {"mean": found["mean"], "std": found["std"]}
