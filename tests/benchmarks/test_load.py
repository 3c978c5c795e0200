"""The load test runs at tiny size, so that it cannot rot; only what must hold at any size is judged."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import load

    yield load
    sys.modules.pop("load")


def test_fits_and_predictions(load: Any) -> None:
    row = load.fits(0.0)
    assert row["what"] == "8 fits in one process"
    assert 0 < row["quarter_mb"] <= row["last_mb"] + 20
    assert load.predictions(0.0)["what"] == "100 predictions in batches of 10"


def test_a_run_that_is_killed_ends_with_the_same_records(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "KILLS", 1)
    row = load.jobs(0.0)
    assert row["what"] == "20 jobs with 1 kills"
    assert row["same_records"]
    assert 0 < row["records_at_kills"][0] < 20


def test_a_report_of_entities(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_opened", lambda page: None)
    row = load.report(0.0)
    assert row["what"] == "report of 50 entities, 150 contexts"
    assert row["mb"] > 0
