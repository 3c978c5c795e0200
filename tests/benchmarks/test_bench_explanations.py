"""The benchmark of explanations runs, at tiny size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_top_reasons_are_compared_with_random_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_explanations

    small = ["--nodes", "6", "--learners", "2", "--widths", "9", "9", "--epochs", "2"]
    rows = bench_explanations.main(["--data", "us_flights", "nowhere", *small, "--json", str(tmp_path / "b")])
    assert [row["data"] for row in rows] == ["us_flights"]
    assert rows[0]["neighbor"]["nodes"] <= rows[0]["nodes"] == 6
    assert json.loads((tmp_path / "b").read_text()) == rows
    out = capsys.readouterr()
    assert out.out.count("\n") == 3
    assert "nowhere: not on this machine" in out.err
