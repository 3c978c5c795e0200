"""Held-back predictions: votes, losses and gains by direct formulas, and the ledger that keeps them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from honlearn.ensemble.checkpoint import save_checkpoint
from honlearn.ensemble.training import Held
from honlearn.errors import FormatError
from honlearn.tasks.held import Gain, HeldOutScore, Ledger, log_losses, pooled_votes

N = 12


def held(positions: NDArray[np.int64], probability: NDArray[np.float64]) -> Held:
    """Return what learners held back where the truth, class 0 of two, is given these probabilities."""
    proba = np.stack([probability, 1 - probability], 2).astype(np.float32)
    return Held(positions, proba, np.zeros(positions.shape, np.int64))


def drawn(seed: int, learners: int, size: int = 5) -> Held:
    """Return random predictions of learners that each hold back some of N examples."""
    random = np.random.default_rng(seed)
    positions = np.stack([np.sort(random.permutation(N - 1)[:size]) for _ in range(learners)])
    return held(positions, random.uniform(0.05, 0.95, positions.shape))


def score(*parts: Held, key: str = "one") -> HeldOutScore:
    made = HeldOutScore(key=key, n_examples=N)
    for part in parts:
        made.add(part)
    return made


def by_example(given: Held, first: int | None = None) -> list[list[float]]:
    """Return all probabilities of each example, in the order of the learners."""
    out: list[list[float]] = [[] for _ in range(N)]
    for positions, probability in zip(given.positions[:first], given.probability[:first], strict=True):
        for place, value in zip(positions, probability, strict=True):
            out[place].append(float(value))
    return out


# --- formulas ----------------------------------------------------------------------------------------


def test_the_truth_is_one_of_several_classes() -> None:
    proba = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4)).astype(np.float32)
    truth = np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
    given = Held(np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), proba, truth)
    expected = [[proba[i, j, truth[i, j]] for j in range(4)] for i in range(2)]
    assert given.probability.tolist() == np.array(expected, np.float64).tolist()


@pytest.mark.parametrize("first", [None, 1, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_votes_and_losses_of_every_example(seed: int, first: int | None) -> None:
    given = drawn(seed, 7)
    expected = by_example(given, first)
    one = score(given)
    votes = one.votes(first)
    assert votes.shape == (max(map(len, expected)), N)
    for place, own in enumerate(expected):
        assert votes[: len(own), place].tolist() == own
        assert np.isnan(votes[len(own) :, place]).all()
    losses = [-math.log(np.mean(own)) if own else math.nan for own in expected]
    np.testing.assert_allclose(one.losses(first), losses, rtol=1e-12)
    assert one.loss(first) == pytest.approx(np.nanmean(losses))
    assert np.isnan(one.losses(first)[N - 1])


def test_learners_may_come_in_parts() -> None:
    given = drawn(1, 7)
    parts = [Held(*(array[some] for array in given)) for some in (slice(0, 2), slice(2, 3), slice(3, 7))]
    whole, pieces = score(given), score(*parts)
    assert pieces.learners == 7
    assert pieces.votes().tobytes() == whole.votes().tobytes()


def test_only_learners_that_are_missing_are_asked_for() -> None:
    one, asked = HeldOutScore(key="one", n_examples=N), list[range]()

    def judge(learners: range) -> Held:
        asked.append(learners)
        return drawn(0, len(learners))

    for upto in (2, 5):
        one.update(upto, judge)
    assert asked == [range(2), range(2, 5)]
    assert one.learners == 5
    assert one.seconds >= 0


def test_the_gain_is_the_mean_of_the_differences_and_its_error_that_of_the_mean() -> None:
    one, other = drawn(0, 3), drawn(1, 6)
    for first in (None, 3):
        differences = [
            math.log(np.mean(a) / np.mean(b))
            for a, b in zip(by_example(one, first), by_example(other, first), strict=True)
            if a and b
        ]
        gain = score(one).gain_over(score(other), first)
        assert gain.mean == pytest.approx(np.mean(differences))
        assert gain.error == pytest.approx(np.std(differences, ddof=1) / math.sqrt(len(differences)))


def test_a_gain_is_clear_beyond_its_error() -> None:
    assert Gain(0.2, 0.1).is_clear
    assert not Gain(0.1, 0.1).is_clear
    assert not Gain(0.0, math.nan).is_clear
    assert not Gain(0.3, math.nan).is_clear


@pytest.mark.parametrize("common", [0, 1])
def test_examples_in_common_are_needed_for_a_gain(common: int) -> None:
    left = held(np.array([[0, 1, 2]]), np.full((1, 3), 0.5))
    right = held(np.array([[3 - common, 4, 5]]), np.full((1, 3), 0.9))
    gain = score(right).gain_over(score(left))
    assert gain.mean == 0
    assert math.isnan(gain.error)


def test_nothing_held_back_is_an_infinite_loss() -> None:
    empty = score(held(np.zeros((3, 0), np.int64), np.zeros((3, 0))))
    for one in (empty, HeldOutScore(key="new", n_examples=N)):
        assert one.loss() == math.inf
        assert one.votes().shape == (1, N)
        assert np.isnan(one.losses()).all()


def test_means_leave_unknown_votes_out_and_losses_are_bounded() -> None:
    votes = np.array([[0.2, np.nan, 0.5], [0.6, np.nan, np.nan]])
    np.testing.assert_allclose(pooled_votes(votes), [0.4, np.nan, 0.5])
    assert log_losses(np.array([0.5, 0.0])).tolist() == pytest.approx([math.log(2), -math.log(1e-12)])


# --- the ledger --------------------------------------------------------------------------------------


def test_a_ledger_gives_back_what_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "fit.choice"
    scores = [score(drawn(0, 3), key="a"), score(drawn(1, 2), drawn(2, 2), key="b"), score(key="none")]
    scores[0].seconds = 1.25
    Ledger(path, "mark").save(scores)
    ledger = Ledger(path, "mark")
    again = [HeldOutScore(key=one.key, n_examples=N) for one in scores]
    for one, before in zip(again, scores, strict=True):
        ledger.restore(one)
        assert one.positions.tobytes() == before.positions.tobytes()
        assert one.probability.tobytes() == before.probability.tobytes()
        assert one.seconds == before.seconds
    # What is restored goes on.
    again[0].add(drawn(5, 1))
    assert again[0].votes().tobytes() == score(drawn(0, 3), drawn(5, 1)).votes().tobytes()


def test_without_a_path_nothing_is_kept(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.save([score(drawn(0, 2))])
    one = HeldOutScore(key="one", n_examples=N)
    ledger.restore(one)
    assert one.learners == 0


@pytest.mark.parametrize(("seconds", "writes"), [(0.0, True), (1e6, False)])
def test_it_is_written_when_it_is_time(seconds: float, writes: bool, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "fit.choice", "mark", seconds)
    ledger.maybe_save([score(drawn(0, 2))])
    assert (tmp_path / "fit.choice").exists() is writes


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_saves_what_is_known(error: type[BaseException], tmp_path: Path) -> None:
    ledger, scores = Ledger(tmp_path / "fit.choice", "mark"), [score(drawn(0, 2)), score(key="new")]
    with pytest.raises(error, match="stop"), ledger.saved_on_interrupt(scores):
        raise error("stop")
    one = HeldOutScore(key="one", n_examples=N)
    Ledger(tmp_path / "fit.choice", "mark").restore(one)
    assert one.learners == 2
    # Nothing is worth a file where nothing is known, nor after an error of ours.
    other = Ledger(tmp_path / "other", "mark")
    with pytest.raises(error, match="stop"), other.saved_on_interrupt(scores[1:]):
        raise error("stop")
    with pytest.raises(ValueError, match="stop"), other.saved_on_interrupt(scores):
        raise ValueError("stop")
    assert not (tmp_path / "other").exists()


def test_the_ledger_of_another_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.choice"
    Ledger(path, "mark").save([score(drawn(0, 2))])
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        Ledger(path, "another").restore(HeldOutScore(key="one", n_examples=N))
    with pytest.raises(FormatError, match=r"examples up to \d+, there are 3\); remove it to start anew"):
        Ledger(path, "mark").restore(HeldOutScore(key="one", n_examples=3))


POSITIONS, PROBABILITY = np.array([[0, 1], [2, 3]]), np.array([[0.5, 0.4], [0.3, 1.0]])


@pytest.mark.parametrize(
    ("record", "tensors", "told"),
    [
        ({"candidates": 7}, {}, "'candidates' must be a list"),
        ({"candidates": ["a"]}, {}, "'candidates' must be a list of JSON objects"),
        ({}, {}, "'candidates' is not there"),
        ({"candidates": [{"key": 3, "seconds": 0.0}]}, {}, "'key' must be"),
        ({"candidates": [{"key": "a", "seconds": -1.0}]}, {}, "'seconds' must be"),
        ({"candidates": [{"key": "a"}]}, {}, "'seconds' is not there"),
        (None, {"positions0": None}, "does not fit this training"),
        (None, {"probability0": None}, "does not fit this training"),
        (None, {"positions0": POSITIONS.astype(np.int32)}, "no held-back predictions"),
        (None, {"positions0": POSITIONS - 1}, "no held-back predictions"),
        (None, {"positions0": POSITIONS[:1]}, "no held-back predictions"),
        (None, {"positions0": POSITIONS[0], "probability0": PROBABILITY[0]}, "no held-back predictions"),
        (None, {"probability0": PROBABILITY.astype(np.float32)}, "no held-back predictions"),
        (None, {"probability0": PROBABILITY * np.nan}, "no held-back predictions"),
        (None, {"probability0": -PROBABILITY}, "no held-back predictions"),
        (None, {"probability0": 2 * PROBABILITY}, "no held-back predictions"),
    ],
)
def test_a_ledger_made_to_harm_is_told(tmp_path: Path, record: Any, tensors: Any, told: str) -> None:
    path = tmp_path / "fit.choice"
    whole = {"positions0": POSITIONS, "probability0": PROBABILITY, **tensors}
    known = {name: torch.from_numpy(array) for name, array in whole.items() if array is not None}
    sound = {"candidates": [{"key": "a", "seconds": 0.5}]}
    save_checkpoint(path, "mark", sound if record is None else record, known)
    with pytest.raises(FormatError, match=told) as caught:
        Ledger(path, "mark").restore(HeldOutScore(key="a", n_examples=N))
    assert "\n" not in str(caught.value)
    assert "fit.choice" in str(caught.value)
