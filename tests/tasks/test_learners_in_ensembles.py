"""One battery over ensembles: every variant and every learner, for nodes and for links, and mixed ones."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensemble_cases import (
    LEARNERS,
    PAIRS,
    Case,
    MeanNetwork,
    asked,
    fit,
    fitted,
    learner_of,
    make_ensemble,
    tiny_paths,
)

import honlearn
from honlearn import Structure, load_model
from honlearn.ensemble import growing_bag
from honlearn.ensemble.ensemble import Ensemble
from honlearn.ensemble.training import Trainer
from honlearn.errors import FormatError, InputError, ParameterError
from honlearn.learners import GAT, GCN, SAGE, TorchLearner
from honlearn.tasks.estimator import described
from honlearn.tasks.temperature import tempered

TASKS = ("nodes", "links")
MIXED = ("sage", "gcn", "gat")
VARIANTS = [(v, s) for v in ("bag", "pool", "concat", "attn") for s in (False, True)] + [("batch", False)]
CASES = [
    *(Case((name,), v, s) for v, s in VARIANTS for name in ("sage", "gat")),
    *(Case(("gcn",), v, s, "links") for v, s in VARIANTS),
    *(Case((name,), v, False, task) for task in TASKS for v in ("bag", "pool") for name in LEARNERS),
    *(Case((name,), with_features=True) for name in LEARNERS),
    *(Case(("torch",), v, s) for v, s in (("bag", True), ("batch", False))),
    *(Case(MIXED, v, False) for v in ("bag", "pool", "concat")),
    *(Case(MIXED, v, s, "links") for v, s in (("bag", False), ("pool", False), ("concat", True))),
    Case(("sage", "torch"), "bag", False, "nodes"),
    Case(("torch", "gin"), "pool", True, "links"),
]
CASES = list(dict.fromkeys(CASES))


def each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """Return the parameter of tests over cases; those of one share its fit (tests/conftest.py)."""
    return pytest.mark.parametrize("case", list(cases), ids=str)


every_case = each(CASES)
# One of each variant, one of each set of learners, and of links a bag, a pool and mixed ones.
SOME = [
    *{(case.variant, case.shared): case for case in reversed(CASES)}.values(),
    *{case.learners: case for case in reversed(CASES)}.values(),
    *(case for case in CASES if case.task == "links" and len(case.learners) > 1),
    Case(("sage",), "bag", False, "links"),
    Case(("sage",), "pool", False, "links"),
]


class Killed(Exception):
    pass


# --- the contract ------------------------------------------------------------------------------------


@every_case
def test_probabilities_of_the_ensemble_and_of_its_members(case: Case) -> None:
    model, X = fitted(case), asked(case)
    proba, members = model.predict_proba(X), model.member_proba(X)
    assert proba.shape == (len(X), 2)
    assert members.shape == (model.n_learners, len(X), 2)
    for values in (proba, members):
        assert values.dtype == np.float32
        assert (values >= 0).all()
        np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)
    # Members differ: each has weights, or at least a draw of relatives, of its own.
    # A pair is also read by counts, which are the same for all members; in a pooled model, whose members
    # are draws of relatives, they leave differences of a millionth.
    assert np.ptp(members, axis=0).max() > (1e-7 if case.task == "links" else 1e-4)
    if case.variant == "bag":
        mean = tempered(members.mean(0), getattr(model, "temperature_", 1.0))
        np.testing.assert_allclose(mean, learned_proba(model, X), atol=1e-5)


def learned_proba(model: Any, X: Any) -> Any:
    """Return what the learners predict, without the share of the count model that pairs have."""
    if getattr(model, "count_model_", None) is None:
        return model.predict_proba(X)
    alone = copy.copy(model)
    alone.count_model_ = model.count_model_._replace(share=0.0)
    alone._fitted_model = alone._model(model.architecture_)
    return alone.predict_proba(X)


@each(dict.fromkeys(SOME))
def test_the_seed_decides(case: Case) -> None:
    X, other = asked(case), fit(case, random_state=1)
    assert np.abs(other.predict_proba(X) - fitted(case).predict_proba(X)).max() > 1e-6


@every_case
def test_a_prediction_does_not_depend_on_what_else_is_asked(case: Case) -> None:
    model, X = fitted(case), asked(case)
    whole = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X[2:4]), whole[2:4], atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X[::-1]), whole[::-1], atol=1e-6)


@every_case
def test_a_saved_model_predicts_the_same_bytes(case: Case, tmp_path: Path) -> None:
    model, X = fitted(case), asked(case)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model", make=case.make)
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert again.member_proba(X).tobytes() == model.member_proba(X).tobytes()
    assert again.best_epochs_.tolist() == model.best_epochs_.tolist()
    kinds = again.architecture_.kinds
    assert described(kinds) == described(model.architecture_.kinds)


@each(dict.fromkeys(SOME))
def test_an_interrupted_fit_goes_on_to_the_same_bytes_on_any_number_of_threads(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, checkpoint = asked(case), {"checkpoint": tmp_path / "fit.ckpt", "checkpoint_seconds": 0.0}
    save = Trainer._maybe_save
    # In the search and, as that is done by then, in the training on everything; of a mixed bag, whose kinds
    # are trained one after another, in those of the last kind.
    for in_refit in (False, True):
        with monkeypatch.context() as patch:

            def save_or_die(self: Trainer, dies: bool = in_refit) -> None:
                save(self)
                is_last = self.shape.kinds[-1].kind == case.learners[-1]
                if is_last and (self.schedule is not None) == dies and self.at.step == 5:
                    raise Killed("killed on purpose")

            patch.setattr(Trainer, "_maybe_save", save_or_die)
            with pytest.raises(Killed, match="on purpose"):
                fit(case, n_threads=1 if in_refit else 2, **checkpoint)
    assert list(tmp_path.iterdir())
    resumed = fit(case, n_threads=2, **checkpoint)
    assert resumed.predict_proba(X).tobytes() == fitted(case).predict_proba(X).tobytes()
    assert resumed.member_proba(X).tobytes() == fitted(case).member_proba(X).tobytes()
    assert resumed.history_.equals(fitted(case).history_)
    assert list(tmp_path.iterdir()) == []


# --- modules of the user's own -----------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("learners", [("torch",), ("sage", "torch")], ids="+".join)
def test_a_module_is_not_in_the_folder(learners: tuple[str, ...], task: str, tmp_path: Path) -> None:
    fitted(Case(learners, task=task)).save(tmp_path / "model")
    with pytest.raises(InputError, match=r"never code; pass .*: load_model\(folder, make=\.\.\.\)") as caught:
        load_model(tmp_path / "model")
    assert "\n" not in str(caught.value)


def test_another_module_than_the_saved_one_is_refused(tmp_path: Path) -> None:
    fitted(Case(("torch",))).save(tmp_path / "model")
    with pytest.raises(FormatError, match="config and weights do not belong together") as caught:
        load_model(tmp_path / "model", make=Wider)
    assert "\n" not in str(caught.value)


class Wider(MeanNetwork):
    """A module with other weights than those of a saved one."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(n_in + 1, n_out)


class Maker:
    """A module with a parameter, made by an object that is called."""

    def __call__(self, n_in: int, n_out: int) -> MeanNetwork:
        return MeanNetwork(n_in, n_out)


def test_what_makes_a_module_is_described_without_its_address() -> None:
    # A checkpoint is found by it in another process, where addresses differ.
    for make in (partial(MeanNetwork), Maker(), partial(Maker()), MeanNetwork, lambda n_in, n_out: None):
        text = repr(described(TorchLearner(make)))
        assert " at 0x" not in text
    one, other = (described(TorchLearner(partial(MeanNetwork, n_in=size))) for size in (3, 4))
    assert one != other


def test_a_model_of_modules_reads_path_vectors_and_has_a_kernel(tmp_path: Path) -> None:
    case = Case(("torch",))
    model, X = fit(case, path_kernel=None, n_learners=2), asked(case)
    assert model.path_vectors_.shape == (14, 7)
    assert 0 < model.kernel_share_ <= 0.75
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model", make=MeanNetwork)
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


# --- mixed ensembles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_a_learner_of_a_mixed_bag_is_that_learner_in_a_bag_of_its_kind(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A bag for links grows while it gains; here both have all their learners.
    monkeypatch.setattr(growing_bag, "_gains", lambda before, after: True)
    case = Case(MIXED, task=task)
    mixed, X = fit(case, n_learners=5), asked(case)
    members = mixed.member_proba(X)
    assert [stack.learner.kind for stack in mixed.ensemble_.stacks] == list(MIXED)
    for number, name in enumerate(MIXED):
        alone = fit(Case((name,), task=task), n_learners=5)
        own, expected = members[number::3], alone.member_proba(X)[number::3]
        assert len(own) == len(expected) == len(range(number, 5, 3))
        # Torch may round sums over rows otherwise for fewer learners; compiled loops do not.
        np.testing.assert_allclose(own, expected, atol=0 if name == "sage" else 1e-5)
        assert alone.best_epochs_[number::3].tolist() == mixed.best_epochs_[number::3].tolist()


@pytest.mark.parametrize("variant", ["pool", "concat"])
def test_learners_of_a_pooled_mixture_start_as_in_one_of_their_kind(variant: str) -> None:
    model = fitted(Case(MIXED, variant))
    shape = model.architecture_
    assert model.ensemble_.places == [[0, 3], [1], [2]]
    mixed = Ensemble(shape, 7, range(4))
    for number, (name, places) in enumerate(zip(MIXED, mixed.places, strict=True)):
        plain = Ensemble(fit(Case((name,), variant), n_learners=4).architecture_, 7, range(4))
        own = mixed.stacks[number].state_dict()
        for key, tensor in plain.stacks[0].state_dict().items():
            assert own[key].numpy().tobytes() == tensor[places].numpy().tobytes()


@pytest.mark.parametrize("task", TASKS)
def test_a_mixed_bag_chooses_its_network(task: str) -> None:
    case = Case(MIXED, task=task)
    counts = honlearn.count_grams(tiny_paths(), order=2)
    given = {"network": counts, "structure": Structure(min_support=2), "max_epochs": 1, "refit": 0}
    model = fit(case, **given)
    assert model.selection_results_["chosen"].sum() == 1
    # Half of the four learners judge: 0 and 1, of the first two kinds.
    assert model.selection_results_["learners"].tolist() == [2, 2, 2]
    plain = fit(case, **given | {"network": model.network_, "structure": None})
    assert plain.predict_proba(asked(case)).tobytes() == model.predict_proba(asked(case)).tobytes()


def test_a_mixed_bag_chooses_the_power_of_weights_where_it_is_open() -> None:
    case = Case(MIXED)
    model = fit(case, learner=[SAGE(6, edge_power="auto"), GCN(6, edge_power=0.1)], max_epochs=1)
    kinds = model.architecture_.kinds
    assert [kind.edge_power for kind in kinds] == [model.edge_power_, 0.1]
    assert len(model.selection_results_) == 4


def test_names_and_objects_can_be_mixed() -> None:
    case = Case(("sage",))
    named = fit(case, learner=["gcn", GCN(widths=(128,))], n_learners=2, max_epochs=1)
    assert [kind.kind for kind in named.architecture_.kinds] == ["gcn", "gcn"]
    plain = fit(case, learner="gcn", n_learners=2, max_epochs=1)
    X = asked(case)
    assert named.member_proba(X).tobytes() == plain.member_proba(X).tobytes()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variant": "bag", "shared": True}, "variant='bag' with shared weights trains one model"),
        ({"variant": "batch"}, "variant='batch' with shared weights trains one model"),
        ({"learner": [SAGE(widths=6), GCN(widths=8)]}, "must end in the same width. Got SAGE 6, GCN 8"),
        ({"n_learners": 2}, "n_learners=2 is less than the 3 kinds of learner"),
        ({"learner": []}, "'learner' parameter of .* is empty"),
        ({"learner": ["sage", "sagee"]}, r"'learner' parameter .* did you mean 'sage'\?"),
        ({"learner": SAGE}, "Got SAGE instead; make an object of the class: SAGE"),
        ({"learner": TorchLearner}, "Got TorchLearner instead; make an object of the class: TorchLearner"),
        ({"learner": ["sage", 3]}, "'learner' parameter .* Got 3 instead; wrap a torch.nn.Module"),
        ({"learner": "torch"}, r"needs a function .* learner=honlearn\.learners\.TorchLearner\(make\)"),
        ({"learner": TorchLearner()}, "'make' parameter of TorchLearner must be a function"),
        ({"learner": TorchLearner(lambda n, m: 3)}, r"must return a torch\.nn\.Module\. Got int instead"),
        ({"learner": GAT(widths=9, heads=2)}, "'widths' parameter of GAT must be multiples of 'heads'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_trained_is_named(given: dict[str, Any], message: str, task: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        fit(Case(MIXED, task=task), **given)
    assert "\n" not in str(caught.value)


def test_learners_that_are_given_are_left_as_they_were() -> None:
    learner, training = learner_of(MIXED), make_ensemble(Case(("sage",))).training
    before = described([learner, training])
    case = Case(MIXED, task="links")
    assert fit(case, learner=learner, training=training, max_epochs=1).predict_proba(PAIRS).shape == (4, 2)
    assert described([learner, training]) == before
