"""Speed and memory in one run: building, training, growth and peak memory, each beside its limit.

    python benchmarks/run.py [--scale 1] [--repeat 3] [--learners 16] [--folder docs] [--json FILE]

Prints one table and writes ``benchmarks.md`` and its charts (``benchmarks/*.svg``) to the folder. Figures of
one run are of one machine at one time: ratios compare, times do not. Scale 1 builds from 17.1 million paths
and fits 16 learners on 192,000 nodes; a hundredth takes a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import bench_large
import building
import training
from inputs import ROOT
from limits import limits
from measuring import Curve, Row
from page import write_page


def machine() -> dict[str, Any]:
    """Return the class of the machine: nothing that names it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {
        "cores": cores,
        "memory_gb": round(memory),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "load": round(load, 1),
    }


def memory_row(scale: float, learners: int) -> dict[str, Any]:
    """Return the peak memory of a fit on a large network, and what was estimated before it."""
    row = bench_large.fit_apart("fit", scale, learners, None)
    kept = ("what", "learners", "cpu_s", "peak_mb", "before_mb", "training_mb", "estimate_mb")
    return {name: row[name] for name in kept}


def shown(rows: list[Row]) -> str:
    """Return the table as text."""
    lines = [f"{'':<44}{'CPU':>12}{'beyond':>9}{'peak MB':>9}{'× ours':>9}"]
    part = ""
    for row in rows:
        if row.part != part:
            part = row.part
            lines.append(part)
        peak = "" if row.peak_mb is None else f"{row.peak_mb:,.0f}"
        times = "" if row.times is None else f"{row.times:,.2f}"
        beyond = "" if row.beyond is None else f"{row.beyond:,.2f}"
        lines.append(f"  {row.what:<42}{row.cpu:>9,.2f} {row.unit:<2}{beyond:>9}{peak:>9}{times:>9}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description="Speed and memory, each beside its limit")
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE", 1)))
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many is shown")
    parser.add_argument("--learners", type=int, default=16)
    parser.add_argument("--training-scale", type=float, help="another scale for training")
    parser.add_argument("--memory-scale", type=float, help="another scale for the fit on a large network")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    steps = options.scale if options.training_scale is None else options.training_scale
    large = options.scale if options.memory_scale is None else options.memory_scale
    before = machine()
    rows = limits(options.scale, options.repeat)
    rows += building.building(options.scale, options.repeat)
    rows += training.training(steps, options.learners, options.repeat)
    print(shown(rows), flush=True)
    curves: list[Curve] = building.growth(options.scale) + training.growth(steps, 4, options.repeat)
    for curve in curves:
        points = ", ".join(f"{size:,.0f}: {cpu:g}" for size, cpu in zip(curve.sizes, curve.cpu, strict=True))
        print(f"{curve.what} ({curve.unit} by {curve.size_name}) {points}; exponent {curve.exponent}")
    memory = memory_row(large, options.learners)
    print(
        "{what}, {learners} learners: training {training_mb:,} MB, estimated {estimate_mb:,} MB".format(
            **memory
        )
    )
    found: dict[str, Any] = {
        "scale": options.scale,
        "training_scale": steps,
        "memory_scale": large,
        "repeat": options.repeat,
        "machine": before,
        "rows": [asdict(row) for row in rows],
        "curves": [asdict(curve) for curve in curves],
        "memory": memory,
    }
    write_page(options.folder, found, rows, curves)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return found


if __name__ == "__main__":
    main()
