"""One study for the page: everything that its sections show, gathered from records and artefacts.

In: a study of a run. Out: plain values: overview, checks, explorer, predictions, links or next steps. What
was not kept is left out and named in ``missing``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from honlearn.hon.network import HigherOrderNetwork
from honlearn.reporting.answers import (
    ModelPredictions,
    answers_of,
    confusion,
    learner_bytes,
    packed,
    reason_bytes,
    reliability,
)
from honlearn.reporting.checks import Evidence, run_checks
from honlearn.reporting.diversity import curves, likeness
from honlearn.reporting.entities import entities_page
from honlearn.reporting.examples import example_context, example_entity, right_nodes
from honlearn.reporting.explorer import explorer, next_step_changes
from honlearn.reporting.link_answers import DRAWN_BY_DEGREE, degree_average_precision, link_answers
from honlearn.reporting.naming import class_names
from honlearn.reporting.next_steps import next_steps_page
from honlearn.reporting.pack import plain
from honlearn.reporting.scores import (
    TASKS,
    model_scores,
    paired_folds,
    score_names,
    study_scores,
    what_was_run,
)
from honlearn.results.artefacts import Memory
from honlearn.results.runs import ModelRecords, Study

# Characters of the page that votes of learners may take, all models together.
LEARNERS = 3_500_000
# Characters that reasons for predictions may take.
REASONS = 1_500_000
# Contexts that the estimate of the information gain uses, the heaviest.
_CONTEXTS = 20_000

Step = Callable[[str], None]


def study_page(
    study: Study, about: Mapping[str, Any], facts: Mapping[str, Any], step: Step
) -> dict[str, Any]:
    """Return what the page shows of a study; `step` is called with what is being done."""
    step("scores")
    models = model_scores(study)
    network, labels = study.network(), study.labels() or {}
    tested = study.models if study.task in ("nodes", "paths") else []
    predictions = {model.name: answers_of(study, model) for model in tested}
    if not labels:
        found = (one for one in predictions.values() if one is not None)
        labels = {node: one.classes[t] for one in found for node, t in zip(one.nodes, one.truth, strict=True)}
    step("network")
    known = {**study.facts(), **facts}
    seen = explorer(network, labels, known) if network is not None else None
    step("predictions")
    place = {name: i for i, name in enumerate(seen["names"])} if seen else {}
    learnt = {model.name: curves(_histories(study, model)) for model in study.models}
    spread = {name: likeness(one) for name, one in predictions.items() if one is not None}
    learned, memory = study.learned(), memory_page(study.memory())
    right = right_nodes(predictions.get(_best(study, models)))
    step("checks")
    evidence = _evidence(study, models, network, labels, about, predictions, learnt, spread, memory)
    context = telling_context(seen, right)
    return {
        "task": study.task,
        "task_name": TASKS[study.task],
        "about": what_was_run(study, about),
        "notes": [str(note) for note in about.get("notes", [])],
        "scores": score_names(study),
        "models": plain(models, 6),
        "pair": plain(paired_folds(study), 6),
        "class_names": class_names(labels, known),
        "example": {
            "context": context,
            "entity": example_entity(learned, right),
            "right": right is not None and context is not None and bases_of(seen)[context] in right,
        },
        "checks": run_checks(evidence),
        "headline": None if learned is None else learned.headline,
        "summary": None if learned is None else learned.summary,
        "entities": None if learned is None else entities_page(learned, place),
        "network": seen,
        "memory": memory,
        "predictions": _predictions(predictions, place),
        "diversity": plain({name: one for name, one in spread.items() if one}, 5),
        "curves": plain({name: found for name, found in learnt.items() if found}, 5),
        "links": {model.name: one for model in study.models if (one := link_answers(study, model))}
        if study.task == "links"
        else {},
        "next": next_steps_page(study) if study.task == "next" else None,
        "missing": _missing(study, seen, predictions),
    }


def telling_context(seen: Mapping[str, Any] | None, right: set[str] | None) -> int | None:
    """Return the context that the explorer shows first."""
    if seen is None:
        return None
    return example_context(seen["contexts"], bases_of(seen), right)


def bases_of(seen: Mapping[str, Any] | None) -> list[str]:
    """Return the names of the entities of the contexts on the page."""
    return [] if seen is None else [label.split("|", 1)[0] for label in seen["contexts"]["label"]]


def memory_page(memory: Memory | None) -> dict[str, Any] | None:
    """Return how many bits of a step memory saves on held-out paths: in all, by order, and in words."""
    if memory is None:
        return None
    rows, best = memory.rows, memory.best_order
    saved = rows[0]["bits"] - rows[best - 1]["bits"]
    found = {"first": rows[0]["bits"], "saved": saved, "order": best, "rows": [dict(row) for row in rows]}
    return dict(plain({**found, "sentence": memory.sentence, "division": memory.division}, 6))


def _best(study: Study, models: list[dict[str, Any]]) -> str:
    """Return the name of the best model by the main score."""
    main, (_, more) = next(iter(study_scores(study).items()))
    known = [model for model in models if model["scores"].get(main) is not None]
    sign = 1 if more else -1
    best = max(known, key=lambda model: sign * model["scores"][main]["mean"], default=models[0])
    return str(best["name"])


def _histories(study: Study, model: ModelRecords) -> list[list[Mapping[str, Any]]]:
    kept = (study.answers(record) for record in model.records)
    return [list(answers.about.get("history") or []) for answers in kept if answers is not None]


def _predictions(
    predictions: Mapping[str, ModelPredictions | None], place: Mapping[str, int]
) -> dict[str, Any]:
    """Return the predictions of the models; votes and reasons as long as the page has room for them."""
    left, room, found = LEARNERS, REASONS, {}
    for name, one in predictions.items():
        if one is None:
            continue
        fits = learner_bytes(one) <= left
        left -= learner_bytes(one) if fits else 0
        explained = reason_bytes(one) <= room
        room -= reason_bytes(one) if explained else 0
        found[name] = packed(one, place, fits, explained)
        found[name]["learners_left_out"] = bool(one.members is not None and not fits)
    return found


def _evidence(
    study: Study,
    models: list[dict[str, Any]],
    network: HigherOrderNetwork | None,
    labels: Mapping[str, str],
    about: Mapping[str, Any],
    predictions: Mapping[str, ModelPredictions | None],
    learnt: Mapping[str, list[dict[str, Any]]],
    spread: Mapping[str, Any],
    memory: Mapping[str, Any] | None,
) -> Evidence:
    there = {name: one for name, one in predictions.items() if one is not None}
    calibration = {name: reliability(one) for name, one in there.items()}
    first = study.models[0].records
    folds = len({record.configuration.fold for record in first})
    return Evidence(
        task=study.task,
        models=models,
        labels=labels if study.task in ("nodes", "paths") else None,
        folds=folds,
        test_size=min((record.sizes.test or 0 for record in first), default=0),
        missing=[str(note) for note in about.get("notes", []) if "not in the network" in str(note)],
        entities=0 if network is None else network.n_entities,
        conditional=0 if network is None else network.n_conditional,
        sinks=0 if network is None else int((network.out_weight[: network.n_entities] == 0).sum()),
        memory=_saved(network, memory),
        measured=" of the paths it was grown from" if memory is None else " of held-out paths",
        homophily=_homophily(network, labels) if study.task == "nodes" else None,
        degrees=_degrees(study, network) if study.task == "links" else None,
        kappa={name: one["mean_kappa"] for name, one in spread.items() if one},
        calibration={name: (one["error"], one["bias"]) for name, one in calibration.items()},
        curves=learnt,
        never={name: _never(one) for name, one in there.items()},
        max_epochs={model.name: _max_epochs(model) for model in study.models},
    )


def _saved(
    network: HigherOrderNetwork | None, memory: Mapping[str, Any] | None
) -> tuple[float, float] | None:
    """Return bits that memory saves of a step, and its bits without: held out where that was measured."""
    if memory is not None:
        return memory["saved"], memory["first"]
    return None if network is None else context_information_gain(network)


def _max_epochs(model: ModelRecords) -> int:
    value = model.parameters.get("max_epochs")
    return value if isinstance(value, int) else 0


def context_information_gain(network: HigherOrderNetwork) -> tuple[float, float]:
    """Return the information gain of contexts about the next step, and the entropy without them, in bits.

    The first is Σ w(u')·D(u' ‖ base) / Σ w(base), a mean over all steps; steps in no kept context count 0.

    >>> from honlearn.hon.edgelist import from_edges
    >>> source, target = ["A", "B", "C|A", "C|B", "C", "C"], ["C|A", "C|B", "D", "E", "D", "E"]
    >>> context_information_gain(from_edges(source, target, [1] * 6))  # C is half of all steps
    (0.5, 0.5)
    """
    size = network.n_entities
    first = network.first_order()
    total = first.out_weight.astype(np.float64)
    share = first.weights / np.maximum(total, 1e-300)[first.sources]
    everything = max(float(total.sum()), 1e-300)
    entropy = float(-(first.weights * np.log2(np.maximum(share, 1e-300))).sum()) / everything
    contexts = np.flatnonzero((network.order == 2) & (network.out_weight > 0))
    contexts = contexts[np.argsort(-network.out_weight[contexts].astype(np.float64))][:_CONTEXTS]
    bits = next_step_changes(network, contexts, 1).bits
    weight = network.out_weight[contexts].astype(np.float64)
    known = np.isfinite(bits)
    gain = float((bits[known] * weight[known]).sum()) / max(float(network.out_weight[:size].sum()), 1e-300)
    return gain, entropy


def _homophily(network: HigherOrderNetwork | None, labels: Mapping[str, str]) -> float | None:
    from honlearn.hon.summary import homophily

    if network is None or not any(name in network.vocabulary for name in labels):
        return None
    value = homophily(network.first_order(), labels)
    return value if value == value else None


def _degrees(study: Study, network: HigherOrderNetwork | None) -> float | None:
    answers = study.answers(study.models[0].records[0])
    if network is None or answers is None:
        return None
    pairs, truth = answers.about["pairs"], answers.arrays["truth"]
    uniform = np.flatnonzero(answers.arrays.get("kinds", np.zeros(len(truth), np.int8)) < DRAWN_BY_DEGREE)
    return degree_average_precision(network, [pairs[i] for i in uniform], truth[uniform])


def _never(predictions: ModelPredictions) -> list[str]:
    claimed = confusion(predictions).sum(0)
    occurs = Counter(predictions.truth.tolist())
    return [name for i, name in enumerate(predictions.classes) if claimed[i] == 0 and occurs[i]]


def _missing(study: Study, seen: Any, predictions: Mapping[str, ModelPredictions | None]) -> list[str]:
    """Return what the run did not keep, in words."""
    missing = []
    if study.task == "next":
        orders = [model.parameters.get("order", 0) for model in study.models]
        if max(orders) > 1 and study.memory() is None:
            missing.append("how much memory helps")
        return [*missing, *study.damaged]
    if seen is None and study.task != "paths":
        missing.append("the network: no explorer, no dependencies")
    unknown = [name for name, one in predictions.items() if one is None]
    if study.task == "links":
        unknown = [model.name for model in study.models if study.answers(model.records[0]) is None]
    if unknown:
        missing.append(f"predictions for each test {study.task[:-1]} of: {', '.join(unknown)}")
    partial = [name for name, one in predictions.items() if one is not None and one.missing]
    if partial:
        missing.append(f"some folds of: {', '.join(partial)}")
    return [*missing, *study.damaged]
