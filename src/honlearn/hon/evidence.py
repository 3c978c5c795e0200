"""Which memories are real? The evidence for every context: counts → p, q, Bayes factor and posterior.

In: the trie of counts. Out: :class:`Evidence`, one :class:`LevelEvidence` per length of contexts, from which
:meth:`GramCounts.grow` keeps the significant contexts and :meth:`GramCounts.sample_network` draws.

Every context is compared with its suffix *without* it (:mod:`honlearn.hon.g_test`,
:mod:`honlearn.hon.bayes_factor`). The q-values are those of Benjamini and Hochberg over all tested contexts
of 2 … `order` entities together: of the contexts with q ≤ α, a share of at most α is expected to be false.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import gather
from honlearn.hon.bayes_factor import bayes_factors
from honlearn.hon.false_discovery import q_values
from honlearn.hon.g_test import g_tests, worth_testing
from honlearn.hon.next_rows import Rows, take_rows, trie_rows
from honlearn.hon.trie import Trie


class Scores(NamedTuple):
    """G, degrees of freedom, p, q, ln BF and posterior of some contexts, one value each."""

    g: NDArray[np.float64]
    df: NDArray[np.int64]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    ln_bf: NDArray[np.float64]
    posterior: NDArray[np.float64]


UNTESTED = {"g": 0.0, "df": 0, "p": 1.0, "q": 1.0, "ln_bf": 0.0, "posterior": 0.0}
"""The scores of a context that was not tested."""


def scores_at(
    tested: NDArray[np.int64], scores: NDArray[Any], contexts: NDArray[np.int64], untested: float
) -> NDArray[Any]:
    """Return the scores of some contexts, given those of the ones `tested`, ascending; others are `untested`.

    >>> scores_at(np.array([1, 4]), np.array([0.5, 0.7]), np.array([4, 2, 9]), 1.0).tolist()
    [0.7, 1.0, 1.0]
    """
    found = np.full(len(contexts), untested, scores.dtype)
    place = np.searchsorted(tested, contexts)
    there = np.flatnonzero(place < len(tested))
    there = there[tested[place[there]] == contexts[there]]
    found[there] = scores[place[there]]
    return found


@dataclass(frozen=True, eq=False)
class LevelEvidence:
    """The evidence for the contexts of one length, in the order of the trie's level.

    What is not tested (seen fewer than two times with a next step, or its suffix fewer than two times without
    it) has the scores UNTESTED. Most contexts are not, so only the scores of the others are held; the
    properties give one value per context of the level.

    Parameters
    ----------
    length : int
        Entities of the contexts.
    size : int
        Contexts of the level, n.
    contexts : int64 [t]
        Those that were tested, ascending.
    scores : Scores
        Of these, [t] each.
    concentration, prior : float
        a and π that the Bayes factors are computed with.
    """

    length: int
    size: int
    contexts: NDArray[np.int64]
    scores: Scores
    concentration: float
    prior: float

    def __len__(self) -> int:
        return self.size

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Whether a test was made, bool [n]."""
        return self.flags(np.ones(len(self.contexts), np.bool_))

    def flags(self, tested: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return flags of the contexts tested [t] as flags of all [n]."""
        flags = np.zeros(self.size, np.bool_)
        flags[self.contexts[tested]] = True
        return _frozen(flags)

    def at(self, contexts: NDArray[np.int64], name: str) -> NDArray[Any]:
        """Return one of the scores of some contexts."""
        return scores_at(self.contexts, getattr(self.scores, name), contexts, UNTESTED[name])

    def _all(self, name: str) -> NDArray[Any]:
        values = getattr(self.scores, name)
        found = np.full(self.size, UNTESTED[name], values.dtype)
        found[self.contexts] = values
        return _frozen(found)

    @property
    def g(self) -> NDArray[np.float64]:
        """The statistic G of the table that was tested, float64 [n]."""
        return self._all("g")

    @property
    def df(self) -> NDArray[np.int64]:
        """Its degrees of freedom, int64 [n]."""
        return self._all("df")

    @property
    def p(self) -> NDArray[np.float64]:
        """The probability of such a table without memory, float64 [n]."""
        return self._all("p")

    @property
    def q(self) -> NDArray[np.float64]:
        """The same after Benjamini and Hochberg, float64 [n]."""
        return self._all("q")

    @property
    def ln_bf(self) -> NDArray[np.float64]:
        """The ln Bayes factor of a distribution of its own, float64 [n]."""
        return self._all("ln_bf")

    @property
    def posterior(self) -> NDArray[np.float64]:
        """The probability that it has one, float64 [n]."""
        return self._all("posterior")


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence for all contexts of 2 … `order` entities; ``levels[m - 2]`` has those of m entities."""

    order: int
    levels: tuple[LevelEvidence, ...]

    @property
    def n_tested(self) -> int:
        """How many contexts were tested, of all lengths."""
        return sum(len(level.contexts) for level in self.levels)

    def significant(self, alpha: float) -> list[NDArray[np.bool_]]:
        """Return, for each length from 2 on, which contexts have q ≤ `alpha` and were tested."""
        return [level.flags(level.scores.q <= alpha) for level in self.levels]

    def by_length(self, alpha: float) -> list[dict[str, int]]:
        """Return how many contexts of each length there are, were tested, and are significant."""
        return [
            {
                "order": level.length,
                "contexts": len(level),
                "tested": len(level.contexts),
                "significant": int((level.scores.q <= alpha).sum()),
            }
            for level in self.levels
        ]

    def longest(self, alpha: float) -> int:
        """Return the number of entities of the longest significant context, 1 if there is none."""
        found = [level.length for level in self.levels if (level.scores.q <= alpha).any()]
        return max(found, default=1)


def tested_rows(
    contexts: Rows, suffixes: Rows, suffix: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Rows, NDArray[np.int64]]:
    """Return the contexts that are tested, their next steps, and the rows of their suffixes."""
    tested = worth_testing(contexts, suffixes, suffix)
    return tested, take_rows(contexts, tested), gather(suffix, tested)


def level_evidence(trie: Trie, length: int) -> LevelEvidence:
    """Return the evidence for the contexts of one length; q is that of this length alone."""
    suffixes, every = trie_rows(trie, length - 1), trie[length - 1].suffix
    tested, some, suffix = tested_rows(trie_rows(trie, length), suffixes, every)
    _, g, df, p = g_tests(some, suffixes, suffix, length)
    ln_bf, posterior, *fitted = bayes_factors(some, suffixes, suffix, np.ones(len(tested), np.bool_))
    scores = Scores(g, df, p, q_values(p), ln_bf, posterior)
    return LevelEvidence(length, len(every), tested, scores, *fitted)


def together(levels: list[LevelEvidence]) -> Evidence:
    """Return the evidence of several lengths, q-values over all of them."""
    if not levels:
        return Evidence(1, ())
    q = q_values(np.concatenate([level.scores.p for level in levels]))
    split = np.split(q, np.cumsum([len(level.contexts) for level in levels])[:-1])
    joint = (
        replace(one, scores=one.scores._replace(q=mine)) for one, mine in zip(levels, split, strict=True)
    )
    return Evidence(len(levels) + 1, tuple(joint))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
