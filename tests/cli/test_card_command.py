"""``honlearn info MODEL``: tables, JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run

import honlearn as hl


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("card") / "model"
    paths = 12 * [["A", "B", "C"], ["C", "B", "A"]]
    labels = 12 * ["on\x1b[31m", "[bold]back[/bold]"]
    hl.PathClassifier(vectors=2, random_state=0).fit(paths, labels).save(folder)
    return folder


def test_tables(honlearn: Run, model: Path) -> None:
    done = honlearn("info", model)
    assert done.code == 0, done.err
    for words in ("PathClassifier (paths)", "Data", "What was chosen", "Calibration", "Versions", "limit: "):
        assert words in done.out
    # Names are shown as they are, never as commands to the terminal.
    assert "\x1b[31m" not in done.out
    assert "[bold]back[/bold]" in done.out


def test_json(honlearn: Run, model: Path) -> None:
    done = honlearn("info", model, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told.pop("folder") == str(model)
    assert told == hl.model_card(model)


def test_labels_and_reader_options_are_refused(honlearn: Run, model: Path) -> None:
    done = honlearn("info", model, "labels.csv")
    assert done.code == 2
    assert "needs neither LABELS nor options of reading" in done.err


def test_a_folder_of_something_else_is_named(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    done = honlearn("info", tmp_path)
    assert done.code == 2
    assert "not a honlearn model" in done.err


def test_training_leaves_a_readme_of_the_users_alone(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("A B C\nC B A\n" * 10)
    (tmp_path / "labels.csv").write_text(
        "path,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(1, 21))
    )
    out = tmp_path / "out"
    out.mkdir()
    (out / "README.md").write_text("mine")
    words = ["train", tmp_path / "paths.txt", tmp_path / "labels.csv", "-o", out, "--task", "paths"]
    done = honlearn(*words)
    assert done.code == 2
    assert "files of something else in it (README.md)" in done.err
    done = honlearn(*words, "--force")
    assert done.code == 0, done.err
    assert (out / "README.md").read_text() == "mine"
    (out / "README.md").unlink()
    assert honlearn(*words).code == 0
    assert "PathClassifier: classes of paths" in (out / "README.md").read_text("utf-8")
    assert honlearn(*words).code == 0  # over a model with its card
