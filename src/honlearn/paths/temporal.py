"""Temporal edges (source, target, time; one edge per row) → time-respecting paths.

In: the parts of a table. Out: chunks of paths, by the time of their first edge.

A time-respecting path is a sequence of edges (v0, v1; t1), (v1, v2; t2), … in which each edge starts where
the one before it ends and follows it within the maximum gap δ (Holme and Saramäki, 2012; Scholtes, 2017):

    0 < t_{i+1} − t_i ≤ δ.

It is maximal when no edge of the table can be put before its first or after its last one. The paths are all
maximal time-respecting paths, each counted once, as in pathpy: the walks from edges without a predecessor to
edges without a successor in the graph of edges that may follow each other. An edge that stands in two rows is
two edges. An edge is part of every maximal path through it, so that where paths branch, its weight in the
network is their number and not that of its rows.

Their number grows exponentially with δ. It is therefore known before a path is made: one pass over the edges,
latest first, sums the paths and steps that follow each edge, and more than ``max_steps`` is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.jit import njit
from honlearn.paths.event_tables import gathered
from honlearn.paths.events import Events
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions
from honlearn.paths.orders import alike, ranked, reaches
from honlearn.paths.parts import Part
from honlearn.paths.paths import PathChunk
from honlearn.progress import Advance

_TOKENS_A_CHUNK = 1 << 20


def temporal_chunks(
    parts: Sequence[Part], options: ReaderOptions, interner: Interner, advance: Advance
) -> Iterator[PathChunk]:
    """Yield the maximal time-respecting paths of a table of edges; the parts are read as one table."""
    edges = gathered(parts, options, TemporalEdges(options, interner), advance)
    if not edges.codes:
        return
    sources, targets = np.concatenate(edges.sequences), np.concatenate(edges.codes).astype(np.int32)
    ranks, reach = edges.ranked_times()
    order = np.lexsort((ranks, sources))
    sources, targets, ranks = sources[order], targets[order], ranks[order]
    starts = np.searchsorted(sources, np.arange(len(interner) + 1)).astype(np.int64)
    latest = np.argsort(ranks, kind="stable")[::-1]
    follow = _successors(starts, targets, ranks, reach)
    first = _is_first(follow)
    if _count(latest, follow, first, sources, options.max_steps) > options.max_steps:
        raise InputError(
            f"{parts[0].name}: {len(order):,} edges have time-respecting paths of more than "
            f"{options.max_steps:,} steps within max_gap={options.max_gap!r}; lower max_gap, or raise "
            "max_steps (--max-steps)"
        )
    earliest = latest[::-1]
    # No path has two edges at one time, nor more than all steps.
    longest = min(len(reach), options.max_steps)
    yield from _walked(earliest[first[earliest]], follow, sources, targets, longest)


class TemporalEdges(Events):
    """The rows of a table of temporal edges as integers: `sequences` are sources, `codes` are targets."""

    roles = ("source", "target", "order")

    @property
    def wanted(self) -> list[str]:
        """The columns: source, target, time."""
        options = self.options
        return [str(name) for name in (options.source_column, options.target_column, options.order_by)]

    def number(self, part: Part, name: str, column: Any, where: Callable[[int], str]) -> NDArray[np.int32]:
        """Return the codes of the sources, which are entities like the targets."""
        return self.entities(part, name, column, where)

    def ranked_times(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rank of each edge's time, and for each rank the last one within the maximum gap."""
        assert self.options.gap is not None
        gap = self.gap_in_units(self.options.gap)
        places = alike(self.orders)[0].places
        if self.orders[0].values.dtype == object:
            distinct = ranked(self.orders)
            return np.concatenate([batch.values for batch in self.orders]), reaches(distinct, gap)
        times, ranks = np.unique(np.concatenate([batch.values for batch in self.orders]), return_inverse=True)
        if times.dtype.kind == "f":
            return ranks.astype(np.int64), _reach_of_floats(times, float(gap))
        whole = np.uint64(min(gap * 10**places // 1, 2**64 - 1))
        return ranks.astype(np.int64), _reach(times.astype(np.int64, copy=False), whole)


@njit
def _reach(times: NDArray[np.int64], gap: np.uint64) -> NDArray[np.int64]:
    """Return for each of the ascending times the place of the last one at most `gap` after it.

    The difference as unsigned numbers is exact, even from the least to the greatest.
    """
    out = np.empty(len(times), np.int64)
    last = 0
    for i in range(len(times)):
        last = max(last, i)
        while last + 1 < len(times) and np.uint64(times[last + 1]) - np.uint64(times[i]) <= gap:
            last += 1
        out[i] = last
    return out


@njit
def _reach_of_floats(times: NDArray[np.float64], gap: float) -> NDArray[np.int64]:
    out = np.empty(len(times), np.int64)
    last = 0
    for i in range(len(times)):
        last = max(last, i)
        while last + 1 < len(times) and times[last + 1] - times[i] <= gap:
            last += 1
        out[i] = last
    return out


@njit
def _first_beyond(ranks: NDArray[np.int64], low: int, high: int, rank: int) -> int:
    """Return the first place of the ascending ``ranks[low:high]`` that is greater than `rank`."""
    while low < high:
        middle = (low + high) // 2
        if ranks[middle] <= rank:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _successors(
    starts: NDArray[np.int64], targets: NDArray[np.int32], ranks: NDArray[np.int64], reach: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each edge the places [low, high) of the edges that may follow it, [E, 2].

    Edges stand by source and time, so these are neighbours.
    """
    out = np.empty((len(targets), 2), np.int64)
    for e in range(len(targets)):
        low, high = starts[targets[e]], starts[targets[e] + 1]
        out[e, 0] = _first_beyond(ranks, low, high, ranks[e])
        out[e, 1] = _first_beyond(ranks, low, high, reach[ranks[e]])
    return out


@njit
def _is_first(follow: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which edges follow none: not one of the neighbours [low, high) of any edge."""
    change = np.zeros(len(follow) + 1, np.int64)
    for e in range(len(follow)):
        change[follow[e, 0]] += 1
        change[follow[e, 1]] -= 1
    first: NDArray[np.bool_] = np.cumsum(change[:-1]) == 0
    return first


@njit
def _count(
    latest: NDArray[np.int64],
    follow: NDArray[np.int64],
    first: NDArray[np.bool_],
    sources: NDArray[np.int32],
    most: int,
) -> int:
    """Return how many steps all maximal paths have together; a number over `most` where it is more.

    `latest` has the edges, latest first, and from the last place to the first within a time: what may follow
    an edge is then done before it. Sums over neighbours are differences of sums to the end of their source.
    Every edge is on some maximal path, so more than `most` steps behind one of them end the count, and no sum
    wraps.
    """
    n = len(latest)
    paths, steps = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)  # sums from a place on
    total = 0
    for i in range(n):
        e = latest[i]
        low, high = follow[e, 0], follow[e, 1]
        ways, beyond = 1, 0
        if low < high:
            ways, beyond = paths[low], steps[low]
            if high < n and sources[high] == sources[low]:
                ways, beyond = ways - paths[high], beyond - steps[high]
        beyond += ways
        total += beyond + ways if first[e] else 0
        if beyond > most or total > most:
            return max(beyond, total)
        rest = e + 1 < n and sources[e + 1] == sources[e]
        paths[e] = ways + (paths[e + 1] if rest else 0)
        steps[e] = beyond + (steps[e + 1] if rest else 0)
    return total


def _walked(
    roots: NDArray[np.int64],
    follow: NDArray[np.int64],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    longest: int,
) -> Iterator[PathChunk]:
    """Yield the paths from each root, depth first; none has more than `longest` edges."""
    room = max(_TOKENS_A_CHUNK, longest + 1)
    stack, cursor = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    state = np.array([0, 0], np.int64)  # which root, how many edges are on the stack
    while state[0] < len(roots):
        codes, offsets = np.empty(room, np.int32), np.empty(room // 2 + 2, np.int64)
        n = _walk(roots, follow, sources, targets, stack, cursor, state, codes, offsets)
        yield PathChunk(codes[: offsets[n]], offsets[: n + 1], None)


@njit
def _walk(
    roots: NDArray[np.int64],
    follow: NDArray[np.int64],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    stack: NDArray[np.int64],
    cursor: NDArray[np.int64],
    state: NDArray[np.int64],
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
) -> int:
    """Write paths until all are there or there is no room for the next; return how many; `state` goes on."""
    root, depth = state[0], state[1]
    n, written = 0, 0
    offsets[0] = 0
    while root < len(roots):
        if depth == 0:
            stack[0], cursor[0], depth = roots[root], follow[roots[root], 0], 1
        e = stack[depth - 1]
        if follow[e, 0] == follow[e, 1]:
            if written + depth + 1 > len(codes):
                break
            codes[written] = sources[stack[0]]
            for i in range(depth):
                codes[written + 1 + i] = targets[stack[i]]
            written += depth + 1
            n += 1
            offsets[n] = written
            depth -= 1
        elif cursor[depth - 1] < follow[e, 1]:
            after = cursor[depth - 1]
            cursor[depth - 1] += 1
            stack[depth], cursor[depth] = after, follow[after, 0]
            depth += 1
        else:
            depth -= 1
        if depth == 0:
            root += 1
    state[0], state[1] = root, depth
    return n
