"""Tables with one path a row: lists or text, with or without counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import honlearn as hl
from honlearn.errors import InputError
from honlearn.paths import parts

PATHS = [["A", "C", "D"], ["B"], ["B", "C", "E"]]
COUNTS = [5000, 1, 2]


def holders(folder: Path) -> dict[str, Any]:
    frame = pd.DataFrame({"n": COUNTS, "path": PATHS})
    text = pd.DataFrame({"n": COUNTS, "path": [" ".join(path) for path in PATHS]})
    table = pa.table({"n": COUNTS, "path": PATHS})
    pa.parquet.write_table(table, folder / "p.parquet")
    text.to_csv(folder / "p.csv", index=False)
    text.to_csv(folder / "p.tsv.gz", index=False, sep="\t")
    lists = table["path"].combine_chunks()
    return {
        "pandas": frame,
        "pandas, text": text,
        "pandas, categories": text.astype({"path": "category"}),
        "pandas, float counts": frame.astype({"n": float}),
        "polars": pl.from_pandas(frame),
        "polars, categories": pl.from_pandas(frame).with_columns(
            pl.col("path").cast(pl.List(pl.Categorical))
        ),
        "arrow": table,
        "arrow, large": pa.table({"n": COUNTS, "path": lists.cast(pa.large_list(pa.large_string()))}),
        "arrow, sliced": pa.table({"n": [7, *COUNTS], "path": [["Z"], *PATHS]}).slice(1),
        **{name: folder / name for name in ("p.parquet", "p.csv", "p.tsv.gz")},
    }


def test_all_holders_give_the_same_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hl.read_paths(PATHS, counts=COUNTS)
    for size in (parts.ROWS_A_BATCH, 1):
        monkeypatch.setattr(parts, "ROWS_A_BATCH", size)
        for name, holder in holders(tmp_path).items():
            found = hl.read_paths(holder, path_column="path", count_column="n")
            assert list(found) == [tuple(path) for path in PATHS], name
            assert found.vocabulary == expected.vocabulary, name
            np.testing.assert_array_equal(found.counts, expected.counts)
            assert hl.read_paths(holder, path_column="path").counts is None


def test_lists_of_whole_numbers() -> None:
    found = hl.read_paths(pa.table({"p": [[7, 8], [8]]}), path_column="p")
    assert list(found) == [("7", "8"), ("8",)]
    fixed = pa.array([[1, 2], [3, 1]], pa.list_(pa.int16(), 2))
    assert list(hl.read_paths(pa.table({"p": fixed}), path_column="p")) == [("1", "2"), ("3", "1")]


def test_text_is_split_at_the_delimiter() -> None:
    table = pd.DataFrame({"p": ["New York>Rome", "Rome"]})
    assert list(hl.read_paths(table, path_column="p", delimiter=">")) == [("New York", "Rome"), ("Rome",)]


def test_empty_lists_are_short_paths_and_missing_values_may_be_skipped() -> None:
    table = pa.table({"p": [["A", None, "B"], None, [], [None], ["C"]], "n": [1, 2, 3, 4, 5]})
    stream = hl.stream_paths(table, path_column="p", count_column="n", on_empty="skip")
    (chunk,) = stream.chunks()
    assert chunk.offsets.tolist() == [0, 2, 3]
    assert chunk.counts is not None
    assert chunk.counts.tolist() == [1, 5]
    assert stream.dropped == 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"p": [["A"], None]}, r"row 1 \(counted from 0\): empty path"),
        ({"p": [["A"], ["B", None]]}, r"row 1 \(counted from 0\): empty entity id"),
        ({"p": [["A"], [], ["B", ""]]}, r"row 2 \(counted from 0\): empty entity id"),
        ({"p": ["A B", "C  D"]}, r"row 1 \(counted from 0\): empty entity id"),
        ({"p": ["A B", ""]}, r"row 1 \(counted from 0\): empty path"),
        ({"p": [["A"], [], ["B", "A|B"]]}, r"row 2 \(counted from 0\): entity id 'A\|B' contains"),
        ({"p": [1, 2]}, "column 'p' is of type int64; a path column holds lists, or text"),
        ({"p": [[0.5], [1.0]]}, "column 'p': 0.5 is no id"),
        ({"p": [["A"], ["B"]], "n": [1, 0]}, r"row 1 \(counted from 0\): count 0 .*at least 1"),
        ({"p": [["A"], ["B"]], "n": [1, -3]}, r"row 1 \(counted from 0\): count -3"),
        ({"p": [["A"], ["B"]], "n": [1.5, 1]}, r"row 0 \(counted from 0\): count 1.5"),
        ({"p": [["A"], ["B"]], "n": [1, None]}, r"row 1 \(counted from 0\): no count \(column 'n'\)"),
        ({"p": [["A"], ["B"]], "n": ["1", "2"]}, "column 'n' is of type string; counts are whole numbers"),
    ],
)
def test_bad_rows(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hl.read_paths(pa.table(columns), path_column="p", count_column="n" if "n" in columns else None)


@pytest.mark.parametrize(
    "count", ["2.5", "many", "-1", "0", "", "0x10", "9223372036854775807", "9223372036854775808", "NA", "1e3"]
)
def test_bad_counts_in_csv_name_the_line(tmp_path: Path, count: str) -> None:
    file = tmp_path / "paths.csv"
    file.write_text(f"path,n\nA B,1\n\nB C,{count}\n")
    with pytest.raises(InputError, match=r"paths\.csv:4: .*a count is a whole number, at least 1"):
        hl.read_paths(file, path_column="path", count_column="n")


def test_counts_in_csv_are_decimal_and_bounded(tmp_path: Path) -> None:
    file = tmp_path / "paths.csv"
    file.write_text('path,n\nA B, 010 \nB C,"7"\nC D,4611686018427387904\n')
    found = hl.read_paths(file, path_column="path", count_column="n")
    assert found.counts is not None
    assert found.counts.tolist() == [10, 7, 2**62]
    for count in (2**62 + 1, 2**63 - 1):
        with pytest.raises(InputError, match=rf"row 0 .*: count {count} .*at most 2\*\*62"):
            hl.read_paths(pa.table({"p": [["A"]], "n": [count]}), path_column="p", count_column="n")
        with pytest.raises(InputError, match=rf"path 0: count {count}; .*at most 2\*\*62"):
            hl.read_paths([["A"]], counts=[count])
