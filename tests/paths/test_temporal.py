"""Temporal edges: all maximal time-respecting paths, against an enumeration by definition."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.paths import temporal

EDGES: dict[str, Any] = {"source_column": "from", "target_column": "to", "order_by": "at"}
Edge = tuple[str, str, Any]


def table(edges: list[Edge]) -> pd.DataFrame:
    return pd.DataFrame(edges, columns=["from", "to", "at"])


def by_definition(edges: list[Edge], gap: Any) -> list[tuple[str, ...]]:
    """Return all maximal time-respecting paths, found by trying every edge after every other."""

    def follows(one: int, two: int) -> bool:
        return edges[one][1] == edges[two][0] and 0 < edges[two][2] - edges[one][2] <= gap

    def from_edge(e: int) -> list[list[int]]:
        after = [other for other in range(len(edges)) if follows(e, other)]
        return [[e, *rest] for other in after for rest in from_edge(other)] if after else [[e]]

    first = [e for e in range(len(edges)) if not any(follows(other, e) for other in range(len(edges)))]
    walks = [walk for e in first for walk in from_edge(e)]
    return [(edges[walk[0]][0], *(edges[e][1] for e in walk)) for walk in walks]


nodes = st.sampled_from("ABCD")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(nodes, nodes, st.integers(0, 12)), min_size=1, max_size=11), st.integers(0, 6))
def test_all_maximal_paths_and_no_others(edges: list[Edge], gap: int) -> None:
    paths = hl.read_paths(table(edges), **EDGES, max_gap=gap)
    there = by_definition(edges, gap)
    assert sorted(paths) == sorted(there)
    # The count that is made before is that of the paths.
    steps = sum(map(len, there))
    assert len(hl.read_paths(table(edges), **EDGES, max_gap=gap, max_steps=steps)) == len(there)
    if steps > 1:
        with pytest.raises(InputError, match=rf"more than {steps - 1:,} steps within max_gap={gap}"):
            hl.read_paths(table(edges), **EDGES, max_gap=gap, max_steps=steps - 1)


def test_an_example_to_read() -> None:
    # At 1 A calls B; B calls C at 3 and D at 5; with a patience of 2 the call at 5 is no consequence.
    edges = table([("B", "D", 5), ("A", "B", 1), ("B", "C", 3)])
    assert list(hl.read_paths(edges, **EDGES, max_gap=2)) == [("A", "B", "C"), ("B", "D")]
    assert list(hl.read_paths(edges, **EDGES, max_gap=4)) == [("A", "B", "C"), ("A", "B", "D")]
    # Two edges at one time do not follow each other.
    assert sorted(hl.read_paths(table([("A", "B", 1), ("B", "C", 1)]), **EDGES, max_gap=9)) == [
        ("A", "B"),
        ("B", "C"),
    ]


@pytest.mark.parametrize(
    ("times", "gap", "joined"),
    [
        ([-(2**63), 2**63 - 1], 2**64 - 1, True),
        ([-(2**63), 2**63 - 1], 2**64 - 2, False),
        ([0.1, 0.4], 0.3, False),  # 0.4 - 0.1 is a little more than 0.3 in floats
        ([Decimal("0.1"), Decimal("0.4")], 0.3, True),
        ([Decimal(2**70), Decimal(2**70 + 1)], 1, True),
        ([Decimal(2**70), Decimal(2**70 + 2)], 1, False),
        (pd.to_datetime(["2024-01-01 00:00", "2024-01-01 00:30"]), "30min", True),
        (pd.to_datetime(["2024-01-01 00:00", "2024-01-01 00:30"]), "29min", False),
    ],
)
def test_times_are_compared_exactly(times: Any, gap: Any, joined: bool) -> None:
    frame = pd.DataFrame({"from": ["A", "B"], "to": ["B", "C"], "at": times})
    assert (len(hl.read_paths(frame, **EDGES, max_gap=gap)) == 1) == joined


def test_files(tmp_path: Path) -> None:
    edges = [("A", "B", 1), ("B", "C", 3), ("B", "D", 5), ("C", "A", 4)]
    table(edges).to_csv(tmp_path / "e.csv", index=False)
    table(edges).to_parquet(tmp_path / "e.parquet")
    rows = [json.dumps(dict(zip(("from", "to", "at"), edge, strict=True))) for edge in edges]
    (tmp_path / "e.jsonl").write_text("\n".join(rows))
    for kind in ("csv", "parquet", "jsonl"):
        there = list(hl.read_paths(tmp_path / f"e.{kind}", **EDGES, max_gap=2, min_length=3))
        assert there == [("A", "B", "C", "A")]
    hon = hl.grow(tmp_path / "e.csv", order=2, tau=0.5, min_support=1, **EDGES, max_gap=2)
    assert hon.n_entities == 4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("A,,1", r":2: empty target \(column 'to'\)"),
        (",A,1", r":2: empty source \(column 'from'\)"),
        ("A,B,1\nA|B,C,2", r":3: entity id 'A\|B' contains.*\(column 'from'\)"),
        ("A,B,1\nA,B,x", r":3: 'x' \(column 'at'\); an order is a number"),
    ],
)
def test_rows_refused(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "e.csv").write_text(f"from,to,at\n{rows}\n")
    with pytest.raises(InputError, match=r"e\.csv" + message):
        hl.read_paths(tmp_path / "e.csv", **EDGES, max_gap=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"source_column": "from"},
            "source_column without target_column, order_by, max_gap: temporal edges need",
        ),
        ({**EDGES}, "source_column, target_column without max_gap"),
        ({**EDGES, "max_gap": 1, "sequence": "s", "entity": "e"}, "exclude each other"),
        ({**EDGES, "max_gap": 1, "path_column": "p"}, "exclude each other"),
        ({**EDGES, "max_gap": 1, "max_steps": 0}, "'max_steps'.*from 1 to"),
    ],
)
def test_options_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        hl.read_paths(table([("A", "B", 1)]), **options)


def test_an_explosion_is_refused_at_once() -> None:
    # 2**200 paths; and a fan of 10**10 paths whose edges have only 100,000 successors each.
    ladder = [("A", "A", t) for t in range(200)]
    n = 100_000
    fan = pd.DataFrame({"from": ["A"] * n + ["B"] * n, "to": ["B"] * n + ["C"] * n, "at": range(2 * n)})
    begun = time.process_time()
    for edges in (table(ladder), fan):
        with pytest.raises(
            InputError, match=r"paths of more than 134,217,728 steps within max_gap=\d+; lower max_gap"
        ):
            hl.read_paths(edges, **EDGES, max_gap=10**6)
    assert time.process_time() - begun < 10


def test_chunks_end_between_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    edges = [
        ("ABC"[a], "ABC"[b], int(t))
        for a, b, t in zip(*random.integers(0, 3, (2, 40)), range(40), strict=True)
    ]
    whole = hl.read_paths(table(edges), **EDGES, max_gap=4)
    monkeypatch.setattr(temporal, "_TOKENS_A_CHUNK", 1)
    chunks = list(hl.stream_paths(table(edges), **EDGES, max_gap=4).chunks())
    assert len(chunks) > 10
    assert np.array_equal(np.concatenate([chunk.codes for chunk in chunks]), whole.codes)
