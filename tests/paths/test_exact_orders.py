"""Orders compare exactly, whatever their type: no value is rounded to a float, and no gap wraps."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError
from honlearn.paths import delimited, parts

EVENTS: dict[str, Any] = {"sequence": "trip", "order_by": "leg", "entity": "port"}
NAMES = "ABCDEFGHIJ"


def write(file: Path, orders: list[Any]) -> Path:
    rows = (f"1,{order},{NAMES[i]}\n" for i, order in enumerate(orders))
    file.write_text("trip,leg,port\n" + "".join(rows))
    return file


def table(orders: Any) -> pa.Table:
    size = len(orders)
    return pa.table({"trip": [1] * size, "leg": orders, "port": list(NAMES[:size])})


@pytest.mark.parametrize(
    "orders",
    [
        ["20240101000000000003", "20240101000000000002", "20240101000000000001"],
        [2**63 + 2, 2**63 + 1, 2**63],
        [2**63, 2**63 - 1, -(2**63)],
        ["9007199254740993.5", "9007199254740993", "9007199254740992.75"],
        ["0.30000000000000000003", "0.30000000000000000002", "0.3"],
        ["1717171717.0000000002", "1717171717.0000000001", "0.5"],
        ["1e30", "1000000000000000000000000000.5", "1000000000000000000000000000"],
        ["+7", "1.5e-3", "-.5"],
    ],
)
def test_near_numbers_in_csv_are_told_apart(tmp_path: Path, orders: list[Any]) -> None:
    assert list(hl.read_paths(write(tmp_path / "e.csv", orders), **EVENTS)) == [("C", "B", "A")]


@pytest.mark.parametrize(
    "orders",
    [
        pa.array([2**64 - 1, 2**64 - 2, 3], pa.uint64()),
        pa.array([Decimal("9007199254740993.5"), Decimal("9007199254740993.25"), Decimal(1)]),
        pa.array([Decimal(10**40 + 1), Decimal(10**40), Decimal("-0.5")]),
        pa.array([Decimal("1.3"), Decimal("1.2"), Decimal("-1.1")], pa.decimal32(4, 1)),
    ],
)
def test_near_numbers_in_tables_are_told_apart(tmp_path: Path, orders: pa.Array) -> None:
    events = table(orders)
    with pa.ipc.new_file(tmp_path / "e.arrow", events.schema) as out:
        out.write_table(events)
    holders: list[Any] = [events, tmp_path / "e.arrow"]
    if pa.types.is_uint64(orders.type):
        holders += [events.to_pandas(), pl.from_arrow(events)]
    if pa.types.is_decimal128(orders.type):
        holders += [events.to_pandas()]
    for holder in holders:
        assert list(hl.read_paths(holder, **EVENTS)) == [("C", "B", "A")]


def test_integers_beside_floats_of_another_file(tmp_path: Path) -> None:
    first, second = pd.DataFrame({"leg": [2**53 + 1]}), pd.DataFrame({"leg": [2.0**53, 0.5]})
    first.assign(trip=1, port="C").to_parquet(tmp_path / "a.parquet")
    second.assign(trip=1, port=["B", "A"]).to_parquet(tmp_path / "b.parquet")
    assert list(hl.read_paths(tmp_path / "*.parquet", **EVENTS)) == [("A", "B", "C")]


def test_many_batches_of_many_kinds_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    monkeypatch.setattr(parts, "ROWS_A_BATCH", 5)
    monkeypatch.setattr("honlearn.paths.events._ROWS_A_BLOCK", 12)
    orders = ["3", "0", "0.25", "1e-7", "12345678901234567890", "1717171717171717171", "-2.50", "NA"] * 9
    rows = "".join(f"{i % 3},{order},p{i}\n" for i, order in enumerate(orders))
    (tmp_path / "e.csv").write_text("trip,leg,port\n" + rows)
    expected: dict[int, list[tuple[Fraction, int]]] = {}
    for i, order in enumerate(orders):
        if order != "NA":
            expected.setdefault(i % 3, []).append((Fraction(order), i))
    found = hl.read_paths(tmp_path / "e.csv", **EVENTS, on_empty="skip")
    assert list(found) == [tuple(f"p{i}" for _, i in sorted(path)) for path in expected.values()]


numbers = st.one_of(
    st.integers(-(2**66), 2**66).map(str),
    st.integers(-9, 9).map(str),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e20, max_value=1e20)
    .filter(lambda value: value == 0 or abs(value) > 1e-20)  # or more than 76 digits might be needed
    .map(repr),
    st.decimals(-(10**20), 10**20, allow_nan=False, places=9).map(str),
    st.integers(2**53 - 3, 2**53 + 3).map(lambda n: f"{n}.5"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=10), st.integers(0, 2**65) | st.sampled_from([0.5, 0.1]))
def test_orders_and_gaps_are_those_of_fractions(
    tmp_path_factory: pytest.TempPathFactory, orders: list[str], gap: float
) -> None:
    # Floats are measured as floats; a gap is compared exactly only where numbers are decimals or whole.
    exact = sorted((Fraction(order), i) for i, order in enumerate(orders))
    file = write(tmp_path_factory.getbasetemp() / "e.csv", orders)
    assert list(hl.read_paths(file, **EVENTS)) == [tuple(NAMES[i] for _, i in exact)]
    if any("e" in order or "." in order for order in orders):
        return
    expected: list[list[str]] = []
    for (value, i), (before, _) in zip(exact, [exact[0], *exact], strict=False):
        if not expected or value - before > Fraction(repr(gap)):
            expected.append([])
        expected[-1].append(NAMES[i])
    assert list(hl.read_paths(file, **EVENTS, max_gap=gap)) == [tuple(path) for path in expected]


@pytest.mark.parametrize(
    ("orders", "gap", "expected"),
    [
        ([-(2**63), 2**63 - 1], 100, [("A",), ("B",)]),
        ([-(2**63), 2**63 - 1], 2**64 - 2, [("A",), ("B",)]),
        ([-(2**63), 2**63 - 1], 2**64 - 1, [("A", "B")]),
        ([2**63 - 1 - 2**53, 2**63 - 1], 2**53 - 1, [("A",), ("B",)]),
        ([2**63 - 1 - 2**53, 2**63 - 1], str(2**53), [("A", "B")]),
        ([2**70, 2**70 + 5, 2**70 + 7], 4, [("A",), ("B", "C")]),
        (["0.1", "0.2", "0.3", "0.4000001"], 0.1, [("A", "B", "C"), ("D",)]),
    ],
)
def test_gaps_do_not_wrap(tmp_path: Path, orders: list[Any], gap: Any, expected: Any) -> None:
    assert list(hl.read_paths(write(tmp_path / "e.csv", orders), **EVENTS, max_gap=gap)) == expected
    if all(isinstance(order, int) and abs(order) <= 2**63 for order in orders):
        whole = table(pa.array(np.array(orders, np.int64)))
        assert list(hl.read_paths(whole, **EVENTS, max_gap=gap)) == expected


@pytest.mark.parametrize(
    "order", ["0x10", "1e400", "inf", "1_000", "3/4", "7" * 90 + ".5", "1e-9999", "-", "."]
)
def test_what_cannot_be_compared_is_refused_with_the_value(tmp_path: Path, order: str) -> None:
    file = write(tmp_path / "e.csv", [5, order])
    with pytest.raises(
        InputError, match=rf"e\.csv:3: '{order[:60].replace('.', '[.]')}.*an order is a number"
    ):
        hl.read_paths(file, **EVENTS)


def test_numbers_that_take_too_many_digits_together(tmp_path: Path) -> None:
    file = write(tmp_path / "e.csv", ["1e-80", "9007199254740989.5"])
    with pytest.raises(
        InputError, match=r"e\.csv:3: '9007199254740989\.5', which takes over 76 digits beside"
    ):
        hl.read_paths(file, **EVENTS)
    assert list(hl.read_paths(write(file, ["2e-80", "1e-80", "-7e90"]), **EVENTS)) == [("C", "B", "A")]


def test_numbers_of_over_64_bits_in_pandas_have_a_remedy() -> None:
    frame = pd.DataFrame({"trip": 1, "leg": pd.Series([2**65, 2**65 - 1], dtype=object), "port": ["B", "A"]})
    with pytest.raises(InputError, match=r"more than 64 bits .*what to order by decimal\.Decimal"):
        hl.read_paths(frame, **EVENTS)
    assert list(hl.read_paths(frame.assign(leg=frame.leg.map(Decimal)), **EVENTS)) == [("A", "B")]
