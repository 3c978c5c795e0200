"""The training loop of every model: epochs, early stopping with the best epoch kept, checkpoints, progress.

In: a module, and what an epoch and a validation are. Out: the best state and a history. Groups stop on their
own: a learner of a bag keeps its best epoch and leaves, while others go on; anything else is one group. A
loop is a function of its seed, so a run that was killed goes on to the same bytes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import numpy as np
import torch
from torch import nn

from honlearn import interrupts
from honlearn.engine.optimizer import Adam
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.checkpoint import load_checkpoint, resuming, save_checkpoint
from honlearn.progress import Advance, progress
from honlearn.stored import Fields

State = dict[str, torch.Tensor]
_LOSSES = ("loss", "validation_loss", "validation_score")


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; see :class:`honlearn.Training` for what each does."""

    learning_rate: float = 0.01
    batch_size: int = 512
    max_epochs: int = 100
    patience: int = 5
    weight_decay: float = 0.0
    validation_fraction: float = 0.15
    refit: float = 0.0
    restart: bool = True
    epsilon: float = 1e-7
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    show: bool | None = None


@dataclass
class Position:
    """Where a run is: everything but tensors that a checkpoint needs. Lists have an entry for each group.

    `curves` has a row for each epoch of each group, `history` their means over groups.
    """

    stage: int = 0
    epoch: int = 0
    batch: int = 0
    step: int = 0
    active: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    best_epoch: list[int] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)
    curves: list[dict[str, float]] = field(default_factory=list)
    best_epochs: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, record: Fields, n_stages: int) -> Position:
        """Return the position in a checkpoint's record, if it can be one."""
        record.only(*(one.name for one in fields(cls)))
        whole = {name: record.integer(name, 0) for name in ("stage", "epoch", "batch", "step")}
        groups = len(record.items("best"))
        done = [
            Fields({"epochs": row}, record.where).integers("epochs", 0) for row in record.items("best_epochs")
        ]
        active = record.integers("active", 0, groups - 1)
        loss = record.numbers("loss")
        if whole["stage"] > n_stages or len(done) != whole["stage"] or len(loss) not in (0, len(active)):
            raise ValueError(f"no position in a training of {n_stages} stages")
        history, curves = record.rows("history"), record.rows("curves")
        if any(not row.keys() >= {"stage", "epoch", "group", "loss"} for row in curves):
            raise ValueError("no curves of a training")
        best = {"best": record.numbers("best"), "best_epoch": record.integers("best_epoch", 0, length=groups)}
        rows = {"history": history, "curves": curves}
        return cls(**whole, active=active, loss=loss, **best, **rows, best_epochs=done)  # type: ignore[arg-type]


def averaged(curves: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Return a row for each epoch of each stage: means over the groups that it trained, in their order.

    >>> rows = [{"stage": 0, "epoch": 1, "group": group, "loss": 1.0 + group} for group in (1, 0)]
    >>> averaged(rows)
    [{'stage': 0, 'epoch': 1, 'loss': 1.5, 'groups': 2}]
    """
    by_epoch: dict[tuple[float, float], list[Mapping[str, float]]] = {}
    for row in sorted(curves, key=lambda row: (row["stage"], row["epoch"], row["group"])):
        by_epoch.setdefault((row["stage"], row["epoch"]), []).append(row)
    out = []
    for (stage, epoch), rows in by_epoch.items():
        mean = {name: float(np.mean([row[name] for row in rows])) for name in _LOSSES if name in rows[0]}
        out.append({"stage": stage, "epoch": epoch, "loss": mean.pop("loss"), "groups": len(rows), **mean})
    return out


class TrainingLoop:
    """One training run over its stages, usually one.

    With a `schedule` (the epochs of each group of each stage) it trains on all examples for exactly these. A
    subclass says what an epoch is, how it is validated, and how groups leave.
    """

    n_stages = 1
    # What the progress bar says.
    label = "training"

    def __init__(
        self,
        module: nn.Module,
        options: TrainingOptions,
        run: Runtime,
        schedule: list[list[int]] | None = None,
        fingerprint: str = "",
    ) -> None:
        self.module, self.options, self.run = module.to(run.device), options, run
        self.schedule, self.fingerprint = schedule, fingerprint
        rate, epsilon, decay = options.learning_rate, options.epsilon, options.weight_decay
        self.optimizer = Adam(module, run, rate, epsilon, decay)
        self.at = Position()
        self.best: State = {}
        self.finished: list[State] = []
        self._saved = time.monotonic()

    # --- what a subclass says ------------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """How many groups a stage has that stop on their own."""
        return 1

    def _start(self) -> None:
        """Gather what the groups that are still trained need; called again when one has left."""

    def _train_epoch(self) -> None:
        """Train one epoch; leave the mean loss of each group in ``at.loss``."""
        raise NotImplementedError

    @property
    def _has_validation(self) -> bool:
        """Whether there is anything to validate on."""
        raise NotImplementedError

    def _validate(self) -> tuple[list[float], list[float]]:
        """Return loss and score of each group on its validation part."""
        raise NotImplementedError

    def _shrink(self, places: list[int]) -> None:
        """Keep only the groups at these places of the tensors."""
        raise NotImplementedError

    def _more(self) -> State:
        """Return what else a checkpoint must hold."""
        return {}

    def _take_more(self, tensors: State) -> None:
        """Go on from what :meth:`_more` gave."""

    # --- the loop ------------------------------------------------------------------------------------

    def fit(self) -> State:
        """Train and return the best state; of several stages, the states stacked along the learner axis."""
        self._resume()
        total = self.options.max_epochs * self.n_stages
        with (
            interrupts.held_back(self.options.checkpoint is not None),
            progress(self.label, total=total, show=self.options.show) as advance,
        ):
            while self.at.stage < self.n_stages:
                self._fit_stage(advance)
        return self.found()

    def found(self) -> State:
        """Return after `fit` the best state; of several stages, the states stacked along the learner axis."""
        if self.n_stages == 1:
            return self.finished[0]
        return {name: torch.cat([state[name] for state in self.finished]) for name in self.finished[0]}

    def last_state(self) -> State:
        """Return after `fit` the weights to go on from: of several stages, those at the end of the last."""
        return self.finished[-1]

    def _fit_stage(self, advance: Advance) -> None:
        at = self.at
        if not at.active:
            groups = self.n_groups
            at.active, at.best, at.best_epoch = list(range(groups)), [math.inf] * groups, [0] * groups
        self._start()
        last = self.options.max_epochs if self.schedule is None else max(self.schedule[at.stage])
        while at.epoch < last and at.active:
            self._train_epoch()
            row = self._close_epoch()
            shown = [name for name in ("loss", "validation_score") if name in row]
            advance(1, " ".join(f"{name} {row[name]:.3f}" for name in shown))
        advance(max(self.options.max_epochs - at.epoch, 0))
        self._close_stage()

    def _step(self, losses: torch.Tensor) -> None:
        """Take one step of the optimiser down these losses, which are summed."""
        losses.sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        # Gradients may lie in memory that is lent for this step only.
        self.optimizer.clear()

    # --- validation and the best epoch ---------------------------------------------------------------

    def _close_epoch(self) -> dict[str, float]:
        """Validate, keep what improved, let groups that are done leave; return the epoch's record."""
        at = self.at
        both = zip(at.active, at.loss, strict=True)
        rows: list[dict[str, float]] = [
            {"stage": at.stage, "epoch": at.epoch + 1, "group": group, "loss": loss} for group, loss in both
        ]
        at.epoch, at.batch, at.loss = at.epoch + 1, 0, []
        if self.schedule is not None:
            better = [at.epoch == self.schedule[at.stage][group] for group in at.active]
        elif not self._has_validation:
            better = [True] * len(at.active)
        else:
            losses, scores = self._validate()
            # The first epoch always counts, so that a loss that is not a number cannot leave us with nothing.
            better = [
                loss < at.best[group] or at.epoch == 1 for group, loss in zip(at.active, losses, strict=True)
            ]
            for group, loss, improved in zip(at.active, losses, better, strict=True):
                if improved:
                    at.best[group] = loss if math.isfinite(loss) else math.inf
            for row, loss, score in zip(rows, losses, scores, strict=True):
                row |= {"validation_loss": loss, "validation_score": score}
        at.curves += rows
        at.history += averaged(rows)
        self._keep([place for place, improved in enumerate(better) if improved])
        self._drop_finished()
        return at.history[-1]

    def _keep(self, places: list[int]) -> None:
        """Copy the weights of the groups at these places among the active ones to the best."""
        at = self.at
        if not places:
            return
        for place in places:
            at.best_epoch[at.active[place]] = at.epoch
        state = self.module.state_dict()
        if not self.best:
            self.best = {name: tensor.detach().clone() for name, tensor in state.items()}
            return
        if len(places) == len(at.best):
            # Into the copy that is there: two of a large table would be the peak of a training.
            for name, tensor in state.items():
                self.best[name].copy_(tensor)
            return
        for name, tensor in state.items():
            self.best[name][[at.active[place] for place in places]] = tensor[places]

    def _drop_finished(self) -> None:
        """Take out of the tensors the groups that have no better epoch to expect."""
        at = self.at
        if self.schedule is not None:
            stay = [
                place for place, group in enumerate(at.active) if at.epoch < self.schedule[at.stage][group]
            ]
        else:
            waited = [at.epoch - at.best_epoch[group] for group in at.active]
            stay = [place for place, epochs in enumerate(waited) if epochs < self.options.patience]
        if len(stay) == len(at.active):
            return
        at.active = [at.active[place] for place in stay]
        if stay:
            self._shrink(stay)
            self._start()

    def _close_stage(self) -> None:
        at = self.at
        self.finished.append(self.best)
        at.best_epochs.append(at.best_epoch)
        self.best, at.active, at.best, at.best_epoch = {}, [], [], []
        at.stage, at.epoch, at.batch = at.stage + 1, 0, 0

    # --- checkpoints ---------------------------------------------------------------------------------

    def _maybe_save(self) -> None:
        is_due = time.monotonic() - self._saved >= self.options.checkpoint_seconds
        if self.options.checkpoint is None or not (is_due or interrupts.is_waiting()):
            return
        self.save()
        interrupts.give_way()

    def save(self) -> None:
        """Write a checkpoint where there is to be any; of a training that is done, its result alone."""
        path, tensors = self.options.checkpoint, dict[str, torch.Tensor]()
        if path is None:
            return
        if self.at.stage < self.n_stages:
            tensors |= {f"model.{name}": tensor for name, tensor in self.module.state_dict().items()}
            tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
            tensors |= {f"adam.{name}": tensor for name, tensor in self.optimizer.tensors().items()}
        for stage, state in enumerate(self.finished):
            tensors |= {f"stage{stage}.{name}": tensor for name, tensor in state.items()}
        tensors |= {f"more.{name}": tensor for name, tensor in self._more().items()}
        save_checkpoint(path, self.fingerprint, asdict(self.at), tensors)
        self._saved = time.monotonic()

    def _resume(self) -> None:
        path = self.options.checkpoint
        if path is None or not path.exists():
            return
        record, tensors = load_checkpoint(path, self.fingerprint)
        with resuming(path):
            self._take(Position.of(record, self.n_stages), tensors)

    def _take(self, at: Position, tensors: State) -> None:
        """Go on from a position with the tensors of its checkpoint."""
        self.at = at

        def pick(prefix: str) -> State:
            held = {name: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
            return {name.removeprefix(prefix): tensor.to(self.run.device) for name, tensor in held.items()}

        self.finished = [pick(f"stage{stage}.") for stage in range(self.at.stage)]
        if self.at.stage < self.n_stages:
            if len(self.at.active) < len(self.at.best):
                self._shrink(self.at.active)
            self.module.load_state_dict(pick("model."))
            self.best = pick("best.")
            self.optimizer.restore(self.at.step, pick("adam."))
        else:
            _check_same(self.finished[-1], self.module.state_dict())
        self._take_more({n.removeprefix("more."): t for n, t in tensors.items() if n.startswith("more.")})


def _check_same(found: State, expected: State) -> None:
    """Raise unless a state has these names, shapes and types."""
    described = [{n: (tuple(t.shape), t.dtype) for n, t in state.items()} for state in (found, expected)]
    if described[0] != described[1]:
        raise ValueError("weights of another model")
