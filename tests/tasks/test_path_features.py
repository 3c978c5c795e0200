"""Vectors of paths and roots without echo, as parameters of DGEClassifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from task_cases import FAST, communities

from honlearn import DGEClassifier, load_model
from honlearn.ensemble.examples import Examples
from honlearn.errors import ParameterError
from honlearn.hon.embedding import path_embedding
from honlearn.path_kernel.path_vectors import Vectors, choose_vectors
from honlearn.tasks.parameters import user_features

VARIANTS = [
    ("bag", False), ("bag", True), ("pool", False), ("pool", True), ("concat", False), ("concat", True),
    ("attn", False), ("attn", True), ("batch", False),
]  # fmt: skip
TRAIN = np.arange(60) % 4 < 3
REST = ~TRAIN


def classifier(**given: Any) -> DGEClassifier:
    return DGEClassifier(communities()[0], **{**FAST, **given})


def fitted(**given: Any) -> DGEClassifier:
    _, nodes, y = communities()
    return classifier(**given).fit(nodes[TRAIN], y[TRAIN])


def features(form: str) -> Any:
    """Return three numbers that tell nothing of the classes, in one of the forms that users have."""
    _, nodes, _ = communities()
    random = np.random.default_rng(0)
    values = random.normal(size=(len(nodes), 3)) * (random.random((len(nodes), 3)) < 0.7)
    shuffled = random.permutation(len(nodes))
    return {
        "none": None,
        "dense": values,
        "sparse": csr_array(values),
        "frame": pd.DataFrame(values[shuffled], index=nodes[shuffled]),
    }[form]


def chosen() -> Vectors:
    """Return the vectors that learners of the training part read."""
    hon, nodes, y = communities()
    classes, codes = np.unique(y[TRAIN], return_inverse=True)
    known = Examples(hon.vocabulary.codes(nodes[TRAIN].tolist()), codes, np.ones(len(codes), np.float32))
    return choose_vectors(hon, known, len(classes), 0)[0]


# --- vectors of paths --------------------------------------------------------------------------------


@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("form", ["none", "dense", "sparse", "frame"])
def test_path_features_stand_beside_features_and_names_or_alone(form: str, identity: bool) -> None:
    _, nodes, y = communities()
    given = {"max_epochs": 40, "hidden_dropout": 0.2, "input_dropout": 0.3, "kernel_share": 0}
    model = fitted(path_features=8, features=features(form), identity=identity, **given)
    assert model.score(nodes[REST], y[REST]) > 0.8
    assert np.array_equal(model.path_vectors_, chosen().first(8))
    matrix = model.ensemble_.layers[0].own.matrix
    assert matrix.shape[1] == 8 + (0 if form == "none" else 3)
    assert (model.ensemble_.layers[0].own.identity is None) is not identity


@pytest.mark.parametrize("form", ["dense", "sparse", "frame"])
def test_vectors_follow_the_features_of_the_user(form: str) -> None:
    hon, _, _ = communities()
    vectors = path_embedding(hon, 8).astype(np.float32)
    both = user_features(features(form), hon, vectors)
    assert both is not None
    assert both.shape == (60, 11)
    if both._dense is not None:
        held = both._dense.numpy()
    else:
        rows = both._sparse
        held = csr_array((rows.weights[0], rows.indices[0], rows.indptr), shape=both.shape).toarray()
    expected = np.hstack([features("dense"), vectors]).astype(np.float32)
    assert np.array_equal(held, expected)


def test_features_of_one_form_or_another_come_to_the_same() -> None:
    nodes = communities()[1]
    dense, frame = (fitted(path_features=4, features=features(form)) for form in ("dense", "frame"))
    assert dense.predict_proba(nodes).tobytes() == frame.predict_proba(nodes).tobytes()


def test_without_path_features_there_are_no_vectors() -> None:
    assert fitted(path_features=0, max_epochs=2).path_vectors_ is None


@pytest.mark.parametrize("count", [1, 5, 64, 500])
def test_there_are_at_most_so_many_numbers_at_a_length_of_one(count: int) -> None:
    model, best = fitted(path_features=count, max_epochs=1), chosen()
    assert model.path_vectors_ is not None
    assert model.path_vectors_.shape == (60, min(count, best.numbers.shape[1]))
    # Half as many as entities at most: more would tell them apart by heart.
    assert best.numbers.shape[1] <= 30
    np.testing.assert_allclose(np.linalg.norm(model.path_vectors_, axis=1), 1, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes() -> None:
    nodes = communities()[1]
    one, two, other = (
        fitted(path_features=8, random_state=seed, n_threads=threads).predict_proba(nodes)
        for seed, threads in ((4, 1), (4, 2), (5, 1))
    )
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()


@pytest.mark.parametrize("fan_outs", [None, (6, 2)])
@pytest.mark.parametrize("aggregator", ["mean", "max", "gin"])
def test_every_learner_takes_path_features(aggregator: str, fan_outs: Any) -> None:
    _, nodes, y = communities()
    gentle = {"input_dropout": 0.2, "hidden_dropout": 0.2, "max_epochs": 30, "patience": 8}
    model = fitted(aggregator=aggregator, fan_outs=fan_outs, path_features=8, **gentle)
    assert model.score(nodes[REST], y[REST]) > 0.8


# --- save, load --------------------------------------------------------------------------------------


@pytest.mark.parametrize("echo", [True, False])
@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("form", ["none", "dense", "sparse", "frame"])
def test_a_saved_model_predicts_the_same_bytes(form: str, identity: bool, echo: bool, tmp_path: Path) -> None:
    nodes = communities()[1]
    model = fitted(path_features=8, features=features(form), identity=identity, echo=echo, max_epochs=3)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict_proba(nodes).tobytes() == model.predict_proba(nodes).tobytes()
    assert again.path_vectors_.tobytes() == model.path_vectors_.tobytes()
    assert again.path_vectors_.dtype == np.float32
    assert again.path_features == 8
    assert again.echo is echo
    assert again.architecture_ == model.architecture_


def test_a_model_without_vectors_comes_back_without(tmp_path: Path) -> None:
    fitted(path_features=0, max_epochs=2).save(tmp_path / "model")
    assert load_model(tmp_path / "model").path_vectors_ is None


def test_a_loaded_model_is_saved_again_as_it_was(tmp_path: Path) -> None:
    nodes = communities()[1]
    model = fitted(path_features=8, features=features("frame"), max_epochs=3)
    model.save(tmp_path / "one")
    load_model(tmp_path / "one").save(tmp_path / "two")
    again = load_model(tmp_path / "two")
    assert again.predict_proba(nodes).tobytes() == model.predict_proba(nodes).tobytes()


# --- echo --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("echo", [True, False])
@pytest.mark.parametrize(("variant", "shared"), VARIANTS)
def test_every_variant_learns_with_echo_and_without(variant: str, shared: bool, echo: bool) -> None:
    _, nodes, y = communities()
    model = fitted(variant=variant, shared=shared, echo=echo, path_features=4, max_epochs=30)
    assert model.score(nodes[REST], y[REST]) > 0.8
    assert model.architecture_.echo is echo
    assert model.member_proba(nodes).shape == (3, 60, 3)
    assert model.embed(nodes[:5]).shape[0] == 5


@pytest.mark.parametrize("fan_outs", [None, (6, 2)])
def test_echo_is_another_model(fan_outs: Any) -> None:
    nodes = communities()[1]
    with_echo, without = (fitted(echo=echo, fan_outs=fan_outs).predict_proba(nodes) for echo in (True, False))
    assert np.abs(with_echo - without).mean() > 1e-3


def test_the_names_of_roots_are_not_trained_as_their_own() -> None:
    hon, nodes, _ = communities()
    one_layer = {"path_features": 0, "widths": (16,), "validation_fraction": 0.0, "max_epochs": 4}
    for echo in (True, False):
        model = fitted(echo=echo, **one_layer)
        start = type(model.ensemble_)(model.architecture_, model.seed_, range(3))
        moved = (model.ensemble_.layers[0].own.identity != start.layers[0].own.identity).flatten(2).any(2)
        trained = np.isin(np.arange(60), hon.vocabulary.codes(nodes[TRAIN].tolist()))
        # With one layer only roots look up their own names.
        assert moved.numpy()[:, trained].any() == echo
        assert not moved.numpy()[:, ~trained].any()


def test_features_alone_have_no_echo_to_lose() -> None:
    nodes = communities()[1]
    one, two = (fitted(path_features=8, identity=False, echo=echo) for echo in (True, False))
    assert one.predict_proba(nodes).tobytes() == two.predict_proba(nodes).tobytes()
    assert two.architecture_.echo is True


# --- scikit-learn and mistakes -----------------------------------------------------------------------


def test_clone_and_set_params_know_both() -> None:
    model = classifier(echo=True, path_features=16)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert (twin.echo, twin.path_features) == (True, 16)
    assert (classifier().echo, classifier().path_features) == (False, 64)
    twin.set_params(echo=False, path_features=2, max_epochs=2)
    _, nodes, y = communities()
    assert twin.fit(nodes, y).path_vectors_.shape == (60, 2)
    assert not hasattr(clone(twin), "path_vectors_")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"echo": "x"}, "'echo' parameter of DGEClassifier must be True or False. Got 'x' instead"),
        ({"echo": 1}, "'echo' parameter of DGEClassifier must be True or False. Got 1 instead"),
        ({"path_features": -1}, "'path_features' parameter .* whole number, at least 0. Got -1 instead"),
        ({"path_features": 2.5}, "'path_features' parameter .* whole number, at least 0. Got 2.5 instead"),
        ({"path_features": "many"}, "'path_features' parameter .* whole number, at least 0. Got 'many'"),
        (
            {"identity": False, "path_features": 0},
            "identity=False needs features; .* path_features=64, or identity=True",
        ),
    ],
)
def test_wrong_parameters_are_named_at_fit(given: dict[str, Any], message: str) -> None:
    _, nodes, y = communities()
    with pytest.raises(ParameterError, match=message):
        classifier(**given).fit(nodes, y)
