"""Shares of the parts of a prediction: closed forms, shrinkage on few examples, learners apportioned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import beta

from honlearn.seeds import generator
from honlearn.tasks.shares import apportion, stacked_shares, with_less_kernel

Rows = NDArray[np.float64]


def crossed(n: int, wins: float, high: float, low: float) -> tuple[Rows, Rows]:
    """Return two parts: the first gives `high` to a share `wins` of the examples and `low` to the rest."""
    first = np.where(np.arange(n) < round(wins * n), high, low)
    return first, high + low - first


def best_crossed(wins: float | Rows, high: float, low: float) -> Rows:
    """Return the share s that maximises w ln(s·high + (1−s)·low) + (1−w) ln(s·low + (1−s)·high)."""
    return np.asarray(np.clip((wins * high - (1 - wins) * low) / (high - low), 0, 1))


# --- known optima ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wins", "high", "low"), [(0.6, 0.8, 0.3), (0.5, 0.9, 0.1), (0.35, 0.7, 0.2)])
def test_two_parts_that_win_on_different_examples(wins: float, high: float, low: float) -> None:
    shares = stacked_shares(crossed(6000, wins, high, low), np.ones(6000), 0)
    expected = float(best_crossed(wins, high, low))
    assert 0 < expected < 1
    assert shares == pytest.approx([expected, 1 - expected], abs=0.02)


def test_parts_that_know_nothing_of_each_others_examples_have_the_share_of_their_own() -> None:
    owner = np.arange(6000) % 10
    parts = [np.where(np.isin(owner, own), 0.5, 0.0) for own in ([0], [1, 2, 3], [4, 5, 6, 7, 8, 9])]
    assert stacked_shares(parts, np.ones(6000), 1) == pytest.approx([0.1, 0.3, 0.6], abs=0.02)
    weights = np.where(owner == 0, 9.0, 1.0)
    assert stacked_shares(parts, weights, 1) == pytest.approx([9 / 18, 3 / 18, 6 / 18], abs=0.02)


def test_a_part_that_is_better_everywhere_takes_all() -> None:
    random = np.random.default_rng(0)
    worse = random.uniform(0.1, 0.6, 40)
    shares = stacked_shares([worse, worse + 0.3, worse + 0.05], np.ones(40), 0)
    assert shares[1] > 0.97


def test_one_part_has_it_all_and_equal_parts_have_equal_shares() -> None:
    given_ = np.random.default_rng(0).uniform(0.1, 0.9, 30)
    assert stacked_shares([given_], np.ones(30), 0).tolist() == [1.0]
    assert stacked_shares([given_] * 4, np.ones(30), 0) == pytest.approx([0.25] * 4, abs=1e-12)


# --- few examples ------------------------------------------------------------------------------------


def test_few_examples_shrink_shares_as_a_bayesian_bootstrap_does() -> None:
    high, low, wins, n = 0.8, 0.3, 5, 8
    # The weight of the five examples under a Bayesian bootstrap is Beta(5, 3).
    expected = beta(wins, n - wins).expect(lambda u: best_crossed(u, high, low))
    parts = crossed(n, wins / n, high, low)
    found = np.mean([stacked_shares(parts, np.ones(n), seed)[0] for seed in range(30)])
    assert found == pytest.approx(expected, abs=0.02)
    optimum = float(best_crossed(wins / n, high, low))
    assert 0.5 < found < optimum - 0.03
    # The same on many examples is the optimum itself.
    many = stacked_shares(crossed(800 * n, wins / n, high, low), np.ones(800 * n), 0)[0]
    assert many == pytest.approx(optimum, abs=0.02)


@pytest.mark.parametrize("n", [7, 20_000, 20_001])
def test_shares_are_the_mean_of_64_bayesian_bootstrap_draws(n: int) -> None:
    # Where each example is known to one part alone, the best share is the weight of a part's examples.
    owned = np.arange(n) < 0.3 * n
    random = generator(3, "shares")
    some = random.permutation(n)[:20_000] if n > 20_000 else np.arange(n)
    drawn = random.exponential(size=(64, len(some)))
    expected = np.mean([row[owned[some]].sum() / row.sum() for row in drawn])
    parts = [np.where(owned, 0.5, 0.0), np.where(owned, 0.0, 0.5)]
    found = stacked_shares(parts, np.ones(n), 3)
    np.testing.assert_allclose(found, [expected, 1 - expected], rtol=1e-9)


def test_a_part_that_is_better_by_the_same_factor_everywhere_gains_that_factor_in_each_of_60_steps() -> None:
    worse = np.random.default_rng(1).uniform(0.1, 0.9, 30)
    better, worst = stacked_shares([1.02 * worse, worse], np.ones(30), 0)
    assert better / worst == pytest.approx(1.02**60, rel=1e-9)


def test_a_seed_decides() -> None:
    parts = crossed(8, 0.5, 0.8, 0.3)
    once, again, other = (stacked_shares(parts, np.ones(8), seed) for seed in (3, 3, 4))
    assert once.tobytes() == again.tobytes() != other.tobytes()


# --- weights, unknown examples, order ----------------------------------------------------------------


def test_only_the_ratios_of_weights_count() -> None:
    random = np.random.default_rng(2)
    parts, weights = random.uniform(0.05, 0.95, (3, 50)), random.uniform(0.1, 4, 50)
    expected = stacked_shares(list(parts), weights, 0)
    np.testing.assert_allclose(stacked_shares(list(parts), 7 * weights, 0), expected, rtol=1e-9)


def test_heavy_examples_draw_the_shares() -> None:
    parts = crossed(400, 0.5, 0.9, 0.2)
    weights = np.where(np.arange(400) < 200, 3.0, 1.0)
    assert stacked_shares(parts, weights, 0)[0] == pytest.approx(best_crossed(0.75, 0.9, 0.2), abs=0.05)


def test_examples_without_weight_or_without_a_prediction_do_not_count() -> None:
    random = np.random.default_rng(2)
    parts, weights = random.uniform(0.05, 0.95, (3, 50)), random.uniform(0.1, 4, 50)
    expected = stacked_shares(list(parts[:, :40]), weights[:40], 0)
    silent = weights.copy()
    silent[40:] = 0
    assert stacked_shares(list(parts), silent, 0).tobytes() == expected.tobytes()
    unknown = parts.copy()
    unknown[0, 40:45], unknown[2, 44:] = np.nan, np.nan
    assert stacked_shares(list(unknown), weights, 0).tobytes() == expected.tobytes()


@pytest.mark.parametrize("n", [0, 7])
def test_where_nothing_is_known_shares_are_equal(n: int) -> None:
    parts = [np.full(n, 0.5), np.full(n, np.nan), np.full(n, 0.5)]
    assert stacked_shares(parts, np.ones(n), 0).tolist() == [1 / 3] * 3


def test_shares_follow_their_parts() -> None:
    random = np.random.default_rng(5)
    parts = list(random.uniform(0.05, 0.95, (4, 60)))
    order = [2, 0, 3, 1]
    shares, moved = (stacked_shares(given_, np.ones(60), 0) for given_ in (parts, [parts[i] for i in order]))
    np.testing.assert_allclose(moved, shares[order], rtol=1e-9)
    assert np.ptp(shares) > 0.05


def test_many_examples_are_represented_by_some_of_all_of_them() -> None:
    # In order of who wins, so that the first ones stand for nothing.
    parts = crossed(90_000, 0.6, 0.8, 0.3)
    shares = stacked_shares(parts, np.ones(90_000), 0)
    assert shares[0] == pytest.approx(best_crossed(0.6, 0.8, 0.3), abs=0.02)


@given(
    st.lists(
        st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=5, max_size=5), min_size=1, max_size=4
    ),
    st.lists(st.floats(0, 1e6, width=32), min_size=5, max_size=5),
)
def test_shares_are_shares(parts: list[list[float]], weights: list[float]) -> None:
    shares = stacked_shares([np.array(row) for row in parts], np.array(weights), 0)
    assert shares.shape == (len(parts),)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)


# --- the kernel --------------------------------------------------------------------------------------

positive = st.lists(st.floats(0.01, 1), min_size=1, max_size=4)


@given(positive, positive)
def test_the_odds_of_the_kernel_are_halved_up_to_three_to_one(
    learned: list[float], kernel: list[float]
) -> None:
    given_ = np.array([*learned, *kernel])
    shares, n = with_less_kernel(given_ / given_.sum(), len(learned)), len(learned)
    odds = sum(kernel) / sum(learned)
    of_kernel = shares[n:].sum()
    assert of_kernel / (1 - of_kernel) == pytest.approx(min(odds / 2, 3))
    # Among themselves, learners and kernels keep their proportions.
    assert shares[:n] / shares[:n].sum() == pytest.approx(given_[:n] / given_[:n].sum())
    assert shares[n:] / of_kernel == pytest.approx(given_[n:] / given_[n:].sum())
    assert shares.sum() == pytest.approx(1)


def test_learners_without_a_share_have_a_quarter_in_equal_parts() -> None:
    shares = with_less_kernel(np.array([0.0, 0.0, 0.3, 0.7]), 2)
    assert shares == pytest.approx([0.125, 0.125, 0.75 * 0.3, 0.75 * 0.7])


def test_learners_without_a_share_have_a_quarter_where_kernels_sum_to_just_below_one() -> None:
    shares = np.array([0.0, *np.random.default_rng(0).random(3)])
    while (shares / shares.sum()).sum() >= 1:
        shares = np.array([0.0, *np.random.default_rng(int(1e9 * shares[1])).random(3)])
    assert with_less_kernel(shares / shares.sum(), 1)[0] == pytest.approx(0.25)


# --- learners ----------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=9), st.integers(0, 70))
def test_learners_are_apportioned_as_near_to_the_shares_as_can_be(shares: list[float], total: int) -> None:
    counts = apportion(np.array(shares), total)
    wanted = np.array(shares) / np.sum(shares) * total
    assert counts.sum() == total
    assert (np.abs(counts - wanted) < 1 + 1e-9).all()
    assert (counts >= 0).all()
    # Who has a larger share never has fewer learners.
    assert (np.diff(counts[np.argsort(shares, kind="stable")]) >= 0).all() or len(set(shares)) < len(shares)


def test_the_largest_remainders_have_the_rest() -> None:
    assert apportion(np.array([0.5, 0.3, 0.2]), 4).tolist() == [2, 1, 1]
    assert apportion(np.array([1.0, 1.0, 1.0]), 4).tolist() == [2, 1, 1]
    assert apportion(np.array([0.98, 0.02]), 16).tolist() == [16, 0]
