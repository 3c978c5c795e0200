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
    assert "286,810 paths, 914,898 steps, 175 entities" in done.stdout
    assert "Where a path came from matters: it lifts the micro F1 from" in done.stdout
    assert "ORF" in done.stdout
    learned = tmp_path / "here" / "learned"
    rows = json.loads((learned / "run" / "summary.json").read_text())["rows"]
    score = {row["input"]: row["micro_f1_mean"] for row in rows}
    # Eleven classes, the largest a fifth of the airports: far above what guessing gives.
    assert score["g1"] > 0.4
    assert score["gk"] > score["g1"] + 0.1
    with (learned / "predictions.csv").open(newline="") as file:
        predicted = list(csv.DictReader(file))
    assert len(predicted) == 175
    assert {"node", "known_label", "label", "confidence", "set", "reasons"} <= set(predicted[0])
    page = (learned / "report.html").read_text(encoding="utf-8")
    assert "US flights: which region is an airport in?" in page
    # The airports have coordinates, so the network is on a map; nothing was left out.
    assert '"map":{"' in page
    assert '"missing":[]' in page
