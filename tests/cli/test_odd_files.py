"""Files, folders and columns that a command cannot use: one line that says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Files, Run

import honlearn as hl
from honlearn.cli import _said
from honlearn.cli.features import read_features
from honlearn.cli.kinds import is_network
from honlearn.cli.links import read_pairs
from honlearn.cli.report import read_facts
from honlearn.errors import FormatError


def test_the_version(honlearn: Run) -> None:
    assert honlearn("--version")[:2] == (0, f"honlearn {hl.__version__}\n")


def test_an_error_of_the_system_names_the_file() -> None:
    assert _said(PermissionError(13, "Permission denied", "x.txt")) == (
        "x.txt: cannot be read or written: Permission denied"
    )
    assert _said(OSError("broken")) == "broken"


def test_files_and_folders_that_predict_cannot_use(honlearn: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_bytes(b"s0\n\xff\n")
    (tmp_path / "folder.csv").mkdir()
    for words, message in (
        (
            ("--nodes", tmp_path / "names.txt"),
            "names.txt: not UTF-8; save the file as UTF-8, one node a line",
        ),
        (("-o", tmp_path / "folder.csv"), "folder.csv: is a folder; name a file"),
        (("-o", tmp_path / "none" / "x.csv"), f"there is no folder {tmp_path / 'none'}; make it first"),
    ):
        outcome = honlearn("predict", model, *words)
        assert (outcome.code, outcome.err.count("\n")) == (2, 1)
        assert message in outcome.err


def test_histories_that_are_not_text(honlearn: Run, files: Files, tmp_path: Path) -> None:
    (tmp_path / "histories.txt").write_bytes(b"s0 h0\n\xff\n")
    outcome = honlearn("next", files.net, "--after-file", tmp_path / "histories.txt")
    assert outcome.code == 2
    assert "histories.txt: not UTF-8; save the file as UTF-8, one history per line" in outcome.err
    written = honlearn("next", files.net, "--after", "s0", "-o", tmp_path / "table.csv", "--json")
    rows = (tmp_path / "table.csv").read_text().count("\n") - 1
    assert json.loads(written.out) == {"predictions": str(tmp_path / "table.csv"), "rows": rows}


def test_a_folder_whose_parent_is_not_there(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("A B\n")
    outcome = honlearn("learn", tmp_path / "paths.txt", "-o", tmp_path / "none" / "out")
    assert outcome.code == 2
    assert f"there is no folder {tmp_path / 'none'}; make it first" in outcome.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target\ns0,s1\n", "no column 'label' after the pair; give 1"),
        ("source,target,label\ns0,s1,1\ns0,s2,yes\n", r"pairs\.csv:3: label 'yes'; give 1 \(linked\) or 0"),
        ("source\ns0\n", "expected a header with two columns or more"),
        ("source,target,label\ns0,s1\n", r"pairs\.csv:2: 2 fields, but the header has 3"),
        ("source,target,label\ns0,s0,1\n", r"pairs\.csv:2: equal ends 's0'"),
    ],
)
def test_pairs_without_labels(files: Files, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pairs.csv").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_pairs(tmp_path / "pairs.csv", hl.load_network(files.net), labelled=True)


def test_facts_of_nodes_have_a_header_and_all_fields(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("node\ns0\n")
    with pytest.raises(FormatError, match="expected a header with the node and at least one more column"):
        read_facts(tmp_path / "facts.csv")
    (tmp_path / "facts.csv").write_text("node,size\ns0,1\ns1\n")
    with pytest.raises(FormatError, match=r"facts\.csv:3: 1 fields, but the header has 2"):
        read_facts(tmp_path / "facts.csv")


def test_features_of_nobody(tmp_path: Path) -> None:
    pq.write_table(pa.table({"node": ["a", None], "x": [1.0, 2.0]}), tmp_path / "x.parquet")
    with pytest.raises(FormatError, match=r"x\.parquet: row 2 names no node; remove it"):
        read_features(str(tmp_path / "x.parquet"))


def test_a_table_of_edges_is_a_network_and_others_are_not(tmp_path: Path) -> None:
    hl.from_edges(["a"], ["b"]).save(tmp_path / "net.parquet")
    pq.write_table(pa.table({"trip": np.arange(3), "port": list("abc")}), tmp_path / "events.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe a 1\n")
    names = ("net.parquet", "events.parquet", "broken.parquet", "bytes.txt", "none.parquet")
    assert [is_network([str(tmp_path / name)], {}) for name in names] == [True, False, False, False, False]
