"""Training of an ensemble: Adam, batches, early stopping with the best epoch restored, checkpoints.

In: an ensemble, a neighbourhood, labelled nodes and options. Out: the best weights and a history. Groups
(see examples) stop on their own: a learner of a bag keeps its best epoch no matter how long others go on.
All randomness is a function of (seed, learner, step), so a run that was killed goes on to the same bytes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from honlearn.models.checkpoint import load_checkpoint, save_checkpoint
from honlearn.models.ensemble import Ensemble
from honlearn.models.examples import Examples, shuffled_batches, splits
from honlearn.models.layers import Pass
from honlearn.models.neighborhoods import Neighborhood
from honlearn.models.optimizer import Adam
from honlearn.models.runtime import Runtime
from honlearn.progress import Advance, progress
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import Label, derive_seed


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; see :class:`honlearn.DGEClassifier` for what each does."""

    learning_rate: float = 0.01
    batch_size: int = 512
    max_epochs: int = 40
    patience: int = 4
    input_dropout: float = 0.6
    hidden_dropout: float = 0.6
    weight_decay: float = 0.0
    validation_fraction: float = 0.15
    epsilon: float = 1e-7
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    show: bool | None = None


@dataclass
class Position:
    """Where a run is: everything but tensors that a checkpoint needs."""

    stage: int = 0
    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    best_epoch: list[int] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)
    best_epochs: list[list[int]] = field(default_factory=list)


class Trainer:
    """One training run over its stages: one stage, or one for each draw where a shared model bags (bag*).

    With a `schedule` (the epochs of each group of each stage) it trains on all examples for exactly these.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        near: Neighborhood,
        sampler: RelativeSampler,
        examples: Examples,
        options: TrainingOptions,
        seed: int,
        learners: Sequence[int],
        run: Runtime,
        schedule: list[list[int]] | None = None,
        fingerprint: str = "",
    ) -> None:
        self.ensemble, self.near, self.sampler, self.examples = (
            ensemble.to(run.device),
            near,
            sampler,
            examples,
        )
        self.options, self.seed, self.learners, self.run = options, seed, list(learners), run
        self.schedule, self.fingerprint = schedule, fingerprint
        self.shape = ensemble.shape
        self.n_stages = len(self.learners) if self.shape.is_sequential else 1
        self.optimizer = Adam(
            ensemble.parameters(), run, options.learning_rate, options.epsilon, options.weight_decay
        )
        self.at = Position()
        self.best: dict[str, torch.Tensor] = {}
        self.finished: list[dict[str, torch.Tensor]] = []

    # --- who trains on what --------------------------------------------------------------------------

    @property
    def members(self) -> list[int]:
        """The learners of the current stage."""
        if self.shape.is_sequential:
            return [self.learners[self.at.stage]]
        return [0] if self.shape.variant == "batch" else self.learners

    @property
    def owners(self) -> list[Label]:
        """The groups of the current stage: learners of a bag, else all learners as one."""
        return list(self.members) if self.shape.variant == "bag" else ["joint"]

    def roots(self, positions: NDArray[np.int64], *occasion: Label) -> NDArray[np.int32]:
        """Return the relatives [L, b] of the examples at these positions [G, b]."""
        relatives = self._relatives if not occasion else self.sampler.draw(self.seed, self.members, *occasion)
        return (
            np.take_along_axis(relatives, self.examples.nodes[positions], 1)
            if self.is_bag
            else (np.ascontiguousarray(relatives[:, self.examples.nodes[positions[0]]]))
        )

    @property
    def is_bag(self) -> bool:
        """Whether every learner is a group."""
        return self.shape.variant == "bag"

    def _begin_stage(self) -> None:
        self._relatives = self.sampler.draw(self.seed, self.members)
        streams = [derive_seed(self.seed, "dropout", member) for member in self.members]
        self._streams = np.array(streams, np.uint64)
        if self.schedule is None:
            fraction = self.options.validation_fraction
            self._train, self._held = splits(self.examples.labels, fraction, self.seed, self.owners)
        else:
            everyone = np.arange(len(self.examples))
            self._train, self._held = np.stack([everyone] * len(self.owners)), np.empty((1, 0), np.int64)

    # --- the loop ------------------------------------------------------------------------------------

    def fit(self) -> dict[str, torch.Tensor]:
        """Train and return the best state; of several stages, the states stacked along the learner axis."""
        self._resume()
        self._saved = time.monotonic()
        total = self.options.max_epochs * self.n_stages
        with progress("training", total=total, show=self.options.show) as advance:
            while self.at.stage < self.n_stages:
                self._fit_stage(advance)
        if not self.shape.is_sequential:
            return self.finished[0]
        return {name: torch.cat([state[name] for state in self.finished]) for name in self.finished[0]}

    def _fit_stage(self, advance: Advance) -> None:
        self._begin_stage()
        at, groups = self.at, len(self.owners)
        if not at.best:
            at.best, at.best_epoch = [math.inf] * groups, [0] * groups
        while at.epoch < self._last_epoch() and not self._all_stopped():
            self._train_epoch()
            row = self._close_epoch()
            note = " ".join(f"{name} {row[name]:.3f}" for name in ("loss", "validation_score") if name in row)
            advance(1, note)
        advance(self.options.max_epochs - at.epoch)
        self._close_stage()

    def _last_epoch(self) -> int:
        return self.options.max_epochs if self.schedule is None else max(self.schedule[self.at.stage])

    def _train_epoch(self) -> None:
        at, options = self.at, self.options
        label = (at.stage, at.epoch)
        batches = shuffled_batches(self._train, options.batch_size, self.seed, self.owners, *label)
        self.ensemble.train()
        if not at.loss:
            at.loss = [0.0] * len(self.owners)
        while at.batch < len(batches):
            positions = batches[at.batch]
            occasion: tuple[Label, ...] = ("batch", at.step) if self.shape.variant == "batch" else ()
            this = Pass(self.run, self._streams, at.step, options.input_dropout, options.hidden_dropout)
            logits = self.ensemble(self.roots(positions, *occasion), self.near, this)
            losses = self._losses(logits, positions)
            self.optimizer.clear()
            losses.sum().backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            share = positions.shape[1] / self._train.shape[1]
            at.loss = [a + share * b for a, b in zip(at.loss, losses.tolist(), strict=True)]
            at.batch, at.step = at.batch + 1, at.step + 1
            self._maybe_save()

    def _losses(self, logits: torch.Tensor, positions: NDArray[np.int64]) -> torch.Tensor:
        """Return the weighted cross entropy of each group, [G]."""
        labels = torch.from_numpy(self.examples.labels[positions]).to(logits.device)
        weights = torch.from_numpy(self.examples.weights[positions]).to(logits.device)
        entropy = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return (entropy.view_as(weights) * weights).sum(1) / weights.sum(1).clamp_min(1e-12)

    # --- validation and the best epoch ---------------------------------------------------------------

    def _close_epoch(self) -> dict[str, float]:
        at = self.at
        row: dict[str, float] = {"stage": at.stage, "epoch": at.epoch + 1, "loss": float(np.mean(at.loss))}
        stopped = self._stopped()
        at.epoch, at.batch, at.loss = at.epoch + 1, 0, []
        if self.schedule is not None:
            improved = [at.epoch == epochs for epochs in self.schedule[at.stage]]
        elif self._held.shape[1] == 0:
            improved = [True] * len(self.owners)
        else:
            losses, scores = self._validate()
            triples = zip(losses, at.best, stopped, strict=True)
            improved = [loss < best and not done for loss, best, done in triples]
            at.best = [
                loss if better else old for loss, old, better in zip(losses, at.best, improved, strict=True)
            ]
            row |= {"validation_loss": float(np.mean(losses)), "validation_score": float(np.mean(scores))}
        at.best_epoch = [at.epoch if b else e for e, b in zip(at.best_epoch, improved, strict=True)]
        self._keep(np.flatnonzero(improved))
        row["training"] = len(self.owners) - sum(self._stopped())
        at.history.append(row)
        return row

    @torch.no_grad()
    def _validate(self) -> tuple[list[float], list[float]]:
        self.ensemble.eval()
        this = Pass(self.run, self._streams, self.at.epoch)
        occasion: tuple[Label, ...] = ("validation",) if self.shape.variant == "batch" else ()
        logits = self.ensemble(self.roots(self._held, *occasion), self.near, this)
        right = logits.argmax(2).cpu().numpy() == self.examples.labels[self._held]
        return self._losses(logits, self._held).tolist(), right.mean(1).tolist()

    def _stopped(self) -> list[bool]:
        """Return which groups have gone `patience` epochs without a better validation loss."""
        if self.schedule is not None:
            return [self.at.epoch >= epochs for epochs in self.schedule[self.at.stage]]
        return [self.at.epoch - best >= self.options.patience for best in self.at.best_epoch]

    def _all_stopped(self) -> bool:
        return self.at.epoch > 0 and all(self._stopped())

    def _keep(self, groups: NDArray[np.int64]) -> None:
        """Copy the weights of these groups to the best."""
        if not len(groups):
            return
        state = self.ensemble.state_dict()
        if not self.is_bag or not self.best or len(groups) == len(self.owners):
            self.best = {name: tensor.detach().clone() for name, tensor in state.items()}
            return
        index = torch.from_numpy(groups).to(self.run.device)
        for name, tensor in state.items():
            self.best[name][index] = tensor[index]

    def _close_stage(self) -> None:
        at = self.at
        self.finished.append(self.best)
        self.ensemble.load_state_dict(self.best)
        at.best_epochs.append(at.best_epoch)
        self.best, at.best, at.best_epoch = {}, [], []
        at.stage, at.epoch, at.batch = at.stage + 1, 0, 0

    # --- checkpoints ---------------------------------------------------------------------------------

    def _maybe_save(self) -> None:
        path = self.options.checkpoint
        if path is None or time.monotonic() - self._saved < self.options.checkpoint_seconds:
            return
        save_checkpoint(path, self.fingerprint, asdict(self.at), self._tensors())
        self._saved = time.monotonic()

    def _tensors(self) -> dict[str, torch.Tensor]:
        out = {f"model.{name}": tensor for name, tensor in self.ensemble.state_dict().items()}
        out |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        for stage, state in enumerate(self.finished):
            out |= {f"stage{stage}.{name}": tensor for name, tensor in state.items()}
        out |= {f"adam.{name}": tensor for name, tensor in self.optimizer.tensors().items()}
        return out

    def _resume(self) -> None:
        path = self.options.checkpoint
        if path is None or not path.exists():
            return
        record, tensors = load_checkpoint(path, self.fingerprint)
        self.at = Position(**record)
        pick: Callable[[str], dict[str, torch.Tensor]] = lambda prefix: {  # noqa: E731
            name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)
        }
        self.ensemble.load_state_dict(pick("model."))
        self.best = pick("best.")
        self.finished = [pick(f"stage{stage}.") for stage in range(self.at.stage)]
        self.optimizer.restore(self.at.step, pick("adam."))
