"""Event tables: grouping, ordering, gaps; the same paths whatever holds the table."""

from __future__ import annotations

import datetime
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import ParameterError
from honlearn.paths import delimited, parts
from honlearn.paths.arrange import sort_each

EVENTS: dict[str, Any] = {"sequence": "trip", "order_by": "leg", "entity": "port"}
PATHS = st.lists(
    st.lists(st.sampled_from(["ATL", "ORD", "São Paulo", "7"]), min_size=1, max_size=9), min_size=1
)


def table_of(paths: list[list[str]]) -> pd.DataFrame:
    rows = [(f"t{i}", leg, port) for i, path in enumerate(paths) for leg, port in enumerate(path)]
    return pd.DataFrame(rows, columns=["trip", "leg", "port"])


def multiset(paths: hl.Paths) -> Counter[tuple[str, ...]]:
    return Counter(paths)


@settings(deadline=None)
@given(PATHS, st.randoms(use_true_random=False))
def test_rows_may_be_in_any_order(paths: list[list[str]], random: Any) -> None:
    table = table_of(paths)
    rows = list(range(len(table)))
    random.shuffle(rows)
    expected = Counter(map(tuple, paths))
    assert multiset(hl.read_paths(table, **EVENTS)) == expected
    assert multiset(hl.read_paths(table.iloc[rows], **EVENTS)) == expected


def test_paths_come_by_first_appearance_of_their_sequence() -> None:
    table = pd.DataFrame({"trip": [9, 3, 9, 3, 5], "leg": [2, 1, 1, 0, 0], "port": list("BDACE")})
    paths = hl.read_paths(table, **EVENTS)
    assert list(paths) == [("A", "B"), ("C", "D"), ("E",)]
    assert paths.vocabulary.names == ("B", "D", "A", "C", "E")


def test_without_order_rows_keep_theirs() -> None:
    table = pd.DataFrame({"trip": ["x", "y", "x", "y"], "port": list("BDAC")})
    assert list(hl.read_paths(table, sequence="trip", entity="port")) == [("B", "A"), ("D", "C")]


def test_equal_orders_keep_the_order_of_rows_in_long_sequences_too() -> None:
    legs = np.random.default_rng(1).integers(0, 5, 500)
    table = pd.DataFrame({"trip": "one", "leg": legs, "port": [f"p{i}" for i in range(500)]})
    expected = tuple(f"p{i}" for i in np.argsort(legs, kind="stable"))
    assert list(hl.read_paths(table, **EVENTS)) == [expected]


@pytest.fixture
def holders(tmp_path: Path) -> dict[str, Any]:
    """The same interleaved events in everything that can hold them."""
    rng = np.random.default_rng(3)
    n = 400
    frame = pd.DataFrame(
        {
            "trip": rng.integers(100, 140, n),
            "fare": rng.random(n),
            "leg": rng.permutation(n),
            "port": rng.choice(["ATL", 'O\'Hare, "ORD"', "München", "7", "New\nYork"], n),
        }
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    csv, tsv = tmp_path / "e.csv", tmp_path / "e.tsv"
    frame.to_csv(csv, index=False)
    frame.to_csv(tsv, index=False, sep="\t")
    for suffix, compression in ((".gz", "gzip"), (".zst", "zstd")):
        with pa.output_stream(f"{csv}{suffix}", compression=compression) as out:
            out.write(csv.read_bytes())
    pa.parquet.write_table(table, tmp_path / "e.parquet", row_group_size=70)
    pa.feather.write_feather(table, tmp_path / "e.feather", chunksize=90)
    with pa.ipc.new_stream(tmp_path / "e.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=90)
    with pa.output_stream(str(tmp_path / "e.parquet.gz"), compression="gzip") as out:
        out.write((tmp_path / "e.parquet").read_bytes())
    files = ["e.csv", "e.tsv", "e.csv.gz", "e.csv.zst", "e.parquet", "e.feather", "e.arrow", "e.parquet.gz"]
    return {
        **{name: tmp_path / name for name in files},
        "pandas": frame,
        "pandas, categories": frame.astype({"port": "category", "trip": "category"}),
        "pandas, floats": frame.astype({"trip": float, "leg": float}),
        "pandas, times": frame.assign(leg=pd.Timestamp("2024-01-01") + pd.to_timedelta(frame.leg, "min")),
        "pandas, text ids": frame.assign(trip=frame.trip.astype(str)),
        "polars": pl.from_pandas(frame),
        "polars, lazy": pl.from_pandas(frame).lazy(),
        "polars, categories": pl.from_pandas(frame).with_columns(pl.col("port").cast(pl.Categorical)),
        "arrow": table,
        "arrow, one batch": table.combine_chunks().to_batches()[0],
        "arrow, reader": table.to_reader(64),
        "arrow, views": table.set_column(3, "port", table["port"].cast(pa.string_view())),
        "arrow, large": table.set_column(3, "port", table["port"].cast(pa.large_string())),
    }


def test_all_holders_give_the_same_paths(holders: dict[str, Any]) -> None:
    frame = holders["pandas"]
    expected: dict[int, list[str]] = {}
    for trip in frame.trip:
        expected.setdefault(int(trip), [])
    for _, row in frame.sort_values("leg").iterrows():
        expected[int(row.trip)].append(row.port)
    for name, holder in holders.items():
        paths = hl.read_paths(holder, **EVENTS)
        assert list(paths) == [tuple(path) for path in expected.values()], name
        assert paths.vocabulary.names == tuple(dict.fromkeys(frame.port)), name


@pytest.mark.parametrize("texts", [["2024-05-31 08:00", "2024-05-30 09:00"], ["10", "9.5"]])
def test_orders_of_text_are_read_alike_from_files_and_tables(tmp_path: Path, texts: list[str]) -> None:
    """As pandas.read_csv leaves times."""
    table = pd.DataFrame({"trip": [1, 1], "leg": texts, "port": ["A", "B"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    columns = {"sequence": "trip", "order_by": "leg", "entity": "port"}
    sources = (
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        table,
        table.astype("category"),
        pl.DataFrame(table),
    )
    for source in sources:
        assert list(hl.read_paths(source, **columns)) == [("B", "A")]
    gap = "1h" if ":" in texts[0] else 0.1
    assert len(hl.read_paths(table, **columns, max_gap=gap)) == 2


def test_chunk_sizes_do_not_matter(holders: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hl.read_paths(holders["e.csv"], **EVENTS)
    monkeypatch.setattr(delimited, "_BLOCK", 512)
    monkeypatch.setattr(parts, "ROWS_A_BATCH", 7)
    monkeypatch.setattr("honlearn.paths.events._TOKENS_A_CHUNK", 20)
    monkeypatch.setattr("honlearn.paths.events._ROWS_A_BLOCK", 40)
    for name in ("e.csv", "e.csv.gz", "e.parquet", "e.feather", "pandas"):
        found = hl.read_paths(holders[name], **EVENTS)
        assert list(found) == list(expected), name
        assert found.vocabulary == expected.vocabulary, name


def test_several_files_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("trip,leg,port\n1,3,C\n2,1,D\n")
    (tmp_path / "a.csv").write_text("leg,port,trip\n2,B,1\n1,A,1\n")
    assert list(hl.read_paths(tmp_path / "*.csv", **EVENTS)) == [("A", "B", "C"), ("D",)]
    assert list(hl.read_paths([tmp_path / "b.csv", str(tmp_path / "a.csv")], **EVENTS))[1] == ("D",)


def test_ids_are_text_not_numbers(tmp_path: Path) -> None:
    file = tmp_path / "ids.csv"
    file.write_text("trip,leg,port\n007,1,01\n7,2,1\n007,3,NA\nx|y,4,null\n")
    assert list(hl.read_paths(file, **EVENTS)) == [("01", "NA"), ("1",), ("null",)]


def test_other_separators(tmp_path: Path) -> None:
    file = tmp_path / "semicolons.csv"
    file.write_text("trip;leg;port\n1;1;A\n1;2;B,C\n")
    assert list(hl.read_paths(file, **EVENTS, delimiter=";")) == [("A", "B,C")]
    with pytest.raises(ParameterError, match="separated by one byte; got '::'"):
        hl.read_paths(file, **EVENTS, delimiter="::")


@pytest.mark.parametrize(
    ("orders", "gap", "cut"),
    [
        (["1", "2", "9"], 6, True),
        (["1", "2", "9"], 7, False),
        (["1", "2", "9"], "6.5", True),
        (["1", "1.25", "2.5"], 1.25, False),
        (["1", "1.25", "2.5"], 1.2, True),
        (["-4000000000", "0", "1"], 3_999_999_999, True),
        (["2024-05-31", "2024-06-01", "2024-06-03"], "1d", True),
        (["2024-05-31", "2024-06-01", "2024-06-03"], "2d", False),
        (["2024-05-31T10:00:00Z", "2024-05-31T10:20:00Z", "2024-05-31T12:20:01+01:00"], "1h", True),
        (["2024-05-31 10:00:00", "2024-05-31 10:20:00.25", "2024-05-31 10:50:00.25"], "30min", False),
        (["2024-05-31 10:00:00", "2024-05-31 10:20:00.25", "2024-05-31 10:50:00.2500001"], "30min", True),
        (["10:00:00", "10:05:00", "10:40:00"], datetime.timedelta(minutes=34), True),
    ],
)
def test_a_larger_gap_starts_a_new_path(tmp_path: Path, orders: list[str], gap: Any, cut: bool) -> None:
    file = tmp_path / "gaps.csv"
    rows = reversed(list(zip("ABC", orders, strict=True)))
    file.write_text("trip,leg,port\n" + "".join(f"1,{order},{port}\n" for port, order in rows))
    found = list(hl.read_paths(file, **EVENTS, max_gap=gap))
    assert [step for path in found for step in path] == ["A", "B", "C"]
    assert (len(found) > 1) is cut


def test_gaps_in_tables_with_other_units_of_time() -> None:
    times = pd.to_datetime(["2024-01-01", "2024-01-05", "2024-01-06"])
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table(
            {"trip": [1] * 3, "leg": pa.array(times).cast(pa.timestamp(unit)), "port": list("ABC")}
        )
        assert list(hl.read_paths(table, **EVENTS, max_gap="2d")) == [("A",), ("B", "C")]
    table = pa.table({"trip": [1] * 3, "leg": pa.array(times).cast(pa.date32()), "port": list("ABC")})
    assert list(hl.read_paths(table, **EVENTS, max_gap=np.timedelta64(2, "D"))) == [("A",), ("B", "C")]


def test_gap_and_filters_work_together() -> None:
    table = pd.DataFrame({"trip": 1, "leg": [0, 1, 2, 9, 10, 30], "port": list("AABBAC")})
    found = hl.read_paths(table, **EVENTS, max_gap=5, drop_repeats=True, min_length=2)
    assert list(found) == [("A", "B"), ("B", "A")]
    assert found.vocabulary.names == ("A", "B")


def test_a_count_of_numbers_that_turn_out_to_be_fractions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 256)
    file = tmp_path / "late.csv"
    rows = [f"{i % 3},{100 - i},p{i % 5}" for i in range(100)]
    file.write_text("trip,leg,port\n" + "\n".join([*rows, "0,0.5,first"]) + "\n")
    paths = hl.read_paths(file, **EVENTS)
    assert paths[0][:2] == ("first", "p4")
    assert len(paths.codes) == 101


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["1", "01", "-1", "x", "12345678901234567890"]), st.integers(0, 3)))
)
def test_sequence_ids_group_by_their_text(rows: list[tuple[str, int]]) -> None:
    rows = [*rows, ("1", 0)]
    table = pd.DataFrame({"trip": [a for a, _ in rows], "port": [f"p{b}" for _, b in rows]})
    expected: dict[str, list[str]] = {}
    for trip, port in rows:
        expected.setdefault(trip, []).append(f"p{port}")
    found = hl.read_paths(table, sequence="trip", entity="port")
    assert list(found) == [tuple(path) for path in expected.values()]


def test_many_sequences_of_either_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS_A_BATCH", 1000)
    ids = np.random.default_rng(0).permutation(np.repeat(np.arange(9000) * 1_000_003, 2))
    for trips in (ids, ids.astype(str), [*ids[:9000], *(f"s{i}" for i in ids[9000:])]):
        table = pa.table(
            {"trip": pa.array(map(str, trips)) if isinstance(trips, list) else trips, "port": ids}
        )
        expected: dict[str, list[str]] = {}
        for trip, port in zip(trips, ids, strict=True):
            expected.setdefault(str(trip), []).append(str(port))
        found = hl.read_paths(table, sequence="trip", entity="port")
        assert list(found) == [tuple(path) for path in expected.values()]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("order_by", ["leg", None])
def test_narrow_columns_widen_where_they_must(
    shuffled: bool, order_by: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 2^16 entities, and orders that outgrow one byte, in the middle of a table of many blocks."""
    monkeypatch.setattr("honlearn.paths.events._ROWS_A_BLOCK", 3 * parts.ROWS_A_BATCH // 2)
    size = 6 * parts.ROWS_A_BATCH
    names = np.where(np.arange(size) < size // 2, np.arange(size) % 100, np.arange(size))
    trip, leg = np.arange(size) // 4, np.arange(size) // 1000
    if shuffled:
        trip = trip[::-1].copy() if order_by is None else trip % 977
    table = pa.table({"trip": trip, "leg": leg, "port": names})
    paths = hl.read_paths(table, sequence="trip", order_by=order_by, entity="port")
    expected: dict[int, list[str]] = {}
    for row in range(size):
        expected.setdefault(int(trip[row]), []).append(str(names[row]))
    assert list(paths) == [tuple(path) for path in expected.values()]
    assert paths.codes.dtype == np.int32


@pytest.mark.parametrize("place", [0, 1, 40, 99])
def test_a_row_far_longer_than_a_block(tmp_path: Path, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 256)
    notes = ["y" * 30_000 if row == place else "short" for row in range(100)]
    rows = [f"{row // 5},{row},p{row % 7},{note}\n" for row, note in enumerate(notes)]
    (tmp_path / "t.csv").write_text("trip,leg,port,note\n" + "".join(rows))
    paths = hl.read_paths(tmp_path / "t.csv", **EVENTS)
    assert list(paths) == [tuple(f"p{row % 7}" for row in range(i, i + 5)) for i in range(0, 100, 5)]


@pytest.mark.parametrize("distinct", [3, 10_000])
def test_sequences_of_any_length_are_sorted_stably(distinct: int) -> None:
    random = np.random.default_rng(0)
    lengths = [0, 1, 2, 11, 12, 13, 48, 49, 50, 61, 97, 300, 1000]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    orders = random.integers(0, distinct, offsets[-1])
    codes = np.arange(offsets[-1], dtype=np.int32)
    got, placed = codes.copy(), orders.copy()
    sort_each(got, placed, offsets)
    for start, stop in pairwise(offsets):
        rank = np.argsort(orders[start:stop], kind="stable")
        assert np.array_equal(got[start:stop], codes[start:stop][rank])
        assert np.array_equal(placed[start:stop], orders[start:stop][rank])
