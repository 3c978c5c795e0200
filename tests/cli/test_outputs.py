"""No command replaces what it reads, whatever links lead there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import QUICK, Files, Run

import honlearn as hl

TEXT = "A C D\nB C E\n" * 5


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with paths, a network, and two kinds of links to the paths."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.txt").write_text(TEXT)
    (tmp_path / "soft.txt").symlink_to("p.txt")
    os.link(tmp_path / "p.txt", tmp_path / "hard.txt")
    hl.grow(str(tmp_path / "p.txt")).save(tmp_path / "net.hon")
    (tmp_path / "labels.csv").write_text("node,label\nA,x\nB,y\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "grow p.txt -o p.txt",
        "grow p.txt -o soft.txt",
        "grow soft.txt -o hard.txt",
        "grow ./*.txt -o p.txt",
        "grow ./[p].txt -o hard.txt",
        "convert net.hon net.hon",
        "predict model --nodes labels.csv -o labels.csv",
        "predict model --pairs labels.csv -o labels.csv",
        "report run --nodes labels.csv -o labels.csv",
    ],
)
def test_an_input_is_no_output(words: str, honlearn: Run, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    outcome = honlearn(*words.split())
    assert outcome.code == 2
    assert "which this command reads; name another output" in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_nor_is_standard_input(folder: Path) -> None:
    words = [sys.executable, "-m", "honlearn", "grow", "-", "-o", "p.txt"]
    with (folder / "p.txt").open() as file:
        done = subprocess.run(words, stdin=file, capture_output=True, text=True)
    assert done.returncode == 2
    assert "p.txt: would replace standard input, which this command reads" in done.stderr
    assert (folder / "p.txt").read_text() == TEXT


def test_a_folder_stands_for_what_is_read_or_written_in_it(
    honlearn: Run, files: Files, model: Path, tmp_path: Path
) -> None:
    config = (model / "config.json").read_bytes()
    outcome = honlearn("predict", model, "-o", model / "config.json")
    assert "which this command reads" in outcome.err
    assert (model / "config.json").read_bytes() == config
    assert (
        "which this command reads"
        in honlearn("train", model / "network.hon", "-o", model, "--task", "links").err
    )
    for _ in range(2):
        assert honlearn("predict", model, "-o", tmp_path / "predictions.csv").code == 0
    run = tmp_path / "run"
    run.mkdir()
    (run / "records.jsonl").write_text("{}\n")
    assert "which this command reads" in honlearn("report", run, "-o", run / "records.jsonl").err
    assert (run / "records.jsonl").read_text() == "{}\n"
    data = tmp_path / "data"
    assert honlearn("data", "get", "synthetic", "-o", data).code == 0
    paths = (data / "paths.txt").read_bytes()
    (tmp_path / "link").symlink_to(data)
    assert "which this command reads" in honlearn("data", "get", data, "-o", tmp_path / "link", "--force").err
    assert (data / "paths.txt").read_bytes() == paths


def test_a_run_may_lie_beside_its_data_and_be_repeated(honlearn: Run, files: Files, tmp_path: Path) -> None:
    for file in files:
        (tmp_path / Path(file).name).write_bytes(Path(file).read_bytes())
    words = ["evaluate", tmp_path / "net.hon", tmp_path / "labels.csv", "-o", tmp_path, "--model", "majority"]
    for _ in range(2):
        assert honlearn(*words).code == 0
    for _ in range(2):
        assert honlearn("report", tmp_path, "-o", tmp_path / "report.html").code == 0


def test_names_that_are_no_files_are_not_taken_for_some(
    honlearn: Run, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert honlearn("train", *files, "-o", "dge-bag", "--model", "dge-bag", *QUICK).code == 0
        assert honlearn("data", "get", "synthetic", "-o", "synthetic", "--force").code == 0


def test_a_file_does_not_decide_where_is_written(
    honlearn: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "paths.txt").write_text(TEXT)
    (tmp_path / "theirs" / "about.json").write_text('{"name": "../elsewhere"}')
    outcome = honlearn("data", "get", "theirs")
    assert outcome.code == 2
    assert "theirs: a folder of your own needs -o FOLDER" in outcome.err
    assert not (tmp_path.parent / "elsewhere").exists()
