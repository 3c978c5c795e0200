"""The benchmark of training runs, at tiny size, so that it cannot rot; its figures are not judged here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_benchmark_of_training_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_train

    file = tmp_path / "b.json"
    rows = bench_train.main(["--scale", "0.01", "--learners", "2", "--repeat", "1", "--json", str(file)])
    assert [row["what"] for row in rows][:4] == ["one product", "built-in SAGE", "torch CSR", "PyG modules"]
    assert all(float(str(row["cpu_ms"])) > 0 for row in rows)
    assert json.loads(file.read_text()) == rows
    sys.modules.pop("bench_train")
