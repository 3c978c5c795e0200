"""The benchmark of sets runs, at tiny size, for next steps and for classes of paths."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_benchmark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_sets as bench

    random = np.random.default_rng(0)
    kinds = random.choice(["a", "b"], 200)
    folder = tmp_path / "small"
    folder.mkdir()
    lines = [f"{kind} hub {kind.upper() if random.random() < 0.8 else 'C'}\n" for kind in kinds]
    (folder / "paths.txt").write_text("".join(lines))
    (tmp_path / "labels.csv").write_text("path,label\n" + "".join(f"{i},{k}\n" for i, k in enumerate(kinds)))
    file = tmp_path / "b.json"
    steps = bench.main([str(folder), "--splits", "2", "--order", "2", "--json", str(file)])
    assert json.loads(file.read_text()) == steps
    assert [(row["alpha"], row["splits"]) for row in steps] == [(0.2, 2), (0.1, 2), (0.05, 2)]
    # Sixteen paths calibrate: at 95 % every one of the six entities and END is in every set.
    assert (steps[-1]["paths"], steps[-1]["size"]) == (1, 7)
    words = [str(folder), "--labels", str(tmp_path / "labels.csv"), "--splits", "1", "--most", "150"]
    classes = bench.main(words)
    assert all(row["size"] <= row["paths"] + 1 for row in classes)
    assert {"paths_by_class", "size_by_class", "worst_class", "worst_class_by_class"} <= set(classes[0])
    sys.modules.pop("bench_sets")


def test_parts_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_sets as bench

    train, test = bench.divided(50, 3)
    assert sorted([*train, *test]) == list(range(50))
    assert len(test) == 10
    sys.modules.pop("bench_sets")
