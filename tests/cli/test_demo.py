"""The demo, as a new user runs it: every step succeeds and what it promises is there."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path


def test_the_demo_runs_from_itineraries_to_doubts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "honlearn", "demo", "-o", "here"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "175 entities, 607 nodes (432 remember)" in done.stdout
    assert "learners disagree most" in done.stdout
    rows = json.loads((tmp_path / "here" / "run" / "summary.json").read_text())["rows"]
    assert [(row["model"], row["input"]) for row in rows] == [("dge-bag", "gk"), ("dge-bag", "g1")]
    # Eleven classes, the largest a fifth of the airports: far above what guessing gives.
    assert all(row["micro_f1_mean"] > 0.4 for row in rows)
    with (tmp_path / "here" / "predictions.csv").open(newline="") as file:
        predicted = list(csv.DictReader(file))
    assert len(predicted) == 175
    assert {"node", "label", "confidence", "disagreement"} <= set(predicted[0])
