"""Training of an ensemble: batches of labelled nodes, relatives drawn for each learner, groups of learners.

In: an ensemble, the problem (surroundings, relatives, labelled nodes) and options. Out: the best weights and
a history (:mod:`honlearn.ensemble.loop`). Every learner of a bag is a group of its own; learners that are
pooled are one. All randomness is a function of (seed, learner, step).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from honlearn.engine.context import ForwardContext
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Ensemble, Surroundings
from honlearn.ensemble.examples import Examples, shuffled_batches, splits
from honlearn.ensemble.inference import chunk_size
from honlearn.ensemble.loop import State, TrainingLoop, TrainingOptions
from honlearn.errors import FormatError
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import Label, derive_seed

# Validation parts are computed in chunks that suit so many learners, however many there are: neighbours are
# sampled chunk by chunk, and a learner must not depend on its company.
USUAL_LEARNERS = 16


class Held(NamedTuple):
    """What learners held back in a search: positions [L, h], class probabilities [L, h, C], classes [L, h].

    The probabilities of an example are those of the epoch that is best for the *other* half of the part it is
    held back in, so that no prediction is flattered by the choice of its epoch.
    """

    positions: NDArray[np.int64]
    proba: NDArray[np.float32]
    truth: NDArray[np.int64]

    @property
    def probability(self) -> NDArray[np.float64]:
        """The probability of the true class, float64 [L, h]."""
        return np.take_along_axis(self.proba, self.truth[:, :, None], 2)[:, :, 0].astype(np.float64)


@dataclass(frozen=True)
class Problem:
    """What is trained on: neighbourhoods, relatives, labelled nodes, the seed and the learners' numbers."""

    near: Surroundings
    sampler: RelativeSampler
    examples: Examples
    seed: int
    learners: Sequence[int]


class Trainer(TrainingLoop):
    """One training run of an ensemble; a shared model that bags (bag*) has a stage for each draw."""

    def __init__(
        self,
        ensemble: Ensemble,
        problem: Problem,
        options: TrainingOptions,
        run: Runtime,
        schedule: list[list[int]] | None = None,
        fingerprint: str = "",
    ) -> None:
        super().__init__(ensemble, options, run, schedule, fingerprint)
        self.ensemble, self.problem, self.shape = ensemble, problem, ensemble.shape
        self.is_bag = self.shape.variant == "bag"
        self.n_stages = len(problem.learners) if self.shape.is_sequential else 1
        # By stage: the least loss of each half of a validation part [G, 2], and what its epoch predicts.
        self._apart: list[State] = []

    # --- who trains on what --------------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """How many groups stop on their own: each learner of a bag, else all as one."""
        return len(self.problem.learners) if self.is_bag and not self.shape.is_sequential else 1

    @property
    def members(self) -> list[int]:
        """The learners that the current stage still trains."""
        learners = list(self.problem.learners)
        if self.shape.is_sequential:
            return [learners[self.at.stage]]
        if self.is_bag:
            return [learners[group] for group in self.at.active]
        return [0] if self.shape.variant == "batch" else learners

    @property
    def owners(self) -> list[Label]:
        """The groups that are still trained: learners of a bag, else all learners as one."""
        return list(self.members) if self.is_bag else ["joint"]

    def _start(self) -> None:
        """Set relatives, random streams and examples of the groups that are still trained."""
        problem, owners = self.problem, self.owners
        self._relatives = problem.sampler.draw(problem.seed, self.members)
        self._streams = self._dropout_streams()
        if self.schedule is None:
            fraction = self.options.validation_fraction
            self._train, self._held = splits(problem.examples.labels, fraction, problem.seed, owners)
        else:
            self._train = np.stack([np.arange(len(problem.examples))] * len(owners))
            self._held = np.empty((len(owners), 0), np.int64)

    def _dropout_streams(self) -> NDArray[np.uint64]:
        """Return the seed of each member's masks; a training that goes on after a search has others."""
        purpose = "dropout" if self.schedule is None else "dropout of refit"
        streams = [derive_seed(self.problem.seed, purpose, member) for member in self.members]
        return np.array(streams, np.uint64)

    def _roots(self, positions: NDArray[np.int64], *occasion: Label) -> NDArray[np.int32]:
        """Return the relatives [L, b] of the examples at these positions [G, b]."""
        nodes, relatives = self.problem.examples.nodes[positions], self._relatives
        if occasion:
            relatives = self.problem.sampler.draw(self.problem.seed, self.members, *occasion)
        return np.take_along_axis(relatives, nodes, 1) if self.is_bag else relatives[:, nodes[0]]

    @property
    def _has_validation(self) -> bool:
        return bool(self._held.shape[1])

    def _batches(self) -> list[NDArray[np.int64]]:
        """Return the positions [G, b] of each batch of this epoch."""
        at, seed = self.at, self.problem.seed
        return shuffled_batches(self._train, self.options.batch_size, seed, self.owners, at.stage, at.epoch)

    def _train_epoch(self) -> None:
        at, batches = self.at, self._batches()
        total = sum(positions.shape[1] for positions in batches)
        self.ensemble.train()
        at.loss = at.loss or [0.0] * len(at.active)
        while at.batch < len(batches):
            positions = batches[at.batch]
            occasion: tuple[Label, ...] = ("batch", at.step) if self.shape.variant == "batch" else ()
            ctx = ForwardContext(self.run, self._streams, at.step, training=True)
            with self.run.step():
                logits = self.ensemble(self._roots(positions, *occasion), self.problem.near, ctx)
                losses = self._losses(logits, positions)
                self._step(losses)
            share = positions.shape[1] / total
            at.loss = [a + share * b for a, b in zip(at.loss, losses.tolist(), strict=True)]
            at.batch, at.step = at.batch + 1, at.step + 1
            self._maybe_save()

    def _losses(self, logits: torch.Tensor, positions: NDArray[np.int64]) -> torch.Tensor:
        """Return the weighted cross entropy of each group, [G]."""
        labels = torch.from_numpy(self.problem.examples.labels[positions]).to(logits.device)
        weights = torch.from_numpy(self.problem.examples.weights[positions]).to(logits.device)
        entropy = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return (entropy.view_as(weights) * weights).sum(1) / weights.sum(1).clamp_min(1e-12)

    # --- what is held back ---------------------------------------------------------------------------

    def held(self) -> Held:
        """Return after `fit` what each group held back, and its predictions there."""
        parts = []
        for stage, best in enumerate(self.at.best_epochs):
            self.at.stage, self.at.active = stage, list(range(len(best)))
            self._start()
            proba = np.zeros((*self._held.shape, self.shape.n_classes), np.float32)
            if self._held.shape[1]:
                proba = self._apart[stage]["proba"].numpy()
            parts.append((self._held, proba))
        self.at.stage, self.at.active = self.n_stages, []
        positions = np.concatenate([held for held, _ in parts])
        truth = self.problem.examples.labels[positions]
        return Held(positions, np.concatenate([proba for _, proba in parts]), truth)

    def _validate(self) -> tuple[list[float], list[float]]:
        """Return loss and score of each group on its validation part, and keep what it predicts there."""
        logits = self._held_logits()
        self._keep_apart(logits)
        return self._losses(logits, self._held).tolist(), self._scores(logits)

    def _scores(self, logits: torch.Tensor) -> list[float]:
        """Return the share of right answers of each group."""
        right = logits.argmax(2).cpu().numpy() == self.problem.examples.labels[self._held]
        return [float(share) for share in right.mean(1)]

    def _keep_apart(self, logits: torch.Tensor) -> None:
        """Keep the predictions for one half of a validation part where the other half has its least loss."""
        groups, size = len(self.at.best), logits.shape[1]
        if len(self._apart) <= self.at.stage:
            shape = (groups, size, self.shape.n_classes)
            least = torch.full((groups, 2), torch.inf, dtype=torch.float64)
            self._apart.append({"least": least, "proba": torch.zeros(shape)})
        kept = self._apart[self.at.stage]
        if kept["proba"].shape[1] != size:
            raise FormatError(f"{self.options.checkpoint}: of other examples; remove it to start anew")
        halves = [slice(0, None, 2), slice(1, None, 2)] if size > 1 else [slice(None), slice(None)]
        proba = torch.softmax(logits.double(), 2).float().cpu()
        for half, other in ((0, 1), (1, 0)):
            judged = halves[half]
            losses = self._losses(logits[:, judged], self._held[:, judged]).double().cpu()
            for place, group in enumerate(self.at.active):
                if losses[place] < kept["least"][group, half] or self.at.epoch == 1:
                    kept["least"][group, half] = losses[place]
                    kept["proba"][group, halves[other]] = proba[place, halves[other]]

    def _more(self) -> State:
        return {f"{stage}.{name}": t for stage, kept in enumerate(self._apart) for name, t in kept.items()}

    def _take_more(self, tensors: State) -> None:
        self._apart = []
        for stage in range(len(tensors) // 2):
            kept = {name: tensors[f"{stage}.{name}"].clone() for name in ("least", "proba")}
            groups = len(self.at.best_epochs[stage] if stage < self.at.stage else self.at.best)
            least, proba = kept["least"], kept["proba"]
            sound = least.shape == (groups, 2) and least.dtype == torch.float64
            sound = sound and proba.ndim == 3 and proba.dtype == torch.float32
            if not sound or proba.shape[::2] != (groups, self.shape.n_classes):
                raise ValueError("no predictions of held-back examples")
            self._apart.append(kept)

    @torch.no_grad()
    def _held_logits(self) -> torch.Tensor:
        """Return the logits of each group on its validation part, [G, h, C]."""
        self.ensemble.eval()
        occasion: tuple[Label, ...] = ("validation",) if self.shape.variant == "batch" else ()
        roots, near = self._roots(self._held, *occasion), self.problem.near
        size, parts = chunk_size(near, USUAL_LEARNERS, self.shape.widest), []
        for start in range(0, roots.shape[1], size):
            # Steps of their own, so that parts do not share the neighbours they sample.
            ctx = ForwardContext(self.run, self._streams, (self.at.epoch << 20) + start)
            with self.run.step():
                parts.append(self.ensemble(roots[:, start : start + size], near, ctx))
        return torch.cat(parts, 1)

    def _shrink(self, places: list[int]) -> None:
        """Keep only these places of the learner axis; only bags have groups that leave one by one."""
        for tensor in (*self.ensemble.parameters(), *self.ensemble.stacks.buffers()):
            tensor.grad = None
            tensor.data = tensor.data[places]
        self.optimizer.take(places)

    def _close_stage(self) -> None:
        if self.shape.is_sequential:
            self.ensemble.load_state_dict(self.best)
        super()._close_stage()
