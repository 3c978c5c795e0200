"""A small network with labels as files, and the command line as a function."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import QUICK, Files, Outcome, Run

import honlearn as hl
from honlearn.cli import main


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Eighteen labelled sources in two classes; one more label is of no node."""
    folder = tmp_path_factory.mktemp("small")
    data = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    hl.grow(data.paths).save(folder / "net.hon")
    rows = "".join(f"{node},{label}\n" for node, label in data.labels.items())
    (folder / "labels.csv").write_text(f"node,label\n{rows}elsewhere,c0\n")
    return Files(str(folder / "net.hon"), str(folder / "labels.csv"))


@pytest.fixture
def honlearn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line: words in, exit code and output out."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: object) -> Outcome:
        with pytest.raises(SystemExit, match=r"^\d*$") as ended:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def model(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that the command line trained."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    with pytest.raises(SystemExit, match="0"):
        main(["train", *files, "-o", str(folder), *QUICK])
    return folder
