"""A bag that grows: learners are added while they improve the bag on its validation part.

In: groups (:mod:`honlearn.ensemble.groups`), which say where learners train. Out:
:class:`~honlearn.ensemble.fitting.Fitted` and how many learners there are. A learner does not depend on those
beside it, so a bag that was grown is the first part of a larger one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.fitting import (
    Fitted,
    fit_ensemble,
    forget_phase,
    merged_state,
    parts_of,
    refit_only,
    search_part,
)
from honlearn.ensemble.groups import Groups
from honlearn.ensemble.learner_training import Searched, joined_held, searches
from honlearn.ensemble.loop import TrainingOptions

# Learners that are trained together before the bag is judged again.
ROUND = 2
# The least gain of a round, as a share of the loss: on many pairs even a gain of no use exceeds its error.
LEAST_GAIN = 0.005


def grow_bag(shape: Architecture, options: Sequence[TrainingOptions], groups: Groups) -> tuple[Fitted, int]:
    """Train learners by rounds until one gains no more than its standard error; return how many there are.

    Every round has :data:`ROUND` learners of each kind. The gain of a round is how much the mean loss of the
    bag on the validation pairs falls; its standard error is over pairs, and a gain of less than
    :data:`LEAST_GAIN` of the loss is none. `shape.n_learners` is the most. Bags
    without a validation part, learners that share weights, and pooled ones are trained all at once.
    """
    step = ROUND * len(shape.kinds)
    validated = all(given.validation_fraction > 0 for given in options)
    many_kinds = len(shape.kinds) > 1 and any(searches(given) for given in options)
    if shape.variant != "bag" or shape.shared or shape.n_learners <= step or not validated or many_kinds:
        return fit_ensemble(shape, range(shape.n_learners), options, groups), shape.n_learners
    rounds: list[list[Searched]] = []
    before: NDArray[np.float64] | None = None
    for start in range(0, shape.n_learners, step):
        learners = range(start, min(start + step, shape.n_learners))
        rounds.append(_round(shape, learners, options, groups))
        after = _losses(rounds)
        if not len(after) or (before is not None and not _gains(before, after)):
            break
        before = after
    count = sum(len(one.best_epochs[0]) for found in rounds for one in found)
    shape = dataclasses.replace(shape, n_learners=count)
    if len(shape.kinds) == 1:
        return refit_only(shape, [found[0] for found in rounds], options, groups), count
    return _fitted(shape, rounds), count


def _round(
    shape: Architecture, learners: range, options: Sequence[TrainingOptions], groups: Groups
) -> list[Searched]:
    """Train some learners on their training parts, by kind; each round has checkpoints of its own."""
    parts = [dataclasses.replace(part, search=_phase(learners)) for part in parts_of(shape, learners)]
    return [search_part(part, options, groups) for part in parts]


def _phase(learners: range) -> str:
    """Return the name of a round, the first of which is as any search is."""
    return "search" if learners.start == 0 else f"from{learners.start}"


def forget_rounds(shape: Architecture, options: Sequence[TrainingOptions]) -> None:
    """Remove the checkpoints of all rounds of a fit that is done."""
    step = ROUND * len(shape.kinds)
    for start in range(0, shape.n_learners, step):
        learners = range(start, min(start + step, shape.n_learners))
        for part in parts_of(shape, learners):
            forget_phase(part.path(options[part.kind or 0].checkpoint, _phase(learners)))


def _losses(rounds: Sequence[Sequence[Searched]]) -> NDArray[np.float64]:
    """Return the loss of the bag for each validation pair, which are the same for all learners, [h]."""
    held = [one.held for found in rounds for one in found]
    mean = np.concatenate([one.probability for one in held]).mean(0)
    return np.asarray(-np.log(np.clip(mean, 1e-12, None)))


def _gains(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Return whether the loss has fallen by more than the standard error of the difference, and by enough."""
    gain = before - after
    if len(gain) < 2 or gain.mean() <= LEAST_GAIN * before.mean():
        return False
    return bool(gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)))


def _fitted(shape: Architecture, rounds: Sequence[Sequence[Searched]]) -> Fitted:
    """Return the bag of several kinds, whose learners were trained once."""
    parts = parts_of(shape, range(shape.n_learners))
    by_kind = [[found[number] for found in rounds if number < len(found)] for number in range(len(parts))]
    states = [
        {name: torch.cat([one.state[name] for one in found]) for name in found[0].state} for found in by_kind
    ]
    epochs = [np.array([e for one in found for e in one.best_epochs[0]], np.int64) for found in by_kind]
    order = np.argsort([learner for part in parts for learner in part.learners])
    history = [
        {**row, "kind": kind.kind}
        for found in rounds
        for one, kind in zip(found, shape.kinds, strict=False)
        for row in one.history
    ]
    held = joined_held([one.held for found in by_kind for one in found])
    return Fitted(merged_state(parts, states), history, np.concatenate(epochs)[order], held)
