"""Counting a source of paths, chunk by chunk, on one thread or several.

In: paths, or a stream larger than memory. Out: the trie of all counts. Which counter does the work depends on
how many entities there are: packed keys (:mod:`honlearn.hon.count`) as long as a window fits two words of 64
bits, numbered grams (:mod:`honlearn.hon.chain`) beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import cast

import numpy as np

from honlearn.hon.chain import ChainCounter
from honlearn.hon.count import WindowCounter, packing_of
from honlearn.hon.disk_trie import trie_from_pieces
from honlearn.hon.keys import Run
from honlearn.hon.merge import check_steps
from honlearn.hon.trie import Trie, trie_from_windows
from honlearn.paths.paths import PathChunk, Paths
from honlearn.paths.stream import PathStream


def count_trie(source: Paths | PathStream, order: int, n_workers: int, memory: int | None = None) -> Trie:
    """Count with packed keys; from the chunk on whose vocabulary is too large for them, by numbered grams."""
    chunks = _sized(source)
    share = None if memory is None else memory // n_workers
    counters = [WindowCounter(order, memory=share) for _ in range(n_workers)]
    overflow = None
    with ThreadPoolExecutor(n_workers) as pool:
        pending: list[Future[None]] = []
        for i, (chunk, vocabulary) in enumerate(chunks):
            if packing_of(order, vocabulary) is None:
                overflow = chunk, vocabulary
                break
            if n_workers == 1:
                counters[0].add(chunk, vocabulary)
                continue
            if len(pending) == n_workers:
                pending.pop(0).result()
            pending.append(pool.submit(counters[i % n_workers].add, chunk, vocabulary))
        for future in pending:
            future.result()
    if overflow is None:
        return _packed_trie(counters, order, len(source.vocabulary))
    chain = ChainCounter(order)
    if any(len(counter) or counter.spilled for counter in counters):
        chain.add_trie(_packed_trie(counters, order, overflow[1]))
    chain.add(*overflow)
    for chunk, vocabulary in chunks:
        chain.add(chunk, vocabulary)
    return chain.trie(len(source.vocabulary))


def _sized(source: Paths | PathStream) -> Iterator[tuple[PathChunk, int]]:
    """Yield each chunk with a bound on the codes so far; raise before a count could overflow."""
    bound, steps = 0, 0.0
    for chunk in source.chunks():
        if chunk.counts is not None:
            steps += float(np.diff(chunk.offsets).astype(np.float64) @ chunk.counts)
            check_steps(steps)
        bound = max(bound, int(chunk.codes.max(initial=-1)) + 1)
        yield chunk, bound


def _packed_trie(counters: list[WindowCounter], order: int, vocabulary: int) -> Trie:
    """Return the trie of what the counters have: in memory, or on disk where one of them went there."""
    seen = max(counter.vocabulary for counter in counters)
    for counter in counters:
        counter.fit(seen)
        counter.flush()
    bits, words = counters[0].bits, counters[0].packing.words
    on_disk = any(counter.spilled for counter in counters)
    pieces = counters[0].pieces(counters[1:])
    if words == 2:
        from honlearn.hon.wide_trie import wide_trie

        return wide_trie(pieces, order, bits, vocabulary, on_disk)
    if on_disk:
        return trie_from_pieces(cast(Iterator[Run], pieces), order, bits, vocabulary)
    (windows,) = pieces
    return trie_from_windows(cast(Run, windows), order, bits, vocabulary)
