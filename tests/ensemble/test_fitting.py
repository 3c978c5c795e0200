"""A search and what follows it: learners go on from the weights that were found, or begin anew."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from model_cases import small_network
from numpy.typing import NDArray

from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Architecture, Ensemble
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Searched, joined_held, refit_schedule
from honlearn.ensemble.loop import State, TrainingOptions
from honlearn.ensemble.node_model import NodeModel, Plan
from honlearn.ensemble.training import Trainer
from honlearn.learners import SAGE
from honlearn.sampling import RelativeSampler

HON = small_network(1, entities=40, extra=30, edges=260)
OPTIONS = TrainingOptions(
    batch_size=8, max_epochs=6, patience=2, validation_fraction=0.25, refit=0.5, restart=False, show=False
)
RUN = Runtime(n_threads=1)


def examples() -> Examples:
    labels = np.arange(HON.n_entities) % 3
    return Examples(np.arange(HON.n_entities, dtype=np.int32), labels, np.ones(len(labels), np.float32))


def model(variant: str = "bag", shared: bool = False, n_learners: int = 5) -> NodeModel:
    learner = SAGE(widths=(9, 6)).resolved("nodes")
    shape = Architecture(variant, shared, n_learners, 3, HON.n_entities, (learner,))
    return NodeModel(HON, RelativeSampler(HON), shape, None, 5)


def mark(phase: str) -> str:
    return phase


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, State, State]]:
    """Collect of every training its schedule, the weights that it begins from, and those that it finds."""
    seen: list[tuple[Any, State, State]] = []
    fit = Trainer.fit

    def watching(self: Trainer) -> State:
        before = {name: tensor.clone() for name, tensor in self.ensemble.state_dict().items()}
        found = fit(self)
        seen.append((self.schedule, before, found))
        return found

    monkeypatch.setattr(Trainer, "fit", watching)
    return seen


def same(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def epochs_of(fitted: Any) -> list[int]:
    out: list[int] = fitted.best_epochs.tolist()
    return out


def test_learners_go_on_from_the_weights_of_their_best_epoch(begun: list[Any]) -> None:
    fitted = model().fit(Plan(RUN, examples(), [OPTIONS], mark))
    (nothing, _, found), (schedule, start, end) = begun
    assert nothing is None
    assert same(start, found)
    assert same(fitted.state, end)
    assert not same(end, found)
    # Half as many epochs more, and their sum is told of each learner.
    (more,) = schedule
    found_at = np.array(epochs_of(fitted)) - more
    assert more == [max(1, round(0.5 * int(epochs))) for epochs in found_at]
    assert max(row["epoch"] for row in fitted.history if row["phase"] == "refit") == max(more)


def test_a_restart_begins_anew(begun: list[Any]) -> None:
    options = dataclasses.replace(OPTIONS, restart=True, refit=1.0)
    fitted = model().fit(Plan(RUN, examples(), [options], mark))
    (_, before, _), (schedule, start, end) = begun
    fresh = Ensemble(model().shape, 5, range(5)).state_dict()
    assert same(before, fresh)
    assert same(start, fresh)
    assert same(fitted.state, end)
    assert epochs_of(fitted) == schedule[0]


def test_draws_of_a_bag_star_go_on_from_the_last_one(begun: list[Any]) -> None:
    model("bag", shared=True, n_learners=3).fit(Plan(RUN, examples(), [OPTIONS], mark))
    (_, _, found), (_, start, _) = begun
    assert same(start, {name: tensor[-1:] for name, tensor in found.items()})


@pytest.mark.parametrize("refit", [0.0, 0.5])
def test_without_a_second_training_the_best_epoch_is_what_predicts(refit: float, begun: list[Any]) -> None:
    fraction = 0.25 if refit == 0 else 0.0
    options = dataclasses.replace(OPTIONS, refit=refit, validation_fraction=fraction)
    fitted = model().fit(Plan(RUN, examples(), [options], mark))
    ((schedule, _, found),) = begun
    assert schedule is None
    assert same(fitted.state, found)


@pytest.mark.parametrize("restart", [False, True])
def test_learners_searched_in_rounds_go_on_as_those_searched_together(restart: bool) -> None:
    options = [dataclasses.replace(OPTIONS, restart=restart)]
    whole = model().fit(Plan(RUN, examples(), options, mark))
    rounds: list[Searched] = []
    for learners in (range(2), range(2, 6)):
        rounds += model().search(Plan(RUN, examples(), options), learners)
    # One more than needed was searched.
    fitted = model().refit(Plan(RUN, examples(), options, mark), rounds)
    assert same(fitted.state, whole.state)
    assert epochs_of(fitted) == epochs_of(whole)
    assert fitted.held.positions[:5].tobytes() == whole.held.positions.tobytes()
    assert fitted.held.proba[:5].tobytes() == whole.held.proba.tobytes()


def test_a_search_without_refit_is_what_predicts() -> None:
    options = [dataclasses.replace(OPTIONS, refit=0.0)]
    rounds = model().search(Plan(RUN, examples(), options), range(5))
    fitted = model().refit(Plan(RUN, examples(), options, mark), rounds)
    assert same(fitted.state, rounds[0].state)
    assert epochs_of(fitted) == rounds[0].best_epochs[0]


def test_schedules_are_rounded_and_never_empty() -> None:
    assert refit_schedule([[1, 2, 3, 10]], 0.5) == [[1, 1, 2, 5]]
    assert refit_schedule([[4], [0]], 0.1) == [[1], [1]]


def test_parts_are_joined_in_order() -> None:
    rounds = [
        model().search(Plan(RUN, examples(), [OPTIONS]), some)[0].held for some in (range(2), range(2, 3))
    ]
    joined = joined_held(rounds)
    expected: NDArray[np.int64] = np.concatenate([one.positions for one in rounds])
    assert np.array_equal(joined.positions, expected)
    assert joined.proba.shape == (3, *rounds[0].proba.shape[1:])
