"""Estimates of memory: their terms, groups that fit, and errors before anything is trained."""

from __future__ import annotations

import json
import mmap
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_training import HON, LEARNER, OPTIONS

from honlearn.ensemble import memory
from honlearn.ensemble.ensemble import Architecture, Ensemble, count_parameters
from honlearn.ensemble.memory import Estimate, estimate, group_size
from honlearn.errors import InputError, ParameterError

MEGABYTE = 1_000_000
FOUND = Estimate(n_learners=16, shared=100 * MEGABYTE, kept=10 * MEGABYTE, working=40 * MEGABYTE)


def test_totals_hold_the_weights_of_all_learners_and_the_work_of_a_group() -> None:
    assert FOUND.total(16) == (100 + 16 * 50) * MEGABYTE
    assert FOUND.total(2) == (100 + 16 * 10 + 2 * 50) * MEGABYTE
    waiting = replace(FOUND, on_disk=True)
    assert waiting.total(16) == FOUND.total(16)
    assert waiting.total(2) == (100 + 2 * 50) * MEGABYTE


@pytest.mark.parametrize(("limit", "size"), [(900, 16), (899, 12), (310, 1), (309, 0)])
def test_the_largest_group_that_fits(limit: int, size: int) -> None:
    assert FOUND.group_size(limit * MEGABYTE) == size


def test_weights_are_counted_as_they_are() -> None:
    shape = Architecture("bag", False, 4, 3, HON.n_entities, (LEARNER,))
    found = estimate(HON, shape, None, 30, [OPTIONS])
    assert found.n_learners == 4
    assert found.kept == 4 * count_parameters(Ensemble(shape, 0, [0]))
    assert found.working > 3 * found.kept


def test_a_bag_is_trained_in_groups_and_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1000 * MEGABYTE)
    monkeypatch.setattr(memory, "resident_memory", lambda: 50 * MEGABYTE)
    assert group_size(FOUND, None, "It", apart=True) is None
    assert group_size(FOUND, "500MB", "It", apart=True) == 3
    with pytest.raises(InputError, match=r"It: 16 learners need 900 MB of memory; 450 MB are allowed beside"):
        group_size(FOUND, "500MB", "It", apart=False)
    with pytest.raises(
        InputError, match=r"900 MB of memory, one at a time 310 MB; 50 MB are allowed.*fan_out"
    ):
        group_size(FOUND, "100MB", "It", apart=True)
    waiting = replace(FOUND, on_disk=True)
    assert group_size(waiting, "500MB", "It", apart=True) == 7
    with pytest.raises(
        InputError, match=r"one at a time 310 MB;.*, make widths or n_learners .*TMPDIR.*160 MB"
    ):
        group_size(FOUND, "100MB", "It", apart=True)
    with pytest.raises(InputError, match=r"one at a time 150 MB;.*, make widths smaller, or raise memory"):
        group_size(waiting, "100MB", "It", apart=True)
    with pytest.raises(ParameterError, match=r"'training.memory' parameter of It must be a size"):
        group_size(FOUND, "lots", "It", apart=True)


def test_what_is_available_and_resident() -> None:
    before = memory.resident_memory()
    # A mapping is new memory; an array may lie where another one was.
    with mmap.mmap(-1, 50 * MEGABYTE) as block:
        block.write(b"x" * MEGABYTE * 50)
        assert memory.resident_memory() - before > 40 * MEGABYTE
    assert 0 < memory.available_memory() <= 2**62


def test_control_groups_limit_what_is_available(tmp_path: Path) -> None:
    assert memory._of_control_group(tmp_path) == []
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 200\n")
    assert memory._of_control_group(tmp_path) == [500]
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._of_control_group(tmp_path) == []
    old = tmp_path / "memory"
    old.mkdir()
    for name, text in (("limit_in_bytes", "900"), ("usage_in_bytes", "950"), ("stat", "")):
        (old / f"memory.{name}").write_text(text)
    assert memory._of_control_group(tmp_path) == [0]


def test_an_estimate_is_near_the_measured_peak() -> None:
    folder = Path(__file__).resolve().parents[2] / "benchmarks"
    code = "import json, bench_large as b; print(json.dumps(b.fit_here('million', 0.05, 1, None, 600, 0)))"
    made = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=folder
    )
    row = json.loads(made.stdout.splitlines()[-1])
    estimated, taken = (row[name] - row["loaded_mb"] for name in ("estimate_mb", "training_mb"))
    assert abs(estimated - taken) < 0.15 * row["training_mb"]
    assert 0.7 * taken < estimated < 1.3 * taken
