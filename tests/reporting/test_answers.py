"""What follows from the predictions of a model, against scikit-learn and by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_cases import EVIL
from sklearn.metrics import cohen_kappa_score, confusion_matrix, precision_recall_fscore_support

from honlearn.reporting.answers import (
    ModelPredictions,
    abstention,
    answers_of,
    class_scores,
    confusion,
    packed,
    reliability,
    sets_of,
)
from honlearn.reporting.diversity import curves, likeness
from honlearn.results.metrics import kappas
from honlearn.results.runs import read_run


def made(nodes: int = 60, classes: int = 4, learners: int = 3) -> ModelPredictions:
    draw = np.random.default_rng(5)
    members = draw.dirichlet(np.ones(classes), (learners, nodes)).astype(np.float32)
    truth = draw.integers(0, classes - 1, nodes)  # the last class never occurs
    names = [f"n{i}" for i in range(nodes)]
    kinds = [f"c{i}" for i in range(classes)]
    fold = np.arange(nodes) % 3
    return ModelPredictions(names, kinds, truth, fold, members.mean(0), members, None, None, 0, 0)


def test_confusion_and_scores_by_class_are_scikit_learns() -> None:
    given = made()
    every = list(range(4))
    assert confusion(given).tolist() == confusion_matrix(given.truth, given.predicted, labels=every).tolist()
    expected = precision_recall_fscore_support(given.truth, given.predicted, labels=every, zero_division=0)
    rows = class_scores(given)
    for place, name in enumerate(("precision", "recall", "f1")):
        assert [row[name] or 0.0 for row in rows] == pytest.approx(expected[place].tolist())
    assert [row["support"] for row in rows] == expected[3].tolist()
    assert rows[3]["recall"] is None  # there is nothing to recall


def predictions(nodes: str, truth: list[int], proba: Any) -> ModelPredictions:
    """Return predictions of two classes in one fold, of a model without learners."""
    fold = np.zeros(len(nodes), np.int64)
    return ModelPredictions(list(nodes), ["x", "y"], np.array(truth), fold, proba, None, None, None, 0, 0)


def test_reliability_by_hand() -> None:
    proba = np.array([[0.95, 0.05], [0.95, 0.05], [0.65, 0.35], [0.65, 0.35]])
    given = predictions("abcd", [0, 0, 0, 1], proba)
    found = reliability(given)
    bins = {round(b["from"], 1): (b["nodes"], b["accuracy"]) for b in found["bins"] if b["nodes"]}
    assert bins == {0.9: (2, 1.0), 0.6: (2, 0.5)}
    assert found["error"] == pytest.approx(0.5 * 0.05 + 0.5 * 0.15)
    assert found["bias"] == pytest.approx(0.8 - 0.75)


def test_coverage_by_class_and_set_sizes_by_hand() -> None:
    values = np.array([[0.5, 0.15], [0.3, 0.01], [0.07, 0.9], [0.6, 0.12]])
    given = dataclasses.replace(predictions("abcd", [0, 0, 0, 1], values), p_values=values)
    rows = sets_of(given)
    assert [row["level"] for row in rows] == [0.8, 0.9, 0.95]
    assert [row["coverage"] for row in rows] == [0.5, 0.75, 1.0]
    assert [row["sizes"] for row in rows] == [[0, 4, 0], [0, 2, 2], [0, 1, 3]]
    assert [row["size"] for row in rows] == [1.0, 1.5, 1.75]
    assert rows[1]["by_class"] == pytest.approx([2 / 3, 1.0])
    assert all(row["low"] <= row["coverage"] <= row["high"] for row in rows)
    assert sets_of(predictions("abcd", [0, 0, 0, 1], values)) is None


def test_accuracy_against_the_share_answered() -> None:
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4]])
    rows = abstention(predictions("abcd", [0, 1, 1, 0], proba))
    assert [row["share"] for row in rows] == pytest.approx(np.arange(1, 11) / 10)
    assert [rows[i]["accuracy"] for i in (1, 4, 7, 9)] == pytest.approx([1, 1, 2 / 3, 3 / 4])


def test_certain_predictions_are_in_the_last_bin() -> None:
    given = predictions("a", [0], np.array([[1.0, 0.0]]))
    assert reliability(given)["bins"][-1]["nodes"] == 1


def test_kappa_is_scikit_learns() -> None:
    draw = np.random.default_rng(2)
    a, b = draw.integers(0, 5, 200), draw.integers(0, 5, 200)
    b[:120] = a[:120]
    assert kappas(np.stack([a, b]), 5)[0, 1] == pytest.approx(cohen_kappa_score(a, b))
    same = np.zeros(7, int)
    assert np.isnan(kappas(np.stack([same, same]), 3)[0, 1])


def test_a_point_for_each_pair_and_fold() -> None:
    given = made(learners=4)
    found = likeness(given)
    assert found is not None
    assert len(found["points"]) == found["pairs"] == 3 * 6
    fold, i, j, kappa, loss = found["points"][0]
    here = given.fold == fold
    assert given.members is not None
    votes = given.members.argmax(2)
    assert kappa == pytest.approx(cohen_kappa_score(votes[i, here], votes[j, here]))
    right = given.members[[i, j]][:, here][:, np.arange(here.sum()), given.truth[here]]
    assert loss == pytest.approx(-np.log(right).mean(), rel=1e-5)


def test_one_learner_has_no_diversity() -> None:
    assert likeness(made(learners=1)) is None


def test_curves_average_fits_and_stages() -> None:
    first = [
        {"phase": "search", "stage": 0, "epoch": 1, "loss": 2.0, "validation_loss": 3.0},
        {"phase": "search", "stage": 1, "epoch": 1, "loss": 4.0, "validation_loss": 3.0},
    ]
    second = [
        {"epoch": 1, "loss": 5.0},
        {"epoch": 2, "loss": 1.0},
        {"phase": "refit", "epoch": 1, "loss": 9.0},
    ]
    found = {(c["phase"], c["curve"]): c for c in curves([first, second])}
    assert found["search", "loss"]["mean"] == [4.0, 1.0]
    assert (found["search", "loss"]["least"], found["search", "loss"]["most"]) == ([3.0, 1.0], [5.0, 1.0])
    assert found["search", "loss"]["fits"] == [2, 1]
    assert found["refit", "loss"]["mean"] == [9.0]
    assert ("refit", "validation_loss") not in found


def test_folds_are_joined_each_node_once(run: Path) -> None:
    study = read_run(run).studies[0]
    given = answers_of(study, study.models[0])
    assert given is not None
    assert sorted(given.nodes) == sorted(study.labels() or {})
    assert EVIL in given.nodes
    assert given.members is not None
    assert given.members.shape == (4, len(given.nodes), 2)
    labels = study.labels() or {}
    assert [given.classes[t] for t in given.truth] == [labels[node] for node in given.nodes]
    page = packed(given, {EVIL: 3}, with_learners=False)
    assert page["learners"] is None
    assert page["confusion"] == confusion(given).tolist()
