"""Windows that take two words: the same trie as from numbered grams, which need no keys at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honlearn.hon.chain import ChainCounter
from honlearn.hon.count import NARROW, WIDE, WindowCounter, packing_of
from honlearn.hon.counting import count_trie
from honlearn.hon.trie import Trie
from honlearn.hon.wide_keys import bits_at, merge, shifted, sort_and_sum, widen
from honlearn.paths.paths import PathChunk


class Chunks:
    """Paths in chunks, as a source that may be read once."""

    def __init__(self, chunks: list[PathChunk], entities: int) -> None:
        self.vocabulary = range(entities)
        self._chunks = chunks

    def chunks(self) -> Iterator[PathChunk]:
        return iter(self._chunks)


def chunk(rng: np.random.Generator, paths: int, entities: int, weighted: bool = False) -> PathChunk:
    lengths = rng.integers(1, 12, paths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # Some entities are common, so that windows repeat.
    codes = (rng.random(offsets[-1]) ** 8 * entities).astype(np.int32)
    return PathChunk(codes, offsets, rng.integers(1, 1000, paths) if weighted else None)


def numbered(chunks: list[PathChunk], order: int, entities: int) -> Trie:
    chain = ChainCounter(order)
    for one in chunks:
        chain.add(one, entities)
    return chain.trie(entities)


def assert_same(one: Trie, two: Trie) -> None:
    for a, b in zip(one, two, strict=True):
        for name in ("newest", "count", "first", "followed", "suffix"):
            x, y = getattr(a, name), getattr(b, name)
            assert x.dtype == y.dtype, name
            assert np.array_equal(x, y), name


@pytest.mark.parametrize(("order", "entities"), [(3, 70_000), (5, 3_000), (7, 60_000), (20, 40), (41, 5)])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("memory", [None, 1_000_000])
def test_the_trie_is_that_of_numbered_grams(
    order: int, entities: int, workers: int, memory: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("honlearn.hon.wide_trie.BLOCK", 777)
    rng = np.random.default_rng(order)
    # The first chunk fits one word, so keys become two words while they are counted, on disk as well.
    few = max(NARROW.capacity(order), 2)
    chunks = [
        chunk(rng, 8_000, few),
        chunk(rng, 8_000, entities, weighted=True),
        chunk(rng, 500, entities),
    ]
    assert packing_of(order, entities) is WIDE
    found = count_trie(Chunks(chunks, entities), order, workers, memory)  # type: ignore[arg-type]
    assert_same(found, numbered(chunks, order, entities))


def test_beyond_two_words_grams_are_numbered() -> None:
    rng = np.random.default_rng(1)
    chunks = [chunk(rng, 300, 500), chunk(rng, 300, 70_000)]
    assert packing_of(9, 500) is WIDE
    assert packing_of(9, 70_000) is None
    found = count_trie(Chunks(chunks, 70_000), 9, 1)  # type: ignore[arg-type]
    assert_same(found, numbered(chunks, 9, 70_000))


def test_entities_of_paths_that_were_left_out_need_no_second_word() -> None:
    chunks = [chunk(np.random.default_rng(2), 100, 50)]
    found = count_trie(Chunks(chunks, 100_000), 3, 1)  # type: ignore[arg-type]
    assert_same(found, numbered(chunks, 3, 100_000))


WORDS = st.integers(0, 2**128 - 1)


def split(keys: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([k >> 64 for k in keys], np.uint64), np.array([k % 2**64 for k in keys], np.uint64)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(WORDS, st.integers(1, 9)), max_size=40), st.integers(65, 128), st.integers(0, 30))
def test_sorted_sums_and_merges_are_those_of_whole_numbers(
    rows: list[tuple[int, int]], width: int, cut: int
) -> None:
    rows = [(key % 2**width, count) for key, count in rows] * 2
    sums: dict[int, int] = {}
    for key, count in rows:
        sums[key] = sums.get(key, 0) + count
    runs = [
        sort_and_sum(*split([k for k, _ in part]), np.array([c for _, c in part], np.int64), width)
        for part in (rows[:cut], rows[cut:])
    ]
    highs, lows, counts = merge(*runs)
    keys = [(int(high) << 64) | int(low) for high, low in zip(highs, lows, strict=True)]
    assert list(zip(keys, counts.tolist(), strict=True)) == sorted(sums.items())


@settings(deadline=None, max_examples=50)
@given(WORDS, st.integers(0, 130), st.integers(65, 128), st.integers(1, 31))
def test_bits_are_those_of_whole_numbers(key: int, by: int, width: int, bits: int) -> None:
    high, low = shifted(np.uint64(key >> 64), np.uint64(key % 2**64), by, width)
    assert (int(high) << 64) | int(low) == (key << by) % 2**width
    shift = min(by, 128 - bits)
    found = bits_at(np.uint64(key >> 64), np.uint64(key % 2**64), shift, np.uint64(2**bits - 1))
    assert int(found) == (key >> shift) % 2**bits


def test_wider_entities_stay_in_their_order() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2**13, (50, 6))
    highs, lows = split([sum(int(e) << (13 * j) for j, e in enumerate(row)) for row in rows])
    widen(highs, lows, 5, 13, 17)
    expected = split([sum(int(e) << (17 * j) for j, e in enumerate(row)) for row in rows])
    assert np.array_equal(highs, expected[0])
    assert np.array_equal(lows, expected[1])


def test_a_counter_goes_from_one_word_to_two() -> None:
    counter = WindowCounter(3, buffer=64, memory=1_000_000)
    counter.add(chunk(np.random.default_rng(4), 100, 1_000), 1_000)
    assert counter.packing is NARROW
    counter.add(chunk(np.random.default_rng(5), 100, 80_000), 80_000)
    assert counter.packing is WIDE
    assert len(counter.windows()) == 3
