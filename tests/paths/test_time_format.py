"""Times in a form of their own: read by a pattern, whatever file or table they are in."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import honlearn as hl
from honlearn.errors import InputError, ParameterError

COLUMNS = {"sequence": "who", "entity": "page", "order_by": "when"}
# Out of order as text and as rows; the year decides.
ROWS = {
    "who": ["a", "a", "a", "b", "b"],
    "page": ["C", "A", "B", "D", "E"],
    "when": [
        "01.03.2024 08:00",
        "31.01.2023 09:30",
        "15.02.2024 23:59",
        "02.01.2024 00:00",
        "01.02.2024 00:00",
    ],
}
FORM = "%d.%m.%Y %H:%M"


def written(folder: Path, kind: str) -> Path:
    path = folder / f"events.{kind}"
    frame = pd.DataFrame(ROWS)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        pq.write_table(pa.table(ROWS), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_are_ordered_by_the_times_that_the_form_reads(kind: str, tmp_path: Path) -> None:
    paths = hl.read_paths(written(tmp_path, kind), **COLUMNS, time_format=FORM)
    assert list(paths) == [("A", "B", "C"), ("D", "E")]


def test_tables_in_memory_and_gaps() -> None:
    paths = hl.read_paths(pd.DataFrame(ROWS), **COLUMNS, time_format=FORM, max_gap="40d")
    assert sorted(paths) == [("A",), ("B", "C"), ("D", "E")]


def test_zones_compare() -> None:
    rows = {"who": ["a", "a"], "page": ["B", "A"], "when": ["31/05/24 10:00 +0000", "31/05/24 11:00 +0200"]}
    paths = hl.read_paths(pd.DataFrame(rows), **COLUMNS, time_format="%d/%m/%y %H:%M %z")
    assert list(paths) == [("A", "B")]


def test_named_zones_compare() -> None:
    rows = {"who": ["a", "a"], "page": ["B", "A"], "when": ["31/05/24 10:00 UTC", "31/05/24 09:59 UTC"]}
    paths = hl.read_paths(pd.DataFrame(rows), **COLUMNS, time_format="%d/%m/%y %H:%M %Z")
    assert list(paths) == [("A", "B")]


def test_an_hour_that_comes_twice_in_autumn_is_told_apart_by_its_zone() -> None:
    when = ["27.10.2024 02:30 +0100", "27.10.2024 02:30 +0200", "27.10.2024 02:59 +0200"]
    rows = {"who": ["a"] * 3, "page": ["C", "A", "B"], "when": when}
    paths = hl.read_paths(pd.DataFrame(rows), **COLUMNS, time_format="%d.%m.%Y %H:%M %z")
    assert list(paths) == [("A", "B", "C")]


def test_the_row_that_has_another_form_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "csv")
    path.write_text(path.read_text() + "b,F,2024-06-01\n")
    with pytest.raises(InputError, match=r"events.csv:7: '2024-06-01' is not of the form '%d.%m.%Y %H:%M'"):
        hl.read_paths(path, **COLUMNS, time_format=FORM)
    with pytest.raises(InputError, match=r"'01.03.2024 08:00' .*name another form of times: time_format="):
        hl.read_paths(path, **COLUMNS)


def test_an_empty_time_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "csv")
    path.write_text(path.read_text() + "b,F,\n")
    with pytest.raises(InputError, match=r"events.csv:7: empty order \(column 'when'\)"):
        hl.read_paths(path, **COLUMNS, time_format=FORM)
    paths = hl.read_paths(path, **COLUMNS, time_format=FORM, on_empty="skip")
    assert list(paths)[1] == ("D", "E")


def test_a_column_of_times_needs_no_form() -> None:
    frame = pd.DataFrame(ROWS).assign(when=range(5))
    with pytest.raises(InputError, match=r"column 'when' is of type int64 and not text; leave out"):
        hl.read_paths(frame, **COLUMNS, time_format=FORM)


@pytest.mark.parametrize(
    ("form", "reason"), [("ISO8601", "no directive"), ("%d.%Q", "bad directive"), (3, "no directive")]
)
def test_what_is_no_form_is_refused(form: object, reason: str) -> None:
    with pytest.raises(ParameterError, match=f"'time_format' parameter of read_paths .*{reason}"):
        hl.read_paths(pd.DataFrame(ROWS), **COLUMNS, time_format=form)


def test_it_belongs_to_an_order(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="time_format needs order_by"):
        hl.read_paths(pd.DataFrame(ROWS), sequence="who", entity="page", time_format=FORM)
    log = tmp_path / "log.xes"
    log.write_text("<log/>")
    with pytest.raises(ParameterError, match="time_format: a trace of a xes log is a path by itself"):
        hl.read_paths(log, order_by="time:timestamp", time_format=FORM)
