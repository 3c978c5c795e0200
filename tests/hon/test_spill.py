"""Counting in bounded memory: runs on disk, their sum by key range, and the same arrays as in memory."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import honlearn as hl
from honlearn import disk_arrays
from honlearn.disk_arrays import DiskArray
from honlearn.errors import InputError, ParameterError
from honlearn.hon.build import GramCounts
from honlearn.hon.count import WindowCounter
from honlearn.hon.keys import merge
from honlearn.hon.spill import MOST_RUNS, SpilledRun, merge_ranges
from honlearn.paths.paths import PathChunk, Paths
from honlearn.sizes import parse_size, shown_size


def random_paths(n: int, entities: int, seed: int, longest: int = 9) -> list[list[str]]:
    """Return paths whose vocabulary grows while they are read, so that keys are packed anew."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, n)
    return [[f"e{rng.integers(2 + entities * i // n)}" for _ in range(m)] for i, m in enumerate(lengths)]


def assert_same(one: GramCounts, two: GramCounts) -> None:
    assert one.order == two.order
    for a, b in zip(one.levels, two.levels, strict=True):
        for name in ("newest", "count", "first", "followed", "suffix"):
            x, y = getattr(a, name), getattr(b, name)
            assert x.dtype == y.dtype
            assert np.array_equal(x, y)


@pytest.fixture
def spills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs that went to disk."""
    found: list[int] = []
    real = SpilledRun.__init__

    def counted(self: SpilledRun, columns: Any) -> None:
        real(self, columns)
        found.append(len(columns[0]))

    monkeypatch.setattr(SpilledRun, "__init__", counted)
    return found


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_counts_are_those_of_memory(
    order: int, workers: int, spills: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("honlearn.hon.disk_trie.BLOCK", 777)
    paths = random_paths(30_000, 300, seed=order)
    source = hl.stream_paths(iter(paths)) if workers == 1 else hl.read_paths(paths)
    spilled = hl.count_grams(source, order, memory="1MB", n_workers=workers)
    assert len(spills) > 2
    assert_same(spilled, hl.count_grams(paths, order))


@pytest.mark.parametrize(("order", "entities"), [(2, 5_000), (6, 5_000)], ids=["one word", "two words"])
def test_many_runs_are_few_open_files(order: int, entities: int, spills: list[int]) -> None:
    rng = np.random.default_rng(order)
    counter, whole = WindowCounter(order, memory=20_000), WindowCounter(order)
    most, before = 0, len(os.listdir("/proc/self/fd"))
    for _ in range(300):
        codes = rng.integers(0, entities, 1_000).astype(np.int32)
        chunk = PathChunk(codes, np.arange(0, 1_001, 10), None)
        counter.add(chunk, entities)
        whole.add(chunk, entities)
        most = max(most, len(os.listdir("/proc/self/fd")) - before)
    assert len(spills) > 100
    assert most <= 3 * MOST_RUNS
    pieces = list(counter.pieces())
    for found, expected in zip(zip(*pieces, strict=True), whole.windows(), strict=True):
        assert np.array_equal(np.concatenate(found), expected)


def test_the_network_is_the_same_byte_for_byte(tmp_path: Path, spills: list[int]) -> None:
    paths = random_paths(30_000, 200, seed=5)
    for i, options in enumerate([{}, {"memory": "1MB"}]):
        hl.grow(paths, 3, tau=0.1, min_support=2, **options).save(tmp_path / f"{i}.hon")
        hl.grow(paths, 2, **options).save(tmp_path / f"{i}-alpha.hon")
    assert spills
    assert (tmp_path / "0.hon").read_bytes() == (tmp_path / "1.hon").read_bytes()
    assert (tmp_path / "0-alpha.hon").read_bytes() == (tmp_path / "1-alpha.hon").read_bytes()


def test_counts_of_paths_are_summed(spills: list[int]) -> None:
    rng = np.random.default_rng(2)
    paths = hl.read_paths(random_paths(20_000, 200, seed=3))
    weighted = Paths(paths.codes, paths.offsets, paths.vocabulary, rng.integers(1, 2**40, len(paths)))
    assert_same(hl.count_grams(weighted, 2, memory=1_000_000), hl.count_grams(weighted, 2))
    assert spills


def test_spilled_counts_can_be_saved_updated_and_asked(tmp_path: Path, spills: list[int]) -> None:
    paths = random_paths(20_000, 200, seed=8)
    counts = hl.count_grams(paths, 2, memory="1MB")
    assert spills
    counts.save(tmp_path / "all.counts")
    assert_same(hl.load_counts(tmp_path / "all.counts"), counts)
    assert_same(counts.update(paths[:50]), hl.count_grams(paths + paths[:50], 2))
    assert len(counts.next_steps(["e0"], top=3)) == 3


def test_ranges_are_small_ascend_and_sum_up() -> None:
    rng = np.random.default_rng(0)
    runs, everything = [], (np.empty(0, np.uint64), np.empty(0, np.int64))
    for n in (5_000, 30, 9_000, 1):
        run = np.unique(rng.integers(0, 20_000, n).astype(np.uint64)), np.empty(0, np.int64)
        run = run[0], rng.integers(1, 9, len(run[0]))
        everything = merge(everything, run)
        runs.append(SpilledRun(run))
    pieces = list(merge_ranges(runs, 500, merge))
    assert len(pieces) > 20
    assert max(len(keys) for keys, _ in pieces) <= 500
    for column, expected in enumerate(everything):
        assert np.array_equal(np.concatenate([piece[column] for piece in pieces]), expected)


def test_a_counter_in_little_memory_holds_little() -> None:
    rng = np.random.default_rng(0)
    counter = WindowCounter(2, memory=1_000_000)
    for _ in range(20):
        codes = rng.integers(0, 1000, 20_000).astype(np.int32)
        counter.add(PathChunk(codes, np.arange(0, 20_001, 5), None), 1000)
        assert 16 * len(counter) <= 1_000_000
    keys, counts = counter.windows()
    assert counts.sum() == 20 * 4000 * (5 - 2 + 1)
    assert (keys[1:] > keys[:-1]).all()


def test_memory_that_was_let_go_comes_back_the_same() -> None:
    array = DiskArray(np.int64)
    array.append(np.arange(5000))
    mapped, plain = array.mapped(), np.arange(3)
    assert mapped.sum() == 5000 * 4999 // 2
    disk_arrays.let_go([mapped[10:], plain, np.empty(0)])
    array.close()
    assert np.array_equal(mapped, np.arange(5000))


def test_walks_over_mapped_arrays_see_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_arrays, "BLOCK", 100)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1000, 1234)
    array = DiskArray(np.int64)
    array.append(values)
    mapped = array.mapped()
    for places in (np.unique(rng.integers(0, 1234, 90)), np.array([0, 99, 100, 1233]), np.empty(0, np.int64)):
        assert np.array_equal(disk_arrays.gather(mapped, places), values[places])
    walked = [np.arange(1234)[part] for part in disk_arrays.nearby(np.arange(1234), (mapped,))]
    assert [len(part) for part in walked] == [100] * 12 + [34]
    found = disk_arrays.where(1234, lambda part: mapped[part] > 500, (mapped,))
    assert np.array_equal(found, np.flatnonzero(values > 500))
    disk_arrays.give_back([mapped, values])
    assert np.array_equal(mapped, values)


def test_a_full_disk_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    array = DiskArray(np.int64)
    monkeypatch.setattr(array, "_file", Full())
    with pytest.raises(InputError, match=r"the disk is full after .*TMPDIR"):
        array.append(np.arange(3))


def test_a_folder_that_cannot_be_written_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(disk_arrays.tempfile, "TemporaryFile", refuse)
    with pytest.raises(InputError, match="no temporary file can be written there: Permission denied"):
        DiskArray(np.int64)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Not even while the process runs: the files have no names."""
    program = """
import os, signal, sys, numpy as np, honlearn as hl
from honlearn.hon import counting
real = counting.trie_from_pieces
def killed(*given):
    assert not os.listdir(sys.argv[1])
    os.kill(os.getpid(), signal.SIGKILL)
counting.trie_from_pieces = killed
rng = np.random.default_rng(0)
hl.count_grams([rng.integers(0, 300, 5).tolist() for _ in range(30_000)], memory="1MB")
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], env=environment, check=False)
    assert done.returncode == -9
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", ["lots", "", "-5MB", "5 apples", 0, True, 1.5, "1kB", "nanMB", "9" * 400])
def test_a_bad_size_is_one_clear_error(size: Any) -> None:
    with pytest.raises(ParameterError, match=r"'memory' parameter .* must be a size of at least 1 MB"):
        hl.count_grams([["a", "b"]], memory=size)


def test_sizes_are_read_in_all_units() -> None:
    written = {
        "1": 1,
        "2b": 2,
        "3 kB": 3000,
        "4KiB": 4096,
        ".5m": 500_000,
        "1.5GB": 1_500_000_000,
        "1TiB": 2**40,
    }
    assert {text: parse_size("here", "size", text) for text in written} == written
    assert parse_size("here", "size", np.int64(5)) == 5


def test_sizes_are_shown_in_the_unit_that_they_fill() -> None:
    sizes = {999: "999 bytes", 999_400: "999 kB", 999_600: "1 MB", 999_999_999: "1 GB", 2e15: "2e+03 TB"}
    assert {size: shown_size(size) for size in sizes} == sizes
