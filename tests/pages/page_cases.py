"""Run folders with records that were written by hand, for pages of which every number is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from honlearn.results.records import digest_of

MACHINE = {"processor": "some processor", "cores": 2, "memory_gb": 8, "system": "Linux"}


def records(
    model: str, input: str, mean: float, *, task: str = "nodes", count: int = 10, **more: Any
) -> list[dict[str, Any]]:
    """Return records of a model on an input, in two seeds of five folds; `more` are parameters and sizes."""
    parameters, sizes = more.get("parameters", {}), more.get("sizes", {})
    search = {"search": more["search"]} if "search" in more else {}
    folds = "stratified 5" if task == "nodes" else "pairs 0.1"
    found = []
    for number in range(count):
        seed, fold = divmod(number, 5)
        # Folds differ, and two models differ by another amount on each fold.
        score = mean + 0.01 * fold - 0.0007 * seed + 0.0011 * (number * len(model) % 7)
        scores = {"micro_f1": score, "auprc": score, "log_loss": 1.2 - score}
        if model.startswith("dge-"):
            scores |= {"single_micro_f1": score - 0.02, "gain": 0.02}
        asked = {
            "task": task,
            "model": model,
            "input": input,
            "seed": seed,
            "folds": folds,
            "fold": fold,
            "parameters": parameters,
            "data": {"network": input, "labels": "labels", "test": f"{seed} {fold}"},
            **search,
        }
        times = {"fit_seconds": 60.0, "fit_cpu_seconds": 72.0, "predict_cpu_seconds": 0.0}
        found.append(
            {
                "digest": digest_of(asked),
                "configuration": asked,
                "scores": scores,
                "sizes": {"train": 80, "test": 20, "parameters": 1234, **sizes},
                "times": times,
                "versions": {"honlearn": "0.1.0", "system": "Linux"},
            }
        )
    return found


def write_run(folder: Path, found: Iterable[Mapping[str, Any]], **about: Any) -> None:
    """Write records, and what is known of their run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in found), "utf-8")
    (folder / "run.json").write_text(json.dumps(about), "utf-8")


def cells(text: str) -> list[list[str]]:
    """Return the cells of a Markdown table's lines."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
