"""No command replaces what it reads, whatever links lead there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import QUICK, Files, Run

import honlearn as hl
from honlearn.hon.formats import FORMATS

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


@pytest.mark.parametrize(
    ("output", "text", "words"),
    [
        ("mine.txt", TEXT, "grow p.txt -o"),
        ("mine.txt", "1 2 3\n1 4 5\n2 5 6\n1 3 2\n", "convert net.hon"),  # paths of three that end in numbers
        ("mine.hon", "a text", "grow p.txt -o"),
        ("mine.graphml", "<graphml><node id='theirs'/></graphml>", "convert net.hon"),
        ("mine.net", '*Vertices 1\n1 "a"\n*Arcs\n', "convert net.hon"),
        ("mine.parquet", "not Parquet", "grow p.txt -o"),
        ("mine.counts", "a text", "grow p.txt -o net.hon --counts"),
        ("mine.csv", "node,label\nA,x\n", "next p.txt --after A -o"),
        ("mine.csv", "node,label\nA,x\n", "predict model -o"),
        ("mine.json", '[{"node":"A","label":"x"}]', "score p.txt p.txt -o"),
        ("mine.html", "<html><p>a thesis</p></html>", "report run -o"),
    ],
)
def test_what_another_has_written_is_not_replaced(
    output: str, text: str, words: str, honlearn: Run, folder: Path
) -> None:
    (folder / output).write_text(text)
    outcome = honlearn(*words.split(), output)
    assert outcome.code == 2
    assert f"{output}: there is a file of this name, which is not " in outcome.err
    assert outcome.err.rstrip().endswith("choose another name, or remove it")
    assert len(outcome.err.splitlines()) == 1
    assert (folder / output).read_text() == text


@pytest.mark.parametrize(
    "words",
    [
        *(f"grow p.txt -o own{suffix}" for suffix in FORMATS),
        "grow blanks.ngram -o own.txt",
        "grow p.txt -o own.hon --counts own.counts",
        *(f"next p.txt --after A -o own{suffix}" for suffix in (".csv", ".json", ".parquet")),
        *(f"score p.txt p.txt --walks 100 -o own{suffix}" for suffix in (".csv", ".json", ".parquet")),
    ],
)
def test_a_command_replaces_what_it_has_written(words: str, honlearn: Run, folder: Path) -> None:
    (folder / "blanks.ngram").write_text("Ward A,Ward B\nWard B,Ward A\n")
    (folder / "own.hon").write_bytes(b"")  # as mktemp makes one
    for _ in range(2):
        assert honlearn(*words.split()).code == 0


def test_the_summary_of_something_else_is_not_replaced_by_that_of_a_run(honlearn: Run, folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "summary.csv").write_text("year,sales\n2024,7\n")
    outcome = honlearn("evaluate", "net.hon", "labels.csv", "-o", "mine", "--model", "majority")
    assert "mine: there is a file summary.csv, which is not of a run; name another folder" in outcome.err
    assert (folder / "mine" / "summary.csv").read_text() == "year,sales\n2024,7\n"


def test_a_folder_that_cannot_be_written_to_is_told_first(
    honlearn: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "closed").mkdir(mode=0o555)
    # Tests may run as a user who may write everywhere.
    monkeypatch.setattr(
        os, "access", lambda path, mode: not mode & os.W_OK or bool(Path(path).stat().st_mode & 0o200)
    )
    for words in (
        "learn p.txt labels.csv -o closed/new",
        "learn p.txt labels.csv -o closed",
        "train net.hon labels.csv -o closed/far/model",
        "grow p.txt -o closed/net.hon",
        "grow p.txt -o net.hon --counts closed/net.counts",
        "next p.txt --after A -o closed/next.csv",
        "report run -o closed/report.html",
    ):
        outcome = honlearn(*words.split())
        assert outcome.code == 2
        assert "closed cannot be written to; choose another" in outcome.err
        assert "reading the paths" not in outcome.out


def test_an_edge_list_with_escaped_names_is_a_network(honlearn: Run, folder: Path) -> None:
    (folder / "blanks.ngram").write_text("Ward A,Ward B\nWard B,Ward A\n")
    assert honlearn("grow", "blanks.ngram", "-o", "blanks.txt").code == 0
    assert "entities" in honlearn("info", "blanks.txt").out
