"""Which contexts are kept, as grams: those that pass, and the prefixes that they need.

In: the contexts that pass their test, by length, newest entity first. Out: all that are kept, each with why.
It is :func:`honlearn.hon.prune.kept_contexts` without a trie.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.statistics import GrowParameters


class KeptGrams(NamedTuple):
    """Contexts: codes newest first, filled up with −1 [n, k]; lengths; whether an extension keeps them."""

    grams: NDArray[np.int32]
    lengths: NDArray[np.int64]
    extended: NDArray[np.bool_]


def keep(passing: list[NDArray[np.int32]], parameters: GrowParameters) -> KeptGrams:
    """Return the contexts that are kept; ``passing[m - 2]`` are those of m entities, each once.

    >>> chosen = [np.empty((0, 2), np.int32), np.array([[2, 1, 0]], np.int32)]
    >>> keep(chosen, GrowParameters(3, 1.0, 1)).grams.tolist()
    [[1, 0, -1], [2, 1, 0]]
    """
    order = parameters.order
    found = [KeptGrams(np.empty((0, order), np.int32), np.empty(0, np.int64), np.empty(0, np.bool_))]
    longer = np.empty((0, order + 1), np.int32)
    for m in range(order, 1, -1):
        own, needed = passing[m - 2], longer[:, 1:]
        grams, passes, extended = own, np.ones(len(own), np.bool_), np.zeros(len(own), np.bool_)
        if len(needed):
            grams, place = np.unique(np.concatenate([own, needed]), axis=0, return_inverse=True)
            passes, extended = np.zeros((2, len(grams)), np.bool_)
            passes[place[: len(own)]] = True
            extended[place[len(own) :]] = True
        longer = grams
        # By evidence, every context is tested, also one that an extension keeps.
        told = extended if parameters.alpha is None else extended & ~passes
        filled = np.full((len(grams), order), -1, np.int32)
        filled[:, :m] = grams
        found.append(KeptGrams(filled, np.full(len(grams), m), told))
    return KeptGrams(*map(np.concatenate, zip(*found[::-1], strict=True)))
