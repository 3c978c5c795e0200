"""Parameters that are objects: set one by one, cloned, searched, printed; and where the flat ones went."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
import torch
from ensemble_cases import tiny
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

import honlearn
from honlearn import DGEClassifier, DGELinkPredictor, Pairs, PathKernel, Structure, Training
from honlearn.errors import ParameterError
from honlearn.learners import GAT, GCN, GCNII, GIN, KINDS, SAGE, GATv2, TorchLearner
from honlearn.tasks.estimator import described
from honlearn.tasks.nested import as_learners, nested

ESTIMATORS = (DGEClassifier, DGELinkPredictor)
each_estimator = pytest.mark.parametrize("made", ESTIMATORS, ids=lambda made: made.__name__)

# The keywords of version 0.1 that are now in an object, with a value that is not the default.
OLD_OF_BOTH: dict[str, Any] = {
    "aggregator": "max",
    "widths": (6, 5),
    "fan_outs": (3, 2),
    "edge_power": 0.25,
    "normalize": True,
    "identity": True,
    "order": 1,
    "tau": 3.0,
    "min_support": 10,
    "learning_rate": 0.02,
    "batch_size": 7,
    "max_epochs": 2,
    "patience": 3,
    "validation_fraction": 0.3,
    "refit": 0.5,
    "input_dropout": 0.1,
    "hidden_dropout": 0.1,
    "weight_decay": 0.001,
    "device": "cpu",
    "checkpoint": None,
    "checkpoint_seconds": 5.0,
}
OLD: dict[type, dict[str, Any]] = {
    DGEClassifier: {
        **OLD_OF_BOTH,
        **{"echo": True, "path_features": 5, "kernel_share": 0.3, "class_weight": "balanced"},
    },
    DGELinkPredictor: {
        **OLD_OF_BOTH,
        **{"operator": "l1", "pair_width": 7, "directed": False, "pair_draw": "joint"},
        **{"hide_own": False, "new_negatives": False},
    },
}
KEPT = {"network", "variant", "shared", "n_learners", "features", "n_heads"} | {
    "n_draws",
    "n_threads",
    "random_state",
    "verbose",
}


# --- setting them ------------------------------------------------------------------------------------


def test_a_parameter_of_the_learner() -> None:
    model = DGEClassifier(tiny()[0]).set_params(learner__widths=(9, 9))
    assert repr(model.learner) == "SAGE(widths=(9, 9))"
    model.set_params(learner__aggregator="max")
    assert repr(model.learner) == "SAGE(aggregator='max', widths=(9, 9))"
    assert model.get_params()["learner__widths"] == (9, 9)


def test_another_learner_and_its_parameter_at_once() -> None:
    for names in (("learner", "learner__heads"), ("learner__heads", "learner")):
        values: dict[str, Any] = {"learner": "gat", "learner__heads": 4}
        model = DGEClassifier(tiny()[0]).set_params(**{name: values[name] for name in names})
        assert isinstance(model.learner, GAT)
        assert model.learner.heads == 4


@each_estimator
def test_parameter_objects_are_made_where_they_are_none(made: Any) -> None:
    model = made(tiny()[0])
    assert model.training is None
    model.set_params(training__max_epochs=3, training__patience=2, structure__order=2)
    assert (model.training.max_epochs, model.training.patience, model.structure.order) == (3, 2, 2)
    model.set_params(training=None, training__refit=0.5)
    assert repr(model.training) == "Training(refit=0.5)"


def test_of_several_learners_those_that_have_it_take_it() -> None:
    model = DGEClassifier(tiny()[0], learner=["sage", GAT(widths=(8,))])
    model.set_params(learner__heads=2, learner__edge_power=0.1)
    assert [repr(one) for one in model.learner] == [
        "SAGE(edge_power=0.1)",
        "GAT(edge_power=0.1, heads=2, widths=(8,))",
    ]


def test_another_estimator_keeps_its_own() -> None:
    model = DGEClassifier(tiny()[0], SAGE(widths=(9, 9)), training=Training(max_epochs=3))
    twin = clone(model)
    assert described(twin) == described(model)
    assert twin.network is model.network
    twin.set_params(learner__widths=(6, 6), training__max_epochs=5, path_kernel__share=0.5)
    assert (model.learner.widths, model.training.max_epochs, model.path_kernel) == ((9, 9), 3, None)


@each_estimator
def test_every_nested_parameter_can_be_set_and_got(made: Any) -> None:
    model = made(tiny()[0], "gatv2")
    for name, kind in {"learner": GATv2, **made.parameter_objects}.items():
        for field in inspect.signature(kind).parameters:
            model.set_params(**{f"{name}__{field}": "x"})
            assert getattr(getattr(model, name), field) == "x"
            assert model.get_params()[f"{name}__{field}"] == "x"
    assert described(clone(model)) == described(model)


def test_a_search_over_nested_parameters() -> None:
    hon, nodes, y = tiny()
    plain = {"n_learners": 2, "path_kernel": PathKernel(0, 0), "n_threads": 1, "random_state": 0}
    model = DGEClassifier(hon, **plain).set_params(training__max_epochs=2, training__refit=0)
    grid = {"learner__widths": [(6, 6), (7,)], "training__learning_rate": [0.01, 0.1]}
    search = GridSearchCV(model, grid, cv=2).fit(nodes, y)
    best = search.best_params_
    assert best in list(ParameterGrid(grid))
    assert (search.best_estimator_.learner.widths, search.best_estimator_.training.learning_rate) == (
        best["learner__widths"],
        best["training__learning_rate"],
    )
    # Each is what a fit with these parameters is; the one that was searched around has none of them.
    own = DGEClassifier(hon, SAGE(widths=best["learner__widths"]), **plain)
    own.training = Training(best["training__learning_rate"], max_epochs=2, refit=0)
    expected = own.fit(nodes, y).predict_proba(nodes)
    assert search.best_estimator_.predict_proba(nodes).tobytes() == expected.tobytes()
    assert (model.learner, model.training.learning_rate) == ("auto", 0.01)


def test_a_search_over_kinds_of_learner() -> None:
    hon, nodes, y = tiny()
    model = DGEClassifier(hon, n_learners=2, path_kernel=PathKernel(0, 0), n_threads=1, random_state=0)
    model.set_params(training=Training(max_epochs=1))
    grid = {"learner": ["gcn", GAT(heads=2), [SAGE(), GCNII(alpha=0.1)]], "learner__widths": [(6,), (8,)]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(nodes, y)
    assert len(search.cv_results_["params"]) == 6
    assert grid["learner"][1].widths == (128,)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"learner__widht": 3},
            r"SAGE has no parameter 'widht'; did you mean 'widths'\?; there are .*widths",
        ),
        ({"learner__heads": 3}, "SAGE has no parameter 'heads'"),
        ({"training__epochs": 3}, "Training has no parameter 'epochs'.*there are .*max_epochs"),
        ({"training__refit__x": 3}, "Training has no parameter 'refit__x'"),
        (
            {"trainin__refit": 3},
            "has no parameter object 'trainin'; there are learner, training",
        ),
        ({"pairs__width": 3}, "DGEClassifier has no parameter object 'pairs'"),
        ({"learner": "cat", "learner__heads": 3}, r"'learner' parameter .* did you mean 'gat'\?"),
        ({"n_learnes": 3}, r"DGEClassifier has no parameter 'n_learnes'; did you mean 'n_learners'\?"),
        ({"old": 3}, "DGEClassifier has no parameter 'old'"),
        ({"widths": 3}, "it is a parameter of 'learner' now"),
    ],
    ids=str,
)
def test_what_is_no_parameter_is_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        DGEClassifier(tiny()[0]).set_params(**params)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["training", "structure", "path_kernel"])
def test_an_object_of_another_class_is_named_at_fit(name: str) -> None:
    hon, nodes, y = tiny()
    with pytest.raises(
        ParameterError, match=rf"'{name}' parameter of DGEClassifier must be None or honlearn\."
    ):
        DGEClassifier(hon, **{name: {"max_epochs": 3}}).fit(nodes, y)


# --- flat keywords of version 0.1 --------------------------------------------------------------------


@each_estimator
def test_a_constructor_has_few_arguments(made: Any) -> None:
    parameters = inspect.signature(made).parameters.values()
    names = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
    # Paths to read lags from are data, an executor says where work runs: they are in no object of settings.
    assert len(names - {"paths", "executor"}) <= 14
    assert set(inspect.signature(made).parameters) >= KEPT
    assert not OLD[made].keys() & set(inspect.signature(made).parameters)


def suggestion(made: Any, name: str, value: Any) -> tuple[str, str]:
    """Return what the error of an old keyword suggests: a keyword, and an argument of set_params."""
    hon = tiny()[0]
    with pytest.raises(ParameterError, match=f"^{made.__name__} has no '{name}'") as caught:
        made(hon, **{name: value})
    text = str(caught.value)
    assert "\n" not in text
    with pytest.raises(ParameterError, match=re.escape(text)):
        made(hon).set_params(**{name: value})
    found = re.search(r"Write (.+) or set_params\((.+?)\)(;|$)", text)
    assert found is not None, text
    return found[1], found[2]


@pytest.mark.parametrize(
    ("made", "name"), [(made, name) for made in ESTIMATORS for name in OLD[made]], ids=lambda one: str(one)
)
def test_an_old_keyword_is_told_its_new_place(made: Any, name: str) -> None:
    old = OLD[made][name]
    value = not old if name == "echo" else old
    keyword, setting = (text.replace("...", "value") for text in suggestion(made, name, old))
    scope = {"honlearn": honlearn, "made": made, "network": tiny()[0], "value": value}
    typed = eval(f"made(network, {keyword})", scope)
    set_ = eval(f"made(network).set_params({setting})", scope)
    assert described(typed) == described(set_)
    # It is where the flat settings of the command line put it.
    flat = made(tiny()[0], **nested(made, {name: old}))
    assert described(typed) == described(flat)
    assert typed.get_params()[re.split(r"=", setting)[0]] == value


@each_estimator
def test_estimators_with_what_is_suggested_can_be_fitted(made: Any) -> None:
    hon, nodes, y = tiny()
    model = made(hon, n_learners=2, n_threads=1, random_state=0)
    for name, old in OLD[made].items():
        _, setting = suggestion(made, name, old)
        if setting.startswith("structure"):
            continue  # a network that is grown already has none
        model.set_params(**{setting.partition("=")[0]: not old if name == "echo" else old})
    fitted = model.fit(nodes, y) if made is DGEClassifier else model.fit()
    asked = nodes[:3] if made is DGEClassifier else [("a0", "a1"), ("b0", "b1")]
    np.testing.assert_allclose(fitted.predict_proba(asked).sum(1), 1, atol=1e-5)
    assert len(fitted.history_.query("phase == 'search'")) <= 2


@each_estimator
def test_gin_is_a_learner_now(made: Any) -> None:
    keyword, setting = suggestion(made, "aggregator", "gin")
    assert (keyword, setting) == ("learner='gin'", "learner='gin'")
    assert isinstance(made(tiny()[0], learner="gin").set_params(learner__widths=6).learner, GIN)


def test_what_echo_was_is_said() -> None:
    with pytest.raises(ParameterError, match="echo=True is mask_self=False"):
        DGEClassifier(tiny()[0], echo=True)


def test_an_unknown_keyword_is_no_old_one() -> None:
    with pytest.raises(ParameterError, match=r"has no parameter 'variat'; did you mean 'variant'\?"):
        DGEClassifier(tiny()[0], variat="bag")
    with pytest.raises(ParameterError, match=r"has no parameter 'zzz'$"):
        DGELinkPredictor(tiny()[0], zzz=3)


# --- printing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (SAGE(), "SAGE()"),
        (SAGE(widths=(64, 64), fan_outs=(64, 1)), "SAGE(fan_outs=(64, 1), widths=(64, 64))"),
        (GIN(normalize=False), "GIN(normalize=False)"),
        (GCN(direction="in", mask_self=True), "GCN(direction='in', mask_self=True)"),
        (GCNII(alpha=0.1, theta=0.5), "GCNII(alpha=0.1, theta=0.5)"),
        (GAT(heads=4, widths=(64, 64)), "GAT(heads=4, widths=(64, 64))"),
        (GATv2(use_weights=True), "GATv2(use_weights=True)"),
        (TorchLearner(in_channels=8), "TorchLearner(in_channels=8)"),
        (Training(max_epochs=5, class_weight="balanced"), "Training(class_weight='balanced', max_epochs=5)"),
        (Structure(2, tau=1.0), "Structure(order=2, tau=1.0)"),
        (PathKernel(share=0), "PathKernel(share=0)"),
        (Pairs(operator="l1"), "Pairs(operator='l1')"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_objects_print_what_is_not_the_default(value: Any, text: str) -> None:
    assert repr(value) == text
    assert repr(clone(value)) == text
    scope = {name: getattr(honlearn, name) for name in ("Training", "Structure", "PathKernel", "Pairs")}
    again = eval(text, {**scope, **{kind.__name__: kind for kind in KINDS.values()}})
    assert described(again) == described(value)


def test_an_estimator_prints_its_objects() -> None:
    model = DGELinkPredictor(None, GAT(heads=4), pairs=Pairs(width=0), training=Training(refit=1.0))
    text = "DGELinkPredictor(learner=GAT(heads=4), network=None, pairs=Pairs(width=0),"
    assert " ".join(repr(model).split()) == f"{text} training=Training(refit=1.0))"


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_learners_are_parameters_and_nothing_else(kind: Any) -> None:
    learner = kind()
    assert set(learner.get_params()) == set(inspect.signature(kind).parameters)
    for name in learner.get_params():
        other = clone(learner).set_params(**{name: "x"})
        assert getattr(other, name) == "x"
        assert described(other) != described(learner)


def test_a_module_is_answered_with_what_wraps_it() -> None:
    with pytest.raises(ParameterError, match=r"Got .*Linear.*hl\.learners\.TorchLearner\(lambda n_in, n_out"):
        as_learners("DGEClassifier", torch.nn.Linear)
