"""Networks finished on an executor: the same bytes as in one process, by every rule and division."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.executors.here import Here
from honlearn.hon import family_network, grow_on, part_names, partitioned
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths import partitions

GOLDEN = Path(__file__).parent / "fixtures" / "growhon.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(GOLDEN.read_bytes()).splitlines()]
RULES: list[dict[str, Any]] = [{}, {"alpha": 0.5}, {"alpha": 1}, {"tau": 0.5, "min_support": 2}]


class Wide(Here):
    """Three workers, all of them this process, that hand out arrays which must not be written, as Ray's."""

    n_workers = 3

    def submit(self, function: Any, *args: Any, pieces: int | None = None) -> Any:
        made = super().submit(function, *args, pieces=pieces)
        for handle in made if isinstance(made, list) else [made]:
            freeze(handle.value)
        return made


def freeze(value: Any) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (list, tuple)):
        for one in value:
            freeze(one)


@pytest.fixture(autouse=True)
def always_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide and finish small files as if they were large."""
    monkeypatch.setattr(partitions, "LEAST_BYTES", 16)
    monkeypatch.setattr(partitioned, "_CODES_AT_ONCE", 7)
    monkeypatch.setattr(grow_on, "LEAST_FINISHED_APART", 0)
    monkeypatch.setattr(grow_on, "LEAST_TESTED_APART", 0)
    monkeypatch.setattr(part_names, "_MOST_ALONE", 2)


def bytes_of(network: HigherOrderNetwork, folder: Path) -> bytes:
    network.save(folder / "network.hon")
    return (folder / "network.hon").read_bytes()


def same(source: Any, folder: Path, order: int, **options: Any) -> HigherOrderNetwork:
    """Return the network of a source after comparing both ways of growing it."""
    local = hl.grow(source, order, **options)
    assert bytes_of(hl.grow(source, order, executor=Wide(), **options), folder) == bytes_of(local, folder)
    return local


def test_golden_cases(tmp_path: Path) -> None:
    file = tmp_path / "paths.txt"
    for i, case in enumerate(CASES):
        if paths := [path for path in case["paths"] if path]:
            file.write_text("".join(" ".join(path) + "\n" for path in paths))
            rule = {"tau": case["tau"], "min_support": case["min_support"]}
            same(str(file), tmp_path, case["k"], **rule, on_empty="skip")
            same(paths, tmp_path, case["k"], **RULES[i % len(RULES)])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12), min_size=1, max_size=30),
    st.integers(1, 4),
    st.sampled_from(RULES),
    st.integers(1, 5),
)
def test_any_paths_by_any_rule(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[list[str]],
    order: int,
    rule: dict[str, Any],
    times: int,
) -> None:
    folder = tmp_path_factory.mktemp("apart")
    (folder / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths * times))
    same(str(folder / "paths.txt"), folder, order, **rule)


def test_more_entities_than_a_key_holds(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    paths = [[f"e{i // 3 + j}" for j in rng.integers(0, 30, 20)] for i in range(60)]
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths))
    for rule in RULES:
        same(str(tmp_path / "paths.txt"), tmp_path, 12, **rule)


def test_entities_without_a_step_are_no_nodes(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("alone\n" * 5 + "a b c\n" * 9 + "last\n" * 5 + "b c a\n" * 9)
    assert "alone" not in same(str(tmp_path / "paths.txt"), tmp_path, 2).nodes
    same(str(tmp_path / "paths.txt"), tmp_path, 3, min_length=2)


def test_no_task_returns_all_grams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes to this process is smaller than the counts: p-values, kept contexts, rows of the network."""
    rng = np.random.default_rng(4)
    paths = [[f"n{i}" for i in rng.integers(0, 40, 8)] for _ in range(3000)]
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths))
    monkeypatch.setattr(partitions, "LEAST_BYTES", 1 << 12)
    taken: list[int] = []

    class Watched(Wide):
        def get(self, handle: Any) -> Any:
            value = super().get(handle)
            taken.append(entries(value))
            return value

    counts = hl.count_grams(paths, 3)
    grown = hl.grow(str(tmp_path / "paths.txt"), 3, executor=Watched())
    assert grown == counts.grow()
    assert grown.n_edges < len(counts) / 10
    assert max(taken) < len(counts) / 10


def entries(value: Any) -> int:
    """Return the largest array in a value."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        value = list(value.values())
    return max(map(entries, value), default=0) if isinstance(value, (list, tuple)) else 0


def test_a_failed_task_is_the_error_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise hl.errors.InputError("no such range")

    monkeypatch.setattr(family_network, "range_network", fails)
    with pytest.raises(hl.errors.InputError, match="no such range"):
        hl.grow([["a", "b", "c"]] * 9, 2, executor=Wide())


def test_local_processes_grow_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    starts = rng.integers(0, 12, (600, 2)).tolist()
    paths = [[f"n{i}", f"n{j}", f"n{(i + j) % 12}", f"n{(i + j) % 5}"] for i, j in starts]
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths))
    file = str(tmp_path / "paths.txt")
    for rule in ({"alpha": 0.9}, {"tau": 0.1, "min_support": 3}):
        local = hl.grow(paths, 3, **rule)
        assert local.n_conditional
        assert bytes_of(hl.grow(file, 3, executor=2, **rule), tmp_path) == bytes_of(local, tmp_path)


def test_paths_of_wikispeedia(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "LEAST_BYTES", 1 << 19)
    file = str(shared / "data/wikispeedia/paths.txt")
    assert same(file, tmp_path, 2).n_conditional > 1000
    same(file, tmp_path, 3, tau=1.0, min_support=2)
