"""The page of a model alone: the prediction of every entity or the links to expect, and the network.

In: what the model predicts, as plain values, its network and its card. Out: the content of a page, in the
form of :func:`honlearn.reporting.study.study_page`. A model has no test folds, so the page has no scores of
unseen nodes; what was held back while training is in the card and in the headline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from honlearn.hon.network import HigherOrderNetwork
from honlearn.reporting.entities import entities_page
from honlearn.reporting.examples import example_entity
from honlearn.reporting.explorer import explorer
from honlearn.reporting.naming import class_names
from honlearn.reporting.pack import pack_integers, pack_shares, plain
from honlearn.reporting.scores import TASKS
from honlearn.reporting.study import telling_context
from honlearn.results.learned import LearnedFacts

NOT_TESTED = (
    "The folder of a model holds no test on unseen data: 'honlearn evaluate' compares models on folds, and "
    "'honlearn learn' does so before it trains."
)


@dataclass(frozen=True, eq=False)
class ModelView:
    """What a page shows of a model.

    Parameters
    ----------
    task : ``"nodes"`` or ``"links"``.
    found : headline, summary and every entity with its prediction.
    network : the network that the model reads.
    card : sections of the card of the model.
    labels : the class of each labelled node, as far as known.
    facts : what is known of nodes: name → column → value.
    links : of a link predictor: source, target, probability and disagreement of links to expect.
    """

    task: str
    found: LearnedFacts
    network: HigherOrderNetwork
    card: Mapping[str, Any]
    labels: Mapping[str, str]
    facts: Mapping[str, Mapping[str, Any]]
    links: Sequence[tuple[str, str, float, float | None]] = field(default_factory=tuple)


def model_page(view: ModelView) -> dict[str, Any]:
    """Return what the page shows of a model."""
    classes = view.labels or _predicted(view.found)
    seen = explorer(view.network, classes, view.facts)
    place = {name: i for i, name in enumerate(seen["names"])}
    name = str(view.card["model"]["kind"])
    return {
        "task": view.task,
        "task_name": TASKS[view.task],
        "about": card_facts(view.card),
        "notes": [str(line) for line in view.card.get("limits", [])],
        "scores": {},
        "models": [],
        "pair": None,
        "class_names": class_names(classes, view.facts),
        "example": {
            "context": telling_context(seen, None),
            "entity": example_entity(view.found, None),
            "right": False,
        },
        "checks": {"ran": 0, "raised": []},
        "headline": view.found.headline,
        "summary": view.found.summary,
        "entities": entities_page(view.found, place),
        "network": seen,
        "memory": None,
        "predictions": {},
        "diversity": {},
        "curves": {},
        "links": {name: _expected(view.links)} if view.links else {},
        "next": None,
        "missing": [],
    }


def _predicted(found: LearnedFacts) -> dict[str, str]:
    """Return the most probable class of each entity: what the map is coloured by where labels are unknown."""
    return {
        one.node: found.classes[max(range(len(found.classes)), key=lambda i: one.probabilities[i])]
        for one in found.entities
    }


def _expected(links: Sequence[tuple[str, str, float, float | None]]) -> dict[str, Any]:
    return {
        "pairs": [],
        "truth": pack_integers([]),
        "linked": pack_shares([]),
        "disagreement": None,
        "tested": 0,
        "curve": [],
        "new": plain([list(one) for one in links], 5),
        "missing": 0,
    }


def card_facts(card: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the single values of the sections of a card, each with a name and a text.

    >>> card_facts({"model": {"kind": "DGEClassifier", "n_learners": 6}})
    [{'name': 'Kind', 'text': 'DGEClassifier'}, {'name': 'N learners', 'text': '6'}]
    """
    rows = []
    for section in ("model", "data", "calibration", "training", "versions"):
        for name, value in dict(card.get(section) or {}).items():
            if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                text = f"{value:,}" if isinstance(value, int) else str(plain(value, 4))
                title = name if section == "versions" else name.replace("_", " ")
                rows.append({"name": title[:1].upper() + title[1:], "text": text})
    return rows
