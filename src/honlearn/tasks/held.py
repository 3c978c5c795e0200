"""Held-back predictions of the candidates of a choice, and their checkpoint.

In: what the learners of each candidate held back (:class:`honlearn.ensemble.training.Held`). Out: losses
example by example, the gain of one candidate over another with its standard error, and the votes that shares
are computed from (:mod:`honlearn.tasks.shares`). A ledger keeps them in a file, so that a kill costs little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.checkpoint import load_checkpoint, resuming, save_checkpoint
from honlearn.ensemble.training import Held

# The share of the examples that learners which judge a choice are validated on.
SHARE = 0.25


class Gain(NamedTuple):
    """How much less one candidate loses than another, and the standard error of that."""

    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether it is more than its standard error."""
        return self.mean > self.error


@dataclass(eq=False, kw_only=True)
class HeldOutScore:
    """The probability that each learner gave to the true class of the examples that it held back.

    `positions` [L, h] are the examples and `probability` [L, h] what the true class was given. Candidates are
    compared by the mean of their learners' probabilities (the prediction of a bag), by as many learners each.
    """

    key: str
    n_examples: int
    positions: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    probability: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    seconds: float = 0.0

    @property
    def learners(self) -> int:
        """How many learners have predicted."""
        return len(self.positions)

    def update(self, upto: int, judge: Callable[[range], Held]) -> None:
        """Add the predictions of the learners up to this one that are not in yet."""
        started = time.process_time()
        held = judge(range(self.learners, upto))
        self.add(held)
        self.seconds += time.process_time() - started

    def add(self, held: Held) -> None:
        """Add what some more learners held back."""
        parts = [(held.positions, held.probability)]
        if self.learners:
            parts.insert(0, (self.positions, self.probability))
        # Both at once: an interrupt may save what is known at any moment.
        self.positions, self.probability = (
            np.concatenate([positions for positions, _ in parts]),
            np.concatenate([probability for _, probability in parts]),
        )

    def votes(self, first: int | None = None) -> NDArray[np.float64]:
        """Return the probabilities given to each example, [R, n], NaN where fewer than R learners held it.

        `first` counts only so many learners.
        """
        positions, given = self.positions[:first], self.probability[:first]
        seen = np.zeros(self.n_examples, np.int64)
        rows: list[NDArray[np.float64]] = []
        for held, probability in zip(positions, given, strict=True):
            place = seen[held]
            while len(rows) <= place.max(initial=-1):
                rows.append(np.full(self.n_examples, np.nan))
            for row in np.unique(place):
                rows[row][held[place == row]] = probability[place == row]
            seen[held] += 1
        return np.stack(rows) if rows else np.full((1, self.n_examples), np.nan)

    def losses(self, first: int | None = None) -> NDArray[np.float64]:
        """Return the loss of the pooled learners on each example, NaN where none of them held it back."""
        return log_losses(pooled_votes(self.votes(first)))

    def loss(self, first: int | None = None) -> float:
        """Return the mean loss, the smaller the better; infinite where no example was held back."""
        losses = self.losses(first)
        return float(np.nanmean(losses)) if np.isfinite(losses).any() else math.inf

    def gain_over(self, other: HeldOutScore, first: int | None = None) -> Gain:
        """Return how much less this loses than `other` on examples that both know."""
        by_example = other.losses(first) - self.losses(first)
        by_example = by_example[np.isfinite(by_example)]
        if len(by_example) < 2:
            return Gain(0.0, math.nan)
        return Gain(float(by_example.mean()), float(by_example.std(ddof=1) / math.sqrt(len(by_example))))


def pooled_votes(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the votes [R, n] of each example, NaN where there is none."""
    known = np.isfinite(votes)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, votes, 0.0).sum(0) / known.sum(0))


def log_losses(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return −ln of probabilities, bounded where they vanish."""
    return np.asarray(-np.log(np.maximum(probability, 1e-12)))


@dataclass(eq=False)
class Ledger:
    """The checkpoint of all choices of a fit: the scores of every candidate. Without a path none is kept."""

    path: Path | None = None
    fingerprint: str = ""
    seconds_between: float = 60.0
    _saved: float = field(default_factory=time.monotonic)
    _known: dict[str, tuple[NDArray[np.int64], NDArray[np.float64], float]] | None = None

    def maybe_save(self, scores: Sequence[HeldOutScore]) -> None:
        """Save if the last time is long enough ago."""
        if time.monotonic() - self._saved >= self.seconds_between:
            self.save(scores)

    @contextmanager
    def saved_on_interrupt(self, scores: Sequence[HeldOutScore]) -> Iterator[None]:
        """Save the scores if the block is interrupted."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            if any(one.learners for one in scores):
                self.save(scores)
            raise

    def save(self, scores: Sequence[HeldOutScore]) -> None:
        """Write all scores."""
        if self.path is None:
            return
        told = [one for one in scores if one.learners]
        record = {"candidates": [{"key": one.key, "seconds": one.seconds} for one in told]}
        tensors = {f"positions{i}": torch.from_numpy(one.positions) for i, one in enumerate(told)}
        tensors |= {f"probability{i}": torch.from_numpy(one.probability) for i, one in enumerate(told)}
        save_checkpoint(self.path, self.fingerprint, record, tensors)
        self._saved = time.monotonic()

    def restore(self, score: HeldOutScore) -> None:
        """Give a candidate what is known of it from before a kill."""
        if self._known is None:
            self._known = self._read()
        if score.key not in self._known:
            return
        positions, probability, seconds = self._known[score.key]
        if positions.max(initial=-1) >= score.n_examples:
            raise self._strange(f"examples up to {positions.max()}, there are {score.n_examples}")
        score.positions, score.probability, score.seconds = positions, probability, seconds

    def _read(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64], float]]:
        if self.path is None or not self.path.exists():
            return {}
        record, tensors = load_checkpoint(self.path, self.fingerprint)
        known = {}
        with resuming(self.path):
            for i, row in enumerate(record.mappings("candidates")):
                positions = tensors[f"positions{i}"].numpy()
                probability = tensors[f"probability{i}"].numpy()
                sound = positions.dtype == np.int64 and probability.dtype == np.float64
                sound = sound and positions.ndim == 2 and positions.shape == probability.shape
                if (
                    not sound
                    or positions.min(initial=0) < 0
                    or not ((probability >= 0) & (probability <= 1.001)).all()
                ):
                    raise ValueError("no held-back predictions")
                known[row.text("key")] = (positions, probability, row.number("seconds", 0))
        return known

    def _strange(self, what: str) -> Exception:
        from honlearn.errors import FormatError

        return FormatError(f"{self.path}: does not fit this training ({what}); remove it to start anew")
