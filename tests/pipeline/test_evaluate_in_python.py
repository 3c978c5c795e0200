"""``hl.evaluate``: the same records as the command, and a page."""

from __future__ import annotations

import json

import pytest

import honlearn as hl
from honlearn.cli import main
from honlearn.errors import HonlearnError
from honlearn.results.records import Records

SMALL = {"graphsage": {"widths": (6, 6), "max_epochs": 3}}


@pytest.fixture(scope="module")
def data():
    return hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)


def test_the_records_are_those_of_the_command(data, tmp_path) -> None:
    network = hl.grow(data.paths)
    found = hl.evaluate(
        network,
        data.labels,
        models=["majority", "graphsage"],
        folds=3,
        settings=SMALL,
        output=tmp_path / "run",
    )
    network.save(tmp_path / "net.hon")
    rows = "".join(f"{node},{label}\n" for node, label in data.labels.items())
    (tmp_path / "labels.csv").write_text(f"node,label\n{rows}")
    words = [
        "evaluate",
        tmp_path / "net.hon",
        tmp_path / "labels.csv",
        "-o",
        tmp_path / "typed",
        "--folds",
        3,
    ]
    words += ["--model", "majority", "--model", "graphsage", "--input", "both"]
    words += ["--set", "graphsage:widths=6,6", "graphsage:max_epochs=3"]
    with pytest.raises(SystemExit, match=r"^(0|None|)$"):
        main([str(word) for word in words])
    typed = Records(tmp_path / "typed")
    assert len(found.records) == 12
    assert all(typed[record.digest].scores == record.scores for record in found.records)
    assert found.table["model"].tolist() == ["majority", "majority", "graphsage", "graphsage"]
    summary = json.loads((tmp_path / "typed" / "summary.json").read_text())["rows"]
    assert found.table["micro_f1_mean"].tolist() == [row["micro_f1_mean"] for row in summary]


def test_in_memory_from_paths(data, tmp_path) -> None:
    found = hl.evaluate(data.paths, data.labels, models="majority", folds=2, input="g1")
    assert found.report(tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert "majority" in repr(found)
    assert "<table>" in found._repr_html_()


def test_what_is_wrong(data) -> None:
    with pytest.raises(HonlearnError, match="did you mean 'majority'"):
        hl.evaluate(data.paths, data.labels, models="majorty")
    with pytest.raises(HonlearnError, match="folds"):
        hl.evaluate(data.paths, data.labels, models="majority", folds=1)
