"""Sums of counts: two tries over different vocabularies → one trie over both.

In: the counts of some paths and those of more. Out: the counts of all of them. A count is a sum over paths,
so grams that both have add up and all others stay; entities of the second that the first does not have get
the codes behind its own, in their order. Paths that are counted one part after another have the codes, and so
the arrays, of paths that are counted at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.hon.trie import Level, Trie, followed_by, link_suffixes
from honlearn.paths.vocabulary import Vocabulary

# Counts are summed in int64.
MOST_STEPS = 2.0**62


def join_vocabularies(one: Vocabulary, other: Vocabulary) -> tuple[Vocabulary, NDArray[np.int64]]:
    """Return the names of `one` and behind them the new ones of `other`, and the code of each of `other`.

    >>> joined, codes = join_vocabularies(*(Vocabulary.from_names(names) for names in ("AB", "CA")))
    >>> list(joined), codes.tolist()
    (['A', 'B', 'C'], [2, 0])
    """
    known = {name: code for code, name in enumerate(one.names)}
    codes = [known.setdefault(name, len(known)) for name in other.names]
    joined = one if len(known) == len(one) else Vocabulary.from_names(known)
    return joined, np.array(codes, np.int64)


def merge_tries(one: Trie, other: Trie, codes: NDArray[np.int64], vocabulary: int) -> Trie:
    """Return the sum of two tries of the same order; entity c of `other` has the code ``codes[c]``."""
    if float(one[0].count.sum()) + float(other[0].count.sum()) >= MOST_STEPS:
        raise InputError("the counts of the paths add up to more than 2**62 steps; divide them all")
    nothing = np.empty(0, np.int64)
    newest, count = np.arange(vocabulary, dtype=np.int32), np.zeros(vocabulary, np.int64)
    count[: len(one[0])] = one[0].count
    count[codes] += other[0].count
    # Where the grams of each trie stand in the merged level.
    places = [np.arange(len(one[0])), codes]
    levels = []
    for above, below in zip(zip(one, other, strict=True), zip(one[1:], other[1:], strict=True), strict=False):
        names = (below[0].newest.astype(np.int64), codes[below[1].newest])
        prefixes = [
            np.repeat(place, np.diff(level.first)) for place, level in zip(places, above, strict=True)
        ]
        # A level and a vocabulary whose product does not fit int64 do not fit any memory.
        keys = np.concatenate([p * vocabulary + name for p, name in zip(prefixes, names, strict=True)])
        distinct, where = np.unique(keys, return_inverse=True)
        places = np.split(where, [len(below[0])])
        sums = np.zeros(len(distinct), np.int64)
        for place, level in zip(places, below, strict=True):
            sums[place] += level.count
        first = np.searchsorted(distinct, np.arange(len(newest) + 1) * vocabulary)
        levels.append(Level(newest, count, first, followed_by(first, sums), nothing))
        newest, count = (distinct % max(vocabulary, 1)).astype(np.int32), sums
    levels.append(Level(newest, count, nothing, nothing, nothing))
    return link_suffixes(levels)
