"""Contexts by their newest entity: what the test of a context reads lies together.

In: the tries of parts, and the codes of their entities in the whole. Out: the contexts that end in a range of
entities, one level per length, with their counts, next steps and suffixes: all that is compared when a
context is tested, and nothing else. Ranges are divided and summed apart, as those of a trie are
(:mod:`honlearn.hon.trie_ranges`).

A trie has grams by their oldest entity, a family by its newest one, and its contexts of m entities by that of
m − 1 that is their suffix. Entities come in the order of their names, so that a range of families is a range
of nodes of the network; the next steps of a context come in the order of their codes, as in a trie, because
the last bits of a test depend on the order of its sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.keys import sort_and_sum
from honlearn.hon.next_rows import Rows, take_rows
from honlearn.hon.partial import sum_range, writable
from honlearn.hon.trie import Trie, followed_by
from honlearn.paths.arrange import sort_each

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class ContextLevel(NamedTuple):
    """The contexts of one length: oldest entity, place of suffix(g) in the level below, f(g), next steps.

    They ascend by suffix, then by the code of the oldest entity. The first level has the entities, with their
    ranks by name in place of suffixes.
    """

    oldest: NDArray[np.int32]
    suffix: NDArray[np.int64]
    counts: NDArray[np.int64]
    rows: Rows

    def keys(self) -> NDArray[np.uint64]:
        """Return one ascending key per context."""
        return joined(self.suffix, self.oldest)


Families = list[ContextLevel]
"""Levels 1 … k."""


def joined(high: NDArray[np.int64], low: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return two numbers of up to 32 bits as one key."""
    return (high.astype(np.uint64) << _HALF) | low.astype(np.uint64)


def families_of(trie: Trie, codes: NDArray[np.int64], ranks: NDArray[np.int64]) -> Families:
    """Return the contexts of a trie whose entity i has the code ``codes[i]`` and the rank ``ranks[i]``."""
    found: Families = []
    oldest, place = np.arange(len(trie[0])), np.empty(0, np.int64)
    for m, (level, above) in enumerate(pairwise(trie)):
        suffix = place[level.suffix] if m else ranks
        if m:
            oldest = np.repeat(oldest, np.diff(trie[m - 1].first))
        # An entity that no path has any more is a context of nothing.
        there = np.arange(len(level)) if m else np.flatnonzero(level.count)
        there = there[_ascending(suffix[there], codes[oldest[there]])]
        place = np.empty(len(level), np.int64)
        place[there] = np.arange(len(there))
        rows = take_rows(Rows(level.first, above.newest, above.count, level.followed), there)
        entity = codes[rows.entity].astype(np.int32)
        sort_each(rows.seen, entity, rows.first)
        entities = codes[oldest[there]].astype(np.int32)
        found.append(ContextLevel(entities, suffix[there], level.count[there], rows._replace(entity=entity)))
    return found


def _ascending(high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of distinct pairs."""
    bits = int(low.max(initial=0)).bit_length()
    width = max(bits + int(high.max(initial=0)).bit_length(), 1)
    keys = (high.astype(np.uint64) << np.uint64(bits)) | low.astype(np.uint64)
    return sort_and_sum(keys, np.arange(len(keys)), width)[1]


def divide_families(families: Families, edges: Sequence[int]) -> list[Families]:
    """Return the families divided where the rank of the newest entity is one of `edges`."""
    at = np.concatenate([[0], np.searchsorted(families[0].suffix, edges), [len(families[0].oldest)]])
    below = np.zeros(len(at), np.int64)
    ranges: list[Families] = [[] for _ in range(len(edges) + 1)]
    for m, level in enumerate(families):
        if m:
            below, at = at, np.searchsorted(level.suffix, at)
        for i, (start, stop) in enumerate(pairwise(at)):
            ranges[i].append(_slice(level, int(start), int(stop), int(below[i])))
    return ranges


def _slice(level: ContextLevel, start: int, stop: int, below: int) -> ContextLevel:
    """Return some contexts of a level; the first of their suffixes stood at `below`."""
    first = level.rows.first[start : stop + 1]
    steps = slice(int(first[0]), int(first[-1]))
    rows = Rows(
        first - first[0], level.rows.entity[steps], level.rows.seen[steps], level.rows.total[start:stop]
    )
    return ContextLevel(
        level.oldest[start:stop], level.suffix[start:stop] - below, level.counts[start:stop], rows
    )


def sum_families(*parts: Families) -> Families:
    """Return the sum of one range over all parts."""
    found: Families = []
    places: list[NDArray[np.int64]] = []
    for levels in zip(*parts, strict=True):
        suffixes = [
            level.suffix if not found else place[level.suffix]
            for level, place in zip(levels, places or levels, strict=True)
        ]
        keys = [joined(suffix, level.oldest) for suffix, level in zip(suffixes, levels, strict=True)]
        whole, count = sum_range(*((key, level.counts) for key, level in zip(keys, levels, strict=True)))
        places = [np.searchsorted(whole, key) for key in keys]
        steps, seen = sum_range(
            *(
                (joined(np.repeat(place, np.diff(level.rows.first)), level.rows.entity), level.rows.seen)
                for place, level in zip(places, levels, strict=True)
            )
        )
        first = np.searchsorted(steps, np.arange(len(whole) + 1).astype(np.uint64) << _HALF)
        rows = Rows(first, (steps & _LOW).astype(np.int32), seen, followed_by(first, seen))
        suffix = (whole >> _HALF).astype(np.int64)
        found.append(ContextLevel((whole & _LOW).astype(np.int32), suffix, count, rows))
    return found


def own_rows(rows: Rows) -> Rows:
    """Return rows whose arrays compiled loops know (:func:`honlearn.hon.partial.writable`)."""
    return Rows(writable(rows.first), writable(rows.entity), writable(rows.seen), writable(rows.total))


def owned(families: Families) -> Families:
    """Return families whose arrays compiled loops know."""
    return [level._replace(suffix=writable(level.suffix), rows=own_rows(level.rows)) for level in families]


def grams_of(families: Families, length: int, contexts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the codes of contexts of one length, newest entity first [n, length]."""
    grams = np.empty((len(contexts), length), np.int32)
    for m in range(length - 1, -1, -1):
        grams[:, m] = families[m].oldest[contexts]
        contexts = families[m].suffix[contexts]
    return grams


def places_of(families: Families, grams: NDArray[np.int32], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where contexts of one length stand, which are there: codes newest first, ranks of the newest."""
    place = np.searchsorted(families[0].suffix, ranks)
    for m in range(1, grams.shape[1]):
        place = np.searchsorted(families[m].keys(), joined(place, grams[:, m]))
    return place
