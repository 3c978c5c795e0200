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
from honlearn.hon.trie import Trie
from honlearn.hon.trie_ranges import grams_of, join_ranges, summed
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
    check_steps(float(one[0].count.sum()) + float(other[0].count.sum()))
    places = [np.arange(len(one[0])), codes]
    return join_ranges(
        [summed([grams_of(one), grams_of(other)], places, [None, codes], vocabulary, vocabulary)]
    )


def check_steps(steps: float) -> None:
    """Raise where the paths have so many steps that sums of their counts would overflow."""
    if steps >= MOST_STEPS:
        raise InputError("the counts of the paths add up to more than 2**62 steps; divide them all")
