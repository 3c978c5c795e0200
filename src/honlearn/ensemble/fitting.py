"""Fitting an ensemble: a search for the best number of epochs, then a training on everything.

In: a way to make a trainer for some learners of one kind, and options for each kind. Out: :class:`Fitted`.
The first training finds how many epochs are best for each learner, on a validation part; the second trains
anew on all examples for `refit` times as many. Learners of a mixed bag do not depend on each other, so each
kind is trained by itself, in its own way; learners that are pooled before the classes train together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.loop import State, TrainingLoop, TrainingOptions
from honlearn.ensemble.training import Trainer

Schedule = list[list[int]] | None
Loop = TypeVar("Loop", bound=TrainingLoop)
# The validation parts of some learners [L, h], and the probability of the true class there.
Held = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True)
class Part:
    """Learners that are trained together: their numbers, and the ensemble that they make."""

    shape: Architecture
    learners: tuple[int, ...]
    kind: int | None = None

    def path(self, checkpoint: Path | None, phase: str) -> Path | None:
        """Return the checkpoint of a phase of this part."""
        if checkpoint is None:
            return None
        suffix = "" if self.kind is None else f".kind{self.kind}"
        suffix += "" if phase == "search" else f".{phase}"
        return checkpoint.with_name(checkpoint.name + suffix)


# Makes a trainer of these learners with these options, a schedule of epochs, and the name of the phase.
MakeTrainer = Callable[[Part, TrainingOptions, Schedule, str], Trainer]


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves: the state that predicts, the history of losses, best epochs [L or 1] by learner.

    `trainers` are those of the search, one for each part; they know what each learner held back.
    """

    state: State
    history: list[dict[str, Any]]
    best_epochs: NDArray[np.int64]
    trainers: list[Trainer]

    def held(self) -> Held:
        """Return what learners held back in the search, and the probability of the true class there."""
        parts = [trainer.held_probability() for trainer in self.trainers]
        return np.concatenate([held for held, _ in parts]), np.concatenate([p for _, p in parts])


def parts_of(shape: Architecture, learners: Sequence[int]) -> list[Part]:
    """Return which learners train together: all of them, or those of each kind of a mixed bag."""
    if shape.is_joint or len(shape.kinds) == 1:
        return [Part(shape, tuple(learners))]
    n_kinds = len(shape.kinds)
    parts = []
    for number, kind in enumerate(shape.kinds):
        own = tuple(i for i in learners if i % n_kinds == number)
        one = dataclasses.replace(shape, kinds=(kind,), n_learners=len(own))
        parts += [Part(one, own, number)] if own else []
    return parts


def train_twice(
    options: TrainingOptions,
    path: Callable[[str], Path | None],
    make: Callable[[TrainingOptions, Schedule, str], Loop],
) -> tuple[State, list[Loop]]:
    """Search for the best numbers of epochs, then train on everything; return the state and both loops.

    `path` names the checkpoint of a phase. Without a validation part there is nothing to search for: then,
    and where `refit` is 0, the first training is the only one.
    """
    phases = ("search", "refit") if options.refit and options.validation_fraction > 0 else ("search",)
    schedule: Schedule = None
    loops: list[Loop] = []
    for phase in phases:
        loops.append(make(dataclasses.replace(options, checkpoint=path(phase)), schedule, phase))
        state = loops[-1].fit()
        best = loops[-1].at.best_epochs
        schedule = [[max(1, round(epochs * options.refit)) for epochs in row] for row in best]
    return {name: tensor.cpu() for name, tensor in state.items()}, loops


def histories(loops: Sequence[TrainingLoop]) -> list[dict[str, Any]]:
    """Return the epochs of a search and a refit, each with the name of its phase."""
    phases = zip(("search", "refit"), loops, strict=False)
    return [{**row, "phase": phase} for phase, loop in phases for row in loop.at.history]


def fit_ensemble(
    shape: Architecture, learners: Sequence[int], options: Sequence[TrainingOptions], make: MakeTrainer
) -> Fitted:
    """Train the learners; `options` has one entry for each kind."""
    parts, searched, results, history = parts_of(shape, learners), [], [], []
    for part in parts:
        given = options[part.kind or 0]
        state, trainers = train_twice(given, partial(part.path, given.checkpoint), partial(make, part))
        kind = {} if part.kind is None else {"kind": part.shape.kinds[0].kind}
        history += [{**row, **kind} for row in histories(trainers)]
        epochs = np.concatenate([np.asarray(row, np.int64) for row in trainers[-1].at.best_epochs])
        results.append((state, epochs))
        searched.append(trainers[0])
    states = [state for state, _ in results]
    return Fitted(_merged(parts, states), history, _in_order(parts, results), searched)


def search_only(
    shape: Architecture, learners: Sequence[int], options: Sequence[TrainingOptions], make: MakeTrainer
) -> Held:
    """Train the learners on their training parts alone, and return what they hold back."""
    plain = [dataclasses.replace(one, refit=0.0, checkpoint=None) for one in options]
    return fit_ensemble(shape, learners, plain, make).held()


def forget_checkpoints(shape: Architecture, options: Sequence[TrainingOptions]) -> None:
    """Remove the checkpoints of a fit that is done."""
    for part in parts_of(shape, range(shape.n_learners)):
        for phase in ("search", "refit"):
            path = part.path(options[part.kind or 0].checkpoint, phase)
            if path is not None:
                path.unlink(missing_ok=True)


def _in_order(parts: Sequence[Part], results: Sequence[tuple[State, NDArray[np.int64]]]) -> NDArray[np.int64]:
    """Return the best epochs by learner."""
    epochs = np.concatenate([epochs for _, epochs in results])
    return epochs if len(parts) == 1 else epochs[_order(parts)]


def _order(parts: Sequence[Part]) -> NDArray[np.intp]:
    return np.argsort([learner for part in parts for learner in part.learners])


def _merged(parts: Sequence[Part], states: Sequence[State]) -> State:
    """Return the state of the whole ensemble: a stack for each kind, heads in the order of the learners."""
    if len(parts) == 1:
        return states[0]
    order, out = torch.from_numpy(_order(parts)), {}
    for part, state in zip(parts, states, strict=True):
        prefix = "stacks.0."
        for name in [name for name in state if name.startswith(prefix)]:
            out[f"stacks.{part.kind}.{name.removeprefix(prefix)}"] = state[name]
    for name in [name for name in states[0] if not name.startswith("stacks.")]:
        out[name] = torch.cat([state[name] for state in states])[order]
    return out
