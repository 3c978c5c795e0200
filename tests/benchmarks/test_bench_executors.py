"""The benchmark of executors runs, at tiny size, so that it cannot rot; its figures are not judged here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_benchmark_of_executors_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_executors
    import inputs

    monkeypatch.setattr(inputs.path_file, "__defaults__", (1.0, tmp_path))
    words = ["--preset", "thousandth", "--scale", "0.002", "--repeat", "1", "--json", f"{tmp_path}/b.json"]
    rows = bench_executors.main([*words, "--executor", "1", "--executor", "2"])
    assert [(row["executor"], row["equal"]) for row in rows[:2]] == [("1", True), ("2", True)]
    assert [row["phases"] for row in rows[2:]] == ["counting", "growing by tau", "growing by evidence"]
    assert all(row["windows_of_parts"] for row in rows[2:])
    more = bench_executors.main([*words, "--apart", "--executor", "1", "--executor", "2"])
    assert all(row["equal"] for row in more[:2])
    assert json.loads((tmp_path / "b.json").read_text()) == more
    sys.modules.pop("inputs")
