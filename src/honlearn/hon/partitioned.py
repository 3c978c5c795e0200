"""Counting on an executor: partitions are counted where they are read, and summed range by range.

In: paths in files, or any other source, and an executor (:mod:`honlearn.executors`). Out: the trie of all
counts and the vocabulary, equal to those of one process. Files are divided
(:mod:`honlearn.paths.partitions`) and each part is read and counted by a worker; another source is read
here, and its chunks are counted there. Windows travel between workers once, by range of keys, and at the end
to this process, summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.executors import Executor
from honlearn.hon.counting import count_trie
from honlearn.hon.keys import FIRST, Run, capacity
from honlearn.hon.merge import check_steps
from honlearn.hon.part_names import Group, Part, number_parts
from honlearn.hon.partial import (
    count_chunks,
    count_partition,
    divide,
    divide_without_keys,
    repacked,
    sum_range,
)
from honlearn.hon.trie import Trie, trie_from_windows
from honlearn.hon.trie_ranges import Levels, Range, join_ranges, sum_trie_range
from honlearn.paths.partitions import partitions_of
from honlearn.paths.paths import PathChunk, Paths
from honlearn.paths.stream import PathStream
from honlearn.paths.vocabulary import Vocabulary
from honlearn.progress import Advance, progress

# Codes that are sent to a worker at once: 16 MB.
_CODES_AT_ONCE = 1 << 22
# Fewer windows than this in all parts together are not worth dividing.
_LEAST_DIVIDED = 1 << 16


@dataclass(frozen=True)
class CountedParts:
    """All parts, in groups by their names, with the names of the whole."""

    groups: list[Group]
    vocabulary: Vocabulary
    held: list[Any]

    @property
    def parts(self) -> list[Part]:
        """The parts, in the order of the source."""
        return [part for group in self.groups for part in group.parts]

    @property
    def size(self) -> int:
        """Windows, summed over parts."""
        return sum(part.summary.size for part in self.parts)

    def spread(self, values: NDArray[np.int64] | None, pool: Executor) -> list[Any]:
        """Return, for each part, the values of its entities, or a handle of them; None are their codes."""
        return [one for group in self.groups for one in group.spread(values, pool, self.held)]


def count_on(source: Paths | PathStream, order: int, pool: Executor) -> tuple[Trie, Vocabulary]:
    """Return the counts of all grams of up to `order` + 1 entities, and the names of the entities."""
    with counted_parts(source, order, pool) as counted:
        return gathered(source, counted, order, pool), counted.vocabulary


@contextmanager
def counted_parts(source: Paths | PathStream, order: int, pool: Executor) -> Iterator[CountedParts]:
    """Count all parts, number their entities, and keep their windows with the workers for a block."""
    held: list[Any] = []
    try:
        parts = _counted(source, order, pool, held)
        vocabulary, groups = number_parts(parts, pool, held)
        _check(parts, source)
        yield CountedParts(groups, source.vocabulary if vocabulary is None else vocabulary, held)
    finally:
        pool.release(held)


def gathered(source: Paths | PathStream, counted: CountedParts, order: int, pool: Executor) -> Trie:
    """Return the sum of all parts, in this process."""
    n = len(counted.vocabulary)
    if not counted.groups:
        return count_trie(source, order, 1)
    if n > capacity(order) or not all(part.summary.packed for part in counted.parts):
        return _without_keys(counted, order, n, pool)
    return _ranges(counted, order, n, pool)


def _counted(source: Paths | PathStream, order: int, pool: Executor, held: list[Any]) -> list[Part]:
    """Return all parts, in the order of the source; the error of the first that fails is raised."""
    found = partitions_of(source, pool.n_workers) if isinstance(source, PathStream) else None
    begun: list[list[Any]] = []
    parts: list[Part] = []
    total = None if found is None else len(found)
    name, show = (source.name, source.show) if isinstance(source, PathStream) else ("paths", False)
    with progress(f"counting {name}", total, show=show if total else False) as advance:
        if found is not None:
            for partition in found:
                begun.append(_begin(count_partition, partition, order, pool, held))
        else:
            for chunks in _batches(source):
                begun.append(_begin(count_chunks, chunks, order, pool, held))
                # What is read is sent on; more than this would only wait in memory.
                if len(begun) > 2 * pool.n_workers:
                    parts.append(_take(begun, pool, advance))
        while begun:
            parts.append(_take(begun, pool, advance))
    return parts


def _begin(count: Callable[..., Any], what: Any, order: int, pool: Executor, held: list[Any]) -> list[Any]:
    handles = list(pool.submit(count, what, order, pieces=3))
    held += handles
    return handles


def _take(begun: list[list[Any]], pool: Executor, advance: Advance) -> Part:
    summary, names, windows = begun.pop(0)
    part = Part(pool.get(summary), names, windows)
    advance(1)
    return part


def _batches(source: Paths | PathStream) -> Iterator[list[PathChunk]]:
    """Yield the chunks of a source, some millions of codes at a time."""
    batch: list[PathChunk] = []
    size = 0
    for chunk in source.chunks():
        batch.append(chunk)
        size += len(chunk.codes)
        if size >= _CODES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _check(parts: list[Part], source: Paths | PathStream) -> None:
    """Raise for a source without a path, or with so many that sums would overflow."""
    if isinstance(source, PathStream) and not any(part.summary.paths for part in parts):
        raise source.nothing(sum(part.summary.dropped for part in parts))
    check_steps(sum(part.summary.steps for part in parts))


def _ranges(counted: CountedParts, order: int, vocabulary: int, pool: Executor) -> Trie:
    """Return the trie of all windows, divided by key and summed on the workers."""
    bits = (vocabulary + FIRST - 1).bit_length()
    edges = _edges(counted, order, bits, pool.n_workers)
    codes = counted.spread(None, pool)
    calls = [
        (part.windows, mine, order, bits, edges) for part, mine in zip(counted.parts, codes, strict=True)
    ]
    runs = _summed(pool, divide, calls, len(edges) + 1, _sum_runs)
    keys, counts = (np.concatenate(arrays) for arrays in zip(*runs, strict=True))
    return trie_from_windows((keys, counts), order, bits, vocabulary)


def _sum_runs(*runs: Run) -> list[Run]:
    return [sum_range(*runs)]


def _summed(
    pool: Executor,
    divide_part: Callable[..., Any],
    calls: list[tuple[Any, ...]],
    ranges: int,
    sum_parts: Callable[..., Any],
    *facts: Any,
) -> list[Any]:
    """Divide every part into ranges, sum each range over all parts, and return the sums in their order."""
    pieces: list[list[Any]] = []
    sums: list[Any] = []
    try:
        for call in calls:
            pieces.append(pool.submit(divide_part, *call, pieces=ranges))
        for column in zip(*pieces, strict=True):
            sums += pool.submit(sum_parts, *facts, *column, pieces=1)
        return [pool.get(handle) for handle in sums]
    finally:
        pool.release([*sums, *(handle for row in pieces for handle in row)])


def _edges(counted: CountedParts, order: int, bits: int, ranges: int) -> NDArray[np.uint64]:
    """Return where the ranges of keys begin, after the first, so that each has about as many windows."""
    if counted.size < _LEAST_DIVIDED or ranges == 1:
        return np.empty(0, np.uint64)
    keys, weights = [], []
    # Of a group, the first part stands for all: its codes are known here.
    for group in counted.groups:
        for part in group.parts[:1] if group.codes is not None else group.parts:
            found = part.summary
            keys.append(repacked(found.sample, group.codes, order, found.bits, bits))
            weights.append(np.full(len(found.sample), found.size / max(len(found.sample), 1)))
    joined, weight = np.concatenate(keys), np.concatenate(weights)
    order_of = np.argsort(joined, kind="stable")
    reached = np.cumsum(weight[order_of])
    places = np.searchsorted(reached, reached[-1] * np.arange(1, ranges) / ranges)
    return np.unique(joined[order_of][places])


def _without_keys(counted: CountedParts, order: int, vocabulary: int, pool: Executor) -> Trie:
    """Return the sum of the tries of all parts, divided by their oldest entity and summed on the workers."""
    edges = entity_edges(counted, order, pool.n_workers, np.arange(vocabulary))
    codes = counted.spread(None, pool)
    parts = zip(counted.parts, codes, strict=True)
    calls = [(part.windows, mine, vocabulary, order, edges) for part, mine in parts]
    return join_ranges(_summed(pool, divide_without_keys, calls, len(edges) + 1, _sum_tries, vocabulary))


def _sum_tries(vocabulary: int, *parts: Range) -> list[Levels]:
    return [sum_trie_range(vocabulary, *parts)]


def entity_edges(counted: CountedParts, order: int, ranges: int, ranks: NDArray[np.int64]) -> list[int]:
    """Return the ranks of entities at which ranges begin, after the first, with about as many grams each."""
    found = []
    for group in counted.groups:
        for part in group.parts[:1] if group.codes is not None else group.parts:
            oldest = part.summary.oldest(order)
            found.append(ranks[oldest if group.codes is None else group.codes[oldest]])
    joined = np.sort(np.concatenate(found))
    places = len(joined) * np.arange(1, ranges) // ranges
    return [] if not len(joined) else [int(edge) for edge in np.unique(joined[places]) if edge]
