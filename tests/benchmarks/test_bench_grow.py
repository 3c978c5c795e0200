"""The benchmark runs, at tiny size, so that it cannot rot; its figures are not judged here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_builders_benchmark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_grow
    import inputs

    monkeypatch.setattr(inputs.path_file, "__defaults__", (1.0, tmp_path))
    rows = bench_grow.main(
        ["--scale", "0.0001", "--repeat", "1", "--preset", "air", "--json", f"{tmp_path}/b.json"]
    )
    assert [row["what"] for row in rows][2:4] == ["grow k=2", "grow k=3"]
    assert all(float(str(row["peak_mb"])) > 5 for row in rows)
    assert json.loads((tmp_path / "b.json").read_text()) == rows
    sys.modules.pop("inputs")


def test_inputs_can_be_made_without_the_reference_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import inputs

    monkeypatch.setattr(inputs, "REFERENCE", tmp_path / "none.py")
    file = inputs.path_file("mag", 0.0003, tmp_path)
    lines = file.read_text().splitlines()
    assert len(lines) == 2430
    assert {len(line.split()) for line in lines} >= {2, 3, 4, 5}
