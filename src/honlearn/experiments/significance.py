"""Whether a difference means something: paired tests between models, and ours against a printed mean.

In: records of two models on the same folds and seeds, or two means with their deviations. Out: plain values
and words. "Better" needs the corrected resampled t-test; all else is a tie.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from honlearn.results.metrics import LEAST_PAIRS
from honlearn.results.record import Record
from honlearn.results.summary import paired_p_value, pairs

LEVEL = 0.05
LOWER_IS_BETTER = ("log_loss", "bits", "ece", "brier")


@dataclass(frozen=True)
class Paired:
    """Differences of a score on the same test parts: how many, their mean, and two p-values.

    `p_value` is that of the corrected resampled t-test (training parts overlap), `p_wilcoxon` that of the
    signed-rank test over the same pairs, which ignores the overlap, so that it is too small.
    """

    pairs: int
    difference: float
    p_value: float | None
    p_wilcoxon: float | None

    def verdict(self, score: str = "micro_f1") -> str:
        """Return ``"better"``, ``"worse"`` or ``"tie"``, of the first against the second."""
        unsure = self.pairs < LEAST_PAIRS or self.p_value is None or self.p_value >= LEVEL
        if unsure or self.difference == 0:
            return "tie"
        higher = self.difference > 0
        return "better" if higher != (score in LOWER_IS_BETTER) else "worse"


def paired(ours: Sequence[Record], theirs: Sequence[Record], score: str = "micro_f1") -> Paired | None:
    """Compare two models on the (seed, fold, test part) that both have; None where there is none."""
    both = pairs(ours, theirs)
    if not both:
        return None
    values = [one.score(score) - other.score(score) for one, other in both]
    return Paired(len(both), statistics.fmean(values), paired_p_value(both, score), wilcoxon(values))


def wilcoxon(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of the signed-rank test; None for fewer than two differences.

    Differences of 0 are dropped; if all are 0 the value is 1. SciPy's is exact for up to 50 differences (13
    where some are equal), and beyond that the normal approximation with its correction for continuity.

    >>> wilcoxon([0.02, 0.01, 0.03, 0.02, 0.04])
    0.0625
    """
    if len(differences) < 2:
        return None
    # Scores are ratios of counts, so differences that are equal may differ in their last bits.
    values = np.round(np.asarray(differences, np.float64), 12)
    values = values[values != 0]
    if not values.size:
        return 1.0
    from scipy import stats

    return float(stats.wilcoxon(values, correction=True).pvalue)


@dataclass(frozen=True)
class Gap:
    """Ours minus the published mean, the standard error of that, and whether it is within two of them."""

    difference: float
    error: float | None

    @property
    def within(self) -> bool | None:
        """Whether the difference is within two standard errors; None where no error is known."""
        return None if self.error is None else abs(self.difference) <= 2 * self.error + 1e-12

    @property
    def words(self) -> str:
        """The answer as a word for tables."""
        return {True: "within", False: "above" if self.difference > 0 else "below", None: ""}[self.within]


def gap(
    mean: float,
    deviation: float | None,
    count: int,
    published: float,
    published_deviation: float | None,
    published_count: int,
) -> Gap:
    """Return the difference of two means; its error is √(s²/n + s'²/n'), as if folds were independent.

    >>> gap(0.700, 0.02, 5, 0.681, 0.00, 5).words, gap(0.690, 0.02, 5, 0.681, 0.00, 5).words
    ('above', 'within')
    """
    if deviation is None:
        return Gap(mean - published, None)
    variance = deviation**2 / count + (published_deviation or 0.0) ** 2 / published_count
    return Gap(mean - published, math.sqrt(variance))
