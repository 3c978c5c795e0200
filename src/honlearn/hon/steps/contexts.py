"""The contexts of a model of the next step: counts of grams → one flat tree, with the start of a path in it.

A context is what the next step may depend on: the last m symbols before it, m = 0 … k, where the start of the
path is a symbol, too ("the first step", "the second step, after A"). An outcome is the entity that comes
next, or END. The counts of grams hold all of it: a gram ended a path f(g) − c(g) times, and started one as
often as it was seen with nothing before it, f(g) − Σy f(y + g).

In: the trie of :class:`~honlearn.hon.build.GramCounts`. Out: :class:`ContextTree`, in which a gram is a
number and all lengths stand in one array, so that compiled loops follow a path by look-ups alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.trie import Trie, link_block
from honlearn.jit import njit


@dataclass(frozen=True, eq=False)
class ContextTree:
    """All grams of 0 … k + 1 symbols, shorter ones first, in the order of their codes, oldest symbol first.

    Gram 0 is the empty one; grams 1 … V are the entities by code, and gram V + 1 is START, whose code is V.
    The first :attr:`n_contexts` grams, those of up to k symbols, are the contexts. What follows context g are
    the grams ``first[g]:first[g + 1]``, by ascending code.

    newest: code of the newest symbol, int32 [n]. count: f(g), int64 [n]; of the empty gram, all steps.
    suffix: the gram without its oldest symbol, int64 [n]. first: int64 [n_contexts + 1].
    ends: how often a path ended after the context, int64 [n_contexts].
    levels: where the grams of m symbols start, m = 0 … k + 2, int64 [k + 3].
    """

    newest: NDArray[np.int32]
    count: NDArray[np.int64]
    suffix: NDArray[np.int64]
    first: NDArray[np.int64]
    ends: NDArray[np.int64]
    levels: NDArray[np.int64]
    n_entities: int

    @property
    def order(self) -> int:
        """The most symbols of a context, k."""
        return len(self.levels) - 3

    @property
    def n_contexts(self) -> int:
        """The number of grams that are contexts."""
        return len(self.ends)

    @property
    def start(self) -> int:
        """The gram that is the start of a path and nothing else."""
        return self.n_entities + 1

    def __len__(self) -> int:
        return len(self.newest)


@njit
def _subtract_at(count: NDArray[np.int64], suffix: NDArray[np.int64], longer: NDArray[np.int64]) -> None:
    for i in range(len(suffix)):
        count[suffix[i]] -= longer[i]


def suffixes(trie: Trie) -> list[NDArray[np.int64]]:
    """Return suffix(g) of the grams of 2 … k + 1 entities; the trie itself has them up to k."""
    found = [level.suffix for level in trie[1:-1]]
    last = trie[-1]
    if len(trie) == 2:
        found.append(last.newest.astype(np.int64))
    else:
        prefix, below = trie[-2], trie[-3]
        found.append(link_block(prefix, 0, len(prefix), last.newest, below.first))
    return found


def context_tree(trie: Trie) -> ContextTree:
    """Return the contexts of all orders that the counts of grams have, with the start of the path in them.

    >>> from honlearn.hon.build import count_grams
    >>> tree = context_tree(count_grams([["A", "B"], ["A"]], order=1).levels)
    >>> tree.count.tolist()  # nothing; A, B, START; A B, START A
    [5, 2, 1, 2, 1, 2]
    >>> tree.ends.tolist()  # two paths; one ended after A, one after B
    [2, 1, 1, 0]
    """
    found = suffixes(trie)
    started = []
    for level, suffix, longer in zip(trie[:-1], found, trie[1:], strict=True):
        starts = level.count.copy()
        _subtract_at(starts, suffix, longer.count)
        started.append(starts)
    return _assemble(trie, found, started)


def _assemble(trie: Trie, found: list[NDArray[np.int64]], started: list[NDArray[np.int64]]) -> ContextTree:
    """Lay out each level: its grams of entities, then START with those of one entity less."""
    order, vocabulary = len(trie) - 1, len(trie[0])
    kept = [np.flatnonzero(starts) for starts in started]
    sizes = [1, vocabulary + 1, *(len(trie[m]) + len(kept[m - 1]) for m in range(1, order + 1))]
    levels = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ends = [level.count - level.followed for level in trie[:-1]]
    paths = int(ends[0].sum())
    newest = [np.array([-1], np.int32), trie[0].newest, np.array([vocabulary], np.int32)]
    count = [np.array([int(trie[0].count.sum()) + paths]), trie[0].count, np.array([paths])]
    suffix = [np.zeros(vocabulary + 2, np.int64)]
    first, end = [np.array([1], np.int64)], [np.array([paths], np.int64)]
    for m in range(1, order + 1):
        # Contexts of m symbols: entities, then those that begin with START.
        level, follow = trie[m - 1], int(levels[m + 1])
        first.append(level.first[:-1] + follow)
        end.append(ends[m - 1])
        anchored = follow + len(trie[m])
        if m == 1:
            first.append(np.array([anchored], np.int64))
            end.append(np.zeros(1, np.int64))
        else:
            before, rows = np.concatenate([[0], np.cumsum(started[m - 1] > 0)]), kept[m - 2]
            low, high = trie[m - 2].first[rows], trie[m - 2].first[rows + 1]
            sums = np.concatenate([[0], np.cumsum(started[m - 1])])
            first.append(before[low] + anchored)
            end.append(started[m - 2][rows] - (sums[high] - sums[low]))
        # Grams of m + 1 symbols.
        longer, rows = trie[m], kept[m - 1]
        newest += [longer.newest, level.newest[rows]]
        count += [longer.count, started[m - 1][rows]]
        suffix += [found[m - 1] + levels[m], rows + levels[m]]
    first.append(levels[-1:])
    return ContextTree(
        np.concatenate(newest), np.concatenate(count), np.concatenate(suffix), np.concatenate(first),
        np.concatenate(end), levels, vocabulary,
    )  # fmt: skip
