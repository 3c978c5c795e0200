"""The kernel's share in predictions of DGEClassifier: the exact mix, how it is chosen, what it depends on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from task_cases import FAST, communities, make_classifier

import honlearn as hl
from honlearn import DGEClassifier, PathKernel
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.training import Trainer
from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.path_kernel.path_vectors import choose_vectors
from honlearn.path_kernel.ridge import KernelPrediction, fit_kernel
from honlearn.tasks.shares import stacked_shares, with_less_kernel

# Learners that predict apart, that share weights, that are pooled; every other variant is one of these.
VARIANTS = [("bag", False), ("bag", True), ("pool", False), ("attn", True), ("batch", False)]
SHORT = {**FAST, "max_epochs": 2, "widths": (8, 6)}
TRAIN = np.arange(60) % 4 < 3


@cache
def vectors() -> Any:
    """Return the vectors that fits of the training part choose."""
    hon, _, _ = communities()
    return choose_vectors(hon, known(), 3, 0)


def kernels() -> tuple[list[KernelPrediction], list[NDArray[np.float64]]]:
    """Return the kernels on these vectors, and the probability that each gives to the true classes."""
    fits = [fit_kernel(one.values, known(), 3, 0) for one in vectors()[1]]
    return fits, [one.of_truth(known()) for one in fits]


def alone() -> NDArray[np.float32]:
    """Return what the kernels predict by themselves."""
    fits, truths = kernels()
    shares = stacked_shares(truths, np.ones(len(known())), 0)
    kept = np.where(shares < 0.02, 0, shares)
    return np.einsum("k,kvc->vc", kept / kept.sum(), [one.proba for one in fits])


def known() -> Examples:
    hon, nodes, y = communities()
    codes = np.unique(y[TRAIN], return_inverse=True)[1]
    return Examples(hon.vocabulary.codes(nodes[TRAIN].tolist()), codes, np.ones(len(codes), np.float32))


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fits of the training part find at once what they would choose; that they do is tested by itself."""
    found = vectors()
    monkeypatch.setattr("honlearn.tasks.kernel_fit.choose_vectors", lambda *_: found)


def fitted(**given: Any) -> DGEClassifier:
    hon, nodes, y = communities()
    model = make_classifier(hon, **{**SHORT, **given}).fit(nodes[TRAIN], y[TRAIN])
    # It comes after the mix, and is tested by itself.
    model.temperature_ = 1.0
    return model


# --- the mix -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(("variant", "shared"), VARIANTS)
def test_the_prediction_is_the_mix_of_learners_and_kernel(variant: str, shared: bool) -> None:
    nodes = communities()[1]
    learners, kernel, mixed, auto = (
        fitted(variant=variant, shared=shared, kernel_share=share) for share in (0, 1, 0.3, "auto")
    )
    assert (learners.kernel_share_, learners.kernel_proba_) == (0.0, None)
    assert (kernel.kernel_share_, mixed.kernel_share_) == (1.0, 0.3)
    of_kernels = kernel.kernel_proba_
    assert np.array_equal(kernel.predict_proba(nodes), of_kernels)
    assert np.array_equal(mixed.kernel_proba_, of_kernels)
    assert 0 < auto.kernel_share_ <= 0.75
    # A subset in another order has the rows that belong to it.
    some = np.array([41, 3, 17, 3])
    assert np.array_equal(kernel.predict_proba(nodes[some]), of_kernels[some])
    for model in (mixed, auto):
        share, got = np.float32(model.kernel_share_), model.predict_proba(nodes)
        assert got.dtype == np.float32
        expected = (1 - share) * learners.predict_proba(nodes) + share * model.kernel_proba_
        assert np.array_equal(got, expected)
        # Members are learners alone, so that what they disagree on is theirs.
        assert np.array_equal(learners.member_proba(nodes), model.member_proba(nodes))
        assert np.array_equal(learners.votes(nodes)[0], model.votes(nodes)[0])
        assert np.array_equal(learners.disagreement(nodes), model.disagreement(nodes))
        assert np.array_equal(learners.embed(nodes), model.embed(nodes))
    assert np.abs(mixed.predict_proba(nodes) - learners.predict_proba(nodes)).max() > 0.01
    np.testing.assert_allclose(mixed.predict_proba(nodes).sum(1), 1, atol=1e-5)


@pytest.mark.usefixtures("chosen")
def test_the_prediction_of_a_bag_is_the_mean_of_its_members_beside_the_kernel() -> None:
    nodes, model = communities()[1], fitted(kernel_share=0.4)
    expected = 0.6 * model.member_proba(nodes).mean(0) + 0.4 * model.kernel_proba_
    np.testing.assert_allclose(model.predict_proba(nodes), expected, atol=1e-6)


def test_a_fit_chooses_vectors_for_its_labels() -> None:
    model = fitted(kernel_share=1, random_state=0)
    np.testing.assert_allclose(model.kernel_proba_, alone(), atol=1e-6)
    assert np.array_equal(model.path_vectors_, vectors()[0].first(64))


@pytest.mark.usefixtures("chosen")
def test_the_kernel_has_a_share_without_path_features_too() -> None:
    model = fitted(path_features=0, kernel_share=0.5)
    assert model.path_vectors_ is None
    assert model.ensemble_.stacks[0].layers[0].own.matrix is None
    np.testing.assert_allclose(model.kernel_proba_, alone(), atol=1e-6)


def test_with_neither_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("vectors are chosen for nobody")

    monkeypatch.setattr("honlearn.tasks.kernel_fit.choose_vectors", refuse)
    model = fitted(path_features=0, kernel_share=0)
    assert (model.path_vectors_, model.kernel_proba_, model.kernel_share_) == (None, None, 0.0)


@pytest.mark.usefixtures("chosen")
def test_a_second_fit_forgets_the_first() -> None:
    _, nodes, y = communities()
    model = fitted(kernel_share=0.5)
    model.set_params(path_kernel__share=0, path_kernel__vectors=0).fit(nodes[TRAIN], y[TRAIN])
    assert (model.path_vectors_, model.kernel_proba_, model.kernel_share_) == (None, None, 0.0)
    alone = fitted(kernel_share=0, path_features=0)
    assert model.predict_proba(nodes).tobytes() == alone.predict_proba(nodes).tobytes()


# --- how it is chosen --------------------------------------------------------------------------------


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("refit", [0, 1.4])
@pytest.mark.parametrize(("variant", "shared"), [("bag", False), ("bag", True), ("attn", False)])
def test_the_share_is_chosen_on_what_the_search_held_back(
    variant: str, shared: bool, refit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watching(self: Trainer) -> Any:
        seen.append((self.schedule, judge(self)))
        return seen[-1][1]

    judge = Trainer.held
    monkeypatch.setattr(Trainer, "held", watching)
    model = fitted(variant=variant, shared=shared, refit=refit, validation_fraction=0.2)
    ((schedule, held),) = seen
    assert schedule is None
    assert held.positions.shape == ((3, 9) if variant == "bag" else (1, 9))
    # Examples that no learner held back do not count, the others by the mean of those that did.
    learned = np.full(len(known()), np.nan)
    for place in np.unique(held.positions):
        learned[place] = held.probability[held.positions == place].mean()
    shares = stacked_shares([learned, *kernels()[1]], np.ones(len(known())), 0)
    shares = with_less_kernel(shares, 1)
    assert model.kernel_share_ == pytest.approx(shares[1:].sum(), rel=1e-12)
    # Learners of two epochs leave much to the kernel.
    assert model.kernel_share_ > 0.2


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(("variant", "shared"), VARIANTS)
def test_without_a_validation_part_it_is_a_quarter(variant: str, shared: bool) -> None:
    assert fitted(variant=variant, shared=shared, validation_fraction=0, max_epochs=1).kernel_share_ == 0.25


def test_where_no_class_can_spare_a_member_it_is_a_quarter() -> None:
    hon, nodes, _ = communities()
    model = make_classifier(hon, **SHORT).fit(nodes[:5], list("abcde"))
    assert model.kernel_share_ == 0.25
    np.testing.assert_allclose(model.predict_proba(nodes).sum(1), 1, atol=1e-5)


def test_a_kernel_of_noise_has_no_share_beside_learners_that_are_right() -> None:
    _, nodes, y = communities()
    # The class is a feature; steps are drawn at random and tell nothing of it.
    ends = np.random.default_rng(0).permutation(3600)[:900]
    noise = from_edges(nodes[ends // 60], nodes[ends % 60])
    assert len(noise.vocabulary) == 60
    truth = np.eye(3)[np.unique([name[:3] for name in noise.vocabulary], return_inverse=True)[1]]
    gentle = {"input_dropout": 0.0, "hidden_dropout": 0.0, "learning_rate": 0.05, "identity": False}
    model = make_classifier(
        noise, **{**FAST, **gentle, "max_epochs": 40, "patience": 10, "path_features": 0}, features=truth
    )
    model.fit(nodes[TRAIN], y[TRAIN])
    assert model.kernel_share_ <= 0.05
    assert model.score(nodes[~TRAIN], y[~TRAIN]) > 0.9


# --- what reaches it ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("chosen")
def test_weights_reach_the_kernel() -> None:
    hon, nodes, y = communities()
    # Labels that are often wrong, so that it matters whose weigh more.
    random = np.random.default_rng(0)
    labels = np.where(random.random(60) < 0.4, random.permutation(y), y)[TRAIN]

    def predicted(weights: Any = None, **given: Any) -> NDArray[np.float32]:
        model = make_classifier(hon, **SHORT, kernel_share=1, **given)
        return model.fit(nodes[TRAIN], labels, sample_weight=weights).predict_proba(nodes)

    plain, by_class = predicted(), predicted(class_weight={"elm": 9.0})
    assert predicted(np.where(labels == "elm", 9.0, 1.0)).tobytes() == by_class.tobytes()
    elm = 1
    # Of those without a label: predictions for the others are calibrated on parts of them.
    assert (by_class[~TRAIN, elm] > plain[~TRAIN, elm]).all()
    assert by_class[:, elm].mean() > plain[:, elm].mean() + 0.1


def test_threads_change_nothing() -> None:
    nodes = communities()[1]
    one, two = (fitted(n_threads=threads) for threads in (1, 2))
    assert one.kernel_share_ == two.kernel_share_
    assert one.kernel_proba_.tobytes() == two.kernel_proba_.tobytes()
    assert one.predict_proba(nodes).tobytes() == two.predict_proba(nodes).tobytes()


class Killed(Exception):
    pass


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(("variant", "shared"), [("bag", True), ("attn", False)])
def test_a_killed_fit_goes_on_to_the_same_share(
    variant: str, shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = communities()[1]
    given = {"variant": variant, "shared": shared, "batch_size": 16, "refit": 2.0}
    straight = fitted(**given)
    save = Trainer._maybe_save
    # In the search, and, as that is done by then, in the training anew.
    for schedule in (False, True):
        with monkeypatch.context() as patch:

            def save_or_die(self: Trainer, dies: bool = schedule) -> None:
                save(self)
                if (self.schedule is not None) == dies and self.at.step == 4:
                    raise Killed("killed on purpose")

            patch.setattr(Trainer, "_maybe_save", save_or_die)
            with pytest.raises(Killed, match="on purpose"):
                fitted(**given, checkpoint=tmp_path / "fit.ckpt", checkpoint_seconds=0.0)
    resumed = fitted(**given, checkpoint=tmp_path / "fit.ckpt")
    assert resumed.kernel_share_ == straight.kernel_share_
    assert resumed.kernel_proba_.tobytes() == straight.kernel_proba_.tobytes()
    assert resumed.predict_proba(nodes).tobytes() == straight.predict_proba(nodes).tobytes()
    assert list(tmp_path.iterdir()) == []


# --- scikit-learn and mistakes -----------------------------------------------------------------------


def test_clone_keeps_what_was_asked_for() -> None:
    model = DGEClassifier(communities()[0])
    assert PathKernel().share == "auto"
    twin = clone(model.set_params(path_kernel__share=0.2))
    assert twin.path_kernel.share == 0.2


@pytest.mark.parametrize("value", [-0.1, 1.01, 7, float("nan"), float("inf"), True, None, [0.5]])
def test_shares_that_are_none_are_named(value: Any) -> None:
    message = (
        r"'path_kernel\.share' parameter of DGEClassifier must be a number at least 0 and at most 1\. Got "
    )
    with pytest.raises(ParameterError, match=message) as caught:
        fitted(kernel_share=value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["much", "0.5", ""])
def test_words_that_are_no_share_are_named(value: str) -> None:
    with pytest.raises(
        ParameterError, match=r"'path_kernel\.share' parameter of DGEClassifier must be .*'auto'"
    ) as caught:
        fitted(kernel_share=value)
    assert "\n" not in str(caught.value)


def test_a_wrong_share_is_named_before_a_structure_is_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Trainer) -> None:
        raise AssertionError("trained before the parameters were checked")

    monkeypatch.setattr(Trainer, "fit", refuse)
    paths = [[a, b, c] for a in "abcd" for b in "efgh" for c in "abcd"]
    model = make_classifier(hl.Paths.from_lists(paths), **SHORT, kernel_share=2)
    with pytest.raises(ParameterError, match=r"'path_kernel\.share' parameter"):
        model.fit(list("abcdefgh"), [0, 1] * 4)
