"""Are memories that the builder shows real? False contexts without memory, planted ones with it, and cost.

    python benchmarks/bench_evidence.py [--seeds 10] [--order 2] [--data flights] [--cost air] [--json FILE]

*Without memory*: paths are simulated from the first-order network of real ones. Every path keeps its start
and its length, and each next step is drawn in proportion to the observed transitions of the entity it is at;
a path that comes to an entity without transitions ends there. Whatever context is kept is false, so every
simulation that keeps any has a false discovery proportion of 1: `simulations with any` is the family-wise
error and the mean false discovery proportion at once, `kept of tested` the share of false contexts among all
tested. *With memory*: paths of :func:`honlearn.datasets.synthetic`; every planted context must be kept.
*Cost*: CPU seconds of `honlearn grow` by evidence and with ``--tau 10``, each a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

import honlearn as hl
from honlearn.paths.paths import Paths

sys.path.insert(0, str(Path(__file__).parent))
from inputs import ROOT, path_file
from measuring import measure

ALPHA = 0.05
SHARED = ROOT.parent / "shared" / "data"
DATA = {"flights": None, "wiki": "wikispeedia", "db1b": "db1b_2018q1", "words": "ud_english_ewt"}
GROW = (
    "import sys; from honlearn.cli import main; main(['grow', sys.argv[1], '-o', sys.argv[2], *sys.argv[3:]])"
)


def without_memory(paths: Paths, seed: int) -> Paths:
    """Return as many paths with the same starts and lengths, each step drawn from the first-order network."""
    rng = np.random.default_rng([20, seed])
    counts = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
    length = np.repeat(paths.lengths, counts)
    now = np.repeat(paths.codes[paths.offsets[:-1]], counts).astype(np.int64)
    level, steps = hl.count_grams(paths, 1).levels
    ends = np.concatenate([[0], np.cumsum(steps.count)])
    walks = np.full((len(now), int(length.max())), -1, np.int32)
    walks[:, 0] = now
    going = np.arange(len(now))
    for i in range(1, walks.shape[1]):
        going = going[(length[going] > i) & (level.followed[walks[going, i - 1]] > 0)]
        here = walks[going, i - 1]
        place = ends[level.first[here]] + (rng.random(len(here)) * level.followed[here]).astype(np.int64)
        walks[going, i] = steps.newest[np.searchsorted(ends, place, "right") - 1]
    taken = walks >= 0
    offsets = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
    return Paths(walks[taken], offsets, paths.vocabulary)


def real_paths(name: str) -> Paths | None:
    """Return the paths of a data set, None where it is not on this machine."""
    folder = DATA[name]
    if folder is None:
        return hl.datasets.us_flights().paths
    file = SHARED / folder / "paths.txt"
    return hl.read_paths(file) if file.is_file() else None


def false_contexts(name: str, paths: Paths, order: int, seeds: int) -> dict[str, object]:
    """Return how many contexts are kept in simulations of these paths without memory."""
    tested, kept, factors = [], [], []
    for seed in range(seeds):
        evidence = hl.count_grams(without_memory(paths, seed), order).evidence()
        tested.append(evidence.n_tested)
        kept.append(sum(int(flags.sum()) for flags in evidence.significant(ALPHA)))
        factors.append(sum(int((level.ln_bf > 3.0).sum()) for level in evidence.levels))
    real = hl.count_grams(paths, order).evidence()
    found = sum(int(flags.sum()) for flags in real.significant(ALPHA))
    return {
        "what": "without memory",
        "data": name,
        "order": order,
        "simulations": seeds,
        "simulations_with_any": int(np.count_nonzero(kept)),
        "kept": int(np.sum(kept)),
        "tested": int(np.sum(tested)),
        "kept_of_tested": float(np.sum(kept) / max(np.sum(tested), 1)),
        "ln_bf_above_3": int(np.sum(factors)),
        "real_paths_kept": found,
        "real_paths_tested": real.n_tested,
    }


def planted_contexts(order: int, labelled: str, noise: float, seed: int, **sizes: int) -> dict[str, object]:
    """Return how many planted contexts of one order are kept, and how many others."""
    data = hl.datasets.synthetic(order=order, labelled=labelled, noise=noise, seed=seed, **sizes)
    network = hl.grow(data.paths, order=order, alpha=ALPHA)
    contexts = set(data.truth.contexts)
    prefixes = {node.split("|", i)[i] for node in contexts for i in range(1, order - 1)}
    kept = set(network.nodes[network.n_entities :])
    return {
        "what": "planted",
        "order": order,
        "labelled": labelled,
        "noise": noise,
        "seed": seed,
        "planted": len(contexts),
        "found": len(contexts & kept),
        "others": len(kept - contexts - prefixes),
    }


def costs(preset: str, scale: float, repeat: int, folder: Path) -> list[dict[str, object]]:
    """Return the CPU seconds and megabytes of growing by evidence and with a tau."""
    rows: list[dict[str, object]] = []
    file, target = path_file(preset, scale), folder / "net.hon"
    for order in (2, 3):
        for rule in (["--tau", "10"], ["--alpha", "0.05"]):
            words = (file, target, "--order", order, *rule)
            measure(GROW, *words)  # compiles, when the machine code is not there yet
            cpu, memory = min(measure(GROW, *words) for _ in range(repeat))
            row = {"what": "cost", "data": file.stem, "order": order, "rule": " ".join(rule)}
            rows.append({**row, "cpu_s": round(cpu, 2), "peak_mb": round(memory)})
    target.unlink()
    return rows


def main(arguments: list[str] | None = None) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(description="Benchmark of the evidence for contexts")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", choices=sorted(DATA), action="append")
    parser.add_argument("--order", type=int, action="append")
    parser.add_argument("--cost", choices=("air", "mag"), help="measure the cost on this preset instead")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=ROOT / ".bench")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []

    def add(row: dict[str, object]) -> None:
        rows.append(row)
        print("  ".join(f"{key}={value}" for key, value in row.items()), flush=True)

    if options.cost:
        for row in costs(options.cost, options.scale, options.repeat, options.folder):
            add(row)
    else:
        for order in options.order or (2, 3):
            for name in options.data or ("flights", "wiki", "db1b"):
                paths = real_paths(name)
                if paths is not None:
                    add(false_contexts(name, paths, order, options.seeds))
        for order in (2, 3, 4):
            for labelled, sizes in (("sources", {}), ("hubs", {"n_nodes": 40})):
                for noise in (0.0, 0.2):
                    add(planted_contexts(order, labelled, noise, 0, **sizes))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return rows


if __name__ == "__main__":
    main()
