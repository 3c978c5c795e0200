"""Path vectors that learners read, and roots whose identity is masked, as parameters of DGEClassifier."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from task_cases import FAST, communities, make_classifier

from honlearn import DGEClassifier, PathKernel, load_model
from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.examples import Examples
from honlearn.errors import ParameterError
from honlearn.hon.embedding import path_embedding
from honlearn.learners import SAGE
from honlearn.path_kernel.path_vectors import Vectors, choose_vectors
from honlearn.tasks.estimator import described
from honlearn.tasks.parameters import user_features

VARIANTS = [
    ("bag", False), ("bag", True), ("pool", False), ("pool", True), ("concat", False), ("concat", True),
    ("attn", False), ("attn", True), ("batch", False),
]  # fmt: skip
TRAIN = np.arange(60) % 4 < 3
REST = ~TRAIN


def classifier(**given: Any) -> DGEClassifier:
    return make_classifier(communities()[0], **{**FAST, **given})


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


def same_shape(one: Architecture, other: Architecture) -> bool:
    """Return whether two shapes are equal, learners compared by their parameters."""
    plain = (dataclasses.replace(shape, kinds=()) for shape in (one, other))
    return len(set(plain)) == 1 and described(one.kinds) == described(other.kinds)


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
    given = {"max_epochs": 20, "hidden_dropout": 0.2, "input_dropout": 0.3, "kernel_share": 0}
    model = fitted(path_features=8, features=features(form), identity=identity, **given)
    assert model.score(nodes[REST], y[REST]) > 0.8
    assert np.array_equal(model.path_vectors_, chosen().first(8))
    matrix = model.ensemble_.stacks[0].layers[0].own.matrix
    assert matrix.shape[1] == 8 + (0 if form == "none" else 3)
    assert (model.ensemble_.stacks[0].layers[0].own.identity is None) is not identity


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
    assert model.path_vectors_.shape == (60, min(count, best.values.shape[1]))
    # Half as many as entities at most: more would tell them apart by heart.
    assert best.values.shape[1] <= 30
    np.testing.assert_allclose(np.linalg.norm(model.path_vectors_, axis=1), 1, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes() -> None:
    nodes = communities()[1]
    one, two, other = (
        fitted(path_features=8, kernel_share=0.3, random_state=seed, n_threads=threads).predict_proba(nodes)
        for seed, threads in ((4, 1), (4, 2), (5, 1))
    )
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()


@pytest.mark.parametrize("fan_outs", [None, (6, 2)])
@pytest.mark.parametrize("kind", [{"aggregator": "mean"}, {"aggregator": "max"}, {"learner": "gin"}], ids=str)
def test_every_learner_takes_path_features(kind: dict[str, Any], fan_outs: Any) -> None:
    _, nodes, y = communities()
    gentle = {"input_dropout": 0.2, "hidden_dropout": 0.2, "max_epochs": 15, "patience": 8}
    model = fitted(**kind, fan_outs=fan_outs, path_features=8, **gentle)
    assert model.score(nodes[REST], y[REST]) > 0.8


# --- save, load --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "identity", "mask_self"),
    [
        *((form, True, True) for form in ("none", "dense", "sparse", "frame")),
        *((form, False, False) for form in ("none", "dense", "sparse", "frame")),
        ("sparse", True, False),
    ],
)
def test_a_saved_model_predicts_the_same_bytes(
    form: str, identity: bool, mask_self: bool, tmp_path: Path
) -> None:
    nodes = communities()[1]
    given = {"features": features(form), "identity": identity, "mask_self": mask_self}
    model = fitted(path_features=8, max_epochs=3, **given)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict_proba(nodes).tobytes() == model.predict_proba(nodes).tobytes()
    assert again.path_vectors_.tobytes() == model.path_vectors_.tobytes()
    assert again.path_vectors_.dtype == np.float32
    assert again.path_kernel.vectors == 8
    assert again.learner.mask_self is mask_self
    assert same_shape(again.architecture_, model.architecture_)


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


# --- masked roots ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "shared"), VARIANTS)
def test_every_variant_learns_without_masked_roots(variant: str, shared: bool) -> None:
    # With them, as is the default: test_nodes.py.
    _, nodes, y = communities()
    model = fitted(variant=variant, shared=shared, mask_self=False, path_features=4, max_epochs=15)
    assert model.score(nodes[REST], y[REST]) > 0.8
    assert model.architecture_.kinds[0].mask_self is False
    assert model.member_proba(nodes).shape == (3, 60, 3)
    assert model.embed(nodes[:5]).shape[0] == 5


@pytest.mark.parametrize("fan_outs", [None, (6, 2)])
def test_masked_roots_are_another_model(fan_outs: Any) -> None:
    nodes = communities()[1]
    # Members, before a temperature: that of these fits, 0.25, makes both all but certain of the same classes.
    masked, plain = (
        fitted(mask_self=mask, fan_outs=fan_outs, kernel_share=0).member_proba(nodes)
        for mask in (True, False)
    )
    assert np.abs(masked - plain).mean() > 1e-2


def test_the_names_of_roots_are_not_trained_as_their_own() -> None:
    hon, nodes, _ = communities()
    one_layer = {"path_features": 0, "widths": (16,), "validation_fraction": 0.0, "max_epochs": 4}
    for mask_self in (True, False):
        model = fitted(mask_self=mask_self, **one_layer)
        start = type(model.ensemble_)(model.architecture_, model.seed_, range(3))
        moved = (
            (model.ensemble_.stacks[0].layers[0].own.identity != start.stacks[0].layers[0].own.identity)
            .flatten(2)
            .any(2)
        )
        trained = np.isin(np.arange(60), hon.vocabulary.codes(nodes[TRAIN].tolist()))
        # With one layer only roots look up their own names.
        assert moved.numpy()[:, trained].any() != mask_self
        assert not moved.numpy()[:, ~trained].any()


def test_features_alone_have_nothing_to_mask() -> None:
    nodes = communities()[1]
    one, two = (fitted(path_features=8, identity=False, mask_self=mask) for mask in (True, False))
    assert one.predict_proba(nodes).tobytes() == two.predict_proba(nodes).tobytes()
    assert not one.ensemble_.stacks[0].layers[0].shape.mask.active


# --- scikit-learn and mistakes -----------------------------------------------------------------------


def test_clone_and_set_params_know_both() -> None:
    model = classifier(mask_self=True, path_features=16)
    twin = clone(model)
    assert described(twin) == described(model)
    assert (twin.learner.mask_self, twin.path_kernel.vectors) == (True, 16)
    assert SAGE().resolved("nodes").mask_self is True
    assert PathKernel().vectors == 64
    twin.set_params(learner__mask_self=False, path_kernel__vectors=2, training__max_epochs=2)
    _, nodes, y = communities()
    assert twin.fit(nodes, y).path_vectors_.shape == (60, 2)
    assert "path_vectors_" in vars(twin)
    assert "path_vectors_" not in vars(clone(twin))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mask_self": "x"}, "'mask_self' parameter of SAGE must be True or False. Got 'x' instead"),
        ({"mask_self": 1}, "'mask_self' parameter of SAGE must be True or False. Got 1 instead"),
        (
            {"path_features": -1},
            r"'path_kernel\.vectors' parameter .* whole number, at least 0. Got -1 instead",
        ),
        (
            {"path_features": 2.5},
            r"'path_kernel\.vectors' parameter .* whole number, at least 0. Got 2.5 instead",
        ),
        (
            {"path_features": "many"},
            r"'path_kernel\.vectors' parameter .* whole number, at least 0. Got 'many'",
        ),
        (
            {"identity": False, "path_features": 0},
            r"identity=False needs features; .* path_kernel=PathKernel\(vectors=64\), or identity=True",
        ),
    ],
)
def test_wrong_parameters_are_named_at_fit(given: dict[str, Any], message: str) -> None:
    _, nodes, y = communities()
    with pytest.raises(ParameterError, match=message):
        classifier(**given).fit(nodes, y)
