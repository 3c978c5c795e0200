"""Training: independence of learners, early stopping, resuming, batches and splits."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from model_cases import small_network
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone

from honlearn.engine.runtime import Runtime
from honlearn.ensemble.checkpoint import load_checkpoint
from honlearn.ensemble.ensemble import Architecture, Ensemble, surroundings
from honlearn.ensemble.examples import Examples, shuffled_batches, split, splits
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.training import Problem, Trainer
from honlearn.errors import FormatError
from honlearn.learners import SAGE, Learner
from honlearn.sampling import RelativeSampler

HON = small_network(1, entities=40, extra=30, edges=260)
LEARNER = SAGE(
    widths=(9, 6), edge_power=1.0, input_dropout=0.6, hidden_dropout=0.6, normalize=True, mask_self=False
)
OPTIONS = TrainingOptions(batch_size=8, max_epochs=7, patience=3, validation_fraction=0.2, show=False)


def examples() -> Examples:
    labels = np.arange(HON.n_entities) % 3
    return Examples(np.arange(HON.n_entities, dtype=np.int32), labels, np.ones(len(labels), np.float32))


def trainer(
    variant: str = "bag",
    shared: bool = False,
    learners: list[int] | None = None,
    learner: Learner = LEARNER,
    options: TrainingOptions = OPTIONS,
    threads: int = 1,
    kind: type[Trainer] = Trainer,
    schedule: list[list[int]] | None = None,
) -> Trainer:
    shape = Architecture(variant, shared or variant == "batch", 4, 3, HON.n_entities, (learner,))
    who = [0, 1, 2, 3] if learners is None else learners
    model = Ensemble(shape, 5, who)
    problem = Problem(surroundings(HON, shape, False), RelativeSampler(HON), examples(), 5, who)
    return kind(model, problem, options, Runtime(n_threads=threads), schedule, "test")


@pytest.mark.parametrize("fan_outs", [None, (4, 2)])
def test_learners_of_a_bag_train_together_as_alone(fan_outs: tuple[int, int] | None) -> None:
    learner_kind = clone(LEARNER).set_params(fan_outs=fan_outs)
    together = trainer(learner=learner_kind)
    state = together.fit()
    for learner in range(4):
        alone = trainer(learners=[learner], learner=learner_kind)
        for name, tensor in alone.fit().items():
            torch.testing.assert_close(tensor[0], state[name][learner], rtol=0, atol=0)
        assert alone.at.best_epochs[0][0] == together.at.best_epochs[0][learner]


def test_threads_change_nothing() -> None:
    one, two = trainer(threads=1).fit(), trainer(threads=2).fit()
    assert all(torch.equal(one[name], two[name]) for name in one)


class Watching(Trainer):
    """Keeps what it predicts for its validation parts after every epoch, by stage and group."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen: dict[tuple[int, int], list[NDArray[np.float64]]] = defaultdict(list)

    def _held_logits(self) -> torch.Tensor:
        logits = super()._held_logits()
        for place, group in enumerate(self.at.active):
            self.seen[self.at.stage, group].append(logits[place].double().numpy().copy())
        return logits


def cross_fitted(
    epochs: list[NDArray[np.float64]], labels: NDArray[np.int64], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return what each half of a part is given in the epoch in which the other half loses least."""
    proba = [softmax(logits, 1) for logits in epochs]
    out = np.full_like(proba[0], np.nan)
    for judged, told in ((0, 1), (1, 0)):
        losses = []
        for one in proba:
            by_example = -np.log(one[np.arange(len(labels)), labels])[judged::2]
            losses.append(np.average(by_example, weights=weights[judged::2]))
        out[told::2] = proba[int(np.argmin(losses))][told::2]
    return out


def check_held(run: Watching) -> None:
    """Compare what was held back with a direct computation from the predictions of all epochs."""
    found, known = run.held(), examples()
    assert found.proba.dtype == np.float32
    assert np.array_equal(found.truth, known.labels[found.positions])
    of_truth = np.take_along_axis(found.proba, found.truth[..., None], 2)[..., 0]
    assert np.array_equal(found.probability, of_truth.astype(np.float64))
    for place, epochs in enumerate(run.seen[key] for key in sorted(run.seen)):
        own = found.positions[place]
        expected = cross_fitted(epochs, known.labels[own], known.weights[own])
        np.testing.assert_allclose(found.proba[place], expected, rtol=1e-5, atol=1e-7)


def test_held_back_examples_are_predicted_in_the_epoch_that_suits_the_other_half() -> None:
    options = dataclasses.replace(OPTIONS, max_epochs=12, learning_rate=0.05)
    together = trainer(kind=Watching, options=options)
    together.fit()
    held = together.held()
    assert held.positions.shape == held.truth.shape == (4, 8)
    assert held.proba.shape == (4, 8, 3)
    check_held(together)
    # Learners leave at different epochs, and all of them predict.
    assert len(set(together.at.best_epochs[0])) > 1
    assert len(np.unique(held.positions, axis=0)) == 4
    # The halves are not of one epoch everywhere, else the test could not tell them apart.
    best = [
        np.argmin([-np.log(softmax(one, 1)[np.arange(8), truth]).mean() for one in together.seen[0, i]])
        for i, truth in enumerate(held.truth)
    ]
    whole = np.stack([softmax(together.seen[0, i][epoch], 1) for i, epoch in enumerate(best)])
    assert np.abs(whole - held.proba).max() > 1e-3
    for learner in range(4):
        alone = trainer(learners=[learner], options=options)
        alone.fit()
        assert alone.held().proba[0].tobytes() == held.proba[learner].tobytes()


def test_an_example_held_back_alone_has_no_other_half() -> None:
    options = dataclasses.replace(OPTIONS, validation_fraction=0.03)
    run = trainer(kind=Watching, options=options)
    run.fit()
    held = run.held()
    assert held.positions.shape == (4, 1)
    for learner, label in enumerate(held.truth[:, 0]):
        given = [softmax(epoch, 1)[0] for epoch in run.seen[0, learner]]
        best = max(given, key=lambda row: row[label])
        np.testing.assert_allclose(held.proba[learner, 0], best, rtol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("variant", ["pool", "concat", "attn", "batch"])
def test_learners_that_are_pooled_hold_back_one_part(variant: str, shared: bool) -> None:
    run = trainer(variant, shared, kind=Watching)
    run.fit()
    held = run.held()
    assert held.positions.shape == (1, 8)
    assert np.array_equal(held.positions[0], split(examples().labels, 0.2, 5, "joint")[1])
    check_held(run)


def test_every_draw_of_a_bag_star_predicts_its_own_validation_part() -> None:
    run = trainer("bag", True, kind=Watching)
    state = {name: tensor.clone() for name, tensor in run.fit().items()}
    held = run.held()
    assert held.positions.shape == (4, 8)
    assert np.array_equal(held.positions, splits(examples().labels, 0.2, 5, range(4))[1])
    assert len(run.seen) == 4
    check_held(run)
    # Predicting changes neither the states nor the next predictions.
    assert all(torch.equal(torch.cat([one[name] for one in run.finished]), state[name]) for name in state)
    assert run.held().proba.tobytes() == held.proba.tobytes()


@pytest.mark.parametrize(("variant", "shared"), [("bag", False), ("bag", True), ("pool", False)])
def test_where_nothing_is_held_back_nothing_is_predicted(variant: str, shared: bool) -> None:
    run = trainer(variant, shared, options=dataclasses.replace(OPTIONS, validation_fraction=0.0))
    run.fit()
    held = run.held()
    groups = 1 if variant == "pool" else 4
    assert held.positions.shape == held.probability.shape == (groups, 0)
    assert held.proba.shape == (groups, 0, 3)


class Killed(Exception):
    pass


class Mortal(Trainer):
    """Writes a checkpoint after every batch and dies after some of them."""

    lives = 0

    def _maybe_save(self) -> None:
        super()._maybe_save()
        Mortal.lives -= 1
        if Mortal.lives == 0:
            raise Killed


@pytest.mark.parametrize(
    ("variant", "shared"),
    [("bag", False), ("bag", True), ("pool", False), ("concat", True), ("attn", False), ("batch", False)],
)
def test_a_killed_run_resumes_to_the_same_bytes(variant: str, shared: bool, tmp_path: Path) -> None:
    straight = trainer(variant, shared)
    expected = straight.fit()
    options = dataclasses.replace(OPTIONS, checkpoint=tmp_path / "run.ckpt", checkpoint_seconds=0.0)
    deaths = 0
    for lives in (3, 5, 4, 10**9):
        Mortal.lives = lives
        run = trainer(variant, shared, options=options, kind=Mortal)
        try:
            got = run.fit()
            break
        except Killed:
            deaths += 1
    assert deaths == 3
    assert run.at.history == straight.at.history
    assert run.at.best_epochs == straight.at.best_epochs
    assert all(torch.equal(got[name], expected[name]) for name in expected)
    for ours, theirs in zip(run.held(), straight.held(), strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    options = dataclasses.replace(OPTIONS, checkpoint=path, checkpoint_seconds=0.0)
    trainer(options=options).fit()
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        load_checkpoint(path, "other")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FormatError, match=r"damaged .*; remove it to start anew"):
        trainer(options=options).fit()


def test_the_best_epoch_of_each_learner_is_restored() -> None:
    class Noting(Trainer):
        def _validate(self) -> tuple[list[float], list[float]]:
            losses, scores = super()._validate()
            state = {name: tensor.clone() for name, tensor in self.ensemble.state_dict().items()}
            for place, group in enumerate(self.at.active):
                seen[group].append((losses[place], {name: state[name][place] for name in state}))
            return losses, scores

    seen: dict[int, list[tuple[float, dict[str, torch.Tensor]]]] = defaultdict(list)
    options = dataclasses.replace(OPTIONS, max_epochs=12, patience=3, learning_rate=0.1)
    run = trainer(options=options, kind=Noting)
    state = run.fit()
    for learner in range(4):
        losses = [loss for loss, _ in seen[learner]]
        best = run.at.best_epochs[0][learner]
        assert losses[best - 1] == min(losses)
        assert len(losses) == min(best + options.patience, options.max_epochs)
        for name, tensor in state.items():
            assert torch.equal(tensor[learner], seen[learner][best - 1][1][name])
    assert len({len(rows) for rows in seen.values()}) > 1


def test_the_best_weights_of_all_learners_are_kept_in_one_place() -> None:
    # Without a validation part, every epoch is the best so far.
    run = trainer(options=dataclasses.replace(OPTIONS, validation_fraction=0.0, max_epochs=3))
    found = []
    keep = run._keep

    def kept(places: list[int]) -> None:
        keep(places)
        found.append({name: tensor.data_ptr() for name, tensor in run.best.items()})

    run._keep = kept  # type: ignore[method-assign]
    state = run.fit()
    assert len(found) == 3
    assert all(one == found[0] for one in found)
    assert {name: tensor.data_ptr() for name, tensor in state.items()} == found[0]


def test_a_schedule_trains_every_learner_for_its_own_epochs() -> None:
    all_of_it = trainer(schedule=[[1, 2, 3, 3]])
    state = all_of_it.fit()
    assert len(all_of_it.at.history) == 3
    short = trainer(schedule=[[1, 1, 1, 1]]).fit()
    for name, tensor in state.items():
        assert torch.equal(tensor[0], short[name][0])
    assert any(not torch.equal(state[name][1], short[name][1]) for name in state)


def test_bag_star_goes_on_from_draw_to_draw() -> None:
    run = trainer("bag", True)
    state = run.fit()
    assert len(run.at.best_epochs) == 4
    assert {row["stage"] for row in run.at.history} == {0, 1, 2, 3}
    weight = state["head.weight"]
    assert weight.shape[0] == 4
    # Each draw starts where the last one ended, nearer than a fresh start would be.
    fresh = Ensemble(run.shape, 5, [0]).state_dict()["head.weight"][0]
    assert (weight[2] - weight[1]).norm() < (weight[2] - fresh).norm()


def test_loss_falls_and_the_history_has_it() -> None:
    options = dataclasses.replace(OPTIONS, max_epochs=30, patience=30)
    run = trainer(options=options, learner=clone(LEARNER).set_params(input_dropout=0.0, hidden_dropout=0.0))
    run.fit()
    losses = [row["loss"] for row in run.at.history]
    assert losses[-1] < 0.5 * losses[0]
    assert set(run.at.history[0]) >= {"stage", "epoch", "loss", "validation_loss", "validation_score"}


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.floats(0, 0.9), st.integers(0, 99))
def test_splits_are_stratified_and_complete(labels: list[int], fraction: float, seed: int) -> None:
    y = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    train, held = split(y, fraction, seed, 0)
    assert sorted([*train, *held]) == list(range(len(y)))
    for code, count in enumerate(np.bincount(y)):
        inside = int((y[held] == code).sum())
        assert inside <= count - 1
        assert abs(inside - min(count * fraction, count - 1)) < 1


def test_batches_hold_every_position_once_and_differ_between_groups() -> None:
    positions = np.stack([np.arange(23), np.arange(23) + 100])
    batches = shuffled_batches(positions, 5, 0, [0, 1], 3)
    assert {batch.shape[1] for batch in batches} == {4, 5}
    whole = np.concatenate(batches, 1)
    assert np.array_equal(np.sort(whole, 1), positions)
    assert not np.array_equal(whole[0], whole[1] - 100)
    assert np.array_equal(np.concatenate(shuffled_batches(positions[1:], 5, 0, [1], 3), 1)[0], whole[1])
