"""Validation parts of learners in a row: they divide the examples, class by class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from honlearn.ensemble.examples import n_parts, split, splits

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=60)


def coded(labels: list[int]) -> NDArray[np.int64]:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("division", [0, 3])
def test_four_learners_in_a_row_divide_the_examples(seed: int, division: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat([0, 1, 2], [40, 24, 16]))
    learners = range(4 * division, 4 * division + 4)
    train, held = splits(labels, 0.25, seed, learners)
    assert (train.shape, held.shape) == ((4, 60), (4, 20))
    assert np.array_equal(np.sort(held.ravel()), np.arange(80))
    for own, other in zip(held, train, strict=True):
        assert np.array_equal(np.sort(np.concatenate([own, other])), np.arange(80))
        assert (np.diff(own) > 0).all()
        # Every class is held back by its share.
        assert np.abs(np.bincount(labels[own]) - [10, 6, 4]).max() <= 1


def test_the_next_four_divide_them_anew() -> None:
    labels = np.arange(40) % 2
    first, second, other = (
        splits(labels, 0.25, seed, range(start, start + 4))[1] for seed, start in ((0, 0), (0, 4), (1, 0))
    )
    for one in (second, other):
        assert not {tuple(row) for row in first} & {tuple(row) for row in one}


def test_a_learner_has_its_part_whoever_else_is_there() -> None:
    labels = np.arange(37) % 3
    _, together = splits(labels, 0.15, 5, range(9))
    for learner in range(9):
        _, (alone,) = splits(labels, 0.15, 5, [learner])
        assert np.array_equal(alone, together[learner])


def test_other_owners_have_a_split_of_their_own() -> None:
    labels = np.arange(37) % 3
    train, held = splits(labels, 0.2, 5, ["joint"])
    expected = split(labels, 0.2, 5, "joint")
    assert np.array_equal(train[0], expected[0])
    assert np.array_equal(held[0], expected[1])


@given(LABELS, st.floats(0, 0.9), st.integers(0, 99), st.integers(0, 20))
def test_no_class_is_held_back_as_a_whole(labels: list[int], fraction: float, seed: int, start: int) -> None:
    y = coded(labels)
    train, held = splits(y, fraction, seed, range(start, start + 5))
    counts = np.bincount(y)
    size = round(float(np.minimum(counts * fraction, counts - 1).sum()))
    assert held.shape == (5, size)
    for own, other in zip(held, train, strict=True):
        assert sorted([*own, *other]) == list(range(len(y)))
        assert (np.bincount(y[other], minlength=len(counts)) >= 1).all()
        # So the only member of a class is never held back.
        assert (counts[y[own]] > 1).all()


@given(st.integers(8, 80), st.sampled_from([0.1, 0.2, 0.25, 0.5]), st.integers(0, 99))
def test_every_example_is_held_back_about_equally_often(n: int, fraction: float, seed: int) -> None:
    labels, parts = np.arange(n) % 2, n_parts(fraction)
    _, held = splits(labels, fraction, seed, range(parts))
    times = np.bincount(held.ravel(), minlength=n)
    # Windows on a circle: where they cannot be equal, neighbours overlap by one example or leave one out.
    assert times.max() <= 2
    assert max((times == 0).sum(), (times == 2).sum()) <= (0 if n % parts == 0 else parts)
