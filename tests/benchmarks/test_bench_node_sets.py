"""The benchmark of prediction sets of nodes runs, at tiny size."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from honlearn.hon.edgelist import from_edges
from honlearn.results.calibration import reliability

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_benchmark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_node_sets as bench

    near = [(f"{s}{i}", f"{s}{(i + k) % 12}") for s in "ab" for i in range(12) for k in (1, 2)]
    from_edges(*zip(*near, strict=True)).save(tmp_path / "net.hon")
    (tmp_path / "labels.csv").write_text(
        "node,label\n" + "".join(f"{s}{i},{s}\n" for s in "ab" for i in range(12))
    )
    file = tmp_path / "b.json"
    words = [str(tmp_path / "net.hon"), str(tmp_path / "labels.csv"), "--splits", "1", "--learners", "4"]
    rows = bench.main([*words, "--json", str(file)])
    assert json.loads(file.read_text()) == rows
    assert [(row["score"], row["asked"]) for row in rows[:3]] == [
        ("jackknife", 0.8), ("jackknife", 0.9), ("jackknife", 0.95)
    ]  # fmt: skip
    # With 17 nodes to calibrate on, a set of 95 % leaves out nothing.
    assert (rows[2]["coverage"], rows[2]["mean_size"]) == (1.0, 2.0)
    assert rows[2]["below"] == 0
    assert rows[-1]["splits"] == 1
    sys.modules.pop("bench_node_sets")


def test_the_calibration_error_is_that_of_all_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_node_sets as bench

    random = np.random.default_rng(0)
    proba, truth = random.dirichlet(np.ones(3), 60), random.integers(0, 3, 60)
    parts = [bench.Tested({}, truth[:20], proba[:20]), bench.Tested({}, truth[20:], proba[20:])]
    error, of_noise = bench.calibration_error(parts)
    assert error == pytest.approx(reliability(truth, proba).error)
    # Classes that are drawn from the probabilities leave noise alone.
    sure, right = proba.max(1), proba.cumsum(1)
    drawn = [(right > random.random(60)[:, None]).argmax(1) for _ in range(300)]
    found = [reliability(one, proba).error for one in drawn]
    assert of_noise == pytest.approx(np.mean(found), rel=0.1)
    assert 0 < of_noise < error < sure.mean()
    assert len(set(bench.generated(0).labels)) == 12
    sys.modules.pop("bench_node_sets")
