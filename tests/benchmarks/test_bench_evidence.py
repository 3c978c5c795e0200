"""The benchmark of evidence runs, at tiny size, and its simulation keeps starts and lengths."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import honlearn as hl
from honlearn.paths.paths import Paths

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_evidence
    import inputs

    monkeypatch.setattr(inputs.path_file, "__defaults__", (1.0, tmp_path))
    return bench_evidence


def test_the_simulation_has_the_same_starts_lengths_and_steps(bench: ModuleType) -> None:
    lists = [list("ABCA"), list("BCA"), list("CABD"), list("AB")]
    made = bench.without_memory(Paths.from_lists(lists, [300, 200, 100, 50]), seed=0)
    assert made.total == 650
    assert "".join(path[0] for path in made) == "A" * 300 + "B" * 200 + "C" * 100 + "A" * 50
    # D has no next step, so a path that comes there ends.
    assert all(len(path) == 4 or "D" in path for path in list(made)[:300])
    steps = hl.grow(Paths.from_lists(lists, [300, 200, 100, 50]), order=1)
    again = hl.grow(made, order=1)
    assert set(again.nodes) <= set(steps.nodes)
    for node in "ABC":
        expected, found = steps.transition(node), again.transition(node)
        assert all(abs(found.get(x, 0) - share) < 0.08 for x, share in expected.items())


def test_false_and_planted_contexts_are_counted(bench: ModuleType) -> None:
    rng = np.random.default_rng(0)
    paths = Paths.from_lists([[a, "hub", a.lower()] for a in rng.choice(list("ABC"), 400)])
    row = bench.false_contexts("small", paths, 2, 2)
    assert (row["real_paths_kept"], row["real_paths_tested"]) == (3, 3)
    assert (row["simulations"], row["tested"], row["kept"]) == (2, 6, 0)
    row = bench.planted_contexts(3, "sources", 0.0, 0, n_nodes=8, n_hubs=2)
    assert row["found"] == row["planted"] == 32


def test_costs_are_measured(bench: ModuleType, tmp_path: Path) -> None:
    rows = bench.main(
        [
            "--cost",
            "air",
            "--scale",
            "0.0001",
            "--repeat",
            "1",
            "--folder",
            str(tmp_path),
            "--json",
            f"{tmp_path}/b",
        ]
    )
    assert [(row["order"], row["rule"]) for row in rows][1] == (2, "--alpha 0.05")
    assert json.loads((tmp_path / "b").read_text()) == rows
    sys.modules.pop("inputs")
