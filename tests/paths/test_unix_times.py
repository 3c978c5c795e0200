"""Unix times in two units in one column are refused; other large numbers are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import honlearn as hl
from honlearn.errors import InputError

EVENTS: dict[str, Any] = {"sequence": "trip", "order_by": "at", "entity": "port"}
SECONDS = 1_700_000_000


def table(orders: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"trip": 1, "at": orders, "port": list("ABCDEFGHIJ")[: len(orders)]})


@pytest.mark.parametrize("factor", [1_000, 1_000_000, 1_000_000_000])
def test_seconds_beside_a_finer_unit_are_refused(tmp_path: Path, factor: int) -> None:
    orders = [SECONDS, SECONDS + 60, (SECONDS + 30) * factor]
    file = tmp_path / "events.csv"
    table(orders).to_csv(file, index=False)
    message = rf"{file.name}:4: {orders[2]} \(column 'at'\) is no unix time in seconds, as all before it are"
    with pytest.raises(InputError, match=message):
        hl.read_paths(file, **EVENTS)
    with pytest.raises(InputError, match="is no unix time in seconds"):
        hl.read_paths(table(orders), **EVENTS)
    with pytest.raises(InputError, match="is no unix time in seconds"):
        hl.read_paths(table([float(order) for order in orders]), **EVENTS)


def test_a_finer_unit_first_and_in_edges() -> None:
    edges = pd.DataFrame({"s": ["A", "B"], "t": ["B", "C"], "at": [SECONDS * 1000, SECONDS + 60]})
    columns = {"source_column": "s", "target_column": "t", "order_by": "at", "max_gap": 60}
    with pytest.raises(InputError, match=r"1700000060 .* is no unix time in milliseconds"):
        hl.read_paths(edges, **columns)


@pytest.mark.parametrize(
    "orders",
    [
        [SECONDS, SECONDS + 60, SECONDS + 30],
        [SECONDS * 1000, SECONDS * 1000 + 60, SECONDS * 1000 + 30],
        [SECONDS + 0.25, SECONDS + 60, SECONDS + 30.5],
        [SECONDS, SECONDS * 1000, 17],
        [1, SECONDS, SECONDS * 1000],
        [SECONDS, SECONDS * 100, SECONDS * 1000],
    ],
)
def test_one_unit_and_other_numbers_are_ordered(orders: list[Any]) -> None:
    ranked = [name for _, name in sorted(zip(orders, "ABC", strict=True))]
    assert list(hl.read_paths(table(orders), **EVENTS)) == [tuple(ranked)]
    as_floats = hl.read_paths(table(orders).astype({"at": float}), **EVENTS)
    assert list(as_floats) == [tuple(ranked)]
