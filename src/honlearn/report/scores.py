"""The overview's numbers: scores of every row with their spread, and comparisons.

In: a study. Out: plain rows for the chart and the table, and what was run, in words.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from honlearn.results.runs import Row, Study
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
    },
    "links": {
        "auprc": ("AUPRC", True),
        "auroc": ("AUROC", True),
        "mrr": ("MRR", True),
        "hits_at_100": ("hits@100", True),
        "log_loss": ("log loss", False),
        "single_auprc": ("AUPRC of the mean learner", True),
        "gain": ("gain of the ensemble", True),
        "disagreement": ("disagreement of learners", True),
    },
}


def score_rows(study: Study) -> list[dict[str, Any]]:
    """Return one dictionary a row: scores with mean, std and values, times, and p-values.

    ``p_value`` compares the main score with the first row's, ``against_g1`` with the same model's on the
    first-order network; both by the corrected resampled t-test, None where there are no pairs.
    """
    main = next(iter(SCORES[study.task]))
    rows = []
    for row in study.rows:
        times = [record.get("times", {}) for record in row.records]
        rows.append(
            {
                "name": row.name,
                "model": row.model,
                "input": row.input,
                "records": len(row.records),
                "folds": [f"{r['configuration']['seed']}/{r['configuration']['fold']}" for r in row.records],
                "scores": {
                    name: spread([record["scores"].get(name) for record in row.records])
                    for name in SCORES[study.task]
                },
                "fit_seconds": spread([time.get("fit_seconds") for time in times]),
                "fit_cpu_seconds": spread([time.get("fit_cpu_seconds") for time in times]),
                "parameters": spread([record.get("sizes", {}).get("parameters") for record in row.records]),
                "p_value": _p(row, study.rows[0], main) if row is not study.rows[0] else None,
                "against_g1": _against_first_order(row, study.rows, main),
            }
        )
    return rows


def _against_first_order(row: Row, rows: Sequence[Row], main: str) -> float | None:
    twin = next((other for other in rows if other.model == row.model and other.input == "g1"), None)
    return None if twin is None or row.input != "gk" else _p(row, twin, main)


def _p(ours: Row, theirs: Row, score: str) -> float | None:
    try:
        return compare(ours.records, theirs.records, score)
    except (KeyError, TypeError):  # a record of another program that lacks the score or its sizes
        return None


def spread(values: Sequence[Any]) -> dict[str, Any] | None:
    """Return mean, standard deviation (None for one) and the values; None where no value is known.

    >>> spread([0.5, None, 0.7])["mean"]
    0.6
    """
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    deviation = statistics.stdev(known) if len(known) > 1 else None
    return {"mean": statistics.fmean(known), "std": deviation, "values": values}


def what_was_run(study: Study, about: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return facts of a study, each with a name and a text."""
    records = [record for row in study.rows for record in row.records]
    asked = records[0]["configuration"]
    facts = {
        "Task": "classes of nodes" if study.task == "nodes" else "links",
        "Models": ", ".join(dict.fromkeys(row.model for row in study.rows)),
        "Inputs": ", ".join(_INPUTS.get(i, i) for i in dict.fromkeys(row.input for row in study.rows)),
        "Folds" if study.task == "nodes" else "Held out": str(asked.get("folds", "")),
        "Seeds": ", ".join(str(seed) for seed in sorted({seed for row in study.rows for seed in row.seeds})),
        "Fits": f"{len(records):,}",
        "Network file": str(about.get("network", "")),
        "Labels file": str(about.get("labels", "")) if study.task == "nodes" else "",
        "Last fit": study.finished.replace("T", " ").replace("+00:00", " UTC"),
    }
    versions = records[-1].get("versions") or {}
    facts["Made with"] = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [{"name": name, "text": text} for name, text in facts.items() if text]


_INPUTS = {
    "gk": "gk (higher-order)",
    "g1": "g1 (first-order)",
    "auto": "auto (chosen from the paths in each fit)",
}
