"""Counting on an executor: the same counts as in one process, however the files are divided."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.executors.here import Here
from honlearn.hon import part_names, partitioned
from honlearn.hon.build import GramCounts, count_grams
from honlearn.paths import partitions
from honlearn.paths.partitions import partitions_of
from honlearn.paths.source import stream_paths

GOLDEN = Path(__file__).parent / "fixtures" / "growhon.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(GOLDEN.read_bytes()).splitlines()]


class Wide(Here):
    """Three workers, all of them this process."""

    n_workers = 3


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide small files as if they were large."""
    monkeypatch.setattr(partitions, "LEAST_BYTES", 16)
    monkeypatch.setattr(partitioned, "_LEAST_DIVIDED", 1)
    monkeypatch.setattr(partitioned, "_CODES_AT_ONCE", 7)
    monkeypatch.setattr(part_names, "_MOST_ALONE", 2)


def bytes_of(counts: GramCounts) -> list[tuple[str, bytes]]:
    arrays = [array for level in counts.levels for array in vars(level).values()]
    arrays += [counts.vocabulary.data, counts.vocabulary.offsets]
    return [(str(array.dtype), array.tobytes()) for array in arrays]


def same(source: Any, order: int = 2, **options: Any) -> GramCounts:
    """Return the counts of a source after comparing both ways of counting it."""
    local = count_grams(source, order, **options)
    assert bytes_of(count_grams(source, order, executor=Wide(), **options)) == bytes_of(local)
    return local


def test_golden_cases(tmp_path: Path) -> None:
    file = tmp_path / "paths.txt"
    for case in CASES:
        paths = [path for path in case["paths"] if path]
        if paths:
            file.write_text("".join(" ".join(path) + "\n" for path in paths))
            same(str(file), case["k"], on_empty="skip")
            same(paths, case["k"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "bb", "ccc", "日本", "eeeeeeeeee"]), min_size=1), min_size=1),
    st.integers(1, 4),
    st.integers(1, 40),
    st.booleans(),
)
def test_any_division_of_a_text_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, paths: list[list[str]], order: int, size: int, open_end: bool
) -> None:
    folder = tmp_path_factory.mktemp("divided")
    text = "\n".join(" ".join(path) for path in paths) + ("" if open_end else "\n")
    (folder / "a.txt").write_text(text)
    (folder / "b.txt").write_text("\ufeffz a\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "LEAST_BYTES", size)
        patch.setattr(partitions, "MOST_BYTES", size)
        parts = partitions_of(stream_paths(str(folder / "*.txt")), 3)
        assert parts is not None
        lines = b""
        for part in parts:
            whole = part.file.read_bytes()
            lines += whole if part.span is None else whole[slice(*part.span)]
        assert lines == (folder / "a.txt").read_bytes() + (folder / "b.txt").read_bytes()
        same(str(folder / "*.txt"), order)


def table(folder: Path, rows: Sequence[Sequence[str]]) -> pa.Table:
    columns = {"path": [list(row) for row in rows], "n": [1 + i % 3 for i in range(len(rows))]}
    made = pa.table(columns)
    pq.write_table(made, folder / "paths.parquet", row_group_size=7)
    return made


def test_every_format(tmp_path: Path) -> None:
    names = [f"name{i}" for i in range(30)]
    rng = np.random.default_rng(0)
    rows = [[names[i] for i in rng.integers(0, 30, rng.integers(1, 6))] for _ in range(60)]
    made = table(tmp_path, rows)
    column = {"path_column": "path", "count_column": "n"}
    assert len(partitions_of(stream_paths(str(tmp_path / "paths.parquet"), **column), 3) or []) == 6
    same(str(tmp_path / "paths.parquet"), 3, **column)
    same(made, **column)
    lines = "".join(f"{' '.join(row)},{i % 3 + 1}\n" for i, row in enumerate(rows))
    for part, text in enumerate((lines[: len(lines) // 2].rpartition("\n")[0], "")):
        (tmp_path / f"p{part}.csv").write_text(f"path,n\n{text}\n")
    (tmp_path / "lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    same(str(tmp_path / "p*.csv"), **column)
    same(str(tmp_path / "lists.jsonl"))
    with gzip.open(tmp_path / "packed.txt.gz", "wt") as file:
        file.writelines(" ".join(row) + " 2\n" for row in rows)
    same(str(tmp_path / "packed.txt.gz"), trailing_count=True)
    events = "".join(f"{i % 7},{i},{name}\n" for i, name in enumerate(name for row in rows for name in row))
    (tmp_path / "events.csv").write_text(f"trip,time,stop\n{events}")
    options = {"sequence": "trip", "order_by": "time", "entity": "stop"}
    assert partitions_of(stream_paths(str(tmp_path / "events.csv"), **options), 3) is None
    same(str(tmp_path / "events.csv"), **options)
    same(hl.Paths.from_lists(rows, [1 + i % 4 for i in range(60)]))
    same(rows, min_length=3, drop_repeats=True)
    same(hl.Paths.from_lists(rows).take([]))


def test_entities_of_dropped_paths_have_their_codes(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("only\n" * 5 + "a b c\n" * 9 + "last\n" * 5 + "b c a\n" * 9)
    counts = same(str(tmp_path / "paths.txt"), min_length=2)
    assert list(counts.vocabulary) == ["only", "a", "b", "c", "last"]


@pytest.mark.parametrize("spread", [1, 40])
def test_more_entities_than_a_key_holds(tmp_path: Path, spread: int) -> None:
    """Some parts have too many entities by themselves, or none has, and all of them together have."""
    rng = np.random.default_rng(1)
    paths = [[f"e{i // spread + j}" for j in rng.integers(0, 40, 30)] for i in range(80)]
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths))
    counts = same(str(tmp_path / "paths.txt"), 12)
    assert len(counts.vocabulary) > 2**4
    same(paths, 12)
    dropped = [*paths, ["new", "names"]]
    assert len(same(dropped, 12, min_length=3).vocabulary) == len(counts.vocabulary) + 2


@pytest.mark.parametrize("alone", [1, 4, 10**6])
def test_names_are_numbered_in_groups_as_by_one_process(
    tmp_path: Path, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_names, "_MOST_ALONE", alone)
    rng = np.random.default_rng(5)
    paths = [[f"e{j}" for j in rng.zipf(1.5, 6) % 300] for _ in range(120)]
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths))
    joined: list[int] = []
    join = part_names.join_names
    monkeypatch.setattr(part_names, "join_names", lambda *names: joined.append(len(names)) or join(*names))
    same(str(tmp_path / "paths.txt"), 2)
    assert bool(joined) == (alone < 10)


def test_errors_are_those_of_one_process(tmp_path: Path) -> None:
    file = tmp_path / "paths.txt"
    file.write_text("a b\n" * 50 + "a  b\n" + "a b\n" * 50 + "a|b c\n")
    with pytest.raises(InputError, match=r"paths\.txt:51: empty entity id"):
        count_grams(str(file), executor=Wide())
    file.write_text("a\n" * 50)
    with pytest.raises(InputError, match=r"paths\.txt: no path at all; 50 were shorter than min_length=2"):
        count_grams(str(file), executor=Wide(), min_length=2)
    file.write_text(f"a b {2**61}\n" * 20)
    with pytest.raises(InputError, match=r"add up to more than 2\*\*62 steps"):
        count_grams(str(file), executor=Wide(), trailing_count=True)
    table(tmp_path, [["a", "b"]] * 20 + [["a", ""]])
    with pytest.raises(InputError, match=r"paths\.parquet: row 20 \(counted from 0\): empty"):
        count_grams(str(tmp_path / "paths.parquet"), executor=Wide(), path_column="path")
    with pytest.raises(ParameterError, match="n_workers=2 and executor=3: give one of the two"):
        count_grams([["a", "b"]], n_workers=2, executor=3)
    with pytest.raises(ParameterError, match="must be a number of local processes"):
        count_grams([["a", "b"]], executor="rai")


def test_networks_and_updates(tmp_path: Path) -> None:
    rows = [["A", "C", "D"], ["B", "C", "E"]] * 20
    (tmp_path / "paths.txt").write_text("".join(" ".join(row) + "\n" for row in rows))
    file = str(tmp_path / "paths.txt")
    assert hl.grow(file, "auto", executor=Wide()) == hl.grow(rows, "auto")
    assert hl.grow(file, 2, tau=1.0, executor=Wide()) == hl.grow(rows, 2, tau=1.0)
    more = count_grams(rows).update(file, executor=Wide())
    assert bytes_of(more) == bytes_of(count_grams(rows * 2))


def test_local_processes_count_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    paths = [[f"n{i}" for i in rng.integers(0, 50, 5)] for _ in range(400)]
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths))
    assert bytes_of(count_grams(str(tmp_path / "paths.txt"), executor=2)) == bytes_of(count_grams(paths))


def test_paths_of_wikispeedia(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "LEAST_BYTES", 1 << 17)
    monkeypatch.setattr(partitioned, "_CODES_AT_ONCE", 1 << 16)
    file = str(shared / "data/wikispeedia/paths.txt")
    assert len(partitions_of(stream_paths(file), 3) or []) > 3
    for order in (2, 5):
        same(file, order)
