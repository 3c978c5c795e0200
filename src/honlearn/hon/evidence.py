"""Which memories are real? The evidence for every context: counts → p, q, Bayes factor and posterior.

In: the trie of counts. Out: :class:`Evidence`, one :class:`LevelEvidence` per length of contexts, from which
:meth:`GramCounts.grow` keeps the significant contexts and :meth:`GramCounts.sample_network` draws.

Every context is compared with its suffix *without* it (:mod:`honlearn.hon.g_test`,
:mod:`honlearn.hon.bayes_factor`). The q-values are those of Benjamini and Hochberg over all tested contexts
of 2 … `order` entities together: of the contexts with q ≤ α, a share of at most α is expected to be false.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.bayes_factor import bayes_factors
from honlearn.hon.false_discovery import q_values
from honlearn.hon.g_test import Rows, g_tests
from honlearn.hon.trie import Trie


@dataclass(frozen=True, eq=False)
class LevelEvidence:
    """The evidence for the contexts of one length, in the order of the trie's level.

    length: entities of the contexts.
    tested: whether a test was made; what is not tested (seen fewer than two times with a next step, or its
    suffix fewer than two times without it) has G 0, p 1, q 1, ln BF 0 and posterior 0, bool [n].
    g, df: statistic and degrees of freedom of the table that was tested, float64 and int64 [n].
    p: probability of such a table without memory; q: the same after Benjamini and Hochberg, float64 [n].
    ln_bf: ln Bayes factor of a distribution of its own; posterior: probability that it has one, float64 [n].
    concentration, prior: a and π that the Bayes factors are computed with.
    """

    length: int
    tested: NDArray[np.bool_]
    g: NDArray[np.float64]
    df: NDArray[np.int64]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    ln_bf: NDArray[np.float64]
    posterior: NDArray[np.float64]
    concentration: float
    prior: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __len__(self) -> int:
        return len(self.p)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence for all contexts of 2 … `order` entities; ``levels[m - 2]`` has those of m entities."""

    order: int
    levels: tuple[LevelEvidence, ...]

    @property
    def n_tested(self) -> int:
        """How many contexts were tested, of all lengths."""
        return sum(int(level.tested.sum()) for level in self.levels)

    def significant(self, alpha: float) -> list[NDArray[np.bool_]]:
        """Return, for each length from 2 on, which contexts have q ≤ `alpha` and were tested."""
        return [level.tested & (level.q <= alpha) for level in self.levels]

    def by_length(self, alpha: float) -> list[dict[str, int]]:
        """Return how many contexts of each length there are, were tested, and are significant."""
        return [
            {
                "order": level.length,
                "contexts": len(level),
                "tested": int(level.tested.sum()),
                "significant": int(kept.sum()),
            }
            for level, kept in zip(self.levels, self.significant(alpha), strict=True)
        ]

    def longest(self, alpha: float) -> int:
        """Return the number of entities of the longest significant context, 1 if there is none."""
        found = [
            level.length
            for level, kept in zip(self.levels, self.significant(alpha), strict=True)
            if kept.any()
        ]
        return max(found, default=1)


def level_evidence(trie: Trie, length: int) -> LevelEvidence:
    """Return the evidence for the contexts of one length; q is that of this length alone."""
    contexts, suffixes = trie_rows(trie, length), trie_rows(trie, length - 1)
    suffix = trie[length - 1].suffix
    tests = g_tests(contexts, suffixes, suffix, length)
    factors = bayes_factors(contexts, suffixes, suffix, tests.tested)
    return LevelEvidence(length, *tests, _adjusted(tests.p, tests.tested), *factors)


def trie_rows(trie: Trie, length: int) -> Rows:
    """Return the next steps of the grams of one length."""
    level, extensions = trie[length - 1], trie[length]
    return Rows(level.first, extensions.newest, extensions.count, level.followed)


def together(levels: list[LevelEvidence]) -> Evidence:
    """Return the evidence of several lengths, q-values over all of them."""
    tested = np.concatenate([level.tested for level in levels] or [np.empty(0, bool)])
    p = np.concatenate([level.p for level in levels] or [np.empty(0)])
    q = np.split(_adjusted(p, tested), np.cumsum([len(level) for level in levels])[:-1])
    joint = (
        LevelEvidence(
            one.length,
            one.tested,
            one.g,
            one.df,
            one.p,
            mine,
            one.ln_bf,
            one.posterior,
            one.concentration,
            one.prior,
        )
        for one, mine in zip(levels, q, strict=True)
    )
    return Evidence(len(levels) + 1, tuple(joint)) if levels else Evidence(1, ())


def _adjusted(p: NDArray[np.float64], tested: NDArray[np.bool_]) -> NDArray[np.float64]:
    q = np.ones(len(p))
    q[tested] = q_values(p[tested])
    return q
