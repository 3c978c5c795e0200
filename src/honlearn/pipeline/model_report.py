"""The page of a model: what it predicts for every entity, or which links it expects.

In: a folder that ``train`` wrote, or a fitted estimator. Out: HTML. A model has no test folds, so its page
has no scores on unseen nodes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from honlearn.errors import InputError
from honlearn.experiments.expected_links import expected_links
from honlearn.pipeline.entities import EntityPredictions, predict_entities
from honlearn.pipeline.given_labels import as_labels
from honlearn.pipeline.page import entity_rows
from honlearn.pipeline.report import Facts, Step
from honlearn.reporting.build import page_of
from honlearn.reporting.model_page import NOT_TESTED, ModelView
from honlearn.results.learned import LearnedFacts


def model_html(
    source: Any,
    *,
    labels: Any = None,
    nodes: Facts | None = None,
    title: str | None = None,
    alpha: float = 0.1,
    step: Step | None = None,
) -> str:
    """Return the page of a model: a folder, or a fitted estimator."""
    tell = step or (lambda part: None)
    tell("model")
    model, card = _load(source)
    known = {} if labels is None else dict(zip(*as_labels(labels), strict=True))
    task = str(card["model"]["task"])
    tell("predictions")
    if task == "nodes":
        view = _node_view(model, card, known, nodes or {}, alpha)
    elif task == "links":
        view = _link_view(model, card, nodes or {})
    else:
        raise InputError(
            "report: a model of whole paths has no page of its own; evaluate it: honlearn evaluate PATHS "
            "LABELS --task paths -o RUN, then honlearn report RUN"
        )
    tell("page")
    return page_of(view, title or f"{card['model']['kind']}: what it predicts")


def _load(source: Any) -> tuple[Any, dict[str, Any]]:
    """Return a model and its card."""
    from honlearn.tasks.model_card import model_card

    if isinstance(source, (str, os.PathLike)):
        from honlearn.baselines.saving import load_model

        return load_model(source), model_card(source)
    if not hasattr(source, "predict_proba") or not hasattr(source, "network_"):
        raise InputError(
            f"report takes the folder of a run or of a model, a fitted estimator, or what learn or evaluate "
            f"return. Got {type(source).__name__} instead"
        )
    kind = type(source).__name__
    task = "paths" if kind == "PathClassifier" else "links" if kind.endswith("Predictor") else "nodes"
    return source, {"model": {"kind": kind, "task": task}}


def _node_view(
    model: Any, card: Mapping[str, Any], known: Mapping[str, str], nodes: Facts, alpha: float
) -> ModelView:
    there = {name: label for name, label in known.items() if name in model.network_.vocabulary}
    entities = predict_entities(model, list(there), list(there.values()), alpha, None)
    classes = [str(name) for name in entities.predictions.classes.tolist()]
    there = {name: label for name, label in there.items() if label in classes}
    rows = entity_rows(entities)
    found = LearnedFacts(_headline(card, entities), NOT_TESTED, "", classes, alpha, rows)
    return ModelView("nodes", found, model.network_, card, there, nodes)


def _headline(card: Mapping[str, Any], entities: EntityPredictions) -> str:
    """Return what the model predicts, and how often it was right for what it held back."""
    size = len(entities.predictions.classes)
    whole: Mapping[str, Any] = next(iter(card.get("held_back") or []), {})
    told = ""
    if "accuracy" in whole and whole.get("part") == "whole model":
        told = (
            f" It was right for {whole['accuracy']:.0%} (± {whole.get('accuracy_pm', 0.0):.0%}) of the "
            "examples, each predicted by the learners that held it back."
        )
    return (
        f"{card['model']['kind']} predicts one of {size} classes for {len(entities.nodes):,} entities.{told}"
    )


def _link_view(model: Any, card: Mapping[str, Any], nodes: Facts) -> ModelView:
    network = model.network_
    expected = expected_links(model, network)
    apart = expected.disagreement(model)
    shown: list[float | None] = [None] * len(expected.pairs) if apart is None else apart.tolist()
    links = [
        (source, target, probability, value)
        for (source, target), probability, value in zip(
            expected.pairs, expected.probability.tolist(), shown, strict=True
        )
    ]
    headline = f"{card['model']['kind']} expects {len(links):,} links that are not in the network."
    found = LearnedFacts(headline, NOT_TESTED, "")
    return ModelView("links", found, network, card, {}, nodes, links)
