"""The benchmark of new entities runs, at tiny size, and cuts paths where entities are hidden."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from honlearn.paths.paths import Paths

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_benchmark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_new_entities as bench

    rng = np.random.default_rng(0)
    lines = [" ".join(f"{group}{i}" for i in rng.integers(0, 8, 4)) for group in "ab" for _ in range(60)]
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "paths.txt").write_text("\n".join(lines) + "\n")
    names = sorted({name for line in lines for name in line.split()})
    (folder / "labels.csv").write_text("node,label\n" + "".join(f"{n},{n[0]}\n" for n in names))
    file = tmp_path / "b.json"
    rows = bench.main([str(folder), "--learners", "2", "--splits", "2", "--epochs", "3", "--json", str(file)])
    assert [(row["split"], row["hidden"], row["labelled"]) for row in rows] == [(0, 4, 12), (1, 4, 12)]
    assert json.loads(file.read_text()) == rows
    # Two groups that never meet: a new entity is known by its neighbours.
    assert all(row["new"] == 1 for row in rows)
    sys.modules.pop("bench_new_entities")


def test_paths_are_cut_where_entities_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_new_entities as bench

    paths = Paths.from_lists([list("ABXCD"), list("XX"), list("DXA"), list("AB")], [5, 4, 3, 2])
    cut = bench.cut_at(paths, {"X"})
    assert list(cut) == [("A", "B"), ("C", "D"), ("D",), ("A",), ("A", "B")]
    assert cut.counts is not None
    assert cut.counts.tolist() == [5, 5, 3, 3, 2]
    sys.modules.pop("bench_new_entities")
