"""Counting grams: chunks of paths → every distinct window of k + 1 entities with its count, sorted.

A window is packed into one 64-bit key, oldest entity in the highest bits. Counting only the longest windows
is enough: each path also gives one window that ends in END (its last k entities, padded on the left when the
path is shorter), and every shorter count is a sum of these (:mod:`honlearn.hon.trie`). Windows gather in a
buffer; when it is full it is radix sorted and becomes a run of (key, count), and runs are merged by key. So a
count is a sum over chunks, threads and machines, memory is what the distinct windows take, and nothing is
read twice. (A hash table was measured too: nearly twice the time on 450,000 distinct windows, thrice on 7.6
million, where each look-up misses the cache.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.spill import SpilledRun, merge_ranges
from honlearn.jit import njit
from honlearn.paths.paths import PathChunk

PAD, END, FIRST = 0, 1, 2
_BUFFER = 1 << 21
_DIGIT = 11
_SHORT = 6
# The bytes of a key with its count, and the shortest buffer.
_ROW = 16
_SMALLEST = 1 << 10

Run = tuple[NDArray[np.uint64], NDArray[np.int64]]


def capacity(order: int) -> int:
    """Return the largest vocabulary whose windows of k + 1 entities fit a 64-bit key; below 1 for none."""
    return (1 << min(64 // (order + 1), 31)) - FIRST


@njit
def _fill(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    weights: NDArray[np.int64],
    order: int,
    bits: int,
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    state: NDArray[np.int64],
) -> bool:
    """Append windows from where `state` (path, position, keys used) stands; False when the buffer is full."""
    shift = np.uint64(bits)
    width = (order + 1) * bits
    mask = ~np.uint64(0) if width == 64 else (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    path, position, used = state[0], state[1], state[2]
    reach = order + _SHORT
    while path < len(offsets) - 1:
        start, end = offsets[path], offsets[path + 1]
        key = last = np.uint64(0)
        length = end - start
        if position == start and length <= reach and start + reach <= len(codes) and used + reach < len(keys):
            # Most paths are short, and no processor can predict how short: they take a loop of fixed length,
            # and what it writes beyond the path's own windows is overwritten by the next path.
            for j in range(order):
                key = (key << shift) | np.uint64(codes[np.uint64(start + j)] + FIRST)
                last = key if j < length else last
            keys[np.uint64(used)] = last
            for j in range(_SHORT):
                key = ((key << shift) | np.uint64(codes[np.uint64(start + order + j)] + FIRST)) & mask
                keys[np.uint64(used + 1 + j)] = key
            whole = max(length - order, 0)
            keys[np.uint64(used)] = ((keys[np.uint64(used + whole)] << shift) | np.uint64(END)) & mask
            if len(weights):
                counts[used : used + whole + 1] = weights[path]
            used += whole + 1
            path += 1
            position = end
            continue
        for i in range(max(start, position - order), position):
            key = (key << shift) | np.uint64(codes[i] + FIRST)
        while position <= end:
            if used == len(keys):
                state[0], state[1], state[2] = path, position, used
                return False
            symbol = np.uint64(codes[position] + FIRST) if position < end else np.uint64(END)
            key = ((key << shift) | symbol) & mask
            if position - start >= order or position == end:
                keys[used] = key
                if len(weights):
                    counts[used] = weights[path]
                used += 1
            position += 1
        path += 1
        position = end
    state[0], state[1], state[2] = path, position, used
    return True


@njit
def _places(keys: NDArray[np.uint64], passes: int, digit: int) -> NDArray[np.int64]:
    """Return, for each pass of a radix sort, where the first key with each digit belongs."""
    mask = np.uint64((1 << digit) - 1)
    places = np.zeros((passes, (1 << digit) + 1), np.int64)
    for i in range(len(keys)):
        key = keys[i]
        for p in range(passes):
            places[p, (key & mask) + np.uint64(1)] += 1
            key >>= np.uint64(digit)
    for p in range(passes):
        for d in range(1 << digit):
            places[p, d + 1] += places[p, d]
    return places


@njit
def _radix_pass(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    to_keys: NDArray[np.uint64],
    to_counts: NDArray[np.int64],
    place: NDArray[np.int64],
    shift: int,
    digit: int,
) -> None:
    """Sort stably by the `digit` bits from `shift` on; counts travel along when there are any."""
    mask = np.uint64((1 << digit) - 1)
    for i in range(len(keys)):
        d = (keys[i] >> np.uint64(shift)) & mask
        to = np.uint64(place[d])
        place[d] += 1
        to_keys[to] = keys[i]
        if len(counts):
            to_counts[to] = counts[i]


@njit
def _runs(
    keys: NDArray[np.uint64], counts: NDArray[np.int64], out: NDArray[np.uint64], sums: NDArray[np.int64]
) -> int:
    """Write each distinct key of the sorted `keys` once, with its sum; return how many there are."""
    n, total = -1, np.int64(0)
    before = ~keys[0] if len(keys) else np.uint64(0)
    # Whether a key repeats the one before it is beyond prediction, so there is no branch: each key writes its
    # running total, and the last of its like has the last word.
    for i in range(len(keys)):
        n += keys[i] != before
        before = keys[i]
        total += counts[i] if len(counts) else 1
        out[np.uint64(n)] = before
        sums[np.uint64(n)] = total
    for i in range(n, 0, -1):
        sums[i] -= sums[i - 1]
    return n + 1


@njit
def _sort_and_sum(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    spare: NDArray[np.uint64],
    spare_counts: NDArray[np.int64],
    sums: NDArray[np.int64],
    passes: int,
    digit: int,
) -> int:
    """Sort in `passes` between `keys` and `spare`; the distinct keys go where the sorted ones are not."""
    places = _places(keys, passes, digit)
    for i in range(passes):
        _radix_pass(keys, counts, spare, spare_counts, places[i], i * digit, digit)
        keys, spare, counts, spare_counts = spare, keys, spare_counts, counts
    return _runs(keys, counts, spare, sums)


def sort_and_sum(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    width: int,
    spare: NDArray[np.uint64] | None = None,
    sums: NDArray[np.int64] | None = None,
) -> Run:
    """Return the distinct keys (of `width` bits), sorted, each with its sum; no `counts`: one each.

    The keys and counts are scrambled. `spare` and `sums`, as long as the keys, save making new memory.
    """
    passes = -(-width // _DIGIT)
    spare = np.empty_like(keys) if spare is None else spare
    sums = np.empty(len(keys), np.int64) if sums is None else sums
    n = _sort_and_sum(keys, counts, spare, np.empty_like(counts), sums, passes, -(-width // passes))
    return (keys if passes % 2 else spare)[:n].copy(), sums[:n].copy()


@njit
def _widen(keys: NDArray[np.uint64], order: int, bits: int, more: int) -> None:
    """Pack again with `more` bits an entity; the order of the keys stays."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(len(keys)):
        key = np.uint64(0)
        for j in range(order + 1):
            key |= ((keys[i] >> np.uint64(j * bits)) & mask) << np.uint64(j * more)
        keys[i] = key


@njit
def _merge(
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    other_keys: NDArray[np.uint64],
    other_counts: NDArray[np.int64],
    out_keys: NDArray[np.uint64],
    out_counts: NDArray[np.int64],
) -> int:
    i = j = n = 0
    while i < len(keys) and j < len(other_keys):
        a, b = keys[i], other_keys[j]
        out_keys[n] = min(a, b)
        out_counts[n] = (counts[i] if a <= b else 0) + (other_counts[j] if b <= a else 0)
        i += a <= b
        j += b <= a
        n += 1
    while i < len(keys):
        out_keys[n], out_counts[n] = keys[i], counts[i]
        i += 1
        n += 1
    while j < len(other_keys):
        out_keys[n], out_counts[n] = other_keys[j], other_counts[j]
        j += 1
        n += 1
    return n


def merge(one: Run, two: Run) -> Run:
    """Return the sum of two sorted runs, sorted."""
    if len(one[0]) == 0 or len(two[0]) == 0:
        return two if len(one[0]) == 0 else one
    keys = np.empty(len(one[0]) + len(two[0]), np.uint64)
    counts = np.empty(len(keys), np.int64)
    n = _merge(*one, *two, keys, counts)
    return keys[:n], counts[:n]


class WindowCounter:
    """Counts the packed windows of chunk after chunk; :meth:`windows` gives them sorted, with counts.

    `memory`: about how many bytes the counter may take, None for as many as the distinct windows do. Beyond
    it, sorted runs go to disk, and :meth:`pieces` gives the sum of all.
    """

    def __init__(self, order: int, buffer: int = _BUFFER, memory: int | None = None) -> None:
        self.order = order
        self.bits = min(4, 64 // (order + 1))
        self._memory = memory
        if memory is not None:
            buffer = max(min(buffer, memory // (8 * _ROW)), _SMALLEST)
        self.keys, self._spare = np.empty(buffer, np.uint64), np.empty(buffer, np.uint64)
        self._sums = np.empty(buffer, np.int64)
        self.counts = np.empty(0, np.int64)
        self.used = 0
        self.runs: list[Run] = []
        self.spilled: list[SpilledRun] = []

    def add(self, chunk: PathChunk, vocabulary: int) -> None:
        """Count the windows of a chunk whose codes lie below `vocabulary`, at most :func:`capacity`."""
        self.fit(vocabulary)
        weighted = chunk.counts is not None
        if weighted != bool(len(self.counts)):
            self.flush()
            self.counts = np.empty(len(self.keys) if weighted else 0, np.int64)
        weights = chunk.counts if chunk.counts is not None else np.empty(0, np.int64)
        state = np.array([0, 0, self.used], np.int64)
        while not _fill(
            chunk.codes, chunk.offsets, weights, self.order, self.bits, self.keys, self.counts, state
        ):
            self.used = int(state[2])
            self.flush()
            state[2] = 0
        self.used = int(state[2])

    def fit(self, vocabulary: int) -> None:
        """Give each entity as many bits as the vocabulary needs by now."""
        need = (vocabulary + FIRST - 1).bit_length()
        if need > self.bits:
            self.flush()
            for keys, _ in self.runs:
                _widen(keys, self.order, self.bits, need)
            old, self.bits = self.bits, need
            self.spilled = [
                run.rewritten(lambda rows: _widen(rows[0], self.order, old, need)) for run in self.spilled
            ]

    def flush(self) -> None:
        """Turn the buffer into a sorted run; merge runs of like size, each key being merged log n times."""
        if not self.used:
            return
        width = (self.order + 1) * self.bits
        n = self.used
        run = sort_and_sum(self.keys[:n], self.counts[:n], width, self._spare[:n], self._sums[:n])
        self.used = 0
        while self.runs and len(self.runs[-1][0]) < 2 * len(run[0]):
            run = merge(self.runs.pop(), run)
        self.runs.append(run)
        # Merging takes as much again, and so does the buffer.
        if self._memory is not None and 4 * _ROW * len(self) > self._memory:
            self._spill()

    def _spill(self) -> None:
        """Write what is held to disk, as one run."""
        run = self._merged()
        if len(run[0]):
            self.spilled.append(SpilledRun(run))

    def __len__(self) -> int:
        """Return how many windows are held in memory, those of the buffer each for itself."""
        return self.used + sum(len(keys) for keys, _ in self.runs)

    def _merged(self) -> Run:
        """Return the sum of the runs in memory, and hold none."""
        run = np.empty(0, np.uint64), np.empty(0, np.int64)
        while self.runs:
            run = merge(self.runs.pop(), run)
        return run

    def windows(self) -> Run:
        """Return all windows counted so far, sorted by key, and start again from none."""
        pieces = list(self.pieces())
        keys, counts = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return keys, counts

    def pieces(self, others: Sequence[WindowCounter] = ()) -> Iterator[Run]:
        """Yield all windows of this counter and `others` in ascending pieces; all start again from none.

        All counters must give entities the same bits (:meth:`fit`).
        """
        counters = (self, *others)
        for counter in counters:
            counter.flush()
        if not any(counter.spilled for counter in counters):
            run = self._merged()
            for counter in others:
                run = merge(run, counter._merged())
            yield run
            return
        spilled: list[SpilledRun] = []
        for counter in counters:
            counter._spill()
            spilled += counter.spilled
            counter.spilled = []
        held = sum(counter._memory or 0 for counter in counters)
        yield from merge_ranges(spilled, max(held // (4 * _ROW), _SMALLEST), merge)  # type: ignore[misc]
        for run_on_disk in spilled:
            run_on_disk.close()
