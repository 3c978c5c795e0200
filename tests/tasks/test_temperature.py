"""The temperature: found where predictions are flattened or too sharp, near 1 where they are right."""

from __future__ import annotations

import numpy as np
import pytest

from honlearn.tasks.temperature import choose_temperature, matching_temperature, tempered


def drawn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(3), n)
    return proba.astype(np.float32), (proba.cumsum(1) > random.random(n)[:, None]).argmax(1)


@pytest.mark.parametrize("power", [0.3, 0.5, 1.8])
def test_the_temperature_that_was_put_in_is_found(power: float) -> None:
    proba, truth = drawn(4000)
    wrong = tempered(proba, 1 / power)
    found = choose_temperature(wrong, truth, np.ones(len(truth)))
    assert found == pytest.approx(power, rel=0.08)
    assert np.allclose(tempered(wrong, power), proba, atol=1e-4)


def test_right_probabilities_stay_as_they_are() -> None:
    kept = [choose_temperature(*drawn(400, seed), np.ones(400)) for seed in range(20)]
    # One that does not help on examples it was not fitted to is not taken.
    assert sum(one == 1.0 for one in kept) >= 8
    assert all(0.7 < one < 1.4 for one in kept)


@pytest.mark.parametrize("power", [0.4, 1.0, 2.5])
def test_the_temperature_that_matches_a_confidence(power: float) -> None:
    proba, _ = drawn(300)
    wanted = float(tempered(proba.astype(np.float64), power).max(1).mean())
    assert matching_temperature(proba, wanted) == pytest.approx(power, rel=1e-4)
    assert [matching_temperature(proba, c) for c in (0.2, 1.0)] == [4.0, 0.25]


@pytest.mark.parametrize("n", [40, 400])
def test_no_run_of_right_predictions_makes_the_next_one_certain(n: int) -> None:
    proba, truth = np.tile([[0.9, 0.05, 0.05]], (n, 1)).astype(np.float32), np.zeros(n, np.int64)
    found = choose_temperature(proba, truth, np.ones(n))
    # One example of n + 1 is spread over the three classes.
    assert tempered(proba, found)[0, 0] == pytest.approx(1 - 2 / 3 / (n + 1), abs=1e-4)


def test_fewer_than_twenty_examples_change_nothing() -> None:
    proba, truth = np.tile([[0.6, 0.4]], (20, 1)).astype(np.float32), np.zeros(20, np.int64)
    assert choose_temperature(proba[:19], truth[:19], np.ones(19)) == 1.0
    assert choose_temperature(proba, truth, np.ones(20)) < 0.5


def test_at_one_not_a_bit_changes() -> None:
    proba, _ = drawn(20)
    assert tempered(proba, 1.0) is proba


def test_weights_count() -> None:
    proba, truth = drawn(3000)
    flat = tempered(proba, 2.0)
    mixed = np.concatenate([flat[:1500], proba[1500:]])
    weights = np.repeat([0.0, 1.0], 1500)
    assert choose_temperature(mixed, truth, 1 - weights) == pytest.approx(0.5, rel=0.1)
    assert choose_temperature(mixed, truth, weights) == pytest.approx(1.0, rel=0.1)


def test_only_the_ratios_of_weights_count() -> None:
    proba, truth = drawn(200)
    flat, weights = tempered(proba, 2.0), np.random.default_rng(1).uniform(0.5, 2, 200)
    found = choose_temperature(flat, truth, weights)
    assert found < 0.7
    assert choose_temperature(flat, truth, 1e-4 * weights) == pytest.approx(found, rel=1e-3)
    # Where no example has any weight, nothing tells of a better one.
    assert choose_temperature(flat, truth, np.zeros(200)) == 1.0


def test_every_example_is_judged_wherever_it_stands() -> None:
    # The first ones are right less often than predicted, all others more often.
    proba = np.tile([[0.7, 0.3]], (500, 1)).astype(np.float32)
    truth = np.concatenate([np.arange(25) % 2, np.zeros(475, np.int64)])
    found = choose_temperature(proba, truth, np.ones(500))
    assert found < 0.5
    assert choose_temperature(proba[::-1], truth[::-1], np.ones(500)) == pytest.approx(found, rel=1e-3)
