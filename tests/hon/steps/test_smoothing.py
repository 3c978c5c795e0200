"""Smoothing: distributions that add up to 1, fits that are optimal, and memory that costs nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from step_cases import PATHS, distribution, planted, unknown

from honlearn.datasets.planted import synthetic
from honlearn.hon.build import GramCounts, count_grams
from honlearn.hon.steps.contexts import context_tree
from honlearn.hon.steps.discounts import _likelihood, bend, closed_form, discount, fit_discounts
from honlearn.hon.steps.model import StepModel
from honlearn.hon.steps.smoothing import smooth
from honlearn.paths.paths import Paths
from honlearn.seeds import generator


@settings(max_examples=40, deadline=None)
@given(PATHS, st.integers(1, 4), st.booleans())
def test_every_distribution_adds_up_to_one_and_is_above_zero(
    paths: list[list[str]], order: int, weighted: bool
) -> None:
    model = StepModel.of(count_grams(paths, order=order), weighted=weighted)
    for state in range(len(model.automaton.end)):
        p = distribution(model, state)
        assert (p > 0).all()
        assert p.sum() + unknown(model, state) == pytest.approx(1.0, abs=1e-9)


def test_nothing_that_was_counted_twice_is_smoothed_away() -> None:
    paths = [["A", "C", "D"], ["B", "C", "E"]] * 200
    model = StepModel.of(count_grams(paths, order=2))
    assert model.next_steps(["A", "C"], 1)["probability"][0] > 0.99
    assert model.next_steps([], 1)["probability"][0] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("paths", "after", "step"),
    [
        (["ATL ORD DFW", "ATL ORD ATL", "LGA ATL ORD"], "ATL", "ORD"),
        (["ATL ORD DFW", "ATL ORD DFW", "DFW ATL ORD"], "ATL", "ORD"),
        (["DFW ATL ORD", "ATL ORD DFW", "ORD DFW"], "ATL", "ORD"),
        (["A B", "A B", "C D"], "A", "B"),
    ],
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_of_three_paths_what_always_followed_is_the_likeliest(
    paths: list[str], after: str, step: str, order: int
) -> None:
    found = count_grams([path.split() for path in paths], order=order).next_steps([after], top=2)
    assert found["step"][0] == step
    assert found["probability"][0] > 2 * found["probability"][1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9), st.floats(0.01, 0.9)), min_size=1, max_size=12),
    st.lists(st.floats(0.05, 0.995), min_size=3, max_size=3),
)
def test_more_is_kept_of_a_larger_count(outcomes: list[tuple[int, int, float]], shares: list[float]) -> None:
    rows = [
        [n, n + rest, *(bend(j, n) + rest * (j == 0) for j in range(3)), q, 1.0] for n, rest, q in outcomes
    ]
    d, _ = fit_discounts(np.array(rows, np.float64), np.array(shares) * [1, 2, 3])
    kept = np.array([1.0, 2.0, 3.0]) - d
    assert kept[0] > 0
    assert (np.diff(kept) > 0).all()


@given(st.floats(0, 6), st.lists(st.floats(0, 0.9), min_size=3, max_size=3))
def test_discounts_are_sums_of_bends(n: float, shares: list[float]) -> None:
    d = np.array(shares) * [1, 2, 3]
    assert discount(d, n) == pytest.approx(sum(d[j] * bend(j, n) for j in range(3)), abs=1e-12)
    assert discount(d, n) <= n + 1e-12


def test_closed_form_is_that_of_chen_and_goodman() -> None:
    n = np.array([500, 220, 130, 90])
    y = 500 / (500 + 440)
    wanted = [1 - 2 * y * 220 / 500, 2 - 3 * y * 130 / 220, 3 - 4 * y * 90 / 130]
    np.testing.assert_allclose(closed_form(n), wanted)
    assert closed_form(np.zeros(4, np.int64)).tolist() == [0.5, 1.0, 1.5]


@pytest.mark.parametrize("a", [0.3, 20.0])
def test_the_fit_is_the_best_there_is(a: float) -> None:
    random = np.random.default_rng(3)
    rows = []
    for _ in range(400):
        q = random.dirichlet(np.full(12, 0.5))
        counts = random.multinomial(random.integers(2, 30), random.dirichlet(a * q + 1e-3))
        sums = [sum(bend(j, float(n)) for n in counts) for j in range(3)]
        rows += [[n, counts.sum(), *sums, max(q[x], 1e-4), n] for x, n in enumerate(counts) if n]
    sample = np.array(rows, np.float64)
    d, found = fit_discounts(sample, np.array([0.5, 1.0, 1.5]))

    def loss(theta: np.ndarray) -> float:
        inside = 1 / (1 + np.exp(-theta[:3])) * [1, 2, 3]
        return -_likelihood(sample, np.append(inside, np.exp(theta[3])))

    other = minimize(loss, np.array([0.0, 0.0, 0.0, 0.0]), method="Nelder-Mead", options={"maxfev": 4000})
    assert -_likelihood(sample, np.append(d, found)) <= other.fun + 1e-4 * sample[:, 6].sum()


def split(paths: Paths, share: float = 0.3) -> tuple[Paths, Paths]:
    """Return training and test paths with one vocabulary."""
    chosen = generator(5, "test").random(len(paths)) < share
    parts = []
    for rows in (np.flatnonzero(~chosen), np.flatnonzero(chosen)):
        lengths = paths.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        taken = np.repeat(paths.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        parts.append(Paths(paths.codes[taken], offsets, paths.vocabulary))
    return parts[0], parts[1]


def held_out_bits(counts: GramCounts, test: Paths, order: int, weighted: bool = True) -> float:
    scores = StepModel.of(counts, order, weighted=weighted).score(test)
    return float(scores.bits.sum() / len(scores.steps))


def test_memory_that_is_not_there_costs_next_to_nothing() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 8, 30_000).astype(np.int32)
    paths = Paths(codes, np.arange(0, 30_001, 5), Paths.from_lists([list("ABCDEFGH")]).vocabulary)
    train, test = split(paths)
    counts = count_grams(train, order=4)
    lowest = min(held_out_bits(counts, test, k) for k in (1, 2, 3))
    assert held_out_bits(counts, test, 4) < lowest + 0.01
    assert held_out_bits(counts, test, 4) < held_out_bits(counts, test, 4, weighted=False)


def test_planted_memory_is_used() -> None:
    train, test = split(Paths.from_lists(planted(3, 4000)))
    counts = count_grams(train, order=4)
    bits = [held_out_bits(counts, test, k) for k in (1, 2, 3, 4)]
    assert bits[2] < bits[1] - 0.1
    assert bits[3] <= min(bits) + 0.005


def test_the_fit_does_not_depend_on_the_order_of_paths() -> None:
    paths = synthetic(2, n_paths=500).paths
    lists = list(paths)
    one = StepModel.of(count_grams(lists, order=3))
    two = StepModel.of(count_grams(lists[::-1], order=3))
    np.testing.assert_allclose(one.score(lists[:50]).bits, two.score(lists[:50]).bits, rtol=1e-2)
    tree = context_tree(count_grams(lists, order=3).levels)
    np.testing.assert_array_equal(smooth(tree).bits, smooth(tree).bits)
