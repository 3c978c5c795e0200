"""How well are entities predicted that a fit has never seen, against the same ones, unlabelled, in the fit?

    python benchmarks/bench_new_entities.py FOLDER… [--learner sage] [--learners 8] [--splits 3] [--json FILE]

A folder has ``paths.txt`` and ``labels.csv``. Of each split a fifth of the labelled entities is hidden,
stratified by class. *Seen*: a classifier is fitted on the network of all paths, with the labels of the
others, and predicts the hidden ones. *New*: paths are cut at the hidden entities, so that the network of the
fit does not have them; then the classifier is updated with the network of all paths. Labels, seeds and rule
are the same. What is printed is the accuracy on the hidden entities that the network of all paths has.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

import honlearn as hl
from honlearn.labels import read_labels
from honlearn.paths.paths import Paths

HIDDEN = 0.2


def cut_at(paths: Paths, hidden: set[str]) -> Paths:
    """Return the paths without these entities: each falls apart where one was.

    >>> list(cut_at(Paths.from_lists([list("ABXCD"), list("XX"), list("DXA")]), {"X"}))
    [('A', 'B'), ('C', 'D'), ('D',), ('A',)]
    """
    gone = np.array([name in hidden for name in paths.vocabulary.names], bool)[paths.codes]
    begins = np.zeros(len(gone), np.int64)
    begins[paths.offsets[:-1][paths.lengths > 0]] = 1
    part = np.cumsum(begins | gone)[~gone]
    path = np.repeat(np.arange(len(paths)), paths.lengths)[~gone]
    first = np.flatnonzero(np.diff(part, prepend=-1))
    offsets = np.append(first, len(part)).astype(np.int64)
    counts = None if paths.counts is None else paths.counts[path[first]]
    return Paths(paths.codes[~gone], offsets, paths.vocabulary, counts)


def accuracy(classifier: hl.DGEClassifier, names: list[str], truth: dict[str, str]) -> float:
    """Return the share of these entities whose class is predicted."""
    return float(np.mean(classifier.predict(names) == [truth[name] for name in names]))


def one_split(
    paths: Paths, truth: dict[str, str], split: int, order: int, made: dict[str, Any]
) -> dict[str, Any]:
    """Return the accuracies of one split."""
    names, classes = np.array(list(truth)), np.array(list(truth.values()))
    rare = np.isin(
        classes, [c for c, n in zip(*np.unique(classes, return_counts=True), strict=True) if n < 2]
    )
    shuffled = StratifiedShuffleSplit(1, test_size=HIDDEN, random_state=split)
    kept, hidden = next(shuffled.split(names, np.where(rare, "rare", classes)))
    whole = hl.grow(paths, order)
    less = hl.grow(cut_at(paths, set(names[hidden])), order)
    # Who is only met beside hidden ones is in no network without them.
    known = [name for name in names[kept] if name in less.vocabulary]
    asked = [name for name in names[hidden] if name in whole.vocabulary]
    labels = [truth[name] for name in known]
    seen = hl.DGEClassifier(whole, **made, random_state=split).fit(known, labels)
    fitted = hl.DGEClassifier(less, **made, random_state=split).fit(known, labels)
    new = fitted.update(whole)
    return {
        "split": split,
        "hidden": len(asked),
        "labelled": len(known),
        "seen": accuracy(seen, asked, truth),
        "new": accuracy(new, asked, truth),
        "seen_kernel_share": float(seen.kernel_share_),
        "new_kernel_share": float(fitted.kernel_share_),
    }


def _print(data: str, learner: str, split: str, rows: list[dict[str, Any]]) -> None:
    """Print a line for one split, or mean and standard deviation of several."""
    seen, new = (100 * np.array([row[name] for row in rows]) for name in ("seen", "new"))
    several = len(rows) > 1
    shown = [
        f"{x.mean():.1f}" + (f" ± {x.std(ddof=1):.1f}" if several else "") for x in (seen, new, new - seen)
    ]
    spent = sum(row["cpu_seconds"] for row in rows)
    columns = "".join(f"{one:>13}" for one in shown)
    print(f"{data:18}{learner:>8}{split:>7}{rows[0]['hidden']:>8}{columns}{spent:>8.0f}", flush=True)


def main(words: list[str] | None = None) -> list[dict[str, Any]]:
    """Run, print a line for each data set, and return the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--learner", default="sage")
    parser.add_argument("--learners", type=int, default=8)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first split; it decides the random choices")
    parser.add_argument("--order", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=None)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(words)
    training = hl.Training(max_epochs=given.epochs)
    made = {"learner": given.learner, "n_learners": given.learners, "n_threads": 1, "training": training}
    rows: list[dict[str, Any]] = []
    titles = "".join(f"{title:>13}" for title in ("seen", "new", "new - seen"))
    print(f"{'data':18}{'learner':>8}{'split':>7}{'hidden':>8}{titles}{'CPU s':>8}")
    for folder in given.folders:
        paths = hl.read_paths(str(folder / "paths.txt"))
        in_paths = set(paths.vocabulary.names)
        names, classes = read_labels(folder / "labels.csv")
        truth = {name: str(c) for name, c in zip(names, classes, strict=True) if name in in_paths}
        found = []
        for split in range(given.first, given.first + given.splits):
            started = time.process_time()
            row = {"data": folder.name, "learner": given.learner}
            row |= one_split(paths, truth, split, given.order, made)
            row["cpu_seconds"] = round(time.process_time() - started, 1)
            found.append(row)
            _print(row["data"], row["learner"], str(split), [row])
        if len(found) > 1:
            _print(folder.name, given.learner, "all", found)
        rows += found
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


if __name__ == "__main__":
    main()
