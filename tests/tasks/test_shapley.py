"""Shapley values against their definition, an average over all orders, and against their axioms."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from honlearn.errors import ParameterError
from honlearn.tasks.explain.shapley import planned, shapley_values

Table = NDArray[np.float64]


def by_definition(n: int, table: Table) -> Table:
    """Return each player's mean gain over all n! orders, one order at a time."""
    out, orders = np.zeros((n, *table.shape[1:])), list(permutations(range(n)))
    for order in orders:
        coalition = 0
        for player in order:
            joined = coalition | 1 << player
            out[player] += table[joined] - table[coalition]
            coalition = joined
    return out / len(orders)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 6])
def test_values_are_those_of_the_definition(n: int) -> None:
    table = np.random.default_rng(n).normal(size=(2**n, 3))
    found = shapley_values(n, lambda bits: table[bits.astype(int)])
    np.testing.assert_allclose(found, by_definition(n, table), atol=1e-12)


@pytest.mark.parametrize("n", [3, 8, 9, 20, 63])
def test_values_sum_to_what_all_players_gain(n: int) -> None:
    def value(bits: NDArray[np.uint64]) -> Table:
        return np.sin(bits.astype(np.float64) % 1009)

    ends = value(np.array([0, 2**n - 1], np.uint64))
    assert shapley_values(n, value, seed=3).sum() == pytest.approx(ends[1] - ends[0])


@pytest.mark.parametrize("n", [7, 12])
def test_of_a_sum_each_player_has_its_term_and_one_without_effect_nothing(n: int) -> None:
    terms = np.arange(n) - 2.0
    terms[1] = 0.0

    def value(bits: NDArray[np.uint64]) -> Table:
        return ((bits[:, None] >> np.arange(n, dtype=np.uint64)) & np.uint64(1)) @ terms

    np.testing.assert_allclose(shapley_values(n, value), terms, atol=1e-12)


def test_sampled_values_are_near_the_exact_ones() -> None:
    # A majority of nine: by symmetry everybody has a ninth.
    def value(bits: NDArray[np.uint64]) -> Table:
        return (np.array([number.bit_count() for number in bits.tolist()]) >= 5).astype(float)

    found = shapley_values(9, value, seed=1, orders=4000)
    assert np.abs(found - 1 / 9).max() < 0.02
    np.testing.assert_array_equal(found, shapley_values(9, value, seed=1, orders=4000))


@pytest.mark.parametrize("n", [4, 15])
def test_the_plan_has_nobody_everybody_and_all_but_one(n: int) -> None:
    plan = planned(n).tolist()
    assert plan == sorted(set(plan))
    assert {0, 2**n - 1, *(2**n - 1 - 2**i for i in range(n))} <= set(plan)


def test_more_players_than_bits_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"take 0 to 63 players\. Got 64 instead"):
        shapley_values(64, lambda bits: bits.astype(float))
