"""Paired tests and gaps against independent computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from honlearn.experiments.significance import Gap, Paired, gap, paired, wilcoxon
from honlearn.results.record import Configuration, DataDigests, Record, Sizes


def record(fold: int, score: float, seed: int = 0, test: str | None = None) -> Record:
    asked = Configuration("gcn", "gk", seed, fold, data=DataDigests(test=test or f"part {fold}"))
    scores = {"micro_f1": score, "log_loss": score}
    return Record(f"{seed}-{fold}", asked, scores, Sizes(train=80, test=20))


def every_pattern(values: list[float]) -> float:
    """Return the p-value by counting all patterns of signs that are as far out, as the test is defined."""
    ranks = stats.rankdata(np.abs(values))
    patterns = np.array(list(itertools.product((0, 1), repeat=len(values))))
    distance = np.abs(patterns @ ranks - ranks.sum() / 2)
    own = abs(ranks[np.asarray(values) > 0].sum() - ranks.sum() / 2)
    return float((distance >= own - 1e-9).mean())


@pytest.mark.parametrize("count", [2, 5, 9, 14])
def test_wilcoxon_is_exact(count: int) -> None:
    values = np.random.default_rng(count).normal(0.4, 1, count).tolist()
    assert wilcoxon(values) == pytest.approx(every_pattern(values))


@pytest.mark.parametrize("values", [[1, 1, 2], [1, -1, 2], [-1, -1, -1], [0.02, 0.02, -0.02, 0.04, 0.04] * 2])
def test_wilcoxon_with_ties_counts_every_pattern(values: list[float]) -> None:
    assert wilcoxon(values) == pytest.approx(every_pattern(values))


def test_wilcoxon_rounds_and_drops_zeros() -> None:
    # Ranks 1.5, 1.5 and 3: of 8 sign patterns the two with all signs equal are as far out.
    assert wilcoxon([1, 1, 2]) == pytest.approx(2 / 8)
    assert wilcoxon([0.1 + 0.2, 0.3, -0.3]) == pytest.approx(wilcoxon([0.3, 0.3, -0.3]))
    assert wilcoxon([0.5, 0.0, 0.25, 0.0]) == pytest.approx(2 / 4)
    assert wilcoxon([0.0, 0.0]) == 1.0
    assert wilcoxon([0.5, 0.0]) == 1.0
    assert wilcoxon([0.5]) is None


@pytest.mark.parametrize("digits", [12, 1])
def test_wilcoxon_of_many_pairs_is_nearly_that_of_sampled_patterns(digits: int) -> None:
    values = np.round(np.random.default_rng(0).normal(0.3, 1, 40), digits)
    values = values[values != 0]
    ranks = stats.rankdata(np.abs(values))
    signs = np.random.default_rng(1).random((100_000, len(values))) < 0.5
    distance = np.abs(signs @ ranks - ranks.sum() / 2)
    sampled = (distance >= abs(ranks[values > 0].sum() - ranks.sum() / 2)).mean()
    assert wilcoxon(values.tolist()) == pytest.approx(sampled, abs=0.005)


def test_pairs_are_the_same_test_parts() -> None:
    ours = [record(fold, 0.6 + 0.01 * fold) for fold in range(5)]
    theirs = [record(fold, 0.58 + 0.012 * fold) for fold in range(4)] + [record(4, 0.1, test="other")]
    found = paired(ours, theirs)
    assert found is not None
    assert found.pairs == 4
    assert found.difference == pytest.approx(0.017)
    differences = np.array([0.02 - 0.002 * fold for fold in range(4)])
    statistic = differences.mean() / np.sqrt((1 / 4 + 20 / 80) * differences.var(ddof=1))
    assert found.p_value == pytest.approx(2 * stats.t.sf(statistic, 3))
    assert paired(ours, [record(0, 0.5, seed=3)]) is None


@pytest.mark.parametrize(
    ("difference", "p", "score", "verdict"),
    [
        (0.1, 0.01, "micro_f1", "better"),
        (-0.1, 0.01, "micro_f1", "worse"),
        (0.1, 0.05, "micro_f1", "tie"),
        (-0.1, 0.01, "log_loss", "better"),
        (0.1, None, "micro_f1", "tie"),
        (0.0, 0.0, "micro_f1", "tie"),
    ],
)
def test_verdicts(difference: float, p: float | None, score: str, verdict: str) -> None:
    assert Paired(5, difference, p, None).verdict(score) == verdict
    assert Paired(4, difference, p, None).verdict(score) == "tie"


def test_a_gap_within_two_standard_errors() -> None:
    found = gap(0.70, 0.02, 5, 0.681, 0.01, 5)
    assert found.error == pytest.approx(np.sqrt(0.02**2 / 5 + 0.01**2 / 5))
    assert (found.within, found.words) == (True, "within")
    assert gap(0.70, 0.02, 20, 0.681, 0.0, 5).words == "above"
    assert gap(0.60, 0.02, 5, 0.681, None, 5).words == "below"
    assert (gap(0.7, None, 1, 0.681, 0.01, 5).within, gap(0.7, None, 1, 0.681, 0.01, 5).words) == (None, "")


@pytest.mark.parametrize(
    ("difference", "within"), [(0.2, True), (-0.2, True), (0.15, True), (0.25, False), (-0.25, False)]
)
def test_two_standard_errors_are_the_edge(difference: float, within: bool) -> None:
    found = Gap(difference, 0.1)
    assert found.within == within
    assert found.words == ("within" if within else "above" if difference > 0 else "below")
