"""Prediction sets and uncertainty of a fitted classifier."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from task_cases import FAST, communities, make_classifier

from honlearn import DGEClassifier, load_model
from honlearn.ensemble.examples import Examples, splits
from honlearn.ensemble.training import Held
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.tasks.crossed import Crossed, Kernel, count_fits, mean_confidence
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


def at_held_temperature(model: DGEClassifier, names: list[str]) -> Any:
    """Return what members and kernel predict, at the temperature of the held-back predictions."""
    kernel = model.kernel_proba_[model.network_.vocabulary.codes(names)]
    mixed = (1 - model.kernel_share_) * model.member_proba(names).mean(0) + model.kernel_share_ * kernel
    return tempered(mixed, model.held_temperature_)


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


def test_a_node_is_compared_by_the_learners_that_held_the_example_back() -> None:
    # Two components of two and three learners, a kernel and a temperature, counted one by one.
    random = np.random.default_rng(0)
    n, size, temperature = 9, 5, 0.7
    labels = random.integers(0, 3, n)
    positions = [[[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 2, 4], [1, 3, 5], [6, 7, 0]]]
    held = [
        Held(np.array(rows), random.dirichlet(np.ones(3), np.shape(rows)).astype(np.float32), None)  # type: ignore[arg-type]
        for rows in positions
    ]
    given = [random.dirichlet(np.ones(3), (len(rows), size)).astype(np.float32) for rows in positions]
    kernel = random.dirichlet(np.ones(3), n + size).astype(np.float32)
    examples = Examples(np.arange(size, size + n, dtype=np.int32), labels, np.ones(n, np.float32))
    mixed = HeldBack.mixed([(held[0], 0.6), (held[1], 0.4)], examples, 3, np.roll(kernel, size, 0), 0.25)
    known = mixed.known()
    assert len(known.labels) == 8
    parts = [Crossed(one, proba, share) for one, proba, share in zip(held, given, (0.6, 0.4), strict=True)]
    found = count_fits(
        parts, Kernel(kernel[:size], 0.25), (mixed.is_known, known.proba, known.labels), temperature
    )
    own = tempered(known.proba, temperature)
    sure = []
    for node in range(size):
        for code in range(3):
            fits = []
            for i in range(8):
                p = 0.25 * kernel[node].astype(float)
                for share, rows, proba in zip((0.6, 0.4), positions, given, strict=True):
                    who = [row for row, some in enumerate(rows) if i in some]
                    p = p + 0.75 * share * np.mean([proba[row, node] for row in who], axis=0)
                p = p ** (1 / temperature)
                fits.append(own[i, labels[i]] <= (p / p.sum())[code])
                sure.append((p / p.sum()).max())
            assert found.counts[node, code] == sum(fits)
            assert found.of_class[node, code] == sum(
                fit for fit, label in zip(fits, labels, strict=False) if label == code
            )
    every = np.arange(size, dtype=np.int32)
    confidence = mean_confidence(parts, Kernel(kernel[:size], 0.25), mixed.is_known, every, temperature)
    assert confidence == pytest.approx(np.mean(sure))
    values = found.p_values(np.array([3, 0], np.int32), False)
    assert np.allclose(values, (1 + found.counts[[3, 0]]) / 9)
    apart = found.p_values(np.array([3], np.int32), True)
    assert np.allclose(apart, (1 + found.of_class[[3]]) / (1 + np.bincount(labels[:8], minlength=3)))


def test_where_everything_is_sure_sets_are_not_empty() -> None:
    held = Held(np.array([[0, 1]]), np.array([[[1, 0], [1 - 1e-6, 1e-6]]], np.float32), None)  # type: ignore[arg-type]
    given = np.array([[[1 - 1e-5, 1e-5]]], np.float32)
    told = (np.array([True, True]), held.proba[0], np.array([0, 0]))
    assert count_fits([Crossed(held, given, 1.0)], None, told, 1.0).counts.tolist() == [[2, 0]]


def test_sets_of_a_fit_are_those_of_the_search(nodes: list[str]) -> None:
    # Without a refit the learners that predict are those that held back.
    hon, _, y = communities()
    model = make_classifier(hon, **{**GIVEN, "refit": 0.0, "kernel_share": 0.0}).fit(nodes[::2], y[::2])
    held, votes = model.held_back_.known(), model.votes(nodes)[0]
    parts = splits(held.labels, 0.25, model.seed_, range(4))[1]
    assert sorted(set(np.concatenate(parts).tolist())) == list(range(30))
    own = tempered(held.proba, model.held_temperature_)
    sets = model.predict_set(nodes, 0.2)
    for place in range(len(nodes)):
        fits = np.zeros(len(model.classes_))
        for i in range(30):
            who = [learner for learner, positions in enumerate(parts) if i in positions]
            p = tempered(votes[who, place].mean(0, keepdims=True), model.held_temperature_)[0]
            fits += own[i, held.labels[i]] <= p + 1e-7
        assert np.abs(sets.p_values[place] - (1 + fits) / 31).max() <= 1.01 / 31
    # Half-way, on the scale of logarithms, to where the whole model is as sure of the nodes without a label
    # as those learners are.
    sure = [
        tempered(votes[[i in some for some in parts], 1::2].mean(0), model.held_temperature_).max(1).mean()
        for i in range(30)
    ]
    matched = model.temperature_**2 / model.held_temperature_
    as_sure = tempered(model.predict_proba(nodes[1::2]), matched / model.temperature_)
    assert as_sure.max(1).mean() == pytest.approx(np.mean(sure), abs=1e-5)


def test_sets_of_the_whole_model_by_counting(fitted: DGEClassifier, nodes: list[str]) -> None:
    held = fitted.held_back_.known()
    proba = tempered(held.proba, fitted.held_temperature_)
    tested = nodes[1::2]
    score = 1.0 - at_held_temperature(fitted, tested).astype(float)
    scores = 1.0 - proba[np.arange(30), held.labels].astype(float)
    brute = (1 + (scores[:, None, None] >= score).sum(0)) / 31
    sets = fitted.predict_set(tested, 0.2, score="lac")
    assert np.allclose(sets.p_values, brute)
    assert np.array_equal(np.asarray(sets), brute > 0.2)
    assert [set(one) for one in sets.labels] == [set(fitted.classes_[row]) for row in brute > 0.2]
    assert sets.sizes.tolist() == (brute > 0.2).sum(1).tolist()


@pytest.mark.parametrize("apart", [False, True])
def test_smoothed_scores_by_hand(fitted: DGEClassifier, nodes: list[str], apart: bool) -> None:
    held, hon, weight = fitted.held_back_.known(), fitted.network_, 0.4
    names = list(hon.vocabulary)
    proba = {name: at_held_temperature(fitted, [name])[0].astype(float) for name in names}
    for code, row in zip(held.nodes, tempered(held.proba, fitted.held_temperature_), strict=True):
        proba[names[code]] = row.astype(float)
    near: dict[str, dict[str, float]] = {name: {} for name in names}
    for source, target, w in zip(hon.base[hon.sources], hon.base[hon.indices], hon.weights, strict=True):
        for a, b in ((names[source], names[target]), (names[target], names[source])):
            if a != b:
                near[a][b] = near[a].get(b, 0.0) + float(w)

    def score(name: str) -> Any:
        total = sum(near[name].values())
        mean = sum(w / total * (1 - proba[other]) for other, w in near[name].items())
        return (1 - weight) * (1 - proba[name]) + weight * mean

    known = [score(names[code])[label] for code, label in zip(held.nodes, held.labels, strict=True)]
    sets = fitted.predict_set(nodes[1:8:2], 0.2, apart, "lac", smoothing=weight)
    for row, name in enumerate(nodes[1:8:2]):
        for code in range(len(fitted.classes_)):
            own = [s for s, label in zip(known, held.labels, strict=True) if label == code or not apart]
            count = sum(s >= score(name)[code] - 1e-6 for s in own)
            assert sets.p_values[row, code] == pytest.approx((1 + count) / (1 + len(own)), abs=1e-9)


def test_a_weight_that_is_chosen_is_chosen_on_half_of_what_was_held_back(
    fitted: DGEClassifier, nodes: list[str]
) -> None:
    chosen = fitted.predict_set(nodes[1::2], 0.2, smoothing="auto")
    # 15 of the 30 held-back nodes calibrate.
    assert np.allclose(chosen.p_values * 16, np.rint(chosen.p_values * 16))
    fixed = [fitted.predict_set(nodes[1::2], 0.2, smoothing=w).p_values for w in (0.25, 0.75)]
    assert not np.allclose(fixed[0], fixed[1])
    plain = fitted.predict_set(nodes[1::2], 0.2, score="aps")
    assert (
        plain.p_values.tobytes()
        == fitted.predict_set(nodes[1::2], 0.2, score="aps", smoothing=0).p_values.tobytes()
    )


def test_in_training_and_abstain(fitted: DGEClassifier, nodes: list[str]) -> None:
    sets = fitted.predict_set(nodes, 0.1)
    assert sets.in_training.tolist() == [i % 2 == 0 for i in range(len(nodes))]
    assert sets.abstain.tolist() == [len(one) != 1 for one in sets.labels]
    table = sets.table()
    assert list(table.columns) == ["node", "set", "set_size", "in_training", "abstain"]
    assert len(sets) == len(table) == len(nodes)


@pytest.mark.parametrize("score", ["jackknife", "lac", "aps", "raps"])
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
    assert (again.temperature_, again.held_temperature_) == (model.temperature_, model.held_temperature_)
    for score in ("jackknife", "aps"):
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
    with pytest.raises(ParameterError, match=r"The 'smoothing' parameter of DGEClassifier.predict_set"):
        fitted.predict_set(nodes, smoothing=2)
    with pytest.raises(ParameterError, match="'smoothing' is for scores of the whole model"):
        fitted.predict_set(nodes, score="jackknife", smoothing=0.5)
    with pytest.raises(UnknownNodeError, match="nobody"):
        fitted.predict_set(["nobody"])
    assert len(fitted.predict_set([])) == 0
