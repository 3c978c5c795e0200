"""Paths divided at a moment: exact orders, cut sequences, dropped paths, logs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honlearn.errors import HonlearnError, InputError, ParameterError
from honlearn.paths.source import read_paths
from honlearn.paths.timed import moment_of, read_timed

EVENTS: dict[str, Any] = {"sequence": "who", "entity": "what", "order_by": "when"}


def written(folder: Path, rows: list[tuple[str, str, str]], name: str = "events.csv") -> Path:
    file = folder / name
    file.write_text("who,what,when\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    return file


def test_a_path_is_early_if_its_first_step_is(tmp_path: Path) -> None:
    rows = [("p", "C", "2024-03-01"), ("p", "A", "2024-01-01"), ("q", "B", "2024-02-01")]
    file = written(tmp_path, rows)
    paths, early = read_timed(file, "2024-02-01", **EVENTS)
    assert list(paths) == [("A", "C"), ("B",)]
    assert early.tolist() == [True, False]  # q begins at that moment, not before it
    assert read_timed(file, "2024-02-01T00:00:01", **EVENTS)[1].tolist() == [True, True]


def test_paths_cut_at_gaps_begin_at_their_own_first_step(tmp_path: Path) -> None:
    file = written(
        tmp_path, [("p", "A", "1"), ("p", "B", "2"), ("p", "C", "9"), ("p", "C", "10"), ("q", "A", "5")]
    )
    paths, early = read_timed(file, "4.5", **EVENTS, max_gap="3")
    assert list(paths) == [("A", "B"), ("C", "C"), ("A",)]
    assert early.tolist() == [True, False, False]
    # Short paths are dropped with their times, after repeats went.
    paths, early = read_timed(file, "4.5", **EVENTS, max_gap="3", drop_repeats=True, min_length=2)
    assert (list(paths), early.tolist()) == ([("A", "B")], [True])
    with pytest.raises(InputError, match="3 were shorter than min_length=9"):
        read_timed(file, "4.5", **EVENTS, max_gap="3", min_length=9)


@given(
    orders=st.lists(st.decimals(-(10**20), 10**20, places=3), min_size=1, max_size=6, unique=True),
    moment=st.decimals(-(10**20), 10**20, places=3),
)
def test_orders_are_compared_exactly(
    tmp_path_factory: pytest.TempPathFactory, orders: list[Any], moment: Any
) -> None:
    file = written(tmp_path_factory.mktemp("exact"), [(f"p{i}", "A", f"{t:f}") for i, t in enumerate(orders)])
    _, early = read_timed(file, f"{moment:f}", **EVENTS)
    assert early.tolist() == [t < moment for t in orders]


def test_times_with_and_without_a_zone(tmp_path: Path) -> None:
    zoned = written(tmp_path, [("p", "A", "2024-01-01T00:30:00+01:00"), ("q", "A", "2024-01-01T00:30:00Z")])
    assert read_timed(zoned, "2024-01-01", **EVENTS)[1].tolist() == [True, False]
    assert read_timed(zoned, "2024-01-01T01:00:00+01:00", **EVENTS)[1].tolist() == [True, False]
    naive = written(tmp_path, [("p", "A", "2024-01-01T00:30:00")], "naive.csv")
    with pytest.raises(ParameterError, match=r"must be a time without a zone.*Got '2024-01-01T01:00:00Z'"):
        read_timed(naive, "2024-01-01T01:00:00Z", **EVENTS)
    assert moment_of("0999-05-31") == (
        -(pd.Timestamp("1970-01-01") - pd.Timestamp(999, 5, 31)).days * 86400 * 10**9,
        False,
    )


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_other_tables(tmp_path: Path, suffix: str) -> None:
    table = pd.DataFrame(
        {"who": ["p", "q"], "what": ["A", "B"], "when": pd.to_datetime(["2024-01-01", "2024-03-01"])}
    )
    file = tmp_path / f"events.{suffix}"
    if suffix == "parquet":
        table.to_parquet(file)
    else:
        table.assign(when=table["when"].astype(str)).to_json(file, orient="records", lines=True)
    paths, early = read_timed(file, "2024-02-01", **EVENTS)
    assert list(paths) == list(read_paths(file, **EVENTS))
    assert early.tolist() == [True, False]


def test_event_logs(tmp_path: Path) -> None:
    def trace(*events: tuple[str, str]) -> str:
        inner = "".join(
            f'<event><string key="concept:name" value="{name}"/>'
            f'<date key="time:timestamp" value="{day}T08:00:00Z"/></event>'
            for name, day in events
        )
        return f"<trace>{inner}</trace>"

    log = tmp_path / "log.xes"
    traces = trace(("A", "2024-01-01"), ("B", "2024-05-01")) + trace() + trace(("C", "2024-03-01"))
    log.write_text(f"<log>{traces}</log>")
    paths, early = read_timed(log, "2024-02-01", order_by="time:timestamp")
    assert (list(paths), early.tolist()) == ([("A", "B"), ("C",)], [True, False])
    with pytest.raises(ParameterError, match="give --order-by time:timestamp"):
        read_timed(log, "2024-02-01")


def test_what_has_no_times_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "paths.txt"
    text.write_text("A B\n")
    rows = tmp_path / "rows.csv"
    rows.write_text("path\nA B\n")
    edges = tmp_path / "edges.csv"
    edges.write_text("s,t,when\nA,B,1\n")
    cases: list[tuple[Path, dict[str, Any], str]] = [
        (text, {}, "paths.txt: one path per line has no times"),
        (rows, {"path_column": "path"}, "rows.csv: one path per row has no times"),
        (
            edges,
            {"source_column": "s", "target_column": "t", "order_by": "when", "max_gap": 2},
            "share edges",
        ),
        (edges, {"sequence": "s", "entity": "t"}, "give --order-by, the column of numbers or times"),
    ]
    for file, options, message in cases:
        with pytest.raises(HonlearnError, match=message):
            read_timed(file, "1", **options)


def test_a_moment_of_another_kind_is_refused(tmp_path: Path) -> None:
    numbers = written(tmp_path, [("p", "A", "1")])
    with pytest.raises(
        ParameterError, match=r"must be a number, since 'when' holds numbers\. Got '2024-01-01'"
    ):
        read_timed(numbers, "2024-01-01", **EVENTS)
    days = written(tmp_path, [("p", "A", "2024-01-01")], "days.csv")
    with pytest.raises(ParameterError, match=r"must be a day or a time .* Got 'May' instead"):
        read_timed(days, "May", **EVENTS)
    table = pd.DataFrame({"who": ["p"], "what": ["A"], "when": np.array([1], "m8[s]")})
    table.to_parquet(tmp_path / "lengths.parquet")
    with pytest.raises(ParameterError, match=r"type duration\[s\], which does not say on which day"):
        read_timed(tmp_path / "lengths.parquet", "1", **EVENTS)
