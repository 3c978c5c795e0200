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


def test_columns_that_are_not_there(tmp_path) -> None:
    (tmp_path / "labels.csv").write_text("place,kind,more\nA,x,1\n")
    with pytest.raises(FormatError, match=r"no column 'plce'.*did you mean 'place'"):
        as_labels(tmp_path / "labels.csv", "kind", "plce")
    with pytest.raises(FormatError, match="no column 'label' after the first"):
        as_labels(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="no column 'label'; there are place, kind, more"):
        as_labels(pd.DataFrame({"place": ["A"], "kind": ["x"], "more": [1]}))


def test_what_is_no_labels() -> None:
    with pytest.raises(InputError, match="labels must be a CSV file, a dictionary"):
        as_labels(7)
    with pytest.raises(InputError, match="no node has a class"):
        as_labels({"A": None})
