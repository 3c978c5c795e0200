"""Partial counts: what a worker does with a part of the paths, and with a range of the windows.

In: a partition of files, or chunks of codes. Out: the windows of that part (:mod:`honlearn.hon.count`), which
stay with the worker, and a summary, which does not. Entities of a partition are numbered by their first
appearance in it; once the numbers of all are known, the windows are packed again with these, sorted, and
divided into ranges of keys. The sum of a range over all parts is a part of the sum of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.count import WindowCounter
from honlearn.hon.counting import count_trie
from honlearn.hon.keys import FIRST, Run, capacity, merge, sort_and_sum
from honlearn.hon.trie import Trie, trie_from_windows
from honlearn.hon.trie_ranges import Range, divide_trie
from honlearn.jit import njit
from honlearn.paths.partitions import Partition
from honlearn.paths.paths import PathChunk
from honlearn.paths.vocabulary import Vocabulary

SAMPLED = 256
Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True)
class Windows:
    """The windows of a part, sorted by keys of `bits` bits per entity, and what they were counted from."""

    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]
    bits: int
    entities: int
    steps: float
    paths: int


@dataclass(frozen=True)
class Summary:
    """What is known of a part: entities, steps, paths, windows and some of these.

    `named` tells whether it has codes of its own, else they are those of the whole. `packed` tells whether
    there are windows; else the part has so many entities that it was counted without keys, there is a trie,
    and the sample is of the oldest entities of its longest grams.
    """

    named: bool
    entities: int
    steps: float
    paths: int
    dropped: int
    size: int
    bits: int
    sample: NDArray[np.uint64]
    packed: bool

    def oldest(self, order: int) -> NDArray[np.int64]:
        """Return the oldest entity of the windows of the sample that are not padded."""
        if not self.packed:
            return self.sample.astype(np.int64)
        oldest = (self.sample >> np.uint64(order * self.bits)).astype(np.int64)
        return oldest[oldest >= FIRST] - FIRST


Counted = tuple[Summary, Vocabulary | None, Windows | Trie]


def count_partition(partition: Partition, order: int) -> Counted:
    """Count a part of a file, with codes of its own; its names are those of the codes."""
    stream = partition.stream()
    counted = _count(stream.chunks(), order)
    if counted is None:
        stream = partition.stream()
        trie = count_trie(stream, order, 1)
        return _without_keys(True, stream.dropped, trie), stream.vocabulary, trie
    # Entities that only a path had that was dropped have a code, too.
    counted = replace(counted, entities=len(stream.vocabulary))
    return _summary(True, stream.dropped, counted), stream.vocabulary, counted


def count_chunks(chunks: list[PathChunk], order: int) -> Counted:
    """Count chunks whose codes are those of the whole."""
    counted = _count(chunks, order)
    if counted is None:
        trie = count_trie(_Chunks(chunks), order, 1)  # type: ignore[arg-type]
        return _without_keys(False, 0, trie), None, trie
    return _summary(False, 0, counted), None, counted


class _Chunks:
    """Chunks as a source of paths whose vocabulary is its codes."""

    def __init__(self, chunks: list[PathChunk]) -> None:
        self.vocabulary = range(max(int(chunk.codes.max(initial=-1)) + 1 for chunk in chunks))
        self._chunks = chunks

    def chunks(self) -> Iterable[PathChunk]:
        return self._chunks


def _count(chunks: Iterable[PathChunk], order: int) -> Windows | None:
    """Return the windows; None once there are too many entities for a key."""
    counter, bound, steps, paths = WindowCounter(order), 0, 0.0, 0
    for chunk in chunks:
        bound = max(bound, int(chunk.codes.max(initial=-1)) + 1)
        if bound > capacity(order):
            return None
        lengths = np.diff(chunk.offsets).astype(np.float64)
        steps += float(lengths.sum() if chunk.counts is None else lengths @ chunk.counts)
        paths += len(lengths)
        counter.add(chunk, bound)
    keys, counts = counter.windows()
    return Windows(keys, counts, counter.bits, bound, steps, paths)


def _summary(named: bool, dropped: int, found: Windows) -> Summary:
    size = len(found.keys)
    sample = found.keys[np.linspace(0, size - 1, min(SAMPLED, size)).astype(np.int64)]
    return Summary(
        named, found.entities, found.steps, found.paths, dropped, size, found.bits, sample, packed=True
    )


def _without_keys(named: bool, dropped: int, trie: Trie) -> Summary:
    steps, size = float(trie[0].count.sum(dtype=np.float64)), len(trie[-1])
    sample = np.linspace(0, size - 1, min(SAMPLED, size)).astype(np.int64)
    for level in trie[-2::-1]:
        sample = level.prefix(sample)
    oldest = sample.astype(np.uint64)
    return Summary(named, len(trie[0]), steps, 1, dropped, size, 0, oldest, packed=False)


def writable(array: Array) -> Array:
    """Return an array that compiled loops know: some engines hand out arrays that must not be written."""
    return array if array.flags.writeable else array.copy()


@njit
def _repack(
    keys: NDArray[np.uint64], codes: NDArray[np.int64], order: int, bits: int, more: int
) -> NDArray[np.uint64]:
    """Return the keys with `more` bits per entity and the entities by their new codes."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    out = np.empty(len(keys), np.uint64)
    for i in range(len(keys)):
        key = np.uint64(0)
        for j in range(order + 1):
            symbol = np.int64((keys[i] >> np.uint64(j * bits)) & mask)
            if symbol >= FIRST and len(codes):
                symbol = codes[symbol - FIRST] + FIRST
            key |= np.uint64(symbol) << np.uint64(j * more)
        out[i] = key
    return out


def repacked(
    keys: NDArray[np.uint64], codes: NDArray[np.int64] | None, order: int, bits: int, more: int
) -> NDArray[np.uint64]:
    """Return keys by other codes and of other width, not sorted; None are the same codes."""
    if codes is None and bits == more:
        return keys
    codes = np.empty(0, np.int64) if codes is None else writable(codes)
    return _repack(writable(keys), codes, order, bits, more)


def divide(
    windows: Windows, codes: NDArray[np.int64] | None, order: int, bits: int, edges: NDArray[np.uint64]
) -> list[Run]:
    """Return the windows by the codes of the whole, in as many ranges of keys as `edges` divide."""
    keys, counts = repacked(windows.keys, codes, order, windows.bits, bits), windows.counts
    if codes is not None and (codes[:-1] > codes[1:]).any():
        keys, counts = sort_and_sum(keys, counts.copy(), (order + 1) * bits)
    at = [0, *np.searchsorted(keys, edges).tolist(), len(keys)]
    return [(keys[a:b], counts[a:b]) for a, b in pairwise(at)]


def sum_range(*runs: Run) -> Run:
    """Return the sum of one range over all parts."""
    left = [(writable(keys), writable(counts)) for keys, counts in runs]
    while len(left) > 1:
        pairs = [merge(one, two) for one, two in zip(left[::2], left[1::2], strict=False)]
        left = pairs + left[len(left) - len(left) % 2 :]
    return left[0]


def divide_without_keys(
    part: Windows | Trie, codes: NDArray[np.int64] | None, vocabulary: int, order: int, edges: list[int]
) -> list[Range]:
    """Return the grams of a part by the codes of the whole, in ranges of their oldest entity."""
    trie = trie_of(part, order)
    codes = np.arange(len(trie[0])) if codes is None else codes
    return divide_trie(trie, codes, vocabulary, edges)


def trie_of(part: Windows | Trie, order: int) -> Trie:
    """Return the trie of a part, which stays as it is."""
    if not isinstance(part, Windows):
        return part
    # The trie takes the arrays over; what a worker keeps must stay as it is, should the task be repeated.
    run = part.keys.copy(), part.counts.copy()
    return trie_from_windows(run, order, part.bits, part.entities)
