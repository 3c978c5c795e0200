from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from baseline_cases import network, nodes
from numpy.typing import NDArray
from sklearn.model_selection import cross_val_score

import honlearn as hl
from honlearn.baselines.path_kernel import PathKernelClassifier
from honlearn.errors import FormatError, InputError, ParameterError
from honlearn.experiments.registry import find_model
from honlearn.learners import SAGE
from honlearn.tasks import kernel_fit
from honlearn.tasks.kernel_part import FittedKernel, fit_kernels
from honlearn.tasks.settings import Training

CHOSEN = ("reach_", "smoothing_", "dimensions_", "penalty_", "loss_", "n_parameters_")


def fitted(labels: Any = None, **settings: Any) -> PathKernelClassifier:
    """Return a fit to two thirds of the planted nodes, with their own labels or others."""
    names, groups = nodes()
    model = PathKernelClassifier(network(), **{"random_state": 0, **settings})
    return model.fit(names[:28], groups[:28] if labels is None else labels)


def test_it_is_the_best_kernel_of_our_own_model_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    names, groups = nodes()
    made: list[dict[str, FittedKernel]] = []

    def noted(*given: Any) -> dict[str, FittedKernel]:
        made.append(fit_kernels(*given))
        return made[-1]

    monkeypatch.setattr(kernel_fit, "fit_kernels", noted)
    for seed in (0, 1):
        small: dict[str, Any] = {"learner": SAGE(widths=(8,)), "training": Training(max_epochs=1)}
        ours = hl.DGEClassifier(network(), n_learners=2, **small, n_threads=1, random_state=seed)
        ours.fit(names[:28], groups[:28])
        assert ours.kernel_proba_ is not None
        best = next(iter(made[-1].values())).prediction
        alone = fitted(random_state=seed).predict_proba(list(network().vocabulary))
        assert alone.tobytes() == best.proba.tobytes()


@pytest.mark.parametrize("order", [1, 2])
def test_finds_what_is_planted(order: int) -> None:
    names, groups = nodes()
    model = PathKernelClassifier(network(order), random_state=0)
    # Three classes: 0.9 of 42 nodes is out of reach of chance.
    assert cross_val_score(model, names, groups, cv=3, error_score="raise").mean() >= 0.9
    assert not hasattr(model, "state_")


def test_reads_what_only_a_memory_tells() -> None:
    # All go through one hub: who goes on to whom is known to those who remember where one came from.
    sides = [[f"{side}{i}" for i in range(8)] for side in "xy"]
    trips = [[a, "hub", b] for side in sides for a in side for b in side if a != b]
    names = np.array([*sides[0], *sides[1]])
    sides_of = np.array([name[0] for name in names])
    known = np.arange(16) % 2 == 0
    right = {}
    for order in (1, 2):
        hon = hl.grow(trips, order=order, tau=0.0, min_support=1)
        model = PathKernelClassifier(hon, random_state=0).fit(names[known], sides_of[known])
        right[order] = (model.predict(names[~known]) == sides_of[~known]).mean()
    assert right[2] == 1.0
    assert model.reach_ == 2
    assert right[1] <= 0.75


def some_wrong() -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels of the training nodes with errors among them, and where those are."""
    groups = nodes()[1][:28]
    labels = groups.copy()
    labels[::4] = np.roll(labels[::4], 1)
    return labels, labels != groups


def test_a_labelled_node_is_answered_without_its_label() -> None:
    labels, wrong = some_wrong()
    assert wrong.sum() >= 4
    # Who has seen the wrong labels repeats them.
    assert not (fitted(labels).predict(nodes()[0][:28]) == labels)[wrong].any()


def test_its_loss_is_that_of_labelled_nodes_left_out() -> None:
    labels, _ = some_wrong()
    model = fitted(labels)
    assert model.loss_ > 0.1
    proba = model.predict_proba(nodes()[0][:28])
    chance = proba[np.arange(28), np.searchsorted(model.classes_, labels)]
    assert -np.log(chance).mean() == pytest.approx(model.loss_, rel=1e-4)


def test_threads_and_checkpoints_change_nothing(tmp_path: Path) -> None:
    names, _ = nodes()
    straight = fitted(n_threads=1).predict_proba(names)
    assert fitted(n_threads=2).predict_proba(names).tobytes() == straight.tobytes()
    kept = fitted(checkpoint=tmp_path / "fit.ckpt", checkpoint_seconds=0.0)
    assert kept.predict_proba(names).tobytes() == straight.tobytes()
    assert list(tmp_path.iterdir()) == []


def test_what_was_chosen_is_saved(tmp_path: Path) -> None:
    names, groups = nodes()
    labels = np.random.default_rng(0).permutation(groups[:28])
    model = fitted(labels)
    assert (model.reach_ in (1, 2), model.smoothing_ in (0.75, 1.0)) == (True, True)
    assert 1 <= model.dimensions_ <= len(names) // 2
    assert 1e-3 <= model.penalty_ <= 10
    # A row of three for each of 42 entities, and five that were chosen or measured.
    assert model.n_parameters_ == 42 * 3 + 5
    assert len(model.history_) == 0
    model.save(tmp_path / "model")
    loaded = hl.load_model(tmp_path / "model")
    assert type(loaded) is PathKernelClassifier
    assert [getattr(loaded, name) for name in CHOSEN] == [getattr(model, name) for name in CHOSEN]
    assert (type(loaded.reach_), type(loaded.loss_)) == (int, float)
    assert loaded.predict_proba(names).tobytes() == model.predict_proba(names).tobytes()
    del model.state_["reach"]
    model.save(tmp_path / "broken")
    with pytest.raises(FormatError, match=r"weights.safetensors: 'reach' is not there"):
        hl.load_model(tmp_path / "broken")


@pytest.mark.parametrize("count", [1, 10])
def test_one_class_leaves_nothing_open(count: int) -> None:
    names, _ = nodes()
    model = PathKernelClassifier(network(), random_state=0).fit(names[:count], ["only"] * count)
    np.testing.assert_array_equal(model.predict_proba(names), np.ones((len(names), 1), np.float32))
    assert model.loss_ == 0


def test_classes_are_of_the_type_of_the_labels() -> None:
    names, groups = nodes()
    codes = np.searchsorted(np.unique(groups), groups) + 5
    model = fitted(codes[:28])
    assert model.classes_.tolist() == [5, 6, 7]
    assert model.predict(names).dtype == codes.dtype
    assert (model.predict(names[28:]) == codes[28:]).mean() >= 0.75


def test_what_is_wrong_is_said() -> None:
    names, groups = nodes()
    with pytest.raises(
        ParameterError,
        match="'checkpoint_seconds' parameter of PathKernelClassifier must be a number at least 0",
    ):
        fitted(checkpoint_seconds=-1)
    with pytest.raises(
        ParameterError,
        match="'n_threads' parameter of PathKernelClassifier must be a whole number, at least 1",
    ):
        fitted(n_threads=0)
    with pytest.raises(InputError, match=r"5 nodes but labels of shape \(4,\); give one label a node"):
        PathKernelClassifier(network()).fit(names[:5], groups[:4])
    with pytest.raises(ParameterError, match="path-kernel has no 'reach'; there are n_threads, checkpoint"):
        find_model("path-kernel").make(network(), reach=2)
    with pytest.raises(ParameterError, match="model 'path-kernel' is for nodes, not for links"):
        find_model("path-kernel", "links")
