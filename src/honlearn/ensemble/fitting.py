"""Fitting an ensemble: which learners train together, in which groups, and what comes of them.

In: groups (:mod:`honlearn.ensemble.groups`) and options for each kind. Out: :class:`Fitted`.
Learners of a bag do not depend on each other (:mod:`honlearn.ensemble.learner_training`), so each kind of a
mixed bag is trained by itself, in its own way, and a bag may be trained in groups, one after another or
elsewhere; learners that are pooled before the classes train together.
"""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.groups import Groups
from honlearn.ensemble.learner_training import (
    Part,
    Schedule,
    Searched,
    TrainedLearners,
    joined_held,
    kept_searched,
    refit_learners,
    refit_schedule,
    search_learners,
    searches,
    train_learners,
)
from honlearn.ensemble.loop import State, TrainingLoop, TrainingOptions
from honlearn.ensemble.stacked_states import StackedStates
from honlearn.ensemble.training import Held

Loop = TypeVar("Loop", bound=TrainingLoop)


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves: the state that predicts, the history of losses, epochs trained [L or 1] by learner.

    `held` is what learners held back in the search, and `searched` are the weights at its end: those that
    have not seen what was held back. They are of all learners that `held` has, which may be more than those
    that predict in the end. None where they are too large to be kept beside the others.
    """

    state: State
    history: list[dict[str, Any]]
    best_epochs: NDArray[np.int64]
    held: Held
    searched: State | None = None


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
    loops = [make(dataclasses.replace(options, checkpoint=path("search")), None, "search")]
    state = loops[0].fit()
    if searches(options):
        schedule = refit_schedule(loops[0].at.best_epochs, options.refit)
        loops.append(make(dataclasses.replace(options, checkpoint=path("refit")), schedule, "refit"))
        if not options.restart:
            loops[1].module.load_state_dict(loops[0].last_state())
        state = loops[1].fit()
    return {name: tensor.cpu() for name, tensor in state.items()}, loops


def histories(loops: Sequence[TrainingLoop]) -> list[dict[str, Any]]:
    """Return the epochs of a search and a refit, each with the name of its phase."""
    phases = zip(("search", "refit"), loops, strict=False)
    return [{**row, "phase": phase} for phase, loop in phases for row in loop.at.history]


def fit_ensemble(
    shape: Architecture,
    learners: Sequence[int],
    options: Sequence[TrainingOptions],
    groups: Groups,
) -> Fitted:
    """Train the learners; `options` has one entry for each kind.

    `groups` says which learners of a bag train together, and where; the result is the same to the byte.
    """
    parts, results, history = parts_of(shape, learners), [], []
    for part in parts:
        given = options[part.kind or 0]
        one = gathered(groups.each(train_learners, groups.of(part), given), part, groups.is_short)
        kind = {} if part.kind is None else {"kind": part.shape.kinds[0].kind}
        history += [{**row, **kind} for row in one.history]
        results.append(one)
    states, held = [one.state for one in results], joined_held([one.held for one in results])
    if len(parts) > 1:
        order = _order(parts)
        held = Held(held.positions[order], held.proba[order], held.truth[order])
    found = [one.searched for one in results if one.searched]
    searched = merged_state(parts, found) if len(found) == len(parts) else None
    epochs = _in_order(parts, [one.epochs for one in results])
    return Fitted(merged_state(parts, states), history, epochs, held, searched)


def gathered(groups: Iterable[TrainedLearners], part: Part, is_short: bool = False) -> TrainedLearners:
    """Return the learners of all groups of a part as if they had been trained together.

    Groups are trained as they are asked for; each is put beside those before it when the next begins, where
    memory `is_short` on disk.
    """
    found: list[TrainedLearners] = []
    states = StackedStates(len(part.learners), is_short), StackedStates(len(part.learners), is_short)
    for one in groups:
        if len(one.learners) == len(part.learners):
            return one
        states[0].append(one.state)
        states[1].append(one.searched)
        found.append(one)
    state, searched = (stacked.whole() for stacked in states)
    epochs = np.concatenate([one.epochs for one in found])
    curves = [row for one in found for row in one.curves]
    held = joined_held([one.held for one in found])
    return TrainedLearners(part.learners, state, epochs, curves, held, searched)


def search_only(
    shape: Architecture,
    learners: Sequence[int],
    options: Sequence[TrainingOptions],
    groups: Groups,
) -> list[Searched]:
    """Train learners on their training parts alone, without checkpoints; return a search for each kind."""
    plain = [dataclasses.replace(given, checkpoint=None) for given in options]
    return [search_part(part, plain, groups) for part in parts_of(shape, learners)]


def search_part(part: Part, options: Sequence[TrainingOptions], groups: Groups) -> Searched:
    """Train the learners of a part on their training parts; `options` has one entry for each kind."""
    given = dataclasses.replace(options[part.kind or 0], refit=0.0)
    some = [group.alone() for group in groups.of(part)]
    found = list(groups.each(search_learners, some, given))
    return found[0] if len(found) == 1 else joined_searches(found)


def joined_searches(found: Sequence[Searched]) -> Searched:
    """Return the searches of learners in a row as one."""
    learners = tuple(learner for one in found for learner in one.learners)
    state = {name: torch.cat([one.state[name] for one in found]) for name in found[0].state}
    epochs = [epochs for one in found for epochs in one.best_epochs[0]]
    curves = [row for one in found for row in one.curves]
    return Searched(learners, state, [epochs], curves, joined_held([one.held for one in found]))


def refit_only(
    shape: Architecture,
    rounds: Sequence[Searched],
    options: Sequence[TrainingOptions],
    groups: Groups,
) -> Fitted:
    """Let learners of one kind that were searched in rounds go on, on all examples."""
    given, (part,) = options[0], parts_of(shape, range(shape.n_learners))
    every = joined_searches(rounds)
    whole, searched = every.only(part.learners), kept_searched(every, len(every.learners)) or None
    history = [row for one in rounds for row in one.history]
    if not searches(given):
        return Fitted(whole.state, history, np.array(whole.best_epochs[0], np.int64), every.held, searched)
    found = groups.each(refit_learners, groups.of(part), given, lambda group: whole.only(group.learners))
    one = gathered(found, part, groups.is_short)
    history += [row for row in one.history if row["phase"] == "refit"]
    return Fitted(one.state, history, one.epochs, every.held, searched)


def forget_checkpoints(shape: Architecture, options: Sequence[TrainingOptions]) -> None:
    """Remove the checkpoints of a fit that is done, those of groups among them."""
    for part in parts_of(shape, range(shape.n_learners)):
        for phase in ("search", "refit"):
            forget_phase(part.path(options[part.kind or 0].checkpoint, phase))


def forget_phase(path: Path | None) -> None:
    """Remove the checkpoint of a phase, and those of groups."""
    if path is not None:
        path.unlink(missing_ok=True)
        for group in path.parent.glob(f"{glob.escape(path.name)}.learners*"):
            group.unlink(missing_ok=True)


def _in_order(parts: Sequence[Part], epochs: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the best epochs by learner."""
    joined = np.concatenate(epochs)
    return joined if len(parts) == 1 else joined[_order(parts)]


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
