"""Are explanations faithful, and what do they cost? Top reasons against random ones, and CPU seconds.

    python benchmarks/bench_explanations.py [--data us_flights …] [--nodes 200] [--learners 4] [--json FILE]

A classifier is trained on 80 % of the labelled entities of each data set, and predictions for others are
explained. *Faithfulness*: how far the probability of the predicted class moves, on average, where the three
top reasons are deleted, and where three random ones of the same kind are (of few reasons: half of them).
*Cost*: CPU seconds to explain these nodes, each with five reasons of a kind, and of one node alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import honlearn as hl
from honlearn.learners import SAGE
from honlearn.seeds import generator
from honlearn.tasks.explain.faithfulness import faithfulness

sys.path.insert(0, str(Path(__file__).parent))
from inputs import ROOT

SHARED = ROOT.parent / "shared" / "data"
DATA = ("us_flights_aa", "db1b_2018q1", "wikispeedia", "ud_english_ewt", "eshop_clothing")


def data_set(name: str) -> Any:
    """Return a data set: the bundled flights, or a folder of that name beside the repository or anywhere."""
    if name in ("us_flights", "us_flights_aa"):
        return hl.datasets.us_flights()
    folder = Path(name) if Path(name).is_dir() else SHARED / name
    return hl.datasets.load_folder(folder) if folder.is_dir() else None


def measure(name: str, data: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one data set."""
    network = hl.grow(data.paths, order=2)
    known = [(n, c) for n, c in sorted(data.labels.items()) if n in network.vocabulary]
    order = generator(arguments.seed, "explanations", name).permutation(len(known))
    split = int(0.8 * len(known))
    train, test = ([known[i] for i in part] for part in (order[:split], order[split:]))
    clf = hl.DGEClassifier(
        network,
        SAGE(widths=arguments.widths),
        n_learners=arguments.learners,
        training=hl.Training(max_epochs=arguments.epochs),
        n_threads=1,
        random_state=arguments.seed,
    ).fit(*zip(*train, strict=True))
    chosen = with_memory(network, test, arguments.nodes)
    names = [name for name, _ in chosen]
    right = np.mean(clf.predict(names) == np.array([label for _, label in chosen]))
    clf.explain(names[0])
    started = time.process_time()
    clf.explain(names[0])
    one, started = time.process_time() - started, time.process_time()
    clf.explanations(names)
    every = time.process_time() - started
    row: dict[str, Any] = {"data": name, "nodes": len(names), "accuracy": float(right)}
    row |= {"kernel_share": float(clf.kernel_share_), "cpu_one": one, "cpu_all": every}
    for test_of in faithfulness(clf, network.vocabulary.codes(names).tolist(), seed=arguments.seed):
        gain, error = test_of.gain
        row[test_of.kind] = {
            "nodes": len(test_of.top),
            "top": float(test_of.top.mean()) if len(test_of.top) else None,
            "random": float(test_of.random.mean()) if len(test_of.top) else None,
            "gain": gain if gain == gain else None,
            "error": error if error == error else None,
        }
    return row


def with_memory(network: Any, test: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """Return up to `most` labelled nodes, the first half of two memories or more, where there are so many."""
    some = [one for one in test if len(network.family(one[0])) > 2][: most // 2]
    others = [one for one in test if one not in some]
    return some + others[: most - len(some)]


def shown(row: dict[str, Any]) -> str:
    """Return a line of the table."""
    cells = [row["data"], f"{row['nodes']}", f"{row['kernel_share']:.2f}"]
    for kind in ("memory", "neighbor", "example"):
        found = row.get(kind)
        if not found or found["top"] is None:
            cells.append("–")
            continue
        wide = 0.0 if found["error"] is None else found["error"]
        cells.append(f"{found['top']:.2g} / {found['random']:.2g} ({found['gain']:+.2g} ± {wide:.1g})")
    return "| " + " | ".join([*cells, f"{row['cpu_one']:.2f}", f"{row['cpu_all']:.1f}"]) + " |"


def main(words: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure, print a table, and write JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--learners", type=int, default=4)
    parser.add_argument("--widths", type=int, nargs="+", default=[128, 128])
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args(words)
    print("| data | nodes | kernel | memories | neighbours | labels | CPU s, one | CPU s, all |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for name in arguments.data:
        data = data_set(name)
        if data is None:
            print(f"{name}: not on this machine", file=sys.stderr)
            continue
        rows.append(measure(Path(name).name, data, arguments))
        print(shown(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows))
    return rows


if __name__ == "__main__":
    main()
