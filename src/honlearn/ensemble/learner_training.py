"""Training of some learners of one kind, from the first epoch to weights that predict.

In: a :class:`Part` (the learners and the ensemble that they make), options, and a way to make a trainer. Out:
:class:`TrainedLearners`, plain values that can be sent from one process to another. A search finds how many
epochs are best for each learner, on a validation part. Then learners go on from the weights that were found,
on all examples, for `refit` times as many epochs; with `restart` they are trained anew for so many. Learners
of a bag come out the same to the byte, with any learners beside them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.loop import State, TrainingOptions, averaged
from honlearn.ensemble.training import Held, Trainer

Schedule = list[list[int]] | None
# Weights at the end of a search are kept beside those that predict if they have so many numbers at most.
MOST_SEARCHED = 1 << 27


@dataclass(frozen=True)
class Part:
    """Learners that are trained together: their numbers, and the ensemble that they make.

    `kind` is the place of their kind in a mixed bag; `is_group`: they are one group of several of a bag,
    which has `total` learners. `search` names the checkpoint of their search.
    """

    shape: Architecture
    learners: tuple[int, ...]
    kind: int | None = None
    is_group: bool = False
    total: int = 0
    search: str = "search"

    def path(self, checkpoint: Path | None, phase: str) -> Path | None:
        """Return the checkpoint of a phase of this part."""
        if checkpoint is None:
            return None
        suffix = "" if self.kind is None else f".kind{self.kind}"
        suffix += "" if phase == "search" else f".{phase}"
        return checkpoint.with_name(checkpoint.name + suffix + self._group)

    def mark(self, phase: str) -> str:
        """Return the name of a phase in the fingerprint of a checkpoint."""
        return phase + self._group

    @property
    def _group(self) -> str:
        return f".learners{self.learners[0]}-{self.learners[-1]}" if self.is_group else ""

    @property
    def n_in_all(self) -> int:
        """How many learners there are with those of other groups."""
        return self.total if self.is_group else len(self.learners)

    def alone(self) -> Part:
        """Return these learners as an ensemble of their own."""
        return dataclasses.replace(self, shape=dataclasses.replace(self.shape, n_learners=len(self.learners)))

    def only(self, learners: tuple[int, ...]) -> Part:
        """Return a group of these learners."""
        total = len(self.learners)
        return dataclasses.replace(self, learners=learners, is_group=True, total=total).alone()


# Makes a trainer of these learners with these options, a schedule of epochs, and the name of the phase.
MakeTrainer = Callable[[Part, TrainingOptions, Schedule, str], Trainer]
Curves = list[dict[str, Any]]
"""A row for each epoch of each group of learners: its loss, and where there are any its scores."""


@dataclass(frozen=True)
class Searched:
    """What a search leaves of some learners: their best weights, epochs by stage, curves, held-back part.

    `last` is what a refit goes on from where that is not `state`: of several stages, the last.
    """

    learners: tuple[int, ...]
    state: State
    best_epochs: list[list[int]]
    curves: Curves
    held: Held
    last: State | None = None

    @property
    def history(self) -> list[dict[str, Any]]:
        """Means over the learners by epoch."""
        return _histories(self.curves)

    def only(self, learners: tuple[int, ...]) -> Searched:
        """Return the search of some of these learners, which are a bag."""
        places = [self.learners.index(learner) for learner in learners]
        some = slice(places[0], places[-1] + 1)
        state = {name: tensor[some] for name, tensor in self.state.items()}
        curves = [row for row in self.curves if row["group"] in learners]
        held = Held(self.held.positions[some], self.held.proba[some], self.held.truth[some])
        return Searched(learners, state, [self.best_epochs[0][some]], curves, held)


@dataclass(frozen=True)
class TrainedLearners:
    """Trained learners: their numbers, weights [n, …], epochs [n or 1], curves by phase, held-back part.

    `searched` are the weights at the end of the search, empty where they are too large.
    """

    learners: tuple[int, ...]
    state: State
    epochs: NDArray[np.int64]
    curves: Curves
    held: Held
    searched: State

    @property
    def history(self) -> list[dict[str, Any]]:
        """Means over the learners by epoch, of the search and of the refit."""
        return _histories(self.curves)


def train_learners(part: Part, options: TrainingOptions, make: MakeTrainer) -> TrainedLearners:
    """Search for the best numbers of epochs of these learners, then train them on everything.

    Without a validation part there is nothing to search for: then, and where `refit` is 0, the first training
    is the only one. Of a group that is done a checkpoint keeps the result, so that a fit that is killed goes
    on with the next.
    """
    return refit_learners(part, options, make, search_learners(part, options, make))


def search_learners(part: Part, options: TrainingOptions, make: MakeTrainer) -> Searched:
    """Train learners on their training parts."""
    given = dataclasses.replace(options, checkpoint=part.path(options.checkpoint, part.search))
    trainer = make(part, given, None, part.mark(part.search))
    state = {name: tensor.cpu() for name, tensor in trainer.fit().items()}
    if part.is_group:
        trainer.save()
    last = None if trainer.n_stages == 1 else trainer.last_state()
    curves = _numbered(trainer, part, "search")
    return Searched(part.learners, state, trainer.at.best_epochs, curves, trainer.held(), last)


def refit_learners(
    part: Part, options: TrainingOptions, make: MakeTrainer, found: Searched
) -> TrainedLearners:
    """Let learners that were searched go on, or begin anew, on all examples; `found.state` is given up."""
    before, searched = _flat(found.best_epochs), kept_searched(found, part.n_in_all)
    if not searches(options):
        return TrainedLearners(part.learners, found.state, before, found.curves, found.held, searched)
    schedule = refit_schedule(found.best_epochs, options.refit)
    given = dataclasses.replace(options, checkpoint=part.path(options.checkpoint, "refit"))
    if options.restart:
        found.state.clear()
    trainer = make(part, given, schedule, part.mark("refit"))
    if not options.restart:
        trainer.module.load_state_dict(found.last or found.state)
        found.state.clear()
    state = {name: tensor.cpu() for name, tensor in trainer.fit().items()}
    if part.is_group:
        trainer.save()
    curves = found.curves + _numbered(trainer, part, "refit")
    more = _flat(trainer.at.best_epochs)
    epochs = more if options.restart else before + more
    return TrainedLearners(part.learners, state, epochs, curves, found.held, searched)


def kept_searched(found: Searched, n_learners: int) -> State:
    """Return the weights of a search, nothing where those of all learners have too many numbers to keep."""
    numbers = sum(tensor.numel() for tensor in found.state.values()) / max(len(found.learners), 1)
    return dict(found.state) if numbers * n_learners <= MOST_SEARCHED else {}


def searches(options: TrainingOptions) -> bool:
    """Return whether a second training follows the first; without a validation part nothing is found."""
    return bool(options.refit) and options.validation_fraction > 0


def refit_schedule(best: Sequence[Sequence[int]], refit: float) -> list[list[int]]:
    """Return how many epochs the second training takes, by stage and group."""
    return [[max(1, round(epochs * refit)) for epochs in row] for row in best]


def joined_held(parts: Sequence[Held]) -> Held:
    """Return what learners of several parts held back, one after the other."""
    return Held(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _numbered(trainer: Trainer, part: Part, phase: str) -> Curves:
    """Return the curves of a trainer, its groups named by their first learner."""
    return [{**row, "group": part.learners[int(row["group"])], "phase": phase} for row in trainer.at.curves]


def _histories(curves: Curves) -> list[dict[str, Any]]:
    phases = dict.fromkeys(row["phase"] for row in sorted(curves, key=lambda row: row["phase"] != "search"))
    return [
        {**mean, "phase": phase}
        for phase in phases
        for mean in averaged([row for row in curves if row["phase"] == phase])
    ]


def _flat(epochs: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.concatenate([np.asarray(row, np.int64) for row in epochs])
