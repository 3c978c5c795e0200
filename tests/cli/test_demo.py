"""The demo, as a new user runs it: every step succeeds and what it promises is there.

With two folds in place of five: what five tell of the same data is in tests/test_readme.py.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from command_line import Run

from honlearn.cli import demo


def test_the_demo_runs_from_itineraries_to_a_page(
    honlearn: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = demo._run

    def run(*words: object) -> None:
        typed(*words, *(("--folds", 2) if words[0] == "learn" else ()))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "_run", run)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    done = honlearn("demo", "-o", "here")
    assert done.code == 0, done.err
    assert "286,810 paths, 914,898 steps, 175 entities" in done.out
    assert "the micro F1 goes from" in done.out
    assert "ORF" in done.out
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
