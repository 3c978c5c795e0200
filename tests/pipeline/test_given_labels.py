"""Labels in every form become the same two lists."""

from __future__ import annotations

import pandas as pd
import pytest

from honlearn.errors import FormatError, InputError
from honlearn.pipeline.given_labels import as_labels

WANTED = (["A", "B"], ["x", "y"])


def test_every_form(tmp_path) -> None:
    (tmp_path / "two.csv").write_text("place,kind\nA,x\nB,y\nC,\n")
    (tmp_path / "three.csv").write_text("label,place,more\nx,A,1\ny,B,2\n,C,3\n")
    table = pd.DataFrame({"place": ["A", "B", "C"], "kind": ["x", "y", None]})
    assert as_labels(tmp_path / "two.csv") == WANTED
    assert as_labels(str(tmp_path / "three.csv"), node_column="place") == WANTED
    assert as_labels({"A": "x", "B": "y", "C": ""}) == WANTED
    assert as_labels(table) == WANTED
    assert as_labels(table.set_index("place")["kind"]) == WANTED
    assert as_labels((["A", "B"], ["x", "y"])) == WANTED
    assert as_labels(table.astype({"kind": "string"})) == WANTED  # with NA
    polars = pytest.importorskip("polars")
    assert as_labels(polars.DataFrame(table)) == WANTED


def test_pairs() -> None:
    assert as_labels([("A", "x"), ("B", "y"), ("C", None)]) == WANTED
    assert as_labels([("A", "x")]) == (["A"], ["x"])
    assert as_labels((("A", "B"), ("x", "y"))) == WANTED  # the documented (nodes, classes)
    assert as_labels([["A", "B"], ["x", "y"]]) == WANTED
    with pytest.raises(InputError, match=r"may be two pairs or \(nodes, classes\).*\{'A': 'x', 'B': 'y'\}"):
        as_labels([("A", "x"), ("B", "y")])


def test_columns_that_are_not_there(tmp_path) -> None:
    (tmp_path / "labels.csv").write_text("place,kind,more\nA,x,1\n")
    with pytest.raises(FormatError, match=r"no column 'plce'.*did you mean 'place'"):
        as_labels(tmp_path / "labels.csv", "kind", "plce")
    with pytest.raises(FormatError, match="no column 'label' after the first"):
        as_labels(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="no column 'label'; there are place, kind, more"):
        as_labels(pd.DataFrame({"place": ["A"], "kind": ["x"], "more": [1]}))


def test_a_node_that_is_there_twice_is_one_example() -> None:
    assert as_labels((["A", "B", "A"], ["x", "y", "x "])) == WANTED
    with pytest.raises(InputError, match="node 'A' is 'x' and 'y'; give it one class"):
        as_labels(pd.DataFrame({"place": ["A", "B", "A"], "label": ["x", "y", "y"]}))


def test_what_is_no_labels() -> None:
    with pytest.raises(InputError, match="labels must be a CSV file, a dictionary"):
        as_labels(7)
    with pytest.raises(InputError, match="no node has a class"):
        as_labels({"A": None})


def test_what_spreadsheets_write(tmp_path) -> None:
    (tmp_path / "labels.csv").write_text("Ort;Klasse\nA;x\nB;y\nC;\n", encoding="utf-8-sig")
    assert as_labels(tmp_path / "labels.csv") == WANTED
    (tmp_path / "more.csv").write_text("Ort\tlabel\tn\nA\tx\t1\nB\ty\t2\n")
    assert as_labels(tmp_path / "more.csv") == WANTED


def test_a_header_that_is_missing(tmp_path) -> None:
    (tmp_path / "labels.csv").write_text("A,x\nB,y\nC,x\n")
    with pytest.raises(
        FormatError, match=r"labels.csv:1: 'x' is a class, so a header is missing; put one above"
    ):
        as_labels(tmp_path / "labels.csv")
    assert as_labels(tmp_path / "labels.csv", label_column="x") == (["B", "C"], ["y", "x"])


def test_a_missing_value_as_a_class_is_told(tmp_path) -> None:
    (tmp_path / "labels.csv").write_text("node,label\nA,x\nB,nan\nC,nan\n")
    with pytest.warns(UserWarning, match=r"'nan' is taken as a class \(nodes that have it: 2\)"):
        assert as_labels(tmp_path / "labels.csv") == (["A", "B", "C"], ["x", "nan", "nan"])


def test_whole_numbers_that_missing_values_made_floats() -> None:
    table = pd.DataFrame({"place": [1.0, 2.0, 3.0], "zone": [4.0, float("nan"), 5.5]})
    assert as_labels(table) == (["1", "3"], ["4", "5.5"])
    series = pd.Series([1, None, 2], ["a", "b", "c"], dtype="Int64")
    assert as_labels(series) == (["a", "c"], ["1", "2"])
