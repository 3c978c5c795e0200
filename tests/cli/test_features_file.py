"""Features from a file: what is read, and that whatever it holds is told in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from honlearn.cli.features import read_features
from honlearn.errors import FormatError, MissingFileError


def test_a_table_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("node,a,b\n007,1,2.5\nx y,3,-4e2\n")
    table = read_features(str(tmp_path / "f.csv"))
    assert table.index.tolist() == ["007", "x y"]
    assert table.columns.tolist() == ["a", "b"]
    assert table.to_numpy().tolist() == [[1, 2.5], [3, -400]]
    assert table.to_numpy().dtype == np.float32
    pd.DataFrame({"node": [7, 8], "a": [1, 2]}).to_parquet(tmp_path / "f.parquet")
    assert read_features(str(tmp_path / "f.parquet")).index.tolist() == ["7", "8"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "features must be a table"),
        (b"node\na\n", "a column of numbers beside the node"),
        (b"node,a\nx,one\n", "features must be a table"),
        (b"node,a\nx,\n", "'a' lacks 1 numbers"),
        (b"node,a\nx,1,2,3,4,5\n", "features must be a table"),
        (b"node,a\nx,1\ny," + b"1," * 5000 + b"\n", "features must be a table"),
        (b"node,a\n\xff,1\n", "features must be a table"),
        (b"," * 200_000 + b"\n", "more than 100,000 columns"),
    ],
)
def test_anything_else_is_told(tmp_path: Path, text: bytes, told: str) -> None:
    (tmp_path / "f.csv").write_bytes(text)
    with pytest.raises(FormatError, match=told):
        read_features(str(tmp_path / "f.csv"))


def test_other_columns_and_no_file(tmp_path: Path) -> None:
    pd.DataFrame({"node": ["a"], "x": [[1.0, 2.0]]}).to_parquet(tmp_path / "f.parquet")
    with pytest.raises(FormatError, match="features must be a table"):
        read_features(str(tmp_path / "f.parquet"))
    (tmp_path / "g.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(FormatError, match="features must be a table"):
        read_features(str(tmp_path / "g.parquet"))
    with pytest.raises(MissingFileError, match="no such file"):
        read_features(str(tmp_path / "none.csv"))
