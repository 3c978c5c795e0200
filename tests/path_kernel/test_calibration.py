"""Calibration: slopes are those of finite differences, nothing nearby is better, many classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import check_grad
from scipy.special import log_softmax

from honlearn.path_kernel.calibration import Rows, calibrate

Codes = NDArray[np.int64]


def slopes(scores: Rows, labels: Codes, weights: Rows, monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    """Yield how far the slope that the search is told is from finite differences, at random places."""

    def instead(loss, start, **_):  # type: ignore[no-untyped-def]
        seen.append((loss, start))
        raise StopIteration

    seen: list[tuple] = []  # type: ignore[type-arg]
    with monkeypatch.context() as patch:
        patch.setattr("scipy.optimize.minimize", instead)
        with pytest.raises(StopIteration, match=r"^$"):
            calibrate(scores, labels, weights)
    ((loss, start),) = seen
    random = np.random.default_rng(0)
    for _ in range(3):
        place = start + random.normal(size=len(start))
        yield check_grad(lambda x: loss(x)[0], lambda x: loss(x)[1], place) / np.linalg.norm(loss(place)[1])


@pytest.mark.parametrize("classes", [1, 2, 5, 70])
def test_the_slope_is_that_of_finite_differences(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    scores, labels = random.normal(size=(30, classes)), random.integers(0, classes, 30)
    assert max(slopes(scores, labels, random.uniform(0, 2, 30), monkeypatch)) < 1e-5


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 99))
@example(2, 35, 1)  # the search ends once on a slope
def test_no_calibration_nearby_is_better(classes: int, size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, labels = random.normal(size=(size, classes)), random.integers(0, classes, size)
    weights = random.uniform(0.1, 2, size)

    def loss(numbers: Rows) -> float:
        square = numbers[1 : 1 + classes**2].reshape(classes, classes)
        logits = scores @ (numbers[0] * np.eye(classes) + square) + numbers[1 + classes**2 :]
        log_probability = log_softmax(logits, 1)[np.arange(size), labels]
        return float(-(weights * log_probability).sum() + np.square(numbers[1:]).sum() / 2)

    found = calibrate(scores, labels, weights)
    least = loss(found.packed)
    for _ in range(20):
        step = random.normal(size=len(found.packed)) * 0.1
        step[0] = max(step[0], -found.packed[0])
        assert loss(found.packed + step) > least - 1e-4
    # Where the search begins does not matter.
    assert abs(loss(calibrate(scores, labels, weights, found).packed) - least) < 1e-4


def test_many_classes_are_not_mixed() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(210) % 70
    scores = np.eye(70)[labels] + 0.2 * random.normal(size=(210, 70))
    found = calibrate(scores, labels, np.ones(210))
    assert len(found.packed) == 1 + 70
    assert np.array_equal(found.matrix, found.packed[0] * np.eye(70))
    assert (found.logits(scores).argmax(1) == labels).mean() > 0.95
    few = calibrate(scores[:, :64], labels % 64, np.ones(210))
    assert len(few.packed) == 1 + 64**2 + 64
