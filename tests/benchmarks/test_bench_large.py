"""The benchmark of large networks runs at tiny size, so that it cannot rot; no figure is judged here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_benchmark_of_large_networks_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_large

    file = tmp_path / "b.json"
    words = ["--scale", "0.005", "--learners", "2", "--only", "fit,saved,steps,vectors", "--json", str(file)]
    rows = bench_large.main(words)
    assert [str(row["what"]).split(" ")[0] for row in rows] == ["fit:", "saved:", "sampled", "sampled", "8"]
    assert rows[0]["peak_mb"] > 0
    assert rows[0]["estimate_mb"] > 0
    assert rows[1]["weights_mb"] > 0
    assert rows[1]["load_cpu_s"] > 0
    assert rows[-1]["squares"] > 0.9
    assert json.loads(file.read_text()) == rows
    sys.modules.pop("bench_large")
