"""train --task paths and predict --paths."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import Run

import honlearn as hl


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Twenty sequences as an event table, ten each way round, and their labels."""
    rows, labels = [], ["case,label"]
    for i in range(20):
        steps = "ABCD"[i % 4 :] + "ABCD"[: i % 4]
        kind = "on" if i < 10 else "back"
        rows += [f"c{i},{t},{x}" for t, x in enumerate(steps if kind == "on" else steps[::-1])]
        labels.append(f"c{i},{kind}")
    (tmp_path / "events.csv").write_text("\n".join(["case,t,stop", *rows]))
    (tmp_path / "labels.csv").write_text("\n".join([*labels, "c99,on"]))
    return tmp_path


READ = ("--sequence", "case", "--entity", "stop", "--order-by", "t")


def test_train_and_predict(honlearn: Run, data: Path) -> None:
    model = data / "model"
    done = honlearn(
        "train", data / "events.csv", data / "labels.csv", "-o", model, "--task", "paths", *READ,
        "--set", "vectors=4", "order=1", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "1 labels are of no path and left out: c99" in done.err
    facts = json.loads(done.out)
    assert (facts["paths"], facts["classes"], facts["name"]) == (20, 2, "PathClassifier")
    assert sorted(path.name for path in model.iterdir() if path.suffix) == [
        "README.md", "config.json", "network.hon", "training.json", "weights.safetensors",
    ]  # fmt: skip
    # New paths are read as those of the training were.
    (data / "new.csv").write_text("case,t,stop\nx,2,C\nx,1,B\ny,1,C\ny,2,B\nx,3,D\n")
    out = honlearn("predict", model, "--paths", data / "new.csv")
    assert out.code == 0, out.err
    table = pd.read_csv(io.StringIO(out.out))
    assert list(table.columns) == ["path", "label", "p_back", "p_on", "confidence", "entropy"]
    assert table[["path", "label"]].values.tolist() == [["x", "on"], ["y", "back"]]
    assert honlearn("predict", model, "--paths", data / "new.csv", "-o", data / "p.csv").code == 0
    assert (data / "p.csv").read_text() == out.out
    sets = honlearn("predict", model, "--paths", data / "new.csv", "--alpha", "0.1")
    assert sets.code == 0, sets.err
    table = pd.read_csv(io.StringIO(sets.out), keep_default_na=False)
    assert list(table.columns)[-3:] == ["set", "set_size", "abstain"]
    asked = hl.load_model(model).predict_set([["B", "C", "D"], ["C", "B"]], alpha=0.1)
    assert table["set"].tolist() == ["|".join(one) for one in asked.labels]
    assert (table["set_size"] != 1).tolist() == table["abstain"].tolist()
    rows = json.loads(honlearn("predict", model, "--paths", data / "new.csv", "--alpha", "0", "--json").out)
    assert [sorted(row["set"]) for row in rows] == [["back", "on"]] * 2
    clf = hl.load_model(model)
    assert clf.predict([["B", "C", "D"]]).tolist() == ["on"]
    again = honlearn("train", data / "events.csv", data / "labels.csv", "-o", model, "--task", "paths", *READ)
    assert again.code == 0, again.err
    assert "PathClassifier" in again.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "widths=3"), "--set widths=3: not a keyword of a classifier of paths"),
        (("--set", "order=x"), "order is a whole number. Got 'x'"),
        (("--set", "order=-1"), "'order' parameter of PathClassifier"),
        (("--order", "1"), "--order: for networks that are grown; of a model of paths say --set order=1"),
        (("--model", "gcn"), "--model: --task paths trains a PathClassifier alone; leave it out"),
        (("--max-gap", "1"), "max_gap: a label belongs to a whole sequence"),
    ],
)
def test_training_refused(honlearn: Run, data: Path, words: tuple[str, ...], message: str) -> None:
    common = ("train", data / "events.csv", data / "labels.csv", "-o", data / "m", "--task", "paths", *READ)
    done = honlearn(*common, *words)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_refused(honlearn: Run, data: Path, model: Path) -> None:
    paths = ("train", data / "events.csv")
    done = honlearn(*paths, "-o", data / "m", "--task", "paths", *READ)
    assert (done.code, "needs LABELS" in done.err) == (2, True)
    (data / "other.csv").write_text("case,label\nz,on\n")
    done = honlearn(*paths, data / "other.csv", "-o", data / "m", "--task", "paths", *READ)
    assert "none of its ids is one of the 20 paths; paths are called c0, c1, c2" in done.err
    done = honlearn("predict", model, "--paths", data / "events.csv")
    assert (done.code, "--sequence" in done.err or "sequence" in done.err) == (2, True)
    hl.PathClassifier(C=1.0).fit([["A"], ["B"]], ["x", "y"]).save(data / "small")
    assert "name the paths to classify with --paths" in honlearn("predict", data / "small").err
    done = honlearn("predict", data / "small", "--paths", data / "events.csv", "--alpha", "0.1")
    assert (done.code, "no held-back predictions" in done.err, "two paths in every" in done.err) == (
        2,
        True,
        True,
    )
    assert "it takes --paths" in honlearn("predict", data / "small", "--nodes", "A").err
