"""What a run shows: the live table, lines, the plan; and the options of evaluate that go with them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from command_line import QUICK, Files, Run
from rich.console import Console

from honlearn.cli.watch import LiveReporter, Reporter, reporter
from honlearn.experiments.estimate import Planned
from honlearn.results.record import Configuration, Record, Times


class Asked:
    """A job as a watcher sees it."""

    def __init__(self, fold: int) -> None:
        self.digest = f"{fold}"
        self.configuration = Configuration("dge-bag", "gk", seed=0, fold=fold)


SCORES = {"micro_f1": 0.5, "log_loss": 1.0}
RECORD = Record("0", Asked(0).configuration, SCORES, times=Times(fit_seconds=2.0))


def shown(live: LiveReporter) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(live.table())
    return out.getvalue()


def test_the_live_table_says_what_runs_and_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = Asked(0), Asked(1), Asked(2)
    with LiveReporter(4) as live:
        live.completed(Asked(3), RECORD, False)
        live.started(first)
        live.started(second)
        assert "1 of 4 done" in shown(live)
        assert "dge-bag higher-order seed 0 fold 0" in shown(live)
        assert "dge-bag higher-order seed 0 fold 1" in shown(live)
        live.completed(first, RECORD, True)
        assert "2 of 4 done, about" in shown(live)
        assert "fold 0" not in shown(live)
        live.started(third)
        live.failed(third, ValueError("not this one\nat all"))
        assert "3 of 4 done" in shown(live)
    said = capsys.readouterr().err
    assert "1 of 4 were done before" in said
    assert "2/4 dge-bag higher-order seed 0 fold 0: micro F1 0.500, log loss 1.000, 2.0 s" in said
    assert "3/4 dge-bag higher-order seed 0 fold 2 failed: not this one" in said
    assert "at all" not in said


def test_lines_where_there_is_no_terminal() -> None:
    assert type(reporter(3)) is Reporter


def test_what_is_left_to_do() -> None:
    assert Planned("m", "gk", 5, 2, 10.0, "(a guess)").left == 30.0


def test_evaluate_dry_and_with_jobs(honlearn: Run, files: Files, tmp_path: Path) -> None:
    words = ["evaluate", *files, "-o", tmp_path / "run", "--model", "dge-bag", "--folds", 2, *QUICK]
    dry = honlearn(*words, "--dry-run", "--jobs", 2)
    assert dry.code == 0, dry.err
    assert "2 jobs, 0 done before" in dry.out
    assert "on 2 processes. Nothing was run." in dry.out
    assert not (tmp_path / "run").exists()
    first = honlearn(*words, "--json")
    assert first.code == 0, first.err
    # All is done, so no process starts; the answer is the same, but for the command that it names.
    again = honlearn(*words, "--jobs", 2, "--json")
    assert json.loads(again.out)["rows"] == json.loads(first.out)["rows"]
    assert json.loads(again.out)["command"].endswith("--jobs 2 --json")
    assert "2 jobs, 2 done before" in honlearn(*words, "--dry-run").out
    links = ["evaluate", files.net, "-o", tmp_path / "links", "--task", "links", "--model", "dge-bag"]
    planned = honlearn(*links, "--test-share", 0.2, "--repetitions", 3, "--dry-run")
    assert "3 jobs, 0 done before" in planned.out, planned.err
    assert not (tmp_path / "links").exists()
