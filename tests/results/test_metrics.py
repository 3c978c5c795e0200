from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.metrics import log_loss as reference_log_loss

from honlearn.errors import ParameterError
from honlearn.results.metrics import (
    FLOOR,
    LEAST_PAIRS,
    corrected_t_test,
    disagreement,
    entropy,
    log_loss,
    scores,
)
from honlearn.seeds import generator


def example(n: int = 40, classes: int = 3, members: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = generator(seed, "metrics")
    proba = random.dirichlet(np.ones(classes), (members, n))
    return random.integers(classes, size=n), proba


def test_scores_agree_with_scikit_learn() -> None:
    truth, members = example()
    proba = members.mean(0)
    got = scores(truth, proba, members)
    predicted = proba.argmax(1)
    assert got["micro_f1"] == got["accuracy"] == pytest.approx((truth == predicted).mean())
    assert got["macro_f1"] == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert got["log_loss"] == pytest.approx(reference_log_loss(truth, proba))
    single = np.mean([f1_score(truth, member.argmax(1), average="micro") for member in members])
    assert got["single_micro_f1"] == pytest.approx(single)
    assert got["gain"] == pytest.approx(got["micro_f1"] - single)
    assert got["single_log_loss"] == pytest.approx(np.mean([reference_log_loss(truth, m) for m in members]))
    # The logarithm is concave: the mean of members never loses more than the mean member.
    assert got["log_loss"] <= got["single_log_loss"]


def test_without_members_nothing_is_invented() -> None:
    truth, members = example()
    got = scores(truth, members[0])
    names = ("single_micro_f1", "single_log_loss", "gain", "disagreement")
    assert [got[name] for name in names] == [None] * 4


def test_a_class_that_was_never_trained_costs_the_floor() -> None:
    assert log_loss(np.array([2]), np.array([[0.4, 0.6, 0.0]])) == pytest.approx(-math.log(FLOOR))
    assert log_loss(np.array([0]), np.array([[1.0, 0.0, 0.0]])) == 0.0


def test_disagreement_counts_pairs() -> None:
    votes = np.array([[0, 0, 0], [0, 1, 1], [0, 1, 2], [0, 0, 0]])
    members = np.eye(3)[votes]
    pairs = [(i, j) for i in range(4) for j in range(i)]
    expected = [np.mean([votes[i, b] != votes[j, b] for i, j in pairs]) for b in range(3)]
    assert disagreement(members) == pytest.approx(expected)
    assert disagreement(members[:1]).tolist() == [0, 0, 0]


def test_entropy_in_nats() -> None:
    assert entropy(np.array([[0.25] * 4, [1, 0, 0, 0]])) == pytest.approx([math.log(4), 0])


def test_the_corrected_test_by_hand() -> None:
    # mean 0.02, s² = 5e-5, so t² = 0.02² / ((1/5 + 1/4) 5e-5); four degrees of freedom have a closed form.
    differences = [0.02, 0.01, 0.03, 0.02, 0.02]
    t2 = 0.02**2 / (0.45 * 5e-5)
    p = 1 - math.sqrt(t2 / (4 + t2)) * (1 + 2 / (4 + t2))
    assert corrected_t_test(differences, 0.25) == pytest.approx(p, rel=1e-9)
    assert corrected_t_test([-d for d in differences], 0.25) == corrected_t_test(differences, 0.25)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20), st.floats(0.01, 2))
def test_the_correction_only_ever_doubts_more(differences: list[float], share: float) -> None:
    corrected = corrected_t_test(differences, share)
    if corrected is None:
        assert len(differences) < LEAST_PAIRS
        assert np.ptp(differences) == pytest.approx(0, abs=1e-12)
        return
    assert 0 <= corrected <= 1
    assert corrected >= corrected_t_test(differences, share / 2) - 1e-12


def test_the_edges_of_the_test() -> None:
    assert corrected_t_test([0.1], 0.25) is None
    assert corrected_t_test([0.0, 0.0], 0.25) == 1.0
    # Two that are equal may be so by accident; five are not.
    assert corrected_t_test([0.1] * (LEAST_PAIRS - 1), 0.25) is None
    assert corrected_t_test([0.1] * LEAST_PAIRS, 0.25) == 0.0
    with pytest.raises(ParameterError, match=r"n_test / n_train, greater than 0\. Got 0"):
        corrected_t_test([0.1, 0.2], 0)
