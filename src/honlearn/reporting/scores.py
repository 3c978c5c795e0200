"""The overview's numbers: scores of every model with their spread, and comparisons.

In: a study. Out: plain values for the chart and the table, and what was run, in words.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from honlearn.errors import FormatError
from honlearn.results.metrics import mean_and_deviation
from honlearn.results.record import Record, Sizes
from honlearn.results.runs import INPUTS, ModelRecords, Study
from honlearn.results.summary import compare

# Score → what it is called, whether more is better. The first that a record has is the main one.
SCORES: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "nodes": {
        "micro_f1": ("micro F1", True),
        "macro_f1": ("macro F1", True),
        "log_loss": ("log loss", False),
        "single_micro_f1": ("micro F1 of the mean learner", True),
        "gain": ("gain of the ensemble", True),
        "disagreement": ("disagreement of learners", True),
        "ece": ("calibration error", False),
        "brier": ("Brier score", False),
        "coverage_90": ("coverage of 90 % sets", True),
        "set_size_90": ("size of 90 % sets", False),
    },
    "links": {
        "degree_auprc": ("AUPRC, degree-corrected negatives", True),
        "degree_auroc": ("AUROC, degree-corrected negatives", True),
        "auprc": ("AUPRC, uniform negatives", True),
        "auroc": ("AUROC, uniform negatives", True),
        "filtered_mrr": ("MRR among all entities", True),
        "filtered_hits_at_10": ("hits@10 among all entities", True),
        "filtered_hits_at_50": ("hits@50 among all entities", True),
        "mrr": ("MRR among test pairs", True),
        "hits_at_100": ("hits@100 among test pairs", True),
        "log_loss": ("log loss", False),
        "single_auprc": ("AUPRC of the mean learner", True),
        "gain": ("gain of the ensemble", True),
        "disagreement": ("disagreement of learners", True),
    },
    "next": {
        "bits": ("bits per step", False),
        "top1": ("top-1", True),
        "top5": ("top-5", True),
        "mrr": ("MRR", True),
        "coverage_90": ("coverage of 90 % sets, mean over paths", True),
        "set_size_90": ("size of 90 % sets", False),
    },
    "paths": {
        "log_loss": ("log loss", False),
        "auroc": ("AUROC", True),
        "micro_f1": ("micro F1", True),
        "macro_f1": ("macro F1", True),
        "ece": ("calibration error", False),
        "brier": ("Brier score", False),
        "coverage_90": ("coverage of 90 % sets", True),
        "set_size_90": ("size of 90 % sets", False),
    },
}
TASKS = {"nodes": "classes of nodes", "links": "links", "next": "next steps", "paths": "classes of paths"}
"""What is learnt, in words."""


def study_scores(study: Study) -> dict[str, tuple[str, bool]]:
    """Return the scores that some record of a study has, the main one first."""
    records = [record for model in study.models for record in model.records]
    known = SCORES[study.task]
    there = {name: known[name] for name in known if any(r.scores.get(name) is not None for r in records)}
    return there or dict(known)


def model_scores(study: Study) -> list[dict[str, Any]]:
    """Return one dictionary per model: scores with mean, std and values, times, and p-values.

    ``p_value`` compares the main score with the first model's, ``against_g1`` with that of ``first_order``,
    the same model with the same settings on the first-order network; both by the corrected resampled t-test,
    None where there are no pairs.
    """
    shown = study_scores(study)
    main = next(iter(shown))
    found = []
    for model in study.models:
        twin = _first_order_twin(model, study.models)
        found.append(
            {
                "name": model.name,
                "model": model.model,
                "input": model.input,
                "records": len(model.records),
                "folds": [_fold(record) for record in model.records],
                "scores": {
                    name: spread([record.scores.get(name) for record in model.records]) for name in shown
                },
                "fit_seconds": spread([record.times.fit_seconds for record in model.records]),
                "fit_cpu_seconds": spread([record.times.fit_cpu_seconds for record in model.records]),
                "parameters": spread([record.sizes.parameters for record in model.records]),
                "p_value": _p(model, study.models[0], main) if model is not study.models[0] else None,
                "first_order": None if twin is None else twin.name,
                "against_g1": None if twin is None else _p(model, twin, main),
            }
        )
    return found


UNBOUNDED = frozenset({"log_loss", "bits", "set_size_90", "gain"})
"""Scores that are no shares; all others lie between 0 and 1."""


def score_names(study: Study) -> dict[str, dict[str, Any]]:
    """Return what the page needs to know of each score: title, whether more is better, and its bound."""
    return {
        name: {"title": title, "more": more, "share": name not in UNBOUNDED}
        for name, (title, more) in study_scores(study).items()
    }


def paired_folds(study: Study) -> dict[str, Any] | None:
    """Return the main score of each fold with memory and without, of the best model that has both.

    Folds are joined by seed and fold. None where no model was tested on both networks.
    """
    main, (_, more) = next(iter(study_scores(study).items()))
    best: float | None = None
    found: dict[str, Any] | None = None
    for model in study.models:
        twin = _first_order_twin(model, study.models)
        if twin is None:
            continue
        first = {_fold(record): record.scores.get(main) for record in twin.records}
        folds: list[dict[str, Any]] = [
            {"fold": _fold(record), "first": first[_fold(record)], "higher": record.scores.get(main)}
            for record in sorted(model.records, key=_place)
            if first.get(_fold(record)) is not None and record.scores.get(main) is not None
        ]
        if not folds:
            continue
        mean = {key: statistics.fmean(row[key] for row in folds) for key in ("first", "higher")}
        reached = mean["higher"] if more else -mean["higher"]
        if best is None or reached > best:
            best = reached
            found = {"model": model.model, "score": main, "folds": folds, "mean": mean}
            found |= {"p_value": _p(model, twin, main), "seeds": len(model.seeds)}
    return found


def _settings(model: ModelRecords) -> dict[str, Any]:
    """Return folds and settings that both inputs have; structure is chosen only where there are contexts."""
    structure = ("order", "tau", "min_support", "alpha")
    own = {key: value for key, value in model.parameters.items() if key not in structure}
    return {"folds": model.records[0].configuration.folds, **own}


def _input(name: str) -> str:
    return INPUTS.get(name, name) + (" (from the paths, in each fit)" if name == "auto" else "")


def _place(record: Record) -> tuple[int, int]:
    """Return what folds are sorted by: they are done in any order."""
    return record.configuration.seed or 0, record.configuration.fold or 0


def _fold(record: Record) -> str:
    return f"{record.configuration.seed}/{record.configuration.fold}"


def _first_order_twin(model: ModelRecords, models: Sequence[ModelRecords]) -> ModelRecords | None:
    """Return the same model with the same settings on the first-order network; None for itself."""
    if model.input == "g1":
        return None
    own = (model.model, _settings(model))
    return next((one for one in models if one.input == "g1" and (one.model, _settings(one)) == own), None)


def _p(ours: ModelRecords, theirs: ModelRecords, score: str) -> float | None:
    try:
        return compare(ours.records, theirs.records, score)
    except FormatError:  # a record of another program that lacks the score or its sizes
        return None


def spread(values: Sequence[Any]) -> dict[str, Any] | None:
    """Return mean, standard deviation (None for one) and the values; None where no value is known.

    >>> spread([0.5, None, 0.7])["mean"]
    0.6
    """
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    mean, deviation = mean_and_deviation(known)
    return {"mean": mean, "std": deviation, "values": values}


def chosen_shares(sizes: Sequence[Sizes]) -> str:
    """Return what bags of selected learners are made of, as mean shares over fits, largest first.

    >>> from honlearn.results.record import ChosenComponent
    >>> parts = (ChosenComponent("sage", 0.5, 2, 9, 0.5), ChosenComponent("gcn", 0.0, 1, 7, 0.3))
    >>> chosen_shares([Sizes(components=parts, kernel_share=0.2)])
    'sage on the higher-order network 50 %, gcn on the first-order network 30 %, path kernel 20 %'
    """
    total: dict[str, float] = {}
    for one in sizes:
        for part in one.components:
            name = f"{part.learner} on the {'first' if part.order == 1 else 'higher'}-order network"
            total[name] = total.get(name, 0.0) + part.share
        total["path kernel"] = total.get("path kernel", 0.0) + (one.kernel_share or 0.0)
    shares = {name: share / len(sizes) for name, share in total.items()}
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share:.0%}".replace("%", " %") for name, share in ordered if share >= 0.005)


def what_was_run(study: Study, about: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return facts of a study, each with a name and a text."""
    records = [record for model in study.models for record in model.records]
    facts = {
        "Task": TASKS[study.task],
        "Models": ", ".join(dict.fromkeys(model.model for model in study.models)),
        "Inputs": ", ".join(_input(i) for i in dict.fromkeys(model.input for model in study.models)),
        "Held out" if study.task == "links" else "Folds": records[0].configuration.folds or "",
        "Seeds": ", ".join(map(str, sorted({seed for model in study.models for seed in model.seeds}))),
        "Fits": f"{len(records):,}",
        "Network file": str(about.get("network", "")),
        "Paths file": str(about.get("paths", "")) if study.task in ("next", "paths") else "",
        "Labels file": str(about.get("labels", "")) if study.task in ("nodes", "paths") else "",
        "Last fit": study.finished.replace("T", " ").replace("+00:00", " UTC"),
    }
    for model in study.models:
        if any(record.sizes.components for record in model.records):
            facts[f"Shares in {model.name}"] = chosen_shares([record.sizes for record in model.records])
    made_with = records[-1].versions
    facts["Made with"] = ", ".join(f"{name} {version}" for name, version in made_with.items())
    return [{"name": name, "text": text} for name, text in facts.items() if text]
