"""What is wrong with a table is said in one line, with the file, the line and a remedy."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import honlearn as hl
from honlearn.errors import FormatError, HonlearnError, InputError, MissingFileError, ParameterError
from honlearn.paths import delimited

EVENTS: dict[str, Any] = {"sequence": "trip", "order_by": "leg", "entity": "port"}
GOOD = "trip,leg,port\n1,1,A\n1,2,B\n"


def refused(source: Any, message: str, kind: type[HonlearnError] = InputError, **options: Any) -> None:
    with pytest.raises(kind, match=message) as caught:
        hl.read_paths(source, **(options or EVENTS))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "trip,leg,port\n1,1,A\n1,2,\n",
            r"t\.csv:3: empty entity id \(column 'port'\); remove the row or pass on_em",
        ),
        ("trip,leg,port\n\n1,1,A\n\n,2,B\n", r"t\.csv:5: empty sequence \(column 'trip'\)"),
        ("trip,leg,port\n1,1,A\n1,,B\n", r"t\.csv:3: empty order \(column 'leg'\)"),
        ('trip,leg,port\n1,1,"A\nB"\n1,2,\n', r"t\.csv:4: empty entity id"),
        ("trip,leg,port\n1,1,A\n1,2,B|C\n", r"t\.csv:3: entity id 'B\|C' contains '\|'.*\(column 'port'\)"),
        (b"trip,leg,port\n1,1,A\n1,2,\xff\xfe\n", r"t\.csv:3: entity id .* is not UTF-8 text; convert"),
        (b"trip,leg,\xffort\n1,1,A\n", r"t\.csv:1: the header is not UTF-8 text; convert the file"),
        ("trip,leg,port\n1,1,A\n\n1,2\n", r"t\.csv:4: 2 fields where the header has 3; mend the row"),
        ("trip,leg,port\n1,1,A\n1,2,B,C\n", r"t\.csv:3: 4 fields where the header has 3"),
        ("trip,leg,port\n1,soon,A\n", r"t\.csv:2: 'soon' \(column 'leg'\); an order is a number, or a time"),
        (
            'trip,leg,port\n1,"1,5",A\n',
            r"t\.csv:2: '1,5' \(column 'leg'\); a decimal has a point, not a comma",
        ),
        ("trip,leg,port\n1,1,A\n1,soon,A\n", r"t\.csv:3: 'soon' \(column 'leg'\); an order is a number"),
        ("trip,leg,port\n1,2024-05-31,A\n1,31/05/2024,A\n", r"t\.csv:3: '31/05/2024' \(column 'leg'\)"),
        (
            "trip,leg,port\n1,2024-05-31T10:00:00Z,A\n1,2024-05-31T11:00:00,B\n",
            r"t\.csv:3: '2024-05-31T11:00:00' \(column 'leg'\).* in all rows alike",
        ),
        (
            "trip;leg;port\n1;1;A\n",
            r"t\.csv: no column 'trip' .*; pass delimiter=';' \(--delimiter\) if that",
        ),
        (
            "trip;leg;port\n1;1,5;A\n",
            r"t\.csv:2: 2 fields where the header has 1; pass delimiter=';' \(--delimiter\) if that",
        ),
        ("", r"t\.csv: the file is empty; a table needs a header"),
        ("trip,leg,port\n", r"t\.csv: no path at all; the source is empty"),
        (
            "trip,leg,Port\n1,1,A\n",
            r"no column 'port' \(entity\); did you mean 'Port'\?; there are trip, leg, Port",
        ),
        ("trip,leg,port,port\n1,1,A,B\n", r"2 columns are called 'port' \(entity\); rename them"),
    ],
)
def test_bad_csv(tmp_path: Path, text: str | bytes, message: str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(file, message)


def test_a_late_word_in_the_order_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    file = tmp_path / "t.csv"
    file.write_text("trip,leg,port\n" + "1,5,A\n" * 50 + "1,soon,A\n")
    refused(file, r"t\.csv:52: 'soon' .column 'leg'.; an order is a number, or a time")


def test_rows_with_gaps_are_skipped_on_request(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("trip,leg,port\n1,1,A\n1,2,\n,3,C\n1,,D\n1,0,E\n")
    assert list(hl.read_paths(file, **EVENTS, on_empty="skip")) == [("E", "A")]
    file.write_text("trip,leg,port\n1,1,\n1,2,A|B\n")
    with pytest.raises(InputError, match=r"t\.csv:3: entity id 'A\|B'"):
        hl.read_paths(file, **EVENTS, on_empty="skip")


def test_columns_must_be_named(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(GOOD)
    message = (
        "which columns hold the paths.*sequence, order_by and entity.*path_column.*there are trip, leg, port"
    )
    with pytest.raises(InputError, match=message):
        hl.read_paths(file)
    with pytest.raises(InputError, match=message):
        hl.read_paths(pd.DataFrame({"trip": [1], "leg": [1], "port": ["A"]}))


def test_cut_and_damaged_files(tmp_path: Path) -> None:
    table = pa.table({"trip": [1] * 9000, "leg": range(9000), "port": [f"p{i}" for i in range(9000)]})
    pa.parquet.write_table(table, tmp_path / "whole.parquet")
    pa.feather.write_feather(table, tmp_path / "whole.feather")
    parquet, feather = (tmp_path / f"whole.{kind}" for kind in ("parquet", "feather"))
    with pa.ipc.new_stream(tmp_path / "whole.arrow", table.schema) as out:
        out.write_table(table)
    stream = (tmp_path / "whole.arrow").read_bytes()
    packed = gzip.compress(("trip,leg,port\n" + "".join(f"1,{i},p{i}\n" for i in range(90_000))).encode())
    damaged = {
        "cut.parquet": parquet.read_bytes()[:-100],
        "hole.parquet": parquet.read_bytes()[:500] + bytes(800) + parquet.read_bytes()[1300:],
        "text.parquet": b"not a table",
        "cut.feather": feather.read_bytes()[:-100],
        "cut.arrow": stream[: len(stream) // 2],
        "text.arrow": b"not a table",
        "cut.csv.gz": packed[: len(packed) // 2],
        "plain.csv.gz": GOOD.encode(),
        "plain.csv.zst": GOOD.encode(),
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, rf"{name}: cannot be read: .*damaged, cut short or of another", FormatError)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"port": ["A", None]}, r"the table: row 1 \(counted from 0\): empty entity id \(column 'port'\)"),
        ({"port": pd.Categorical(["A", None])}, r"row 1 \(counted from 0\): empty entity id"),
        ({"port": pd.Categorical(["A", ""])}, r"row 1 \(counted from 0\): empty entity id"),
        ({"port": pd.Categorical(["A", "B|C"])}, r"row 1 \(counted from 0\): entity id 'B\|C' contains"),
        ({"port": [1.0, float("nan")]}, r"row 1 \(counted from 0\): empty entity id"),
        ({"port": [1.0, 2.5]}, "column 'port': 2.5 is no id; ids are text or whole numbers"),
        ({"port": ["A", 3]}, r"a column mixes types .*\.astype\(str\)"),
        ({"port": [["A"], ["B"]]}, "column 'port': .* cannot be names"),
        ({"trip": [1.5, 2.0]}, "column 'trip': 1.5 is no id"),
        ({"trip": [1, None]}, r"row 1 \(counted from 0\): empty sequence \(column 'trip'\)"),
        ({"leg": [float("nan"), 2.0]}, r"row 0 \(counted from 0\): empty order"),
        (
            {"leg": ["a", "b"]},
            r"row 0 \(counted from 0\): 'a' \(column 'leg'\); an order is a number, or a t",
        ),
        (
            {"leg": ["2024-05-31", "soon"]},
            r"row 1 \(counted from 0\): 'soon' \(column 'leg'\); an order is a",
        ),
        ({"leg": ["1", "soon"]}, r"row 1 \(counted from 0\): 'soon' \(column 'leg'\); an order is a number"),
        ({"leg": ["2024-05-31", None]}, r"row 1 \(counted from 0\): empty order \(column 'leg'\)"),
        (
            {"leg": [True, False]},
            "column 'leg' is of type bool; an order is a number or a time.*pandas.to_da",
        ),
    ],
)
def test_bad_tables(columns: dict[str, Any], message: str) -> None:
    refused(pd.DataFrame({"trip": [1, 1], "leg": [1, 2], "port": ["A", "B"], **columns}), message)


def test_names_and_types_with_line_ends_stay_on_one_line() -> None:
    named = pa.table({"trip": [1], "a\nb": [1], "port": ["A"]})
    refused(named, r"no column 'leg' \(order_by\).*; there are trip, 'a\\nb', port")
    typed = pa.table({"trip": [1], "leg": pa.array([{"x\ny": 1}]), "port": ["A"]})
    refused(typed, r"column 'leg' is of type struct<x y: int64>; an order is a number or a time")


def test_gap_must_fit_the_order_column() -> None:
    table = pd.DataFrame({"trip": [1], "leg": [1], "port": ["A"]})
    with pytest.raises(ParameterError, match=r"'leg' holds numbers, so max_gap must be a number. Got '3h'"):
        hl.read_paths(table, **EVENTS, max_gap="3h")
    with pytest.raises(ParameterError, match=r"'leg' holds times, so max_gap needs a unit.*Got 3 instead"):
        hl.read_paths(table.assign(leg=pd.Timestamp("2024-01-01")), **EVENTS, max_gap=3)


def test_files_must_agree_on_the_order(tmp_path: Path) -> None:
    for name, legs in (("a", [1]), ("b", [pd.Timestamp("2024-01-01")])):
        pd.DataFrame({"trip": [1], "leg": legs, "port": ["A"]}).to_parquet(tmp_path / f"{name}.parquet")
    refused(tmp_path / "*.parquet", r"b\.parquet: column 'leg' is timestamp.* here and int64 before")


def test_files_must_agree_on_whether_times_have_a_zone(tmp_path: Path) -> None:
    for name, zone in (("a", "UTC"), ("b", None)):
        legs = [pd.Timestamp("2024-01-01 01:00", tz=zone), pd.Timestamp("2024-01-01 02:00", tz=zone)]
        pd.DataFrame({"trip": [1, 1], "leg": legs, "port": ["A", "B"]}).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    refused(
        tmp_path / "*.parquet", r"'leg' is timestamp\[\w+\] here and timestamp.*UTC.* before; make it of one"
    )


def test_missing_files(tmp_path: Path) -> None:
    (tmp_path / "coupons.csv").write_text(GOOD)
    refused(tmp_path / "cuopons.csv", r"no such file; did you mean 'coupons\.csv'", MissingFileError)
    refused(tmp_path / "none" / "x.csv", "its folder .* does not exist", MissingFileError)
    refused(tmp_path / "*.parquet", "no file matches the pattern", MissingFileError)
    refused(tmp_path, r"is a folder; name a file in it.*it holds coupons\.csv")
    refused([tmp_path / "coupons.csv", tmp_path / "b.csv"], r"b\.csv: no such file", MissingFileError)


def test_formats(tmp_path: Path) -> None:
    (tmp_path / "table").write_text(GOOD)
    refused(tmp_path / "table", "no extension; pass format .--format., one of text, ngram, csv")
    assert list(hl.read_paths(tmp_path / "table", **EVENTS, format="csv")) == [("A", "B")]
    (tmp_path / "t.xlsx").write_text(GOOD)
    refused(tmp_path / "t.xlsx", r"t\.xlsx: is a spreadsheet; save the sheet as CSV")
    (tmp_path / "t.sas").write_text(GOOD)
    refused(tmp_path / "t.sas", r"the extension '\.sas' tells no format")
    (tmp_path / "t.txt").write_text("A B\n")
    (tmp_path / "t.csv").write_text(GOOD)
    refused(tmp_path / "t.txt", "is read as text, one path per line.*leave out sequence", ParameterError)
    refused([tmp_path / "t.txt", tmp_path / "t.csv"], r"is text but .* is csv; read files of one format")


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.jsonl"])
@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_is_named(tmp_path: Path, name: str, order: str) -> None:
    mark = "\ufeff"
    (tmp_path / name).write_bytes((mark + GOOD).encode(f"utf-16-{order}"))
    options = {} if name == "t.txt" else EVENTS
    with pytest.raises(FormatError, match=f"{name}: is text in UTF-16; save it as UTF-8"):
        hl.read_paths(tmp_path / name, **options)


@pytest.mark.parametrize(
    ("name", "message"),
    [("t.json", "one JSON document; save one"), ("t.pkl", "a pickle"), ("t.pickle", "a pic")],
)
def test_formats_that_are_not_read_tell_what_to_save_instead(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_text("[]")
    with pytest.raises(FormatError, match=f"{name}: is {message}"):
        hl.read_paths(tmp_path / name)


def test_columns_are_told_apart_where_another_mark_separates_them(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(";trip;leg;port\n0;1;1;A\n")
    refused(tmp_path / "t.csv", "delimiter=';' .* separates the columns; there are '', trip, leg, port$")
    (tmp_path / "t.csv").write_text("path\na\n")
    refused(tmp_path / "t.csv", r"no column 'trip' \(sequence\); there is only path$")


def test_counts_belong_to_lists(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("A B\n")
    with pytest.raises(ParameterError, match="counts belongs to lists; for files use trailing_count"):
        hl.read_paths(tmp_path / "t.txt", counts=[1])
    with pytest.raises(ParameterError, match="name the table's own column with count_column"):
        hl.read_paths(pd.DataFrame({"p": [["A"]]}), path_column="p", counts=[1])
