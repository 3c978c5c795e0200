"""Training of an ensemble: Adam, batches, early stopping with the best epoch restored, checkpoints.

In: an ensemble, the problem (neighbourhoods, relatives, labelled nodes) and options. Out: the best weights
and a history. Groups (see examples) stop on their own: a learner of a bag keeps its best epoch and leaves,
while others go on. All randomness is a function of (seed, learner, step), so a run that was killed goes on
to the same bytes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from honlearn.models.checkpoint import load_checkpoint, resuming, save_checkpoint
from honlearn.models.ensemble import Ensemble
from honlearn.models.examples import Examples, shuffled_batches, splits
from honlearn.models.inference import chunk_size
from honlearn.models.layers import Pass
from honlearn.models.neighborhoods import Neighborhood
from honlearn.models.optimizer import Adam
from honlearn.models.runtime import Runtime
from honlearn.progress import Advance, progress
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import Label, derive_seed
from honlearn.stored import Fields


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; see :class:`honlearn.DGEClassifier` for what each does."""

    learning_rate: float = 0.01
    batch_size: int = 512
    max_epochs: int = 100
    patience: int = 5
    input_dropout: float = 0.6
    hidden_dropout: float = 0.6
    weight_decay: float = 0.0
    validation_fraction: float = 0.15
    epsilon: float = 1e-7
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    show: bool | None = None


@dataclass(frozen=True)
class Problem:
    """What is trained on: neighbourhoods, relatives, labelled nodes, the seed and the learners' numbers."""

    near: Neighborhood
    sampler: RelativeSampler
    examples: Examples
    seed: int
    learners: Sequence[int]


@dataclass
class Position:
    """Where a run is: everything but tensors that a checkpoint needs. Lists have an entry for each group."""

    stage: int = 0
    epoch: int = 0
    batch: int = 0
    step: int = 0
    live: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    best_epoch: list[int] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)
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
        live = record.integers("live", 0, groups - 1)
        loss = record.numbers("loss")
        if whole["stage"] > n_stages or len(done) != whole["stage"] or len(loss) not in (0, len(live)):
            raise ValueError(f"no position in a training of {n_stages} stages")
        history = record.rows("history")
        best = {"best": record.numbers("best"), "best_epoch": record.integers("best_epoch", 0, length=groups)}
        return cls(**whole, live=live, loss=loss, **best, history=history, best_epochs=done)  # type: ignore[arg-type]


class Trainer:
    """One training run over its stages: one stage, or one for each draw where a shared model bags (bag*).

    With a `schedule` (the epochs of each group of each stage) it trains on all examples for exactly these.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        problem: Problem,
        options: TrainingOptions,
        run: Runtime,
        schedule: list[list[int]] | None = None,
        fingerprint: str = "",
    ) -> None:
        self.ensemble, self.problem, self.options, self.run = ensemble.to(run.device), problem, options, run
        self.schedule, self.fingerprint = schedule, fingerprint
        self.shape = ensemble.shape
        self.is_bag = self.shape.variant == "bag"
        self.n_stages = len(problem.learners) if self.shape.is_sequential else 1
        rate, epsilon, decay = options.learning_rate, options.epsilon, options.weight_decay
        self.optimizer = Adam(ensemble.parameters(), run, rate, epsilon, decay)
        self.at = Position()
        self.best: dict[str, torch.Tensor] = {}
        self.finished: list[dict[str, torch.Tensor]] = []
        self._saved = time.monotonic()

    # --- who trains on what --------------------------------------------------------------------------

    @property
    def members(self) -> list[int]:
        """The learners that the current stage still trains."""
        learners = list(self.problem.learners)
        if self.shape.is_sequential:
            return [learners[self.at.stage]]
        if self.is_bag:
            return [learners[group] for group in self.at.live]
        return [0] if self.shape.variant == "batch" else learners

    @property
    def owners(self) -> list[Label]:
        """The groups that are still trained: learners of a bag, else all learners as one."""
        return list(self.members) if self.is_bag else ["joint"]

    def _gather_examples(self) -> None:
        """Set relatives, random streams and examples of the groups that are still trained."""
        problem, owners = self.problem, self.owners
        self._relatives = problem.sampler.draw(problem.seed, self.members)
        streams = [derive_seed(problem.seed, "dropout", member) for member in self.members]
        self._streams = np.array(streams, np.uint64)
        if self.schedule is None:
            fraction = self.options.validation_fraction
            self._train, self._held = splits(problem.examples.labels, fraction, problem.seed, owners)
        else:
            self._train = np.stack([np.arange(len(problem.examples))] * len(owners))
            self._held = np.empty((len(owners), 0), np.int64)

    def _roots(self, positions: NDArray[np.int64], *occasion: Label) -> NDArray[np.int32]:
        """Return the relatives [L, b] of the examples at these positions [G, b]."""
        nodes, relatives = self.problem.examples.nodes[positions], self._relatives
        if occasion:
            relatives = self.problem.sampler.draw(self.problem.seed, self.members, *occasion)
        return np.take_along_axis(relatives, nodes, 1) if self.is_bag else relatives[:, nodes[0]]

    # --- the loop ------------------------------------------------------------------------------------

    def fit(self) -> dict[str, torch.Tensor]:
        """Train and return the best state; of several stages, the states stacked along the learner axis."""
        self._resume()
        total = self.options.max_epochs * self.n_stages
        with progress("training", total=total, show=self.options.show) as advance:
            while self.at.stage < self.n_stages:
                self._fit_stage(advance)
        if not self.shape.is_sequential:
            return self.finished[0]
        return {name: torch.cat([state[name] for state in self.finished]) for name in self.finished[0]}

    def _fit_stage(self, advance: Advance) -> None:
        at = self.at
        if not at.live:
            groups = len(self.problem.learners) if self.is_bag and not self.shape.is_sequential else 1
            at.live, at.best, at.best_epoch = list(range(groups)), [math.inf] * groups, [0] * groups
        self._gather_examples()
        last = self.options.max_epochs if self.schedule is None else max(self.schedule[at.stage])
        while at.epoch < last and at.live:
            self._train_epoch()
            row = self._close_epoch()
            shown = [name for name in ("loss", "validation_score") if name in row]
            advance(1, " ".join(f"{name} {row[name]:.3f}" for name in shown))
        advance(max(self.options.max_epochs - at.epoch, 0))
        self._close_stage()

    def _train_epoch(self) -> None:
        at, options, seed = self.at, self.options, self.problem.seed
        batches = shuffled_batches(self._train, options.batch_size, seed, self.owners, at.stage, at.epoch)
        self.ensemble.train()
        at.loss = at.loss or [0.0] * len(at.live)
        while at.batch < len(batches):
            positions = batches[at.batch]
            occasion: tuple[Label, ...] = ("batch", at.step) if self.shape.variant == "batch" else ()
            this = Pass(self.run, self._streams, at.step, options.input_dropout, options.hidden_dropout)
            logits = self.ensemble(self._roots(positions, *occasion), self.problem.near, this)
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
        labels = torch.from_numpy(self.problem.examples.labels[positions]).to(logits.device)
        weights = torch.from_numpy(self.problem.examples.weights[positions]).to(logits.device)
        entropy = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return (entropy.view_as(weights) * weights).sum(1) / weights.sum(1).clamp_min(1e-12)

    # --- validation and the best epoch ---------------------------------------------------------------

    def _close_epoch(self) -> dict[str, float]:
        """Validate, keep what improved, let groups that are done leave; return the epoch's record."""
        at = self.at
        row: dict[str, float] = {"stage": at.stage, "epoch": at.epoch + 1, "loss": float(np.mean(at.loss))}
        row["groups"] = len(at.live)
        at.epoch, at.batch, at.loss = at.epoch + 1, 0, []
        if self.schedule is not None:
            better = [at.epoch == self.schedule[at.stage][group] for group in at.live]
        elif self._held.shape[1] == 0:
            better = [True] * len(at.live)
        else:
            losses, scores = self._validate()
            # The first epoch always counts, so that a loss that is not a number cannot leave us with nothing.
            better = [
                loss < at.best[group] or at.epoch == 1 for group, loss in zip(at.live, losses, strict=True)
            ]
            for group, loss, improved in zip(at.live, losses, better, strict=True):
                at.best[group] = loss if improved else at.best[group]
            row |= {"validation_loss": float(np.mean(losses)), "validation_score": float(np.mean(scores))}
        at.history.append(row)
        self._keep([place for place, improved in enumerate(better) if improved])
        self._leave()
        return row

    def held_chance(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return after `fit` what each group has held back, [G, h], and the chance it gives to the truth."""
        positions, chances = [], []
        for stage, state in enumerate(self.finished):
            # Parameters may have shrunk with the groups that left; running statistics belong to a state, too.
            for name, held in (*self.ensemble.named_parameters(), *self.ensemble.named_buffers()):
                if name in state:
                    held.data = state[name].to(self.run.device)
            self.at.stage, self.at.live = stage, list(range(len(self.at.best_epochs[stage])))
            self._gather_examples()
            positions.append(self._held)
            if self._held.shape[1]:
                proba = torch.softmax(self._held_logits().double(), 2).cpu().numpy()
                truth = self.problem.examples.labels[self._held]
                chances.append(np.take_along_axis(proba, truth[:, :, None], 2)[:, :, 0])
            else:
                chances.append(np.zeros(self._held.shape))
        self.at.stage = self.n_stages
        return np.concatenate(positions), np.concatenate(chances)

    def _validate(self) -> tuple[list[float], list[float]]:
        """Return loss and share of right answers of each group on its validation part."""
        logits = self._held_logits()
        right = logits.argmax(2).cpu().numpy() == self.problem.examples.labels[self._held]
        return self._losses(logits, self._held).tolist(), right.mean(1).tolist()

    @torch.no_grad()
    def _held_logits(self) -> torch.Tensor:
        """Return the logits of each group on its validation part, [G, h, C]."""
        self.ensemble.eval()
        occasion: tuple[Label, ...] = ("validation",) if self.shape.variant == "batch" else ()
        roots, near = self._roots(self._held, *occasion), self.problem.near
        size, parts = chunk_size(near, len(roots), max(self.shape.widths)), []
        for start in range(0, roots.shape[1], size):
            # Steps of their own, so that parts do not share the neighbours they sample.
            this = Pass(self.run, self._streams, (self.at.epoch << 20) + start)
            parts.append(self.ensemble(roots[:, start : start + size], near, this))
        return torch.cat(parts, 1)

    def _keep(self, places: list[int]) -> None:
        """Copy the weights of the groups at these places among the living to the best."""
        at = self.at
        if not places:
            return
        for place in places:
            at.best_epoch[at.live[place]] = at.epoch
        state = self.ensemble.state_dict()
        if not self.best or not self.is_bag or len(places) == len(at.best):
            self.best = {name: tensor.detach().clone() for name, tensor in state.items()}
            return
        for name, tensor in state.items():
            self.best[name][[at.live[place] for place in places]] = tensor[places]

    def _leave(self) -> None:
        """Take out of the tensors the groups that have no better epoch to expect."""
        at = self.at
        if self.schedule is not None:
            stay = [place for place, group in enumerate(at.live) if at.epoch < self.schedule[at.stage][group]]
        else:
            waited = [at.epoch - at.best_epoch[group] for group in at.live]
            stay = [place for place, epochs in enumerate(waited) if epochs < self.options.patience]
        if len(stay) == len(at.live):
            return
        at.live = [at.live[place] for place in stay]
        if stay:
            self._shrink(stay)
            self._gather_examples()

    def _shrink(self, places: list[int]) -> None:
        """Keep only these places of the learner axis; only bags have groups that leave one by one."""
        for parameter in self.ensemble.parameters():
            parameter.grad = None
            parameter.data = parameter.data[places]
        self.optimizer.take(places)

    def _close_stage(self) -> None:
        at = self.at
        self.finished.append(self.best)
        if self.shape.is_sequential:
            self.ensemble.load_state_dict(self.best)
        at.best_epochs.append(at.best_epoch)
        self.best, at.live, at.best, at.best_epoch = {}, [], [], []
        at.stage, at.epoch, at.batch = at.stage + 1, 0, 0

    # --- checkpoints ---------------------------------------------------------------------------------

    def _maybe_save(self) -> None:
        path = self.options.checkpoint
        if path is None or time.monotonic() - self._saved < self.options.checkpoint_seconds:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self.ensemble.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        for stage, state in enumerate(self.finished):
            tensors |= {f"stage{stage}.{name}": tensor for name, tensor in state.items()}
        tensors |= {f"adam.{name}": tensor for name, tensor in self.optimizer.tensors().items()}
        save_checkpoint(path, self.fingerprint, asdict(self.at), tensors)
        self._saved = time.monotonic()

    def _resume(self) -> None:
        path = self.options.checkpoint
        if path is None or not path.exists():
            return
        record, tensors = load_checkpoint(path, self.fingerprint)
        with resuming(path):
            self._take(Position.of(record, self.n_stages), tensors)

    def _take(self, at: Position, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from a position with the tensors of its checkpoint."""
        self.at = at

        def pick(prefix: str) -> dict[str, torch.Tensor]:
            held = {name: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
            return {name.removeprefix(prefix): tensor.to(self.run.device) for name, tensor in held.items()}

        if self.is_bag and not self.shape.is_sequential and len(self.at.live) < len(self.at.best):
            self._shrink(self.at.live)
        self.ensemble.load_state_dict(pick("model."))
        self.best = pick("best.")
        self.finished = [pick(f"stage{stage}.") for stage in range(self.at.stage)]
        self.optimizer.restore(self.at.step, pick("adam."))
