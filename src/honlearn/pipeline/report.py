"""``report``: a page of whatever there is: a run, a folder of ``learn``, a model, or a result in memory.

In: a folder or a value. Out: one HTML file. A run is only read; a model predicts every entity first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from honlearn.conformal import check_alpha
from honlearn.errors import InputError
from honlearn.experiments.artefacts import link_candidates
from honlearn.pipeline.entities import EntityPredictions, predict_entities
from honlearn.pipeline.evaluation import Evaluation
from honlearn.pipeline.given_labels import as_labels
from honlearn.pipeline.outcome import Learned
from honlearn.pipeline.page import entity_rows
from honlearn.reporting.build import check_target, page_of, write_report
from honlearn.reporting.model_page import NOT_TESTED, ModelView
from honlearn.results.learned import LearnedFacts
from honlearn.results.metrics import disagreement
from honlearn.results.records import FILE
from honlearn.writing.atomic import atomic_text

Facts = Mapping[str, Mapping[str, Any]]
Step = Callable[[str], None]
_CONFIG = "config.json"
# Links to expect: pairs that are scored, and those that are shown.
_CANDIDATES, _SHOWN = 5000, 200


def report(
    source: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    labels: Any = None,
    nodes: Facts | None = None,
    title: str | None = None,
    alpha: float = 0.1,
    step: Step | None = None,
) -> Path:
    """Write one self-contained page and return its path.

    Parameters
    ----------
    source
        A run folder (``honlearn evaluate -o RUN``), a folder of ``honlearn learn``, a model folder or
        a fitted :class:`honlearn.DGEClassifier` or :class:`honlearn.DGELinkPredictor`, or what
        :func:`honlearn.learn` and :func:`honlearn.evaluate` return.
    path
        The file to write.
    labels
        Of a model: known classes of nodes, as for :func:`honlearn.learn`; they are shown beside the
        predictions.
    nodes
        More about nodes: name → column → value; columns latitude and longitude put them on a map.
    title
        Title of the page.
    alpha
        Of a model: how often a prediction set may lack the true class.
    step
        Called with the name of each part as it begins.
    """
    check_alpha("report", alpha)
    target = check_target(path)
    if isinstance(source, (Learned, Evaluation)):
        html = source.html
    elif isinstance(source, (str, os.PathLike)) and not is_model_folder(source):
        return write_report(source, target, facts=nodes, title=title, step=step)
    else:
        html = model_html(source, labels=labels, nodes=nodes, title=title, alpha=alpha, step=step)
    with atomic_text(target) as file:
        file.write(html)
    return target


def is_model_folder(source: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds a model, and no run."""
    folder = Path(source).expanduser()
    return (folder / _CONFIG).is_file() and not (folder / FILE).is_file()


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
    pairs = link_candidates(network, _CANDIDATES)
    probability = np.asarray(model.predict_proba(pairs))[:, 1] if pairs else np.zeros(0)
    best = np.argsort(-probability, kind="stable")[:_SHOWN]
    apart: list[float | None] = [None] * len(best)
    if len(best) and hasattr(model, "member_proba"):
        members = np.asarray(model.member_proba([pairs[i] for i in best]))
        apart = [float(value) for value in disagreement(members)]
    links = [(*pairs[i], float(probability[i]), value) for i, value in zip(best.tolist(), apart, strict=True)]
    headline = f"{card['model']['kind']} expects {len(links):,} links that are not in the network."
    found = LearnedFacts(headline, NOT_TESTED, "")
    return ModelView("links", found, network, card, {}, nodes, links)
