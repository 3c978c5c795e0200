"""``make bench`` runs, at tiny size, so that it cannot rot; its figures are not judged here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PARTS = ("run", "building", "training", "limits", "measuring", "page", "inputs", "bench_large")


@pytest.fixture
def _parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in PARTS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import inputs

    monkeypatch.setattr(inputs.path_file, "__defaults__", (1.0, tmp_path))


@pytest.mark.usefixtures("_parts")
def test_the_benchmarks_run_and_write_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import building
    import run
    import training
    from measuring import Curve

    curve = Curve("a step", "edges", (1.0, 2.0), (3.0, 6.0), "ms", 1.0)
    monkeypatch.setattr(building, "growth", lambda *given: [curve])
    monkeypatch.setattr(building, "measure", lambda program, *words: (len(program) / 100, 50.0))
    monkeypatch.setattr(run, "memory_row", lambda *given: MEMORY)
    words = ["--scale", "0.0001", "--training-scale", "0.01", "--learners", "2", "--repeat", "1"]
    found = run.main([*words, "--folder", str(tmp_path), "--json", str(tmp_path / "b.json")])
    assert json.loads((tmp_path / "b.json").read_text())["rows"] == found["rows"]
    ours = {row["what"]: row["times"] for row in found["rows"] if row["kind"] == "ours"}
    assert ours[building.OURS] == ours[training.OURS] == 1
    page = (tmp_path / "benchmarks.md").read_text()
    for row in found["rows"]:
        assert row["what"] in page
    charts = {path.name for path in (tmp_path / "benchmarks").iterdir()}
    assert charts == {"building.svg", "training.svg", "growth.svg"}


MEMORY = {
    "what": "fit: 9 entities, 9 nodes, 20 edges",
    "learners": 2,
    "cpu_s": 1.0,
    "peak_mb": 300,
    "before_mb": 200,
    "training_mb": 300,
    "estimate_mb": 310,
}


@pytest.mark.usefixtures("_parts")
def test_programs_that_are_compared_count_the_same_windows(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    import subprocess

    import building

    file = tmp_path / "paths.txt"
    file.write_text("a b c d\nb c d\na b\nz\na b c\n")
    for program in (building.POLARS, building.DUCKDB):
        words = [sys.executable, "-c", program, str(file)]
        out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        # a b c (twice) and b c d (twice).
        assert out.strip() == "2"


@pytest.mark.usefixtures("_parts")
def test_exponents_and_processes_are_measured() -> None:
    import measuring

    sizes = [1.0, 2.0, 4.0, 8.0]
    assert measuring.exponent(sizes, [5 * size**1.5 for size in sizes]) == 1.5
    cpu, memory = measuring.measure("x = bytearray(40_000_000)")
    assert cpu > 0
    assert memory > 40


@pytest.mark.usefixtures("_parts")
def test_inputs_can_be_made_without_the_reference_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import inputs

    monkeypatch.setattr(inputs, "REFERENCE", tmp_path / "none.py")
    file = inputs.path_file("mag", 0.0003, tmp_path)
    lines = file.read_text().splitlines()
    assert len(lines) == 2430
    assert {len(line.split()) for line in lines} >= {2, 3, 4, 5}
