"""The loop that trains the module of a baseline: when it stops, what it restores, how it resumes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import nn

from honlearn.baselines.training import Losses, ModuleLoop, Validate, stream
from honlearn.ensemble.loop import State, TrainingOptions
from honlearn.errors import FormatError

OPTIONS = TrainingOptions(learning_rate=0.1, max_epochs=12, patience=3, show=False)


class Outcome(NamedTuple):
    """What a training leaves: the best state, its epoch, and a row for each epoch that was trained."""

    best: State
    best_epoch: int
    history: list[dict[str, float]]


def train(
    net: nn.Module,
    losses: Losses,
    validate: Validate | None,
    options: TrainingOptions,
    seed: int,
    mark: str = "run",
    schedule: list[list[int]] | None = None,
) -> Outcome:
    loop = ModuleLoop(net, losses, validate, options, seed, schedule, mark)
    best = loop.fit()
    return Outcome(best, loop.at.best_epochs[0][0], loop.at.history)


class Killed(Exception):
    pass


def module() -> nn.Module:
    with stream(3, "init"):
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))


def losses_of(net: nn.Module, dying: int | None = None) -> Losses:
    """Return two steps an epoch on fixed data; dropout makes each of them random."""
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))

    def losses(epoch: int) -> Iterator[torch.Tensor]:
        for part in (x[:10], x[10:]):
            yield (net(part).squeeze(1) - part.sum(1)).square().mean()
        if epoch == dying:
            raise Killed(f"killed in epoch {epoch}")

    return losses


def scripted(net: nn.Module, losses: list[float]) -> tuple[Callable[[], tuple[float, float]], list[bytes]]:
    """Return a validation that gives these losses in turn, and the weights at each."""
    seen: list[bytes] = []

    def validate() -> tuple[float, float]:
        assert not net.training
        seen.append(weights(net.state_dict()))
        return losses[len(seen) - 1], 0.5

    return validate, seen


def weights(state: dict[str, torch.Tensor]) -> bytes:
    return b"".join(state[name].numpy().tobytes() for name in sorted(state))


def test_stops_when_patience_ends_and_restores_the_best_epoch() -> None:
    net = module()
    validate, seen = scripted(net, [5, 4, 2, 3, 2, 2.5, 0, 0])
    outcome = train(net, losses_of(net), validate, OPTIONS, seed=1)
    assert len(outcome.history) == 6  # three epochs after the third; an equal loss is no better one
    assert outcome.best_epoch == 3
    assert weights(outcome.best) == seen[2] != seen[5]
    assert [row["validation_loss"] for row in outcome.history] == [5, 4, 2, 3, 2, 2.5]
    assert [row["epoch"] for row in outcome.history] == [1, 2, 3, 4, 5, 6]


def test_a_better_loss_gives_new_patience_up_to_the_last_epoch() -> None:
    net = module()
    validate, seen = scripted(net, [9, 9, 8, 9, 9, 7, 9, 9, 6, 9, 9, 5, 0])
    outcome = train(net, losses_of(net), validate, OPTIONS, seed=1)
    assert len(outcome.history) == outcome.best_epoch == 12
    assert weights(outcome.best) == seen[11]


def test_a_loss_that_is_no_number_leaves_the_first_epoch() -> None:
    net = module()
    validate, seen = scripted(net, [math.nan] * 12)
    outcome = train(net, losses_of(net), validate, OPTIONS, seed=1)
    assert len(outcome.history) == 4
    assert weights(outcome.best) == seen[0]


def test_any_number_is_better_than_a_loss_that_is_none() -> None:
    net = module()
    validate, seen = scripted(net, [math.nan, math.inf, 3, 2, 4, 4, 4])
    outcome = train(net, losses_of(net), validate, OPTIONS, seed=1)
    assert (len(outcome.history), outcome.best_epoch) == (7, 4)
    assert weights(outcome.best) == seen[3]


def test_without_validation_every_epoch_is_trained_and_the_last_counts() -> None:
    net = module()
    outcome = train(net, losses_of(net), None, OPTIONS, seed=1)
    assert len(outcome.history) == outcome.best_epoch == 12
    assert weights(outcome.best) == weights(net.state_dict())
    assert outcome.history[-1]["loss"] < outcome.history[0]["loss"]


def test_a_schedule_is_trained_to_its_end_whatever_validation_gives() -> None:
    net = module()
    validate, seen = scripted(net, [])
    outcome = train(net, losses_of(net), validate, OPTIONS, seed=1, schedule=[[5]])
    assert len(outcome.history) == outcome.best_epoch == 5
    assert weights(outcome.best) == weights(net.state_dict())
    assert not seen


def run(
    seed: int, checkpoint: Path | None, dying: int | None = None, validated: bool = True, mark: str = "run"
) -> Outcome:
    """Train with a validation that depends on the weights, so that a wrong resume would show."""
    net = module()
    options = TrainingOptions(
        learning_rate=0.1,
        weight_decay=0.01,
        max_epochs=12,
        patience=12,
        checkpoint=checkpoint,
        checkpoint_seconds=0.0,
        show=False,
    )
    held = torch.randn(10, 4, generator=torch.Generator().manual_seed(1))

    def validate() -> tuple[float, float]:
        return float((net(held).squeeze(1) - held.sum(1)).square().mean()), 0.0

    return train(net, losses_of(net, dying), validate if validated else None, options, seed, mark)


@pytest.mark.parametrize("validated", [True, False])
@pytest.mark.parametrize("dying", [1, 7, 11])
def test_killed_twice_and_the_same_bytes(tmp_path: Path, dying: int, validated: bool) -> None:
    straight = run(1, None, validated=validated)
    path = tmp_path / "fit.ckpt"
    for epoch in (dying, min(dying + 2, 11)):
        with pytest.raises(Killed, match=f"epoch {epoch}"):
            run(1, path, epoch, validated)
    resumed = run(1, path, validated=validated)
    assert weights(resumed.best) == weights(straight.best)
    assert resumed.history == straight.history
    assert resumed.best_epoch == straight.best_epoch
    assert weights(run(2, None, validated=validated).best) != weights(straight.best)


def test_a_resumed_run_does_not_train_again_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "fit.ckpt"
    with pytest.raises(Killed, match="epoch 8"):
        run(1, path, 8)
    # It would be killed in epoch 5, if it came by there.
    assert len(run(1, path, 5).history) == 12


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.ckpt"
    with pytest.raises(Killed, match="epoch 3"):
        run(1, path, 3)
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        run(1, path, mark="another")


def test_the_global_generator_is_left_as_it_was() -> None:
    before = torch.get_rng_state()
    train((net := module()), losses_of(net), None, OPTIONS, seed=1)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("first", "others"), [(0.0, 0.5), (0.5, 0.0), (0.5, 0.5)])
def test_a_part_may_have_a_weight_decay_of_its_own(first: float, others: float) -> None:
    """Without a slope of the loss, Adam moves a weight only if it decays."""
    net = module()
    net[0].weight_decay = first  # type: ignore[index, assignment]
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}

    def flat(epoch: int) -> Iterator[torch.Tensor]:
        yield sum((parameter * 0).sum() for parameter in net.parameters())  # type: ignore[misc]

    options = TrainingOptions(learning_rate=0.1, weight_decay=others, max_epochs=2, show=False)
    outcome = train(net, flat, None, options, seed=1)
    moved = {name.split(".")[0]: not torch.equal(outcome.best[name], before[name]) for name in before}
    assert moved == {"0": first > 0, "3": others > 0}
