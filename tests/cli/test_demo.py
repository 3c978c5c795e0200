"""The demo, as a new user runs it: every step succeeds and what it promises is there."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path


def test_the_demo_runs_from_itineraries_to_a_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "honlearn", "demo", "-o", "here"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "175 entities, 607 nodes (432 remember)" in done.stdout
    rows = json.loads((tmp_path / "here" / "run" / "summary.json").read_text())["rows"]
    score = {(row["model"], row["input"]): row["micro_f1_mean"] for row in rows}
    assert list(score) == [
        (model, name) for model in ("graphsage", "honem", "dge-bag") for name in ("gk", "g1")
    ]
    # Eleven classes, the largest a fifth of the airports: far above what guessing gives.
    assert all(score["dge-bag", name] > 0.4 for name in ("gk", "g1"))
    assert score["dge-bag", "gk"] > score["graphsage", "g1"]
    with (tmp_path / "here" / "predictions.csv").open(newline="") as file:
        predicted = list(csv.DictReader(file))
    assert len(predicted) == 175
    assert {"node", "label", "confidence", "disagreement"} <= set(predicted[0])
    page = (tmp_path / "here" / "report.html").read_text(encoding="utf-8")
    assert "US flights: which region?" in page
    # The airports have coordinates, so the network is on a map; nothing was left out.
    assert '"layout":"map"' in page
    assert '"missing":[]' in page
