"""DGEClassifier keeps scikit-learn's contract and its own promises, for every variant."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from task_cases import FAST, communities, make_classifier

import honlearn as hl
from honlearn import DGEClassifier
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.hon.edgelist import from_edges
from honlearn.tasks.estimator import described

VARIANTS = [
    ("bag", False), ("bag", True), ("pool", False), ("pool", True), ("concat", False), ("concat", True),
    ("attn", False), ("attn", True), ("batch", False),
]  # fmt: skip


TRAIN = np.arange(60) % 4 < 3
REST = ~TRAIN


def classifier(**given: Any) -> DGEClassifier:
    return make_classifier(communities()[0], **{**FAST, **given})


@pytest.mark.parametrize(("variant", "shared"), VARIANTS)
def test_every_variant_learns_and_gives_probabilities(variant: str, shared: bool) -> None:
    _, nodes, y = communities()
    model = classifier(variant=variant, shared=shared, max_epochs=15).fit(nodes[TRAIN], y[TRAIN])
    rest, truth = nodes[REST], y[REST]
    assert model.score(rest, truth) > 0.8
    assert model.architecture_.kinds[0].mask_self is True
    proba, members = model.predict_proba(rest), model.member_proba(rest)
    assert proba.shape == (len(rest), 3)
    assert members.shape == (3, len(rest), 3)
    assert np.allclose(proba.sum(1), 1, atol=1e-6)
    assert np.allclose(members.sum(2), 1, atol=1e-5)
    assert (proba >= 0).all()
    assert (model.predict(rest) == model.classes_[proba.argmax(1)]).all()
    assert model.embed(rest).shape[0] == len(rest)
    assert model.disagreement(rest).shape == model.entropy(rest).shape == (len(rest),)
    assert list(model.history_.columns[:3]) == ["stage", "epoch", "loss"]


@pytest.mark.parametrize(("variant", "shared"), VARIANTS)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(variant: str, shared: bool) -> None:
    _, nodes, y = communities()
    one, two, other = (
        classifier(
            variant=variant,
            shared=shared,
            random_state=seed,
            n_threads=threads,
            n_draws=2,
            kernel_share=0.3,
            max_epochs=3,
        )
        .fit(nodes[TRAIN], y[TRAIN])
        .predict_proba(nodes)
        for seed, threads in ((4, 1), (4, 2), (5, 1))
    )
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()


def test_learners_do_not_depend_on_how_many_there_are() -> None:
    _, nodes, y = communities()
    two = classifier(n_learners=2).fit(nodes[TRAIN], y[TRAIN]).member_proba(nodes)
    four = classifier(n_learners=4).fit(nodes[TRAIN], y[TRAIN]).member_proba(nodes)
    assert two.tobytes() == four[:2].tobytes()


def test_draws_approach_all_relatives() -> None:
    hon, nodes, y = communities()
    assert hon.n_conditional > 20
    model = classifier(kernel_share=0).fit(nodes[TRAIN], y[TRAIN])
    whole = model.predict_proba(nodes)
    gaps = [np.abs(model.set_params(n_draws=n).predict_proba(nodes) - whole).mean() for n in (1, 400)]
    assert 0 < gaps[1] < gaps[0] / 5


def test_order_of_nodes_and_company_do_not_change_a_prediction() -> None:
    _, nodes, y = communities()
    model = classifier(n_draws=3).fit(nodes[TRAIN], y[TRAIN])
    whole = model.predict_proba(nodes)
    assert np.array_equal(model.predict_proba(nodes[::-1]), whole[::-1])
    assert np.allclose(model.predict_proba([nodes[5], nodes[5]]), whole[[5, 5]], atol=1e-6)


def test_a_model_trained_on_samples_predicts_with_whole_neighborhoods() -> None:
    _, nodes, y = communities()
    model = classifier(fan_outs=(20, 20), max_epochs=30).fit(nodes[TRAIN], y[TRAIN])
    sampled = model.predict_proba(nodes)
    exact = model.set_params(learner__fan_outs=None).predict_proba(nodes)
    assert 0 < np.abs(sampled - exact).mean() < 0.1


# --- scikit-learn ------------------------------------------------------------------------------------


def test_clone_shares_the_network_and_copies_parameters() -> None:
    model = classifier(variant="pool", widths=(5, 4))
    twin = clone(model)
    assert twin.network is model.network
    assert twin.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert described(twin) == described(model)
    assert twin.learner is not model.learner
    assert copy.deepcopy(model).network is model.network
    assert not hasattr(twin, "ensemble_")


def test_constructor_stores_and_checks_nothing() -> None:
    model = DGEClassifier("no network", variant="boost", n_learners=-1)
    assert model.get_params()["variant"] == "boost"


def test_cross_validation_and_grid_search_run() -> None:
    _, nodes, y = communities()
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    assert cross_val_score(classifier(max_epochs=25), nodes, y, cv=folds).mean() > 0.8
    quick = classifier(max_epochs=3)
    grid = GridSearchCV(
        quick, {"learner__widths": [(16, 16), (6,)], "learner__input_dropout": [0.3]}, cv=folds
    )
    assert grid.fit(nodes, y).best_params_["learner__widths"] in [(16, 16), (6,)]
    proba = cross_val_predict(quick, nodes, y, cv=folds, method="predict_proba")
    assert proba.shape == (len(nodes), 3)


def test_prediction_before_fit_is_refused() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        classifier().predict(["ash00"])


# --- labels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "object", "integer", "boolean", "series", "whole floats"])
def test_labels_of_any_kind_come_back_as_they_were(kind: str) -> None:
    _, nodes, y = communities()
    labels: Any = {
        "text": y, "object": y.astype(object), "integer": np.where(y == "ash", 7, -2), "boolean": y == "ash",
        "series": pd.Series(y), "whole floats": np.where(y == "ash", 1.0, 2.0),
    }[kind]  # fmt: skip
    model = classifier().fit(nodes, labels)
    assert set(model.predict(nodes)) <= set(labels)
    assert model.classes_.dtype == np.unique(labels).dtype
    assert model.score(nodes, labels) > 0.6


def test_one_class_one_member_one_learner() -> None:
    _, nodes, y = communities()
    constant = classifier(n_learners=1).fit(nodes[:6], ["same"] * 6)
    assert (constant.predict(nodes) == "same").all()
    assert constant.member_proba(nodes).shape == (1, len(nodes), 1)
    assert (constant.disagreement(nodes) == 0).all()
    assert np.allclose(constant.entropy(nodes), 0)
    lonely = np.append(y[1:], "lonely")
    assert "lonely" in classifier().fit(np.append(nodes[1:], nodes[0]), lonely).classes_
    assert (classifier().fit(nodes[:1], ["x"]).predict(nodes[:2]) == "x").all()


def test_class_weights_move_predictions_to_the_heavy_class() -> None:
    _, nodes, y = communities()
    short = {"max_epochs": 5, "kernel_share": 0}
    counts = [
        (classifier(class_weight=weight, **short).fit(nodes, y).predict(nodes) == "elm").sum()
        for weight in ({"elm": 0.01}, None, {"elm": 100})
    ]
    assert counts[0] < counts[1] < counts[2]
    assert classifier(class_weight="balanced").fit(nodes, y).score(nodes, y) > 0.6


def test_sample_weight_of_nothing_leaves_an_example_out() -> None:
    _, nodes, y = communities()
    wrong = y.copy()
    wrong[::2] = "elm"
    weight = np.ones(len(y))
    weight[::2] = 0
    model = classifier(max_epochs=30).fit(nodes, wrong, sample_weight=weight)
    assert model.score(nodes[REST], y[REST]) > 0.8
    assert model.score(nodes[TRAIN], y[TRAIN]) > 0.5


# --- features ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("identity", [True, False])
def test_features_beside_identity_or_alone(form: str, identity: bool) -> None:
    hon, nodes, y = communities()
    random = np.random.default_rng(0)
    values = random.normal(size=(len(nodes), 6)) + 2.0 * (y[:, None] == np.array(["ash", "elm", "oak"] * 2))
    features = {"dense": values, "sparse": csr_array(np.where(values > 1, values, 0))}[form]
    # Neither vectors nor kernel: features alone tell the classes where there is no identity.
    given = {**FAST, "max_epochs": 25, "path_features": 0, "kernel_share": 0, "hidden_dropout": 0.2}
    model = make_classifier(hon, **given, features=features, identity=identity)
    assert model.fit(nodes[TRAIN], y[TRAIN]).score(nodes[REST], y[REST]) > 0.8


def test_wrong_features_are_named() -> None:
    hon, nodes, y = communities()
    with pytest.raises(InputError, match=r"features must be \[V, F\] with V = 60 rows"):
        make_classifier(hon, features=np.ones((3, 2)), **FAST).fit(nodes, y)
    with pytest.raises(InputError, match="features have no row for 59 entities: ash01"):
        make_classifier(hon, features=pd.DataFrame([[1.0]], index=["ash00"]), **FAST).fit(nodes, y)
    named = pd.DataFrame({"size": np.ones(60), "tree": nodes})
    with pytest.raises(InputError, match=r"column 'tree' has them: features.set_index\('tree'\)"):
        make_classifier(hon, features=named, **FAST).fit(nodes, y)
    with pytest.raises(InputError, match="numbers that are not finite"):
        make_classifier(hon, features=np.full((60, 1), np.nan), **FAST).fit(nodes, y)
    texts = pd.DataFrame({"kind": ["pond"] * 60}, index=nodes)
    with pytest.raises(InputError, match=r"features are numbers: .*'pond'; turn text and categories into"):
        make_classifier(hon, features=texts, **FAST).fit(nodes, y)
    with pytest.raises(ParameterError, match="identity=False needs features"):
        classifier(identity=False, path_features=0).fit(nodes, y)


# --- mistakes ----------------------------------------------------------------------------------------


def test_unknown_nodes_are_listed_with_a_hint() -> None:
    _, nodes, y = communities()
    with pytest.raises(UnknownNodeError, match=r"1 of 61 names .* 'ash99'; did you mean 'ash"):
        classifier().fit([*nodes, "ash99"], [*y, "ash"])
    model = classifier(max_epochs=2).fit(nodes, y)
    with pytest.raises(
        UnknownNodeError, match="2 of 3 names are not among the 60 entities: 'nowhere', 'none'"
    ):
        model.predict(["nowhere", "ash00", "none"])
    with pytest.raises(InputError, match="takes a list of node names, got the single name 'ash00'"):
        model.predict("ash00")
    assert model.predict([]).shape == (0,)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 3, r"60 nodes but labels of shape \(3,\)"),
        ([None, *["a"] * 59], r"1 nodes have no label \(rows 0\); leave them out of fit"),
        ([float("nan"), *[1.0] * 59], "have no label"),
        ([float("nan"), *["a"] * 59], r"1 nodes have no label \(rows 0\)"),
        (pd.Series([pd.NA, *["a"] * 59], dtype="string"), r"1 nodes have no label \(rows 0\)"),
        (pa.array([None, *["a"] * 59]), r"1 nodes have no label \(rows 0\)"),
        ([0.5, *[1.0] * 59], "fractional numbers"),
        (np.array(["a", 1] * 30, object), "labels must be of one kind, got int, str"),
        (["a", "b\udcff"] * 30, "no Unicode"),
    ],
)
def test_wrong_labels_are_named(labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        classifier().fit(communities()[1], labels)


def test_columns_of_one_and_what_does_not_fit_them() -> None:
    _, nodes, y = communities()
    model = classifier(max_epochs=2).fit(nodes[:, None], y[:, None])
    assert model.predict_proba(nodes[:, None]).shape == (60, 3)
    votes, relatives = model.votes([])
    assert (votes.shape, relatives.shape) == ((3, 0, 3), (3, 0))
    with pytest.raises(InputError, match="nothing to fit: no nodes were given"):
        classifier().fit([], [])
    with pytest.raises(
        ParameterError, match=r"'class_weight' parameter .* a mapping of class to weight. Got 3"
    ):
        classifier(class_weight=3).fit(nodes, y)
    for weights in (np.ones(3), np.full(60, np.nan), -np.ones(60)):
        with pytest.raises(InputError, match="sample_weight must be 60 finite numbers, at least 0"):
            classifier().fit(nodes, y, sample_weight=weights)


def test_columns_of_arrow_are_lists() -> None:
    _, nodes, y = communities()
    wanted = classifier(max_epochs=2).fit(nodes, y).predict_proba(nodes)
    model = classifier(max_epochs=2).fit(pa.array(nodes), pa.array(y))
    assert np.array_equal(model.predict_proba(pa.array(nodes)), wanted)


@pytest.mark.parametrize("factor", [2.0**-170, 2.0**200], ids=["tiny", "huge"])
def test_only_the_ratios_of_weights_count(factor: float) -> None:
    _, nodes, y = communities()
    weight = np.random.default_rng(0).integers(1, 9, 60)
    one, other = (
        classifier(max_epochs=4, kernel_share="auto").fit(nodes, y, sample_weight=weight * f)
        for f in (1.0, factor)
    )
    assert one.predict_proba(nodes).tobytes() == other.predict_proba(nodes).tobytes()


def test_features_in_any_sparse_form_and_left_as_they_are() -> None:
    hon, nodes, y = communities()
    twice = csr_array((np.ones(120), np.tile([1, 1], 60), np.arange(61) * 2), shape=(60, 3))
    proba = []
    for form in ("csr", "lil", "dok", "coo"):
        features = twice if form == "csr" else twice.copy().asformat(form)
        model = make_classifier(hon, **{**FAST, "max_epochs": 2}, features=features).fit(nodes, y)
        proba.append(model.predict_proba(nodes).tobytes())
    assert len(set(proba)) == 1
    assert twice.nnz == 120  # entries that stand twice are summed in a copy


def test_somebody_must_have_weight() -> None:
    _, nodes, y = communities()
    with pytest.raises(InputError, match="nothing to fit: every node has a weight of 0"):
        classifier().fit(nodes, y, sample_weight=np.zeros(60))


def test_whole_floats_are_the_names_that_a_table_makes_of_them() -> None:
    steps = pd.DataFrame({"trip": np.repeat(np.arange(60), 2), "place": [1.0, 2, 1, 3, 2, 3] * 20})
    hon = hl.grow(steps, sequence="trip", entity="place")
    assert list(hon.vocabulary) == ["1", "2", "3"]
    assert hon.vocabulary.index(2.0) == hon.vocabulary.index(np.float32(2)) == 1
    assert 3.0 in hon.vocabulary
    assert 3.5 not in hon.vocabulary
    model = make_classifier(hon, **FAST).fit(steps["place"].unique(), [0, 1, 0])
    assert len(model.predict(steps["place"])) == 120
    # Where a list has made other names of them, these are meant.
    assert hl.grow([[1.0, 2.0]]).index(2.0) == 1
    with pytest.raises(UnknownNodeError, match=r"no entity '2.5' among 3"):
        hon.vocabulary.index(2.5)


def test_a_random_state_as_scikit_learn_has_it() -> None:
    _, nodes, y = communities()
    one, two, other = (
        classifier(max_epochs=2, kernel_share=0.3, random_state=np.random.RandomState(seed)).fit(nodes, y)
        for seed in (3, 3, 4)
    )
    assert one.predict_proba(nodes).tobytes() == two.predict_proba(nodes).tobytes()
    assert one.predict_proba(nodes).tobytes() != other.predict_proba(nodes).tobytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variant": "bagg"}, r"'variant' parameter .* must be one of .*'bag'.*did you mean 'bag'\?"),
        (
            {"aggregator": "lstm"},
            "'aggregator' parameter of SAGE must be one of 'mean', 'max'",
        ),
        ({"n_learners": 0}, "'n_learners' parameter .* at least 1. Got 0 instead"),
        ({"widths": ()}, "'widths' parameter of SAGE must name 1 to 9 layers"),
        ({"widths": (2,)}, "'widths' parameter .* at least 3"),
        ({"fan_outs": (3,)}, "'fan_outs' parameter .* one number for each of the 2 layers"),
        ({"fan_outs": (3, 0)}, "'fan_outs' parameter .* from 1 to"),
        ({"edge_power": -1}, "'edge_power' parameter .* at least 0"),
        ({"refit": -1}, "'refit' parameter .* at least 0"),
        ({"restart": "no"}, "'training.restart' parameter .* True, False or None. Got 'no' instead"),
        ({"learning_rate": 0}, "'learning_rate' parameter .* greater than 0"),
        ({"input_dropout": 1.0}, "'input_dropout' parameter .* at most 0.99"),
        ({"n_draws": "some"}, "'n_draws' parameter .* or 'all'"),
        ({"device": "abacus"}, "'device' parameter .* must be one of 'cpu', 'cuda', 'mps'"),
        ({"shared": 1}, "'shared' parameter .* True or False"),
        ({"class_weight": {"fir": 2}}, "'class_weight' parameter of DGEClassifier names 'fir'"),
        ({"class_weight": "even"}, "'class_weight' parameter .* must be one of 'balanced'"),
        ({"random_state": -1}, "seed must be a whole number"),
    ],
)
def test_wrong_parameters_are_named_at_fit(given: dict[str, Any], message: str) -> None:
    _, nodes, y = communities()
    with pytest.raises(ParameterError, match=message):
        classifier(**given).fit(nodes, y)


def test_something_else_than_a_network_is_named() -> None:
    with pytest.raises(ParameterError, match=r"'network' parameter .* must be a HigherOrderNetwork"):
        DGEClassifier([1, 2]).fit(["a"], ["b"])  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [(1, 2**55), (2.0**-62, 2.0**54)])
def test_the_largest_and_smallest_weights_give_probabilities(weights: tuple[float, float]) -> None:
    names = [f"n{i}" for i in range(30)]
    ends = [(a, names[(i * 7 + step) % 30]) for i, a in enumerate(names) for step in range(1, 5)]
    weight = [weights[i % 2] for i in range(len(ends))]
    hon = from_edges([a for a, _ in ends], [b for _, b in ends], weight)
    model = make_classifier(hon, n_learners=2, max_epochs=2, random_state=0).fit(
        names, [i % 3 for i in range(30)]
    )
    assert np.allclose(model.predict_proba(names).sum(axis=1), 1)


# --- examples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["sage", "auto"])
def test_an_example_that_is_there_twice_weighs_twice_and_is_held_back_as_one(learner: str) -> None:
    # Labels at random: whatever is predicted of those held back is chance, unless a copy told.
    _, nodes, _ = communities()
    y = np.random.default_rng(0).integers(0, 3, len(nodes)).astype(str)
    short = {"learner": learner, "max_epochs": 4, "path_features": 0, "kernel_share": 0}
    twice = classifier(**short).fit(np.tile(nodes, 2), np.tile(y, 2))
    once = classifier(**short).fit(nodes, y, sample_weight=np.full(len(y), 2.0))
    assert twice.predict_proba(nodes).tobytes() == once.predict_proba(nodes).tobytes()
    assert twice.held_back_.nodes.tolist() == once.held_back_.nodes.tolist()
    assert twice.fit_facts_.examples == len(nodes)
    assert twice.fit_facts_.scores == once.fit_facts_.scores


def test_examples_that_weigh_nothing_are_not_held_back_either() -> None:
    _, nodes, y = communities()
    weight = np.where(REST, 0.0, 1.0)
    wrong = np.where(REST, "oak", y)
    given = classifier(max_epochs=4).fit(nodes, wrong, sample_weight=weight)
    left_out = classifier(max_epochs=4).fit(nodes[TRAIN], y[TRAIN])
    assert given.predict_proba(nodes).tobytes() == left_out.predict_proba(nodes).tobytes()
    assert given.predict_set(nodes).sizes.tolist() == left_out.predict_set(nodes).sizes.tolist()


def test_nothing_is_asked_of_no_node() -> None:
    _, nodes, y = communities()
    model = classifier(max_epochs=1).fit(nodes, y)
    assert model.embed([]).shape == (0, model.embed(nodes[:1]).shape[1])
    assert model.predict_proba([]).shape == (0, 3)
    assert model.member_proba([]).shape == (3, 0, 3)
    assert model.predict([]).shape == model.entropy([]).shape == model.disagreement([]).shape == (0,)
