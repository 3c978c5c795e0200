"""Sums of tries, whole or divided by their oldest entity.

In: the tries of parts, and the codes of their entities in the whole. Out: the trie of the whole. The grams
that begin with a range of entities are one slice of every level of a trie. So where windows do not fit a key,
the workers of an executor divide and sum ranges apart, as they do ranges of keys
(:mod:`honlearn.hon.partial`), and these are put behind each other at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.trie import Level, Trie, followed_by, link_suffixes

_NOTHING = np.empty(0, np.int64)


class Grams(NamedTuple):
    """The grams of one length in a range: newest entity, count, and where the extensions of each begin."""

    newest: NDArray[np.int32]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]


Levels = list[Grams]


class Range(NamedTuple):
    """The grams that begin with an entity from `start` to `stop`; the first level has those that occur."""

    start: int
    stop: int
    levels: Levels


def divide_trie(trie: Trie, codes: NDArray[np.int64], vocabulary: int, edges: Sequence[int]) -> list[Range]:
    """Return a trie by the codes of the whole, divided where the oldest entity is one of `edges`."""
    whole = summed([grams_of(trie)], [codes], [codes], vocabulary, vocabulary)
    return [Range(a, b, _slice(whole, a, b)) for a, b in pairwise([0, *edges, vocabulary])]


def grams_of(trie: Trie) -> Levels:
    """Return the levels of a trie without what follows from them."""
    return [Grams(level.newest, level.count, level.first) for level in trie]


def _slice(levels: Levels, start: int, stop: int) -> Levels:
    """Return the grams that begin with the entities from `start` to `stop`."""
    found = []
    for newest, count, first in levels:
        inside = first[start : stop + 1]
        found.append(Grams(newest[start:stop], count[start:stop], inside - inside[:1]))
        if len(first):
            start, stop = int(inside[0]), int(inside[-1])
    # Most entities of the whole do not occur in a part; nothing follows these.
    newest, counts, first = found[0]
    there = np.flatnonzero(counts)
    found[0] = Grams(newest[there], counts[there], np.append(first[there], first[-1:]))
    return found


def sum_trie_range(vocabulary: int, *parts: Range) -> Levels:
    """Return the sum of one range over all parts, with all its entities on the first level."""
    start, stop, _ = parts[0]
    levels = [part.levels for part in parts]
    places = [part[0].newest.astype(np.int64) - start for part in levels]
    whole = summed(levels, places, [None] * len(parts), stop - start, vocabulary)
    whole[0] = whole[0]._replace(newest=np.arange(start, stop, dtype=np.int32))
    return whole


def summed(
    parts: Sequence[Levels],
    places: Sequence[NDArray[np.int64]],
    codes: Sequence[NDArray[np.int64] | None],
    size: int,
    vocabulary: int,
) -> Levels:
    """Return the sum of parts whose first grams stand at `places` among `size`; `codes` rename entities."""
    newest, count = np.arange(size, dtype=np.int32), np.zeros(size, np.int64)
    for place, part in zip(places, parts, strict=True):
        count[place] += part[0].counts
    levels: Levels = []
    for m in range(len(parts[0]) - 1):
        # A level and a vocabulary whose product does not fit int64 do not fit any memory.
        keys = np.concatenate(
            [
                np.repeat(place, np.diff(part[m].first)) * vocabulary + _renamed(part[m + 1].newest, names)
                for place, part, names in zip(places, parts, codes, strict=True)
            ]
        )
        distinct, where = np.unique(keys, return_inverse=True)
        places = np.split(where, np.cumsum([len(part[m + 1].newest) for part in parts])[:-1])
        sums = np.zeros(len(distinct), np.int64)
        for place, part in zip(places, parts, strict=True):
            sums[place] += part[m + 1].counts
        first = np.searchsorted(distinct, np.arange(len(newest) + 1) * vocabulary)
        levels.append(Grams(newest, count, first))
        newest, count = (distinct % max(vocabulary, 1)).astype(np.int32), sums
    return [*levels, Grams(newest, count, _NOTHING)]


def _renamed(newest: NDArray[np.int32], codes: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return newest.astype(np.int64) if codes is None else codes[newest]


def join_ranges(ranges: Sequence[Levels]) -> Trie:
    """Return the trie of all ranges, in their order."""
    columns = list(zip(*ranges, strict=True))
    counts = [np.concatenate([grams.counts for grams in column]) for column in columns]
    levels = []
    for m, column in enumerate(columns):
        newest, first = np.concatenate([grams.newest for grams in column]), _NOTHING
        followed = _NOTHING
        if m + 1 < len(columns):
            before = np.cumsum([0, *(len(grams.newest) for grams in columns[m + 1])])
            firsts = [grams.first[:-1] + start for grams, start in zip(column, before, strict=False)]
            first = np.concatenate([*firsts, before[-1:]])
            followed = followed_by(first, counts[m + 1])
        levels.append(Level(newest, counts[m], first, followed, _NOTHING))
    return link_suffixes(levels)
