"""Ids of paths: each path is called as its label calls it, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from honlearn.errors import InputError, ParameterError
from honlearn.paths.labelled import read_labelled


def test_text_by_line_or_by_its_first_field(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_bytes(b"\xef\xbb\xbfA B\r\n\r\nB C\n\nC")
    paths, ids = read_labelled(file)
    assert (list(paths), ids) == ([("A", "B"), ("B", "C"), ("C",)], ["1", "3", "5"])
    file.write_text("x A B\n\ny B C\n")
    paths, ids = read_labelled([file, file], skip_columns=1)
    assert ids == ["x", "y", "x", "y"]
    with pytest.raises(ParameterError, match="lines are numbered in one file"):
        read_labelled([file, file])
    file.write_text("A B\n  \nB\n")
    with pytest.raises(InputError, match="3 lines or sequences but 2 paths, since some were empty"):
        read_labelled(file, on_empty="skip")


@pytest.mark.parametrize("ids", [["7", "3", "12"], ["b", "a", "ü"], ["1", "2", "007"]])
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_events_by_sequence(ids: list[str], kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": [ids[0], ids[1], ids[0], ids[2], ids[1]], "e": list("ABCDE")})
    file = tmp_path / f"e.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    elif kind == "parquet":
        frame.to_parquet(file)
    else:
        file.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    paths, found = read_labelled(file, sequence="s", entity="e", drop_repeats=True)
    assert (list(paths), found) == ([("A", "C"), ("B", "E"), ("D",)], ids)


def test_rows_and_traces(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('["A", "B"]\n\n["B"]\n')
    assert read_labelled(tmp_path / "p.jsonl")[1] == ["1", "2"]
    trace = "<trace>{}<event><string key='concept:name' value='{}'/></event></trace>"
    name = "<string key='concept:name' value='{}'/>"
    log = "<log>" + trace.format(name.format("case 9"), "A") + "<trace/>" + trace.format("", "B") + "</log>"
    (tmp_path / "l.xes").write_text(log)
    paths, ids = read_labelled(tmp_path / "l.xes")
    assert (list(paths), ids) == ([("A",), ("B",)], ["case 9", "3"])
    skipped = log.replace("'A'", "''")
    (tmp_path / "l.xes").write_text(skipped)
    paths, ids = read_labelled(tmp_path / "l.xes", on_empty="skip")
    assert (list(paths), ids) == ([("B",)], ["3"])


def test_what_cuts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("A B\n")
    with pytest.raises(ParameterError, match="min_length: a label belongs to a whole sequence"):
        read_labelled(tmp_path / "p.txt", min_length=2)
    with pytest.raises(ParameterError, match="max_gap: a label belongs"):
        read_labelled(tmp_path / "p.csv", sequence="s", entity="e", order_by="t", max_gap=3)
