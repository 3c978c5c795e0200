"""Training on pairs: the loop of :mod:`honlearn.ensemble.training`, with pairs drawn and hidden by batch.

In: linked and unlinked pairs, and how to hide some of them. Out: as for nodes. A pair that is tested has no
edge in the network, so one that is trained on should not have its own either: every batch passes messages in
a network without the links of the batch, and of the validation part. One split and one order serve all
learners, so that they pass messages in the same network; initial weights, dropout and relatives differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine.context import ForwardContext
from honlearn.ensemble.ensemble import Surroundings
from honlearn.ensemble.examples import split
from honlearn.ensemble.inference import chunk_size
from honlearn.ensemble.pair_inference import BLOCK
from honlearn.ensemble.pairs import pair_batch
from honlearn.ensemble.training import USUAL_LEARNERS, Problem, Trainer
from honlearn.sampling.pairs import Pairs, PairSampler, count_unlinked, draw_unlinked, pair_keys
from honlearn.seeds import Label, generator


@dataclass(frozen=True)
class PairExamples:
    """Labelled pairs: entity codes int32 [n, 2], labels int64 [n] (1: linked), weights float32 [n]."""

    pairs: Pairs
    labels: NDArray[np.int64]
    weights: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Unlinked:
    """Where new unlinked pairs may come from: anywhere but the keys `taken`, which ascend."""

    n_entities: int
    taken: NDArray[np.int64]
    directed: bool

    def draw(self, random: np.random.Generator, count: int, held: Pairs) -> Pairs:
        """Return `count` pairs that are neither taken nor in `held`; repeated only if there are too few."""
        keys = pair_keys(held, self.n_entities, self.directed)
        taken = np.union1d(self.taken, keys)
        free = count_unlinked(self.n_entities, taken, self.directed)
        if free == 0:
            return held[random.integers(0, len(held), count)]
        drawn = draw_unlinked(random, min(count, free), self.n_entities, taken, self.directed)
        return drawn if free >= count else drawn[random.integers(0, free, count)]

    def draw_distinct(self, random: np.random.Generator, count: int) -> Pairs:
        """Return `count` different pairs that are not taken, or as many as there are."""
        free = count_unlinked(self.n_entities, self.taken, self.directed)
        return draw_unlinked(random, min(count, free), self.n_entities, self.taken, self.directed)


@dataclass(frozen=True)
class PairProblem(Problem):
    """What is trained on, for pairs: also whether relatives are drawn jointly, and what is hidden.

    `hide` gives the neighbourhood without the links of some pairs: of the validation part, and with
    `hide_own` of the batch. `unlinked` draws new negatives for every epoch; None trains on those given.
    `part` is the kind that is trained where kinds of a bag are trained one by one.
    """

    sampler: PairSampler  # type: ignore[assignment]
    examples: PairExamples  # type: ignore[assignment]
    hide: Callable[[Pairs], Surroundings]
    hide_own: bool = True
    joint: bool = False
    unlinked: Unlinked | None = None
    part: int | None = None


class PairTrainer(Trainer):
    """A :class:`Trainer` over pairs."""

    problem: PairProblem
    _pairs: Pairs
    _drawn_for: tuple[int, int] | None = None
    _held_near: Surroundings | None = None

    @property
    def owners(self) -> list[Label]:
        """The groups that are still trained, by the name of their split and order: one for all of them."""
        return ["joint"] * (len(self.members) if self.is_bag else 1)

    def _start(self) -> None:
        """Set random streams and examples of the groups that are still trained; relatives go by pair."""
        problem, owners = self.problem, self.owners
        self._streams = self._dropout_streams()
        if self.schedule is None:
            fraction = self.options.validation_fraction
            one = split(problem.examples.labels, fraction, problem.seed, "joint")
        else:
            one = np.arange(len(problem.examples)), np.empty(0, np.int64)
        self._train, self._held = (np.repeat(part[None], len(owners), 0) for part in one)
        self._drawn_for = self._held_near = None

    def _roots(self, positions: NDArray[np.int64], *occasion: Label) -> Any:
        """Return the :class:`PairBatch` of the examples at these positions, the same for all groups."""
        problem, some = self.problem, positions[0]
        pairs = self._epoch_pairs()[some]
        # A validation pair is treated as a test pair is: it has no edge that Eq. 4 could go by.
        joint = problem.joint and self.ensemble.training
        drawn = problem.sampler.draw(pairs, problem.seed, self.members, *occasion, joint=joint)
        near = self._near(pairs[problem.examples.labels[some] == 1])
        return pair_batch(drawn, problem.sampler.possible(pairs, joint), near)

    def _near(self, linked: Pairs) -> Surroundings:
        """Return what surrounds the roots of a batch with these linked pairs."""
        hide, held = self.problem.hide, self._held_links()
        if self.ensemble.training and self.problem.hide_own:
            return hide(np.concatenate([linked, held]))
        if self._held_near is None:
            self._held_near = hide(held) if len(held) else self.problem.near
        return self._held_near

    def _held_links(self) -> Pairs:
        """Return the linked pairs of the validation part."""
        examples, held = self.problem.examples, self._held[0]
        return np.asarray(examples.pairs[held[examples.labels[held] == 1]])

    def _epoch_pairs(self) -> Pairs:
        """Return the pairs of this epoch: training pairs that are not linked are drawn anew."""
        problem, epoch = self.problem, (self.at.stage, self.at.epoch)
        if problem.unlinked is None:
            return problem.examples.pairs
        if self._drawn_for != epoch:
            examples, train, held = problem.examples, self._train[0], self._held[0]
            places = train[examples.labels[train] == 0]
            random = generator(problem.seed, "negatives", *epoch)
            kept = examples.pairs[held[examples.labels[held] == 0]]
            self._pairs = examples.pairs.copy()
            self._pairs[places] = problem.unlinked.draw(random, len(places), kept)
            self._drawn_for = epoch
        return self._pairs

    def _scores(self, logits: torch.Tensor) -> list[float]:
        """Return the average precision of each group."""
        from sklearn.metrics import average_precision_score

        linked = (logits[:, :, 1] - logits[:, :, 0]).cpu().numpy()
        truth = self.problem.examples.labels[self._held]
        # A few pairs of a user can leave one kind alone to validate on: they have a loss, but no precision.
        if not 0 < truth[0].sum() < truth.shape[1]:
            return [0.0] * len(truth)
        return [float(average_precision_score(t, s)) for t, s in zip(truth, linked, strict=True)]

    @property
    def _pairs_at_once(self) -> int:
        """How many validation pairs are computed at once: fewer where each has rows of its own."""
        near = self.problem.near
        if near.rows_a_root <= 1:
            return BLOCK
        return min(BLOCK, max(1, chunk_size(near, USUAL_LEARNERS, self.shape.widest) // 2))

    @torch.no_grad()
    def _held_logits(self) -> torch.Tensor:
        """Return the logits of each group on the validation part, [G, h, 2]."""
        self.ensemble.eval()
        occasion: tuple[Label, ...] = ("validation",) if self.shape.variant == "batch" else ()
        near = self.problem.near
        size, parts = self._pairs_at_once, []
        for start in range(0, self._held.shape[1], size):
            # Steps of their own, so that parts do not share the neighbours they sample.
            ctx = ForwardContext(self.run, self._streams, (self.at.epoch << 20) + start)
            some = self._held[:, start : start + size]
            with self.run.step():
                parts.append(self.ensemble(self._roots(some, *occasion), near, ctx))
        return torch.cat(parts, 1)
