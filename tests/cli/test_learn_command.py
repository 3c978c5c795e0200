"""``honlearn learn`` as it is typed: a table and labels in, a folder out, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import QUICK, Run

from honlearn.errors import InputError
from honlearn.pipeline.output_folder import check_folder


@pytest.fixture
def clicks(tmp_path: Path) -> tuple[str, str]:
    """Write clicks of two groups of pages, and labels of most."""
    random = np.random.default_rng(1)
    lines = ["visitor,when,page"]
    for user in range(120):
        group = "ab"[user % 2]
        walk = [f"{group}{i}" for i in random.integers(0, 8, 4)]
        lines += [f"u{user},2024-01-01 10:0{step}:00,{page}" for step, page in enumerate(walk)]
    lines += ["u1,2024-01-01 11:00:00,", "u900,2024-01-01 11:00:00,lonely"]
    (tmp_path / "clicks.csv").write_text("\n".join(lines) + "\n")
    labelled = [f"{group}{i},{group}" for group in "ab" for i in range(6)]
    (tmp_path / "labels.csv").write_text("page,kind\n" + "\n".join(labelled) + "\n")
    return str(tmp_path / "clicks.csv"), str(tmp_path / "labels.csv")


def test_what_a_kill_left_half_written_is_nothing_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / ".predictions.csv.0a1b2c3d4e5f.honlearn-part").touch()
    (tmp_path / "predictions.csv").touch()
    check_folder(tmp_path)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"files of something else in it \(thesis.tex\)"):
        check_folder(tmp_path)


def test_a_table_and_labels(honlearn: Run, clicks: tuple[str, str], tmp_path: Path) -> None:
    done = honlearn("learn", *clicks, "-o", str(tmp_path / "out"), "--quick", "--folds", "2", *QUICK)
    assert done.code == 0, done.err
    assert "columns guessed (--sequence visitor --order-by when --entity page)" in done.out
    assert "482 rows, 121 paths" in done.out
    assert "rows left out: 1 without 'page'" in done.out
    assert "not in the network: lonely" in done.out
    assert "On held-out nodes the model was right" in done.out
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made == {"predictions.csv", "model", "network.hon", "report.html", "run"}


def test_json(honlearn: Run, clicks: tuple[str, str], tmp_path: Path) -> None:
    words = ("--quick", "--folds", "2", "--json", *QUICK)
    done = honlearn("learn", *clicks, "-o", str(tmp_path / "out"), *words)
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["paths"] == 121
    assert 0 <= facts["micro_f1"] <= 1
    assert facts["headline"].endswith(".")
    card = json.loads(honlearn("info", str(tmp_path / "out"), "--json").out)
    assert card["folder"] == str(tmp_path / "out" / "model"), "the folder of learn stands for the model in it"


def test_one_line_for_what_is_wrong(honlearn: Run, clicks: tuple[str, str], tmp_path: Path) -> None:
    table, labels = clicks
    out = str(tmp_path / "out")
    (tmp_path / "classes.csv").write_text("page,label\na,x\n")
    wrong = {
        ("learn", table, "lables.csv", "-o", out): "lables.csv: no such file",
        ("learn", table, labels, labels, "-o", out): "learn takes TABLE and LABELS. Got 3 files",
        (
            "learn",
            table,
            labels,
            "-o",
            out,
            "--entity",
            "pge",
            "--sequence",
            "visitor",
        ): "did you mean 'page'",
        ("learn", str(tmp_path / "classes.csv"), table, "-o", out): "has one: paths come first, then labels",
        ("learn", table, labels, "-o", table): "there is a file of this name",
        ("learn", table, labels, "-o", str(tmp_path)): "files of something else",
        ("learn", table, labels, "-o", out, "--alpha", "2"): "alpha",
        ("learn", table, labels, "-o", out, "--seed", str(2**32)): "--seed': must be at most 4294967295",
        ("learn", table, labels, "-o", out, "--folds", "x"): "--folds': must be a whole number",
        ("learn", table, labels, "-o", out, "--order", "all"): "at least 2, or auto. Got 'all' instead",
        ("learn", table, labels, "-o", out, "--order", "1"): "at least 2, or auto. Got '1' instead",
        ("learn", table, labels, "-o", out, "--label-column", "knd"): "did you mean 'kind'",
    }
    for words, text in wrong.items():
        done = honlearn(*words)
        assert done.code == 2, words
        assert text in done.err, done.err
        assert len(done.err.strip().splitlines()) == 1


def test_columns_that_are_not_clear_are_asked_for(honlearn: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [
        f"{random.integers(50)},{random.choice(list('abcd'))},{random.choice(list('abcd'))}"
        for _ in range(200)
    ]
    (tmp_path / "odd.csv").write_text("x,y,z\n" + "\n".join(rows) + "\n")
    done = honlearn("learn", str(tmp_path / "odd.csv"), "-o", str(tmp_path / "out"))
    assert done.code == 2
    assert "the columns are not clear; the guess is --sequence" in done.err
