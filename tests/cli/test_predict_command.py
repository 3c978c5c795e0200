from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import Run

import honlearn as hl

COLUMNS = ["node", "label", "p_c0", "p_c1", "confidence", "entropy", "disagreement"]
COLUMNS += ["expected_entropy", "mutual_information"]
SETS = ["set", "set_size", "in_training", "abstain"]


def test_all_entities_as_csv_on_standard_output(honlearn: Run, model: Path) -> None:
    outcome = honlearn("predict", model)
    assert (outcome.code, outcome.err) == (0, "")
    table = pd.read_csv(io.StringIO(outcome.out))
    clf = hl.load_model(model)
    names = list(clf.network.vocabulary.names)
    assert list(table.columns) == COLUMNS
    assert table["node"].tolist() == names
    proba = clf.predict_proba(names)
    assert np.allclose(table[["p_c0", "p_c1"]], proba, rtol=1e-5)
    assert table["label"].tolist() == clf.predict(names).tolist()
    assert np.allclose(table["confidence"], proba.max(1), rtol=1e-5)
    assert np.allclose(table["entropy"], clf.entropy(names), rtol=1e-5)
    assert np.allclose(table["disagreement"], clf.disagreement(names))


def test_files_by_extension(honlearn: Run, model: Path, tmp_path: Path) -> None:
    printed = honlearn("predict", model).out
    said = honlearn("predict", model, "-o", tmp_path / "p.csv")
    assert said.out.startswith(f"{tmp_path / 'p.csv'}: 24 nodes, 2 classes, mean confidence 0.")
    assert (tmp_path / "p.csv").read_text() == printed
    facts = json.loads(honlearn("predict", model, "-o", tmp_path / "p.parquet", "--json").out)
    assert (facts["nodes"], facts["classes"]) == (24, 2)
    assert pd.read_parquet(tmp_path / "p.parquet").columns.tolist() == COLUMNS
    honlearn("predict", model, "-o", tmp_path / "p.json")
    assert [row["node"] for row in json.loads((tmp_path / "p.json").read_text())][:2] == ["d0.0", "d0.1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "p.json", "p.parquet"]


def test_prediction_sets(honlearn: Run, model: Path, tmp_path: Path) -> None:
    clf = hl.load_model(model)
    names = list(clf.network.vocabulary.names)
    sets = clf.predict_set(names, 0.3)
    table = pd.read_csv(io.StringIO(honlearn("predict", model, "--alpha", 0.3).out), keep_default_na=False)
    assert list(table.columns) == [*COLUMNS, *SETS]
    assert table["set"].tolist() == ["|".join(one) for one in sets.labels]
    assert table["set_size"].tolist() == sets.sizes.tolist()
    assert table["in_training"].tolist() == sets.in_training.tolist()
    assert table["abstain"].tolist() == sets.abstain.tolist()
    rows = json.loads(honlearn("predict", model, "--alpha", 0.3, "--json").out)
    assert [row["set"] for row in rows] == [list(one) for one in sets.labels]
    said = honlearn("predict", model, "--alpha", 0.3, "-o", tmp_path / "p.parquet").out
    assert f"mean set size {sets.sizes.mean():.4g}"[:20] in said
    kept = pd.read_parquet(tmp_path / "p.parquet")
    assert [list(one) for one in kept["set"]] == [list(one) for one in sets.labels]
    wrong = honlearn("predict", model, "--alpha", 3)
    assert wrong.code == 2
    assert "The 'alpha' parameter of predict must be a number at least 0 and at most 1" in wrong.err


def test_some_nodes(honlearn: Run, model: Path, tmp_path: Path) -> None:
    def nodes(*words: object) -> list[str]:
        outcome = honlearn("predict", model, "--json", *(w for word in words for w in ("--nodes", word)))
        return [row["node"] for row in json.loads(outcome.out)]

    assert nodes("s3") == ["s3"]
    assert nodes("s3, s1", "s3", "h0") == ["s3", "s1", "h0"]
    (tmp_path / "list.txt").write_text("s2\n\ns1\n")
    assert nodes(tmp_path / "list.txt") == ["s2", "s1"]
    (tmp_path / "table.csv").write_text("who,else\ns5,1\ns4,2\n")
    assert nodes(tmp_path / "table.csv", "s0") == ["s5", "s4", "s0"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nodes", "s1,s99"], "1 of 2 names is not among the 24 entities: 's99'"),
        (["-o", "p.xlsx"], "p.xlsx: predictions are written as .csv, .parquet or .json"),
        (["-o", "none/p.csv"], "there is no folder none; make it first"),
    ],
)
def test_errors_are_one_line(
    honlearn: Run,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = honlearn("predict", model, *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_model(honlearn: Run, tmp_path: Path) -> None:
    assert "no such folder" in honlearn("predict", tmp_path / "none").err
    outcome = honlearn("predict", tmp_path)
    assert outcome.code == 2
    assert "not a honlearn model" in outcome.err
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    assert f"did you mean {tmp_path / 'model'}?" in honlearn("predict", tmp_path).err
