"""Evaluation of classes of whole paths: folds, records, resuming, and the models that are compared."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from honlearn.baselines.gru import GRUSettings
from honlearn.baselines.path_gru import PathGRUClassifier, _divided, _places
from honlearn.errors import InputError, ParameterError
from honlearn.experiments.path_classes import PathData, evaluate_paths, plan_paths
from honlearn.experiments.path_models import MODELS, MajorityOfPaths, parameters_of
from honlearn.paths.paths import Paths
from honlearn.results.metrics import area_under_roc
from honlearn.seeds import derive_seed

LISTS = [["A", "B", "C"], ["C", "B", "A"], ["B", "C", "D"]] * 12
LABELS = ["on", "back", "on"] * 12
DATA = PathData(Paths.from_lists(LISTS), [f"p{i:02d}" for i in range(36)], LABELS)
SMALL = GRUSettings(embedding=8, hidden=8, dropout=0.0, learning_rate=0.05, batch=8, max_epochs=12)


def test_every_path_is_tested_once_and_folds_are_stratified() -> None:
    jobs = plan_paths(DATA, ["majority", "path-classifier"], 3, [0, 5], {"order": 1})
    assert len(jobs) == 12
    first = [job for job in jobs if job.model == "majority" and job.configuration.seed == 0]
    assert sorted(np.concatenate([job.test for job in first]).tolist()) == list(range(36))
    assert [Counter(LABELS[i] for i in job.test) for job in first] == 3 * [Counter(on=8, back=4)]
    # Models are asked about the same parts; settings go only to those that take them.
    other = [job for job in jobs if job.model == "path-classifier" and job.configuration.seed == 0]
    assert [j.configuration.data.test for j in first] == [j.configuration.data.test for j in other]
    assert (first[0].configuration.parameters, other[0].configuration.parameters["order"]) == ({}, 1)
    assert len({job.digest for job in jobs}) == 12


def test_folds_do_not_depend_on_the_order_of_the_rows() -> None:
    turned = PathData(Paths.from_lists(LISTS[::-1]), DATA.ids[::-1], LABELS[::-1])
    one, two = (plan_paths(data, ["majority"], 3, [0], {}) for data in (DATA, turned))
    for a, b in zip(one, two, strict=True):
        assert {DATA.ids[i] for i in a.test} == {turned.ids[i] for i in b.test}


def test_records_and_resuming(tmp_path: Path) -> None:
    jobs = plan_paths(
        DATA, ["path-classifier", "bag-of-entities", "majority"], 2, [0], {"vectors": 2, "C": 1.0}
    )
    done = {job.digest: record for job, record, _ in evaluate_paths(DATA, jobs[:3], tmp_path)}
    again = list(evaluate_paths(DATA, jobs, tmp_path))
    assert [ran for _, _, ran in again] == [False] * 3 + [True] * 3
    for job, record, ran in again:
        assert ran or record == done[job.digest]
        record.check_whole("here")
        assert (record.sizes.train, record.sizes.test) == (18, 18)
    by = {job.model: record for job, record, _ in again}
    # Of two classes in shares 2/3 and 1/3, without looking at the path; reversed paths are the same bag.
    assert by["majority"].score("log_loss") == pytest.approx(-(2 / 3 * np.log(2 / 3) + np.log(1 / 3) / 3))
    assert by["majority"].score("auroc") == 0.5
    assert by["path-classifier"].score("auroc") == 1.0
    assert by["path-classifier"].score("log_loss") < by["bag-of-entities"].score("log_loss")


def test_records_have_coverage_and_size_of_sets(tmp_path: Path) -> None:
    labels = [label if i % 7 else "rare" for i, label in enumerate(LABELS)]
    data = PathData(DATA.paths, DATA.ids, labels)
    jobs = plan_paths(data, ["path-classifier", "majority"], 2, [0], {"vectors": 0, "order": 1, "C": 1.0})
    found = {(j.model, j.configuration.fold): (j, r) for j, r, _ in evaluate_paths(data, jobs, tmp_path)}
    assert found["majority", 0][1].scores.get("coverage_90") is None
    job, record = found["path-classifier", 0]
    train = np.setdiff1d(np.arange(36), job.test)
    model = MODELS["path-classifier"](derive_seed(0, "fit", 0), **job.settings)
    model.fit(DATA.paths.take(train), np.array(labels)[train])
    sets = model.predict_set(DATA.paths.take(job.test), 0.2).labels
    right = [labels[i] in one for i, one in zip(job.test, sets, strict=True)]
    assert record.score("coverage_80") == pytest.approx(np.mean(right))
    assert record.score("set_size_80") == pytest.approx(np.mean([len(one) for one in sets]))


def test_predictions_that_are_asked_for_and_missing_are_made(tmp_path: Path) -> None:
    jobs = plan_paths(DATA, ["majority"], 2, [0], {})
    list(evaluate_paths(DATA, jobs, tmp_path))
    assert not (tmp_path / "artefacts").exists()
    assert all(ran for _, _, ran in evaluate_paths(DATA, jobs, tmp_path, keep_artefacts=True))
    assert len(list((tmp_path / "artefacts").glob("*.npz"))) == 2
    assert not any(ran for _, _, ran in evaluate_paths(DATA, jobs, tmp_path, keep_artefacts=True))


def test_a_class_that_training_lacks_has_probability_zero(tmp_path: Path) -> None:
    data = PathData(DATA.paths, DATA.ids, ["rare", *LABELS[1:]])
    jobs = plan_paths(data, ["majority"], 2, [0], {})
    unseen = [record.sizes.counts["unseen_classes"] for _, record, _ in evaluate_paths(data, jobs, tmp_path)]
    assert sorted(unseen) == [0, 1]


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"no model 'bag' for paths; .*there are path-classifier"):
        plan_paths(DATA, ["bag"], 2, [0], {})
    with pytest.raises(InputError, match="30 folds, but the largest class has 24 labelled paths"):
        plan_paths(DATA, ["majority"], 30, [0], {})
    with pytest.raises(InputError, match="all paths are of one class"):
        PathData(DATA.paths, DATA.ids, ["on"] * 36)


def test_parameters_are_those_that_decide() -> None:
    assert parameters_of("bag-of-entities", {})["order"] == 0
    assert parameters_of("path-classifier", {"order": 5})["order"] == 5
    assert "random_state" not in parameters_of("path-classifier", {})
    assert parameters_of("gru", {})["patience"] == 3
    assert set(MODELS) == {"path-classifier", "bag-of-entities", "gru", "majority"}


def test_the_majority_counts() -> None:
    model = MajorityOfPaths().fit(DATA.paths, LABELS)
    assert model.predict_proba(DATA.paths)[0].tolist() == [12 / 36, 24 / 36]


# --- the recurrent network ---------------------------------------------------------------------------


def test_the_recurrent_network_learns_direction_and_repeats_itself() -> None:
    one, two = (PathGRUClassifier(SMALL, random_state=3).fit(DATA.paths, LABELS) for _ in range(2))
    proba = one.predict_proba(DATA.paths)
    assert (one.classes_[proba.argmax(1)] == np.array(LABELS)).all()
    assert proba.tobytes() == two.predict_proba(DATA.paths).tobytes()
    # An unknown entity is left out of nothing but its own place, and other vocabularies are read by name.
    other = one.predict_proba(Paths.from_lists([["Z", "C", "B", "A"], ["A", "B", "C"], ["new"]]))
    assert np.isfinite(other).all()
    assert np.abs(other[1] - proba[0]).max() < 1e-6
    assert one.held_back_loss_ < 0.7


def test_a_prediction_does_not_depend_on_the_other_paths() -> None:
    model = PathGRUClassifier(SMALL, random_state=3).fit(DATA.paths, LABELS)
    long = [["A", "B", "C"] * 3, ["A"], ["C", "B"]]
    whole = model.predict_proba(Paths.from_lists(long))
    for row, path in zip(whole, long, strict=True):
        assert np.abs(model.predict_proba(Paths.from_lists([path]))[0] - row).max() < 1e-6


def test_of_a_long_path_both_ends_are_read() -> None:
    places, inside = _places(np.array([3, 200]))
    assert inside.sum(1).tolist() == [3, 128]
    assert places[1].tolist() == [*range(64), *range(136, 200)]
    assert places[0][inside[0]].tolist() == [0, 1, 2]


def test_a_tenth_of_each_class_is_held_back() -> None:
    codes = np.repeat([0, 1], [50, 20])
    rows, held = _divided(codes, 0)
    assert np.bincount(codes[held]).tolist() == [5, 2]
    assert sorted([*rows, *held]) == list(range(70))
    rows, held = _divided(np.array([0, 1]), 0)
    assert (len(rows), len(held)) == (1, 1)


# --- the area under the curve ------------------------------------------------------------------------


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = np.random.default_rng(0)
    truth, proba = rng.integers(0, 3, 40), rng.dirichlet(np.ones(4), 40).astype(np.float32)
    areas = []
    for c in range(3):
        own, rest = proba[truth == c, c], proba[truth != c, c]
        areas.append(((own[:, None] > rest) + 0.5 * (own[:, None] == rest)).mean())
    assert area_under_roc(truth, proba) == pytest.approx(np.mean(areas))  # the fourth class does not occur
    assert area_under_roc(np.zeros(5, np.int64), np.full((5, 2), 0.5)) is None
