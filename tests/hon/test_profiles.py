"""Profiles and statistics of steps: by their definition, and for entities that were not there."""

from __future__ import annotations

import numpy as np
import pytest

import honlearn as hl
from honlearn.hon import profiles as module
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.profiles import step_profiles, step_statistics


def network(seed: int = 0, size: int = 30) -> HigherOrderNetwork:
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(size, 0.2), size)
    paths = []
    for _ in range(400):
        path = [int(random.integers(size))]
        for _ in range(4):
            path.append(int(random.choice(size, p=weights[path[-1]])))
        paths.append([f"e{code:02d}" for code in path])
    return hl.grow(paths, order=2, tau=1.0, min_support=2)


def test_products_are_bhattacharyya_coefficients() -> None:
    hon = network()
    size = hon.n_entities
    # One step, which is counted in the edges of the base nodes.
    found, _ = step_profiles(hon, size, reach=1)
    steps = np.zeros((size, size))
    first = hon.order[hon.sources] == 1
    np.add.at(steps, (hon.base[hon.sources[first]], hon.base[hon.indices[first]]), hon.weights[first])
    np.fill_diagonal(steps, 0)
    expected = np.zeros((size, size))
    for side in (steps, steps.T):
        total = side.sum(1, keepdims=True)
        root = np.sqrt(np.divide(side, total, out=np.zeros_like(side), where=total > 0))
        expected += root @ root.T / 2
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-6)
    assert expected.max() <= 1 + 1e-12


def test_an_entity_has_its_own_profile_in_the_space() -> None:
    hon = network()
    found, space = step_profiles(hon)
    every = np.arange(hon.n_entities)
    assert found.shape == (hon.n_entities, space.width)
    np.testing.assert_allclose(space.profiles(hon, every, every), found, atol=1e-5)


def test_steps_to_entities_without_a_column_are_left_out() -> None:
    hon = network()
    found, space = step_profiles(hon)
    every = np.arange(hon.n_entities)
    columns = np.where(every == 3, -1, every)
    got = space.profiles(hon, every, columns)
    ahead = module.steps_to_others(hon, 2).toarray()
    touched = (ahead[:, 3] > 0) | (ahead[3] > 0)
    np.testing.assert_allclose(got[~touched], found[~touched], atol=1e-5)
    ahead[:, 3] = 0
    after = np.sqrt(np.divide(ahead[0], 2 * ahead[0].sum()))
    back = module.steps_to_others(hon, 2).toarray()[:, 0]
    back[3] = 0
    before = np.sqrt(back / (2 * back.sum()))
    np.testing.assert_allclose(got[0], after @ space.loadings[0] + before @ space.loadings[1], atol=1e-5)
    taken = space.taken(columns)
    assert not taken.loadings[:, 3].any()
    np.testing.assert_array_equal(taken.loadings[:, 4], space.loadings[:, 4])


def test_fewer_dimensions_hold_most_of_the_products() -> None:
    hon = network()
    whole, few = step_profiles(hon)[0], step_profiles(hon, 10)[0]
    assert few.shape == (30, 10)
    np.testing.assert_allclose(np.abs(few), np.abs(whole[:, :10]), atol=1e-6)
    apart = np.abs(few @ few.T - whole @ whole.T)
    assert 0 < apart.mean() < 0.1 * np.abs(whole @ whole.T).mean()


def test_large_networks_have_profiles_of_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    assert step_profiles(network())[1].reach == 2
    monkeypatch.setattr(module, "SKETCHED_ABOVE", 29)
    assert step_profiles(network())[1].reach == 1


@pytest.mark.parametrize(("source", "target"), [(["A"], ["A"]), (["A", "B"], ["A", "B"])])
def test_steps_to_oneself_alone_leave_nothing(source: list[str], target: list[str]) -> None:
    hon = from_edges(source, target)
    found, space = step_profiles(hon)
    assert not found.any()
    assert not space.loadings.any()
    assert np.isfinite(step_statistics(hon)).all()


def test_statistics_are_those_of_the_steps() -> None:
    hon = hl.grow([["A", "B", "A", "A", "C"], ["A", "B"]], order=1)
    a, b, c = (hon.index(name) for name in "ABC")
    got = step_statistics(hon)
    # A: to B twice, to itself once, to C once; from B once and from itself once.
    shares = np.array([0.5, 0.25, 0.25])
    expected = [
        np.log(5), np.log(3), np.log(5 / 3), np.log(4), np.log(3),
        -(shares * np.log(shares)).sum(), np.log(2), 0.25, 0.5,
    ]  # fmt: skip
    np.testing.assert_allclose(got[a], expected)
    np.testing.assert_allclose(got[b, [0, 1, 7, 8]], [np.log(2), np.log(3), 0, 1])
    np.testing.assert_allclose(got[c, [0, 1, 5, 6, 7, 8]], [0, np.log(2), 0, 0, 0, 0])
    assert got.shape == (3, module.N_STATISTICS)
