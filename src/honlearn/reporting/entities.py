"""Every entity with the prediction of the final model, for the page.

In: what ``honlearn learn`` kept. Out: packed columns, one row for each entity, those without a label first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from honlearn.reporting.naming import class_order
from honlearn.reporting.pack import pack, pack_shares, plain
from honlearn.results.learned import Entity, LearnedFacts

# Characters of the page that reasons may take, and rows.
REASONS, ROWS = 2_000_000, 20_000


def entities_page(learned: LearnedFacts, place: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the entities as the page shows them; None where there are none."""
    if not learned.entities:
        return None
    shown = learned.entities[:ROWS]
    classes = class_order(learned.classes)
    number = {name: i for i, name in enumerate(classes)}
    columns = [list(learned.classes).index(name) for name in classes]
    sets = None if shown[0].chosen is None else np.zeros((len(shown), len(classes)), np.uint8)
    for row, entity in enumerate(shown):
        if sets is not None:
            sets[row, [number[name] for name in entity.chosen or ()]] = 1
    before = [entity.without_memory for entity in shown]
    return {
        "classes": classes,
        "alpha": learned.alpha,
        "nodes": [entity.node for entity in shown],
        "at": pack([place.get(entity.node, -1) for entity in shown], "i4"),
        "known": pack([-1 if entity.known is None else number[entity.known] for entity in shown], "i4"),
        "proba": pack_shares(np.array([entity.probabilities for entity in shown])[:, columns]),
        "sets": None if sets is None else pack(sets, "u1"),
        "without_memory": pack([-1.0 if value is None else value for value in before], "f4"),
        "reasons": _reasons(shown),
        "left_out": max(len(learned.entities) - ROWS, 0),
    }


def _reasons(entities: Sequence[Entity]) -> dict[str, Any]:
    """Return reasons by row, as many as the page has room for."""
    room, found = REASONS, {}
    for row, entity in enumerate(entities):
        if entity.reasons is not None:
            room -= len(json.dumps(entity.reasons))
            if room < 0:
                break
            found[str(row)] = plain(dict(entity.reasons), 5)
    return found
