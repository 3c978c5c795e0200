"""Fitting an ensemble: a search for the best number of epochs, then training on everything.

In: a way to make a trainer for some learners of one kind, and options for each kind. Out: :class:`Fitted`.
The search finds how many epochs are best for each learner, on a validation part. Then learners go on from
the weights that were found, on all examples, for `refit` times as many epochs; with `restart` they are
trained anew for so many. Learners of a mixed bag do not depend on each other, so each kind is trained by
itself, in its own way; learners that are pooled before the classes train together.
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
from honlearn.ensemble.training import Held, Trainer

Schedule = list[list[int]] | None
Loop = TypeVar("Loop", bound=TrainingLoop)


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
    """What a fit leaves: the state that predicts, the history of losses, epochs trained [L or 1] by learner.

    `held` is what learners held back in the search, and `searched` are the weights at its end: those that
    have not seen what was held back. They are of all learners that `held` has, which may be more than those
    that predict in the end.
    """

    state: State
    history: list[dict[str, Any]]
    best_epochs: NDArray[np.int64]
    held: Held
    searched: State | None = None


@dataclass(frozen=True)
class Searched:
    """What a search leaves of some learners: their best weights, epochs by stage, history, held-back part."""

    state: State
    best_epochs: list[list[int]]
    history: list[dict[str, Any]]
    held: Held


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


def searches(options: TrainingOptions) -> bool:
    """Return whether a second training follows the first; without a validation part nothing is found."""
    return bool(options.refit) and options.validation_fraction > 0


def refit_schedule(best: Sequence[Sequence[int]], refit: float) -> list[list[int]]:
    """Return how many epochs the second training takes, by stage and group."""
    return [[max(1, round(epochs * refit)) for epochs in row] for row in best]


def train_twice(
    options: TrainingOptions,
    path: Callable[[str], Path | None],
    make: Callable[[TrainingOptions, Schedule, str], Loop],
) -> tuple[State, list[Loop]]:
    """Search for the best numbers of epochs, then train on everything; return the state and both loops.

    `path` names the checkpoint of a phase. Without a validation part there is nothing to search for: then,
    and where `refit` is 0, the first training is the only one.
    """
    loops = [make(dataclasses.replace(options, checkpoint=path("search")), None, "search")]
    state = loops[0].fit()
    if searches(options):
        schedule = refit_schedule(loops[0].at.best_epochs, options.refit)
        loops.append(make(dataclasses.replace(options, checkpoint=path("refit")), schedule, "refit"))
        if not options.restart:
            loops[1].module.load_state_dict(_last_stage(state, loops[0]))
        state = loops[1].fit()
    return {name: tensor.cpu() for name, tensor in state.items()}, loops


def _last_stage(state: State, loop: TrainingLoop) -> State:
    """Return the weights to go on from: of several stages, those at the end of the last."""
    return state if loop.n_stages == 1 else loop.finished[-1]


def histories(loops: Sequence[TrainingLoop]) -> list[dict[str, Any]]:
    """Return the epochs of a search and a refit, each with the name of its phase."""
    phases = zip(("search", "refit"), loops, strict=False)
    return [{**row, "phase": phase} for phase, loop in phases for row in loop.at.history]


def fit_ensemble(
    shape: Architecture, learners: Sequence[int], options: Sequence[TrainingOptions], make: MakeTrainer
) -> Fitted:
    """Train the learners; `options` has one entry for each kind."""
    parts, held, results, history, found = parts_of(shape, learners), [], [], [], []
    for part in parts:
        given = options[part.kind or 0]
        state, trainers = train_twice(given, partial(part.path, given.checkpoint), partial(make, part))
        kind = {} if part.kind is None else {"kind": part.shape.kinds[0].kind}
        history += [{**row, **kind} for row in histories(trainers)]
        results.append((state, _epochs(trainers, given)))
        held.append(trainers[0].held())
        found.append({name: tensor.cpu() for name, tensor in trainers[0].found().items()})
    states, together = [state for state, _ in results], joined_held(held)
    if len(parts) > 1:
        order = _order(parts)
        together = Held(together.positions[order], together.proba[order], together.truth[order])
    searched = merged_state(parts, found)
    return Fitted(merged_state(parts, states), history, _in_order(parts, results), together, searched)


def _epochs(trainers: Sequence[TrainingLoop], options: TrainingOptions) -> NDArray[np.int64]:
    """Return for how many epochs each learner was trained in all."""
    rows = [np.concatenate([np.asarray(row, np.int64) for row in t.at.best_epochs]) for t in trainers]
    return rows[-1] if options.restart else np.asarray(np.sum(rows, axis=0), np.int64)


def joined_held(parts: Sequence[Held]) -> Held:
    """Return what learners of several parts held back, one after the other."""
    return Held(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def search_only(
    shape: Architecture, learners: Sequence[int], options: Sequence[TrainingOptions], make: MakeTrainer
) -> list[Searched]:
    """Train learners on their training parts alone, without checkpoints; return a search for each kind."""
    out = []
    for part in parts_of(shape, learners):
        plain = dataclasses.replace(options[part.kind or 0], refit=0.0, checkpoint=None)
        one = dataclasses.replace(part, shape=dataclasses.replace(part.shape, n_learners=len(part.learners)))
        trainer = make(one, plain, None, "search")
        state = {name: tensor.cpu() for name, tensor in trainer.fit().items()}
        history = [{**row, "phase": "search"} for row in trainer.at.history]
        out.append(Searched(state, trainer.at.best_epochs, history, trainer.held()))
    return out


def refit_only(
    shape: Architecture,
    rounds: Sequence[Searched],
    options: Sequence[TrainingOptions],
    make: MakeTrainer,
) -> Fitted:
    """Let learners of one kind that were searched in rounds go on together, on all examples."""
    names = rounds[0].state
    searched = {name: torch.cat([one.state[name] for one in rounds]) for name in names}
    state = {name: tensor[: shape.n_learners] for name, tensor in searched.items()}
    found = [epochs for one in rounds for epochs in one.best_epochs[0]][: shape.n_learners]
    held = joined_held([one.held for one in rounds])
    history = [row for one in rounds for row in one.history]
    given, (part,) = options[0], parts_of(shape, range(shape.n_learners))
    if not searches(given):
        return Fitted(state, history, np.array(found, np.int64), held, searched)
    if given.restart:
        state = {}
    schedule = refit_schedule([found], given.refit)
    trainer = make(
        part, dataclasses.replace(given, checkpoint=part.path(given.checkpoint, "refit")), schedule, "refit"
    )
    if state:
        trainer.module.load_state_dict(state)
    state = {name: tensor.cpu() for name, tensor in trainer.fit().items()}
    history += [{**row, "phase": "refit"} for row in trainer.at.history]
    more = np.array(schedule[0], np.int64)
    epochs = more if given.restart else more + np.array(found, np.int64)
    return Fitted(state, history, epochs, held, searched)


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


def merged_state(parts: Sequence[Part], states: Sequence[State]) -> State:
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
