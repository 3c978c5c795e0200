"""Losses on held-back examples: by these a choice inside a fit is judged.

In: the validation part of each learner and the probability that it gives to the true class there. Out: the
loss of the pooled learners on each example, and how much less one choice loses than another, with the
standard error. A ledger keeps the scores in a checkpoint, so that a kill costs little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.checkpoint import load_checkpoint, resuming, save_checkpoint
from honlearn.ensemble.fitting import Held
from honlearn.stored import Fields

# The share of the examples that learners which judge a choice are validated on.
SHARE = 0.25


@dataclass(eq=False, kw_only=True)
class HeldOutScore:
    """For each example the sum of probabilities given to the true class, and by how many learners.

    `gain` is how much less this choice loses than the one it is compared with, and `error` the standard error
    of that.
    """

    probability: NDArray[np.float64]
    n_votes: NDArray[np.int64]
    learners: int = 0
    seconds: float = 0.0
    gain: float = math.nan
    error: float = math.nan

    def update(self, upto: int, judge: Callable[[range], Held]) -> None:
        """Add the predictions of the learners up to this one that are not in yet."""
        started = time.process_time()
        held, given = judge(range(self.learners, upto))
        probability, n_votes = self.probability.copy(), self.n_votes.copy()
        np.add.at(probability, held, given)
        np.add.at(n_votes, held, 1)
        # At once: an interrupt may save what is known at any moment.
        self.probability, self.n_votes, self.learners = probability, n_votes, upto
        self.seconds += time.process_time() - started

    @property
    def losses(self) -> NDArray[np.float64]:
        """The loss of the pooled learners on each example, NaN where none of them held it back."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.log(np.maximum(self.probability / self.n_votes, 1e-12))

    @property
    def loss(self) -> float:
        """The mean loss, the smaller the better; infinite where no example was held back."""
        return float(np.nanmean(self.losses)) if self.n_votes.any() else math.inf

    def compare(self, usual: HeldOutScore) -> None:
        """Set how much less this loses than `usual` on examples that both know, and the standard error."""
        by_example = usual.losses - self.losses
        by_example = by_example[np.isfinite(by_example)]
        if len(by_example) < 2:
            self.gain, self.error = 0.0, math.nan
        else:
            self.gain = float(by_example.mean())
            self.error = float(by_example.std(ddof=1) / math.sqrt(len(by_example)))


@dataclass(eq=False)
class Ledger:
    """The checkpoint of a choice: the scores of every candidate. Without a path nothing is kept."""

    path: Path | None = None
    fingerprint: str = ""
    seconds_between: float = 60.0
    _saved: float = field(default_factory=time.monotonic)

    def maybe_save(self, scores: Sequence[HeldOutScore], **record: object) -> None:
        """Save if the last time is long enough ago."""
        if time.monotonic() - self._saved >= self.seconds_between:
            self.save(scores, **record)

    @contextmanager
    def saved_on_interrupt(self, scores: Sequence[HeldOutScore], **record: object) -> Iterator[None]:
        """Save the scores if the block is interrupted."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            if any(one.learners for one in scores):
                self.save(scores, **record)
            raise

    def save(self, scores: Sequence[HeldOutScore], **record: object) -> None:
        """Write all scores, and a record beside them."""
        if self.path is None:
            return
        record["done"] = [[one.learners, one.seconds, one.gain, one.error] for one in scores]
        tensors = {f"probability{i}": torch.from_numpy(one.probability) for i, one in enumerate(scores)}
        tensors |= {f"n_votes{i}": torch.from_numpy(one.n_votes) for i, one in enumerate(scores)}
        save_checkpoint(self.path, self.fingerprint, record, tensors)
        self._saved = time.monotonic()

    def resume(self, scores: Sequence[HeldOutScore]) -> dict[str, Any]:
        """Restore the scores from before a kill; return the record, empty where nothing was saved."""
        if self.path is None or not self.path.exists():
            return {}
        record, tensors = load_checkpoint(self.path, self.fingerprint)
        with resuming(self.path):
            for i, (one, done) in enumerate(zip(scores, record.items("done"), strict=True)):
                told = Fields({"done": done}, record.where, finite=False).numbers("done", length=4)
                one.learners, (one.seconds, one.gain, one.error) = int(told[0]), told[1:]
                one.probability[:] = tensors[f"probability{i}"].numpy()
                one.n_votes[:] = tensors[f"n_votes{i}"].numpy()
        return {name: value for name, value in record.values.items() if name != "done"}
