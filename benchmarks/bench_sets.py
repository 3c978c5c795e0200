"""How often do sets hold the true next step, or the true class of a path, on paths that were not used?

    python benchmarks/bench_sets.py FOLDER… [--splits 5] [--order 3] [--json FILE]
    python benchmarks/bench_sets.py FOLDER --labels CSV [--most 20000] [--splits 5] [--json FILE]

A folder has ``paths.txt``. In each split a fifth of the paths, drawn at random, is for testing; the model and
its calibration come from the others. Without labels: sets of next steps (``honlearn.StepSets``); *paths* is
the mean over test paths of the share of their steps that are held, *steps* the share of all steps. With
labels (``path,label``, paths counted from 0): prediction sets of ``honlearn.PathClassifier``, on at most
``--most`` paths. Means and standard deviations over splits, for 80, 90 and 95 %.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import honlearn as hl
from honlearn.labels import read_labels
from honlearn.paths.paths import Paths

ALPHAS = (0.2, 0.1, 0.05)
TESTED = 0.2


def divided(n: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows for the model and those for the test."""
    rows = np.random.default_rng(split).permutation(n)
    cut = round(TESTED * n)
    return np.sort(rows[cut:]), np.sort(rows[:cut])


def next_steps(paths: Paths, split: int, order: int) -> list[dict[str, Any]]:
    """Return the coverage of sets of next steps in one split, one row per alpha."""
    train, test = divided(len(paths), split)
    sets = hl.StepSets.of(paths.take(train), order, seed=split)
    rows = []
    for alpha in ALPHAS:
        found = sets.coverage(paths.take(test), alpha)
        rows.append({"alpha": alpha, "paths": found.paths, "steps": found.steps, "size": found.size})
    return rows


def path_classes(paths: Paths, labels: np.ndarray, split: int) -> list[dict[str, Any]]:
    """Return the coverage of sets of classes in one split, one row per alpha."""
    train, test = divided(len(paths), split)
    model = hl.PathClassifier(random_state=split).fit(paths.take(train), labels[train])
    truth = np.searchsorted(model.classes_, labels[test])
    rows = []
    for alpha in ALPHAS:
        row: dict[str, Any] = {"alpha": alpha}
        for name, apart in (("", False), ("_by_class", True)):
            sets = model.predict_set(paths.take(test), alpha, class_conditional=apart)
            right = sets.mask[np.arange(len(test)), truth]
            row |= {f"paths{name}": float(right.mean()), f"size{name}": float(sets.sizes.mean())}
            row[f"worst_class{name}"] = min(float(right[truth == code].mean()) for code in np.unique(truth))
        rows.append(row)
    return rows


def summary(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and standard deviation over splits of each figure, one row per alpha."""
    every, out = list(rows), []
    for alpha in ALPHAS:
        own = [row for row in every if row["alpha"] == alpha]
        found: dict[str, Any] = {"alpha": alpha, "splits": len(own)}
        for name in (name for name in own[0] if name != "alpha"):
            values = np.array([row[name] for row in own])
            found |= {name: float(values.mean()), f"{name}_sd": float(values.std(ddof=min(1, len(own) - 1)))}
        out.append(found)
    return out


def main(words: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure, print one line per folder and alpha, and return the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--most", type=int, default=20_000)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(words)
    out = []
    for folder in asked.folders:
        paths = hl.read_paths(folder / "paths.txt")
        if asked.labels is None:
            rows = [row for split in range(asked.splits) for row in next_steps(paths, split, asked.order)]
        else:
            known = dict(zip(*read_labels(asked.labels), strict=True))
            named = np.array([i for i in range(len(paths)) if str(i) in known])
            some = np.sort(np.random.default_rng(0).permutation(named)[: asked.most])
            labels = np.array([known[str(i)] for i in some.tolist()])
            rows = [
                row for split in range(asked.splits) for row in path_classes(paths.take(some), labels, split)
            ]
        for row in summary(rows):
            out.append({"data": folder.name, **row})
            figures = (f"{key} {value:.4g}" for key, value in row.items() if not key.endswith("_sd"))
            print(folder.name, *figures, sep="  ")
    if asked.json is not None:
        asked.json.write_text(json.dumps(out, indent=1))
    return out


if __name__ == "__main__":
    main()
