"""Conformal prediction on exchangeable data: coverage by closed form, sets that nest, classes apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honlearn.conformal import (
    ScoreRule,
    check_alpha,
    class_p_values,
    crossed_p_values,
    link_p_values,
    p_values,
    threshold,
)
from honlearn.errors import ParameterError

RULES = [ScoreRule("lac"), ScoreRule("aps"), ScoreRule("raps", 0.1), ScoreRule("raps", 0.5, 2)]


def exchangeable(n: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities, classes drawn by other ones, and uniform numbers: a model that is wrong."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, classes)) * 2
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = (true.cumsum(1) > random.random(n)[:, None]).argmax(1)
    given = np.exp(0.4 * logits + random.normal(size=(n, classes)))
    return given / given.sum(1, keepdims=True), labels, random.random(n)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_coverage_of_a_wrong_model_is_the_closed_form(rule: ScoreRule, alpha: float) -> None:
    # Without ties the coverage is exactly ⌈(n + 1)(1 − alpha)⌉ / (n + 1), over calibration and new example.
    n, rounds = 39, 2000
    proba, labels, uniform = exchangeable((n + 1) * rounds, 4, 0)
    scores = np.take_along_axis(rule.scores(proba, uniform), labels[:, None], 1).reshape(rounds, n + 1)
    hits = sum(p_values(row[-1:], row[:-1])[0] > alpha for row in scores)
    expected = np.ceil(round((n + 1) * (1 - alpha), 9)) / (n + 1)
    assert abs(hits / rounds - expected) < 4 * np.sqrt(expected * (1 - expected) / rounds)


def test_p_values_are_counts() -> None:
    random = np.random.default_rng(0)
    known, new = random.integers(0, 5, 30).astype(float), random.integers(0, 6, 20).astype(float)
    brute = [(1 + sum(s >= x for s in known)) / 31 for x in new]
    assert p_values(new, known).tolist() == brute


@given(st.integers(0, 2**32), st.sampled_from(RULES))
def test_sets_nest_in_alpha(seed: int, rule: ScoreRule) -> None:
    proba, labels, uniform = exchangeable(60, 5, seed)
    scores = rule.scores(proba, uniform)
    values = class_p_values(scores[30:], scores[np.arange(30), labels[:30]])
    smaller, larger = values > 0.3, values > 0.1
    assert not (smaller & ~larger).any()
    assert (values > 0).all()
    assert not (values > 1).any()


def test_class_conditional_coverage_holds_in_every_class() -> None:
    proba, labels, uniform = exchangeable(40_000, 3, 1)
    # A model that never believes in the last class covers it only where classes are calibrated apart.
    proba[:, 2] *= 0.1
    proba /= proba.sum(1, keepdims=True)
    scores = ScoreRule("lac").scores(proba, uniform)
    cut = 20_000
    known, new = scores[np.arange(cut), labels[:cut]], scores[cut:]
    apart = class_p_values(new, known, labels[:cut])
    together = class_p_values(new, known)
    for code in range(3):
        own = labels[cut:] == code
        assert (apart[own, code] > 0.1).mean() == pytest.approx(0.9, abs=0.015)
    own = labels[cut:] == 2
    assert (together[own, 2] > 0.1).mean() < 0.85


def test_a_class_without_examples_is_in_every_set() -> None:
    values = class_p_values(np.full((2, 3), 0.9), np.array([0.1, 0.2]), np.array([0, 0]))
    assert values[:, 1:].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert values[:, 0].tolist() == [1 / 3, 1 / 3]


def test_adaptive_scores_are_sums_over_better_classes() -> None:
    proba = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]])
    uniform = np.array([0.25, 1.0])
    assert np.allclose(ScoreRule("aps").scores(proba, uniform), [[0.125, 0.85, 0.575], [0.9, 0.8, 1.0]])
    plain, ranked = (ScoreRule(*given).scores(proba, uniform) for given in (("aps",), ("raps", 0.2)))
    assert np.allclose(ranked - plain, [[0, 0.4, 0.2], [0.2, 0, 0.4]])


def test_least_ambiguous_scores_are_what_a_class_lacks() -> None:
    proba = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]])
    assert np.array_equal(ScoreRule("lac").scores(proba, np.zeros(2)), 1 - proba)


def test_crossed_p_values_are_those_of_the_other_parts() -> None:
    proba, labels, uniform = exchangeable(43, 3, 2)
    scores = ScoreRule("aps").scores(proba, uniform)
    found = crossed_p_values(scores, labels, 4)
    for i in range(43):
        known = [scores[j, labels[j]] for j in range(43) if j % 4 != i % 4]
        brute = [(1 + sum(s >= x for s in known)) / (1 + len(known)) for x in scores[i]]
        assert np.allclose(found[i], brute)
    assert np.array_equal(crossed_p_values(scores, labels), crossed_p_values(scores, labels, 5))


@pytest.mark.parametrize("alpha", [-0.1, 1.5, "0.1", None, float("nan"), True])
def test_an_alpha_that_is_no_share(alpha: object) -> None:
    with pytest.raises(ParameterError, match="The 'alpha' parameter of X must be a number at least 0 and"):
        check_alpha("X", alpha)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_a_step_of_a_new_path_is_covered_whatever_depends_within_paths(alpha: float) -> None:
    # Paths of one to nine steps; long paths are harder, and the steps of a path share most of their score.
    random = np.random.default_rng(0)
    rounds, n, hits = 3000, 39, 0
    for _ in range(rounds):
        steps = random.integers(1, 10, n + 1)
        own = np.repeat(random.normal(size=n + 1) + 0.3 * steps, steps) + 0.3 * random.normal(
            size=steps.sum()
        )
        known, weights = own[: -steps[-1]], np.repeat(1 / steps[:-1], steps[:-1])
        hits += random.choice(own[-steps[-1] :]) <= threshold(known, weights, n, alpha)
    # At least 1 − alpha, and at most one path of n + 1 more, for which all its own steps stand.
    spread = 4 * np.sqrt(alpha * (1 - alpha) / rounds)
    assert 1 - alpha - spread < hits / rounds < 1 - alpha + 1 / (n + 1) + spread


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=25), st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5, 1.0])
)
def test_a_threshold_makes_the_sets_of_p_values(values: list[int], alpha: float) -> None:
    known = np.array(values, float)
    limit = threshold(known, np.ones(len(known)), len(known), alpha)
    new = np.arange(-1, 8).astype(float)
    assert (new <= limit).tolist() == (p_values(new, known) > alpha + 1e-12).tolist()


def test_p_values_of_unlinked_pairs_are_uniform() -> None:
    random = np.random.default_rng(0)
    n, rounds = 19, 4000
    p = np.concatenate([link_p_values(random.normal(size=1), random.normal(size=n)) for _ in range(rounds)])
    shares = np.bincount(np.rint(p * (n + 1)).astype(int), minlength=n + 2)[1:] / rounds
    assert np.abs(shares - 1 / (n + 1)).max() < 4 * np.sqrt(0.05 * 0.95 / rounds)
