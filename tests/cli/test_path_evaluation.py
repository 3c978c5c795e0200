"""``honlearn evaluate PATHS OUTCOMES --task paths``: table, JSON, plan, resume, report, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run

from honlearn.reporting.build import write_report
from honlearn.results.runs import read_run

MODELS = ("--model", "path-classifier", "--model", "bag-of-entities", "--model", "majority")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Thirty lines, half each way round, and a label of no line."""
    (tmp_path / "paths.txt").write_text("A B C\nC B A\n" * 15)
    rows = "".join(f"{i},{('on', 'back')[1 - i % 2]}\n" for i in range(1, 31))
    (tmp_path / "outcomes.csv").write_text(f"path,label\n{rows}99,on\n")
    return tmp_path


def words(data: Path, *more: object) -> list[object]:
    start = ["evaluate", data / "paths.txt", data / "outcomes.csv", "-o", data / "run", "--task", "paths"]
    return [*start, "--folds", 3, *MODELS, "--set", "vectors=2", "C=1.0", *more]


def test_from_paths_to_a_page(honlearn: Run, data: Path) -> None:
    plan = honlearn(*words(data, "--dry-run"))
    assert (plan.code, "9 jobs, 0 done before" in plan.out) == (0, True)
    assert not (data / "run").exists()
    done = honlearn(*words(data))
    assert done.code == 0, done.err
    assert "1 labels are of no path and left out: 99" in done.err
    assert "path-classifier" in done.out
    assert "is the log loss that of path-classifier" in done.out
    before = (data / "run" / "records.jsonl").read_bytes()
    again = honlearn(*words(data, "--json"))
    told = json.loads(again.out)
    assert (data / "run" / "records.jsonl").read_bytes() == before
    assert [row["model"] for row in told["rows"]] == ["path-classifier", "bag-of-entities", "majority"]
    assert told["rows"][0]["auroc_mean"] == 1.0
    assert told["rows"][2]["log_loss_mean"] > told["rows"][0]["log_loss_mean"]
    (study,) = read_run(data / "run").studies
    assert study.task == "paths"
    page = write_report(data / "run", data / "report.html").read_text("utf-8")
    assert "classes of paths" in page
    assert "Every path as predicted by the fit" in page


def test_processes_give_the_same_records(honlearn: Run, data: Path) -> None:
    assert honlearn(*words(data, "--no-artefacts")).code == 0
    other = [*words(data, "--no-artefacts", "--jobs", 2)]
    other[other.index(data / "run")] = data / "two"
    done = honlearn(*other)
    assert done.code == 0, done.err
    kept = []
    for name in ("run", "two"):
        rows = [json.loads(line) for line in (data / name / "records.jsonl").read_text().splitlines()]
        kept.append({row["digest"]: row["scores"] for row in rows})
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--folds", "published"), "--folds must be a whole number"),
        (("--test-share", "0.2"), "--test-share is for --task links; others do without them"),
        (("--undirected",), "--undirected is for --task links"),
        (("--input", "g1"), "--input is for --task nodes, links or next"),
        (("--predictions",), "--predictions is for --task nodes, links or next"),
        (("--set", "colour=3"), "not a keyword of a classifier of paths"),
        (("--set", "order=-1"), "The 'order' parameter of PathClassifier"),
        (("--model", "gcn"), "no model 'gcn' for paths"),
    ],
)
def test_what_is_refused(honlearn: Run, data: Path, more: tuple[str, ...], said: str) -> None:
    done = honlearn(*words(data, *more))
    assert done.code == 2
    assert said in done.err
    assert not (data / "run").exists()


def test_settings_for_no_model_are_refused(honlearn: Run, data: Path) -> None:
    start = ["evaluate", data / "paths.txt", data / "outcomes.csv", "-o", data / "run", "--task", "paths"]
    done = honlearn(*start, "--model", "majority", "--set", "order=1")
    assert (done.code, "--set is for path-classifier and bag-of-entities" in done.err) == (2, True)
    done = honlearn("evaluate", data / "paths.txt", "-o", data / "run", "--task", "paths", "--model", "gru")
    assert (done.code, "needs LABELS after PATHS" in done.err) == (2, True)
