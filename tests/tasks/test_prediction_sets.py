"""Prediction sets and uncertainty of a fitted classifier."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from task_cases import FAST, communities, make_classifier

from honlearn import DGEClassifier, load_model
from honlearn.conformal import implied_coverage, implied_scores
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.training import Held
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.tasks.held_back import HeldBack
from honlearn.tasks.prediction_sets import PredictionSets
from honlearn.tasks.temperature import tempered

GIVEN = {**FAST, "max_epochs": 4, "n_learners": 4, "validation_fraction": 0.25}


@pytest.fixture(scope="module")
def fitted() -> DGEClassifier:
    hon, nodes, y = communities()
    return make_classifier(hon, **GIVEN).fit(nodes[::2], y[::2])


@pytest.fixture(scope="module")
def nodes() -> list[str]:
    return list(communities()[1])


def test_held_back_predictions_are_mixed_as_the_model_mixes() -> None:
    examples = Examples(np.array([3, 1, 0], np.int32), np.array([0, 1, 1]), np.ones(3, np.float32))
    first = Held(np.array([[0, 1], [1, 2]]), np.array([[[1, 0], [0.5, 0.5]], [[0.1, 0.9], [0, 1]]]), None)  # type: ignore[arg-type]
    second = Held(np.array([[0, 1, 2]]), np.array([[[0.2, 0.8], [0.4, 0.6], [1, 0]]]), None)  # type: ignore[arg-type]
    kernel = np.array([[0.9, 0.1], [0.3, 0.7], [0, 1], [0.5, 0.5]], np.float32)
    found = HeldBack.mixed([(first, 0.75), (second, 0.25)], examples, 2, kernel, 0.5)
    one, two, three = 0.75 * 1 + 0.25 * 0.2, 0.75 * 0.3 + 0.25 * 0.4, 0.25 * 1
    expected = [0.5 * one + 0.25, 0.5 * two + 0.15, 0.5 * three + 0.45]
    assert np.allclose(found.proba[:, 0], expected)
    alone = HeldBack.mixed([(Held(np.array([[0]]), np.array([[[1, 0]]]), None), 1.0)], examples, 2, None, 0)  # type: ignore[arg-type]
    assert alone.is_known.tolist() == [True, False, False]
    assert alone.known().nodes.tolist() == [3]


def test_a_set_has_the_classes_that_fit_no_worse_than_held_back_ones(
    fitted: DGEClassifier, nodes: list[str]
) -> None:
    held = fitted.held_back_.known()
    assert len(held.labels) == 30
    proba = tempered(held.proba, fitted.temperature_)
    own, new = implied_coverage(proba), fitted.set_curve_
    scores = implied_scores(proba, own)[np.arange(30), held.labels]
    tested = nodes[1::2]
    score = implied_scores(fitted.predict_proba(tested), new)
    brute = (1 + (scores[:, None, None] >= score).sum(0)) / 31
    sets = fitted.predict_set(tested, 0.2)
    assert np.allclose(sets.p_values, brute)
    assert np.array_equal(np.asarray(sets), brute > 0.2)
    assert [set(one) for one in sets.labels] == [set(fitted.classes_[row]) for row in brute > 0.2]
    assert sets.sizes.tolist() == (brute > 0.2).sum(1).tolist()


def test_in_training_and_abstain(fitted: DGEClassifier, nodes: list[str]) -> None:
    sets = fitted.predict_set(nodes, 0.1)
    assert sets.in_training.tolist() == [i % 2 == 0 for i in range(len(nodes))]
    assert sets.abstain.tolist() == [len(one) != 1 for one in sets.labels]
    table = sets.table()
    assert list(table.columns) == ["node", "set", "set_size", "in_training", "abstain"]
    assert len(sets) == len(table) == len(nodes)


@pytest.mark.parametrize("score", ["implied", "lac", "aps", "raps"])
@pytest.mark.parametrize("apart", [False, True])
def test_sets_grow_as_alpha_shrinks_and_do_not_depend_on_company(
    fitted: DGEClassifier, nodes: list[str], score: str, apart: bool
) -> None:
    masks = [fitted.predict_set(nodes, alpha, apart, score).mask for alpha in (0, 0.05, 0.2, 0.6, 1)]
    assert masks[0].all()
    assert not masks[-1].any()
    assert all((more >= less).all() for more, less in itertools.pairwise(masks))
    alone = fitted.predict_set(nodes[5:6], 0.2, apart, score)
    assert np.allclose(alone.p_values[0], fitted.predict_set(nodes, 0.2, apart, score).p_values[5], atol=0.07)


def test_the_best_class_comes_first() -> None:
    sets = PredictionSets(["v"], np.array(["a", "b", "c"]), np.array([[0.2, 0.01, 0.9]]), 0.1)
    assert sets.labels == [("c", "a")]


@pytest.mark.parametrize(
    "given", [{}, {"variant": "pool"}, {"variant": "bag", "shared": True}, {"variant": "batch"}], ids=str
)
def test_saved_sets_are_the_same(given: dict[str, Any], tmp_path: Path, nodes: list[str]) -> None:
    hon, _, y = communities()
    model = make_classifier(hon, **{**GIVEN, "max_epochs": 2, **given}).fit(nodes[::2], y[::2])
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.temperature_ == model.temperature_
    for score in ("implied", "aps"):
        ours, theirs = (one.predict_set(nodes, 0.1, score=score) for one in (model, again))
        assert ours.p_values.tobytes() == theirs.p_values.tobytes()
        assert ours.in_training.tolist() == theirs.in_training.tolist()
    assert again.uncertainty(nodes).equals(model.uncertainty(nodes))


def test_uncertainty_is_what_the_data_leave_open_and_what_members_disagree_on(
    fitted: DGEClassifier, nodes: list[str]
) -> None:
    table = fitted.uncertainty(nodes)
    members, share = fitted.member_proba(nodes).astype(float), fitted.kernel_share_
    codes = fitted.network_.vocabulary.codes(nodes)
    parts = [*members, fitted.kernel_proba_[codes].astype(float)]
    weights = [*[(1 - share) / len(members)] * len(members), share]
    mean = sum(w * p for w, p in zip(weights, parts, strict=True))
    expected = sum(w * -(p * np.log(p)).sum(1) for w, p in zip(weights, parts, strict=True))
    assert np.allclose(table["entropy"], -(mean * np.log(mean)).sum(1), atol=1e-6)
    assert np.allclose(table["expected_entropy"], expected, atol=1e-6)
    assert np.allclose(table["entropy"], table["expected_entropy"] + table["mutual_information"], atol=1e-6)
    assert np.allclose(mean, fitted.predict_proba(nodes), atol=1e-5) == (fitted.temperature_ == 1.0)


def test_nothing_held_back_means_no_sets(nodes: list[str]) -> None:
    hon, _, y = communities()
    plain = make_classifier(hon, **{**GIVEN, "max_epochs": 1, "validation_fraction": 0}).fit(nodes, y)
    assert plain.temperature_ == 1.0
    assert not plain.has_sets
    with pytest.raises(InputError, match="no node was held back in this fit"):
        plain.predict_set(nodes)


def test_what_is_refused(fitted: DGEClassifier, nodes: list[str]) -> None:
    with pytest.raises(ParameterError, match=r"The 'alpha' parameter of DGEClassifier.predict_set"):
        fitted.predict_set(nodes, 2)
    with pytest.raises(ParameterError, match=r"The 'score' parameter of DGEClassifier.predict_set must be"):
        fitted.predict_set(nodes, score="apps")
    with pytest.raises(UnknownNodeError, match="nobody"):
        fitted.predict_set(["nobody"])
    assert len(fitted.predict_set([])) == 0
