"""Event tables beyond the memory they may take: the same paths, in the same order, as from memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import honlearn as hl
from honlearn.paths import parts, spilled_events
from honlearn.paths.event_tables import gathered
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions
from honlearn.paths.source import as_source
from honlearn.paths.stream import PathStream, collect
from honlearn.paths.tables import open_part

ROWS = 6_000
RNG = np.random.default_rng(0)
USERS = RNG.integers(0, 300, ROWS)
WHOLE = RNG.integers(-500, 500, ROWS)
ORDERS = {
    "none": None,
    "whole": WHOLE,
    # Narrow numbers first, so that blocks have several types.
    "growing": np.where(np.arange(ROWS) < 4_000, WHOLE % 100, WHOLE * 10**9),
    "tenths": WHOLE / 10,
    "mixed": np.where(np.arange(ROWS) < 4_000, WHOLE, WHOLE + 0.5),
    "huge": [str(10**20 + int(v)) if i > 4_000 else str(v) for i, v in enumerate(WHOLE)],
    "times": pd.Timestamp("2024-01-01") + pd.to_timedelta(WHOLE, unit="min"),
}


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each block that went to disk; batches are small."""
    found: list[int] = []
    real = spilled_events._Block.__init__

    def counted(self: Any, sequences: Any, *rest: Any) -> None:
        real(self, sequences, *rest)
        found.append(len(sequences))

    monkeypatch.setattr(spilled_events._Block, "__init__", counted)
    monkeypatch.setattr(parts, "ROWS_A_BATCH", 500)
    return found


def table(
    tmp_path: Path, kind: str, order: str, sort: bool = False, common: int = 0
) -> tuple[str, dict[str, Any]]:
    """Write events, the first `common` of them of one user; return the file and its options."""
    users = np.where(np.arange(ROWS) < common, 7, USERS)
    frame = pd.DataFrame({"user": users, "item": [f"i{i}" for i in RNG.integers(0, 50, ROWS)]})
    options: dict[str, Any] = {"sequence": "user", "entity": "item"}
    if ORDERS[order] is not None:
        frame["time"] = ORDERS[order]
        options |= {"order_by": "time", "max_gap": "90min" if order == "times" else 90}
    if sort:
        frame = frame.sort_values("user", kind="stable")
    file = tmp_path / f"events.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file, row_group_size=1_000)
    return str(file), options


@pytest.mark.parametrize("order", sorted(ORDERS))
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_paths_are_those_of_memory(tmp_path: Path, blocks: list[int], kind: str, order: str) -> None:
    file, options = table(tmp_path, kind, order)
    stream = as_source(file, memory=50_000, **options)
    assert isinstance(stream, PathStream)
    found, expected = collect(stream), hl.read_paths(file, **options)
    assert len(blocks) > 1
    assert np.array_equal(found.codes, expected.codes)
    assert np.array_equal(found.offsets, expected.offsets)
    assert found.vocabulary == expected.vocabulary


def test_orders_that_only_together_need_decimals_stay_in_memory(tmp_path: Path, blocks: list[int]) -> None:
    file, options = table(tmp_path, "csv", "whole")
    times = [str(4 * 10**18 + v) if i < 500 else f"{v / 10**5:.5f}" for i, v in enumerate(WHOLE.tolist())]
    pd.read_csv(file).assign(time=times).to_csv(file, index=False)
    found = collect(as_source(file, memory=50_000, **options))  # type: ignore[arg-type]
    assert list(found) == list(hl.read_paths(file, **options))
    assert not blocks


def test_sorted_rows_and_one_long_sequence(tmp_path: Path, blocks: list[int]) -> None:
    file, options = table(tmp_path, "csv", "whole", sort=True, common=3_000)
    assert list(collect(as_source(file, memory=20_000, **options))) == list(hl.read_paths(file, **options))  # type: ignore[arg-type]
    assert len(blocks) > 1


def test_a_small_table_stays_in_memory(tmp_path: Path, blocks: list[int]) -> None:
    file, options = table(tmp_path, "parquet", "whole")
    assert list(collect(as_source(file, memory=10**9, **options))) == list(hl.read_paths(file, **options))  # type: ignore[arg-type]
    assert not blocks


def test_blocks_share_their_files(tmp_path: Path, blocks: list[int]) -> None:
    file, keywords = table(tmp_path, "parquet", "growing")
    options = ReaderOptions.of(**keywords)
    events = spilled_events.SpilledEvents(options, Interner(), 1_000)
    open_before = len(os.listdir("/proc/self/fd"))
    gathered([open_part(Path(file), "parquet", options)], options, events, lambda step=1, note="": None)
    assert len(blocks) > 10
    assert len(os.listdir("/proc/self/fd")) <= open_before + 3


def test_order_auto_keeps_to_the_memory_too(tmp_path: Path, blocks: list[int]) -> None:
    file, options = table(tmp_path, "parquet", "whole")
    monkey = pytest.MonkeyPatch()
    monkey.setattr(spilled_events, "_ROW", 1_000)
    try:
        found = hl.grow(file, "auto", memory="1MB", **options)
    finally:
        monkey.undo()
    assert blocks
    assert found == hl.grow(file, "auto", **options)


def test_the_network_is_the_same_byte_for_byte(tmp_path: Path, blocks: list[int]) -> None:
    file, options = table(tmp_path, "parquet", "times")
    monkey = pytest.MonkeyPatch()
    monkey.setattr(spilled_events, "_ROW", 1_000)
    try:
        for i, memory in enumerate(({}, {"memory": "1MB"})):
            hl.grow(file, 2, tau=0.5, **memory, **options).save(tmp_path / f"{i}.hon")
    finally:
        monkey.undo()
    assert blocks
    assert (tmp_path / "0.hon").read_bytes() == (tmp_path / "1.hon").read_bytes()
