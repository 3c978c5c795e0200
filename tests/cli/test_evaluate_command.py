from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import QUICK, Files, Run

import honlearn as hl
from honlearn.cli.evaluate import COLUMNS
from honlearn.cli.run_tables import print_rows
from honlearn.results.records import FILE
from honlearn.results.runs import read_run
from honlearn.tasks.node_fit import POWERS


def records(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "times"} for line in lines]


def test_models_inputs_and_seeds(honlearn: Run, files: Files, tmp_path: Path) -> None:
    words = ["--model", "dge-bag", "--model", "dge-pool*", "--input", "both", "--folds", 3, "--seeds", 2]
    outcome = honlearn("evaluate", *files, "-o", tmp_path, *words, "--predictions", *QUICK)
    assert outcome.code == 0, outcome.err
    assert "1 labelled node is not in the network and left out: elsewhere" in outcome.err
    assert "24/24 dge-pool* first-order seed 1 fold 2: micro F1 " in outcome.err
    for word in ("micro", "macro", "log", "single", "gain", "CPU s", "±", "dge-pool*", "over 6 fits"):
        assert word in outcome.out
    assert "…" not in outcome.out
    assert len(records(tmp_path)) == 24
    with open(tmp_path / "summary.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["input"], row["records"]) for row in rows] == [
        ("dge-bag", "gk", "6"),
        ("dge-bag", "g1", "6"),
        ("dge-pool*", "gk", "6"),
        ("dge-pool*", "g1", "6"),
    ]
    assert rows[0]["p_value"] == ""
    assert 0 <= float(rows[1]["p_value"]) <= 1
    table = pd.read_parquet(tmp_path / "predictions.parquet")
    sizes = table.groupby(["model", "input", "seed"]).size()
    assert sizes.tolist() == [18] * 8
    again = honlearn("evaluate", *files, "-o", tmp_path, *words, "--predictions", *QUICK)
    assert "24/24" not in again.err
    assert again.out == outcome.out


def test_json_and_a_setting_for_one_model(honlearn: Run, files: Files, tmp_path: Path) -> None:
    words = ["--model", "dge-bag", "--model", "dge-batch", "--folds", 2, "--set", "dge-batch:n_learners=3"]
    outcome = honlearn("evaluate", *files, "-o", tmp_path, *QUICK, *words, "--json")
    facts = json.loads(outcome.out)
    assert facts == {"run": str(tmp_path), **json.loads((tmp_path / "summary.json").read_text())}
    assert [row["records"] for row in facts["rows"]] == [2, 2]
    assert facts["nodes"] == 18
    asked = {r["configuration"]["model"]: r["configuration"]["parameters"] for r in records(tmp_path)}
    assert (asked["dge-bag"]["n_learners"], asked["dge-batch"]["n_learners"]) == (2, 3)


def test_tables_records_and_the_report_name_the_learner(honlearn: Run, files: Files, tmp_path: Path) -> None:
    words = ["evaluate", *files, "-o", tmp_path, "--folds", 2, *QUICK]
    mixed = ["--model", "dge-bag", "--model", "gcn", "--set", "dge-bag:learner=sage,gcn"]
    gcn = [word for word in words if word != "n_learners=2"]
    outcome = honlearn(*gcn, *mixed, "--set", "dge-bag:n_learners=2")
    assert outcome.code == 0, outcome.err
    assert "1/4 dge-bag (sage+gcn) higher-order seed 0 fold 0: micro F1" in outcome.err
    assert " dge-bag (sage+gcn)  higher-order " in outcome.out
    assert " gcn                 higher-order " in outcome.out
    assert "is the micro F1 that of dge-bag (sage+gcn) higher-order?" in outcome.out
    plan = honlearn(*words, "--model", "dge-bag", "--set", "learner=gat", "heads=2", "--dry-run")
    assert " dge-bag (gat) " in plan.out
    # No record of another learner is what the estimate is from.
    assert "(a guess)" in plan.out
    assert honlearn(*words, "--model", "dge-bag").code == 0
    asked = [record["configuration"] for record in records(tmp_path)]
    assert [one["model"] for one in asked] == ["dge-bag"] * 2 + ["gcn"] * 2 + ["dge-bag"] * 2
    parameters = [one["parameters"] for one in asked]
    assert [one["learner"] for one in parameters] == ["sage+gcn"] * 2 + ["gcn"] * 2 + ["sage"] * 2
    assert all(one["widths"] == [6, 6] and one["max_epochs"] == 3 for one in parameters)
    assert not any(isinstance(value, dict) for one in parameters for value in one.values())
    names = [model.name for model in read_run(tmp_path).studies[0].models]
    assert names == ["dge-bag (sage+gcn) · higher-order", "gcn · higher-order", "dge-bag · higher-order"]


def test_published_folds_and_folds_of_a_file(honlearn: Run, files: Files, tmp_path: Path) -> None:
    words = ["evaluate", *files, "--model", "dge-bag", *QUICK]
    assert honlearn(*words, "-o", tmp_path / "a", "--folds", "published").code == 0
    assert [record["configuration"]["folds"] for record in records(tmp_path / "a")] == ["published"] * 5
    (tmp_path / "folds.json").write_text('[["s0", "s1", "s2"], ["s3", "s4", "s5", "s6"]]')
    assert honlearn(*words, "-o", tmp_path / "b", "--folds-file", tmp_path / "folds.json").code == 0
    sizes = [(r["sizes"]["train"], r["sizes"]["test"]) for r in records(tmp_path / "b")]
    assert sizes == [(15, 3), (14, 4)]


def test_records_of_other_settings_stay_and_are_told_of(honlearn: Run, files: Files, tmp_path: Path) -> None:
    words = ["evaluate", *files, "-o", tmp_path, "--model", "dge-bag", "--folds", 2, *QUICK]
    first = honlearn(*words)
    assert "with other models" not in first.err
    other = honlearn(*words, "--set", "learning_rate=0.02", "--json")
    assert "holds 2 records with other models, data, settings or defaults" in other.err
    assert [row["records"] for row in json.loads(other.out)["rows"]] == [2]
    assert len(records(tmp_path)) == 4
    back = honlearn(*words)
    assert back.out == first.out
    assert ": micro F1" not in back.err


def test_rare_classes_are_named(honlearn: Run, files: Files, tmp_path: Path) -> None:
    rows = Path(files.labels).read_text().splitlines()
    rows[1] = "s0,rare"
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    words = ["--model", "dge-bag", "--folds", 3, *QUICK]
    outcome = honlearn("evaluate", files.net, tmp_path / "labels.csv", "-o", tmp_path / "run", *words)
    assert outcome.code == 0
    assert "1 of 3 classes have fewer members than the 3 folds" in outcome.err
    assert "'rare' (1)" in outcome.err
    assert sorted(record["sizes"]["unseen_classes"] for record in records(tmp_path / "run")) == [0, 0, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "dge-bog"], "did you mean 'dge-bag'?"),
        (["--model", "dge-bag", "--folds", "publshed"], "at least 2, or 'published'. Got 'publshed' instead"),
        (["--model", "dge-bag", "--folds", "1"], "at least 2. Got 1"),
        (["--model", "dge-bag", "--folds", "15"], "15 folds, but the largest class has 9 labelled nodes"),
        (["--model", "dge-bag", "--folds", "3", "--folds-file", "x.json"], "give one of the two"),
        (["--model", "dge-bag", "--folds-file", "x.json"], "x.json: no such file"),
        (["--model", "dge-bag", "--input", "g2"], "higher-order, first-order, both, auto, all. Got 'g2'"),
        (["--model", "dge-bag", "--set", "dge-pool:n_learners=2"], "'dge-pool' does not take part"),
        (["--model", "dge-bag", "--set", "n_learners=no"], "must be a whole number"),
    ],
)
def test_errors_are_one_line(
    honlearn: Run, files: Files, tmp_path: Path, words: list[str], message: str
) -> None:
    outcome = honlearn("evaluate", *files, "-o", tmp_path / "run", *words)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("honlearn: ")
    assert message in outcome.err
    assert not (tmp_path / "run").exists()


def test_a_killed_run_goes_on_to_the_same_records(honlearn: Run, files: Files, tmp_path: Path) -> None:
    words = ["evaluate", *files, "--model", "dge-bag", "--seeds", "3", "--folds", "3", *QUICK]
    whole = honlearn(*words, "-o", tmp_path / "whole")
    assert whole.code == 0, whole.err
    run = tmp_path / "killed"
    command = [sys.executable, "-m", "honlearn", *words, "-o", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (run / FILE).exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    before = (run / FILE).read_bytes().count(b"\n")
    assert before < 9
    assert not (run / "summary.csv").exists()
    done = honlearn(*words, "-o", run)
    assert done.code == 0, done.err
    assert f"{before} of 9 were done before" in done.err or not before
    assert done.err.count(": micro F1") == 9 - before
    assert records(run) == records(tmp_path / "whole")
    assert len(records(run)) == 9


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_number_is_cut_off_in_a_narrow_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    scores = {f"{key}_{kind}": 0.125 for key, _ in COLUMNS.values() for kind in ("mean", "std")}
    row = {"model": "a-model-with-a-name", "input": "auto", "records": 5, **scores}
    print_rows([{**row, "p_value": None}, {**row, "p_value": 1e-9}], COLUMNS)
    printed = capsys.readouterr().out
    assert "…" not in printed
    assert printed.count("a-model-with-a-name") == 2
    assert printed.count("±0.125") == 2 * sum(digits == 3 for _, digits in COLUMNS.values())
    assert "< 0.001" in printed


def test_records_and_training_tell_the_power_that_was_chosen(
    honlearn: Run, files: Files, tmp_path: Path
) -> None:
    chosen = ["--model", "dge-bag", *QUICK, "--set", "edge_power=auto"]
    outcome = honlearn("evaluate", *files, "-o", tmp_path / "run", "--folds", 2, *chosen)
    assert outcome.code == 0, outcome.err
    assert all(record["sizes"]["edge_power"] in POWERS for record in records(tmp_path / "run"))
    trained = honlearn("train", *files, "-o", tmp_path / "model", *chosen, "--json")
    assert json.loads(trained.out)["edge_power"] in POWERS


@pytest.mark.parametrize("which", ["gk", "g1", "both"])
@pytest.mark.parametrize("task", ["nodes", "links"])
def test_a_network_without_memory_is_never_called_gk(
    task: str, which: str, honlearn: Run, files: Files, tmp_path: Path
) -> None:
    hl.load_network(files.net).first_order().save(tmp_path / "first.hon")
    given = [tmp_path / "first.hon", *([files.labels] if task == "nodes" else [])]
    model = ["--task", task, "--model", "majority" if task == "nodes" else "popularity", "--input", which]
    outcome = honlearn("evaluate", *given, "-o", tmp_path / "run", *model)
    assert outcome.code == 0, outcome.err
    assert {record["configuration"]["input"] for record in records(tmp_path / "run")} == {"g1"}
    said = "note: this is a first-order network: there is no gk, and results are for g1"
    notes = json.loads((tmp_path / "run" / "summary.json").read_text())["notes"]
    assert (said in outcome.err, said in notes) == (which != "g1", which != "g1")
