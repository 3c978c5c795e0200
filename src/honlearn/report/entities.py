"""Every entity with the prediction of the final model, for the page.

In: what ``honlearn learn`` kept. Out: plain values, one row for each entity, those without a label first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from honlearn.report.pack import plain
from honlearn.results.learned import Entity, LearnedFacts

# Characters of the page that reasons may take, and rows.
REASONS, ROWS = 2_000_000, 20_000
_FIRST_ORDER = "on the first-order network"


def entities_page(learned: LearnedFacts, place: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the entities as the page shows them; None where there are none."""
    if not learned.entities:
        return None
    room, rows = REASONS, []
    for entity in learned.entities[:ROWS]:
        size = len(json.dumps(entity.reasons)) if entity.reasons is not None else 0
        room -= size
        rows.append(_row(entity, learned, place, room >= 0))
    return {
        "classes": list(learned.classes),
        "alpha": learned.alpha,
        "rows": plain(rows, 4),
        "left_out": max(len(learned.entities) - ROWS, 0),
        "with_sets": learned.entities[0].chosen is not None,
    }


def _row(
    entity: Entity, learned: LearnedFacts, place: Mapping[str, int], with_reasons: bool
) -> dict[str, Any]:
    best = max(range(len(learned.classes)), key=lambda i: entity.probabilities[i])
    before = None
    if entity.reasons is not None:
        before = entity.reasons["references"].get(_FIRST_ORDER)
    return {
        "node": entity.node,
        "at": place.get(entity.node, -1),
        "known": entity.known,
        "predicted": best,
        "probabilities": list(entity.probabilities),
        "set": None if entity.chosen is None else list(entity.chosen),
        "without_memory": before,
        "reasons": dict(entity.reasons) if with_reasons and entity.reasons is not None else None,
    }
