"""What learners say of examples that they hold back: by this a choice inside a fit is judged.

In: the validation part of each learner and the chance that it gives to the truth there. Out: the loss of the
learners together on each example, and how much less one choice loses than another, with the standard error. A
ledger keeps what was heard in a checkpoint, so that a kill costs little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.models.checkpoint import load_checkpoint, resuming, save_checkpoint
from honlearn.stored import Fields

# The share of the examples that learners which judge a choice are validated on.
SHARE = 0.25

# The validation parts of some learners [L, h], and the chance of the truth there.
Held = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(eq=False, kw_only=True)
class Tally:
    """For each example the sum of chances given to the truth, and by how many learners.

    `gain` is how much less this choice loses than the one it is compared with, and `error` the standard error
    of that.
    """

    chance: NDArray[np.float64]
    voices: NDArray[np.int64]
    learners: int = 0
    seconds: float = 0.0
    gain: float = math.nan
    error: float = math.nan

    def hear(self, upto: int, judge: Callable[[range], Held]) -> None:
        """Add what the learners up to this one say who were not heard yet."""
        started = time.process_time()
        held, chance = judge(range(self.learners, upto))
        np.add.at(self.chance, held, chance)
        np.add.at(self.voices, held, 1)
        self.learners = upto
        self.seconds += time.process_time() - started

    @property
    def losses(self) -> NDArray[np.float64]:
        """The loss of the pooled learners on each example, NaN where none of them held it back."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.log(np.maximum(self.chance / self.voices, 1e-12))

    @property
    def loss(self) -> float:
        """The mean loss, the smaller the better; infinite where no example was held back."""
        return float(np.nanmean(self.losses)) if self.voices.any() else math.inf

    def compare(self, usual: Tally) -> None:
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
    """The checkpoint of a choice: what was heard of every candidate. Without a path nothing is kept."""

    path: Path | None = None
    fingerprint: str = ""
    seconds_between: float = 60.0
    _saved: float = field(default_factory=time.monotonic)

    def maybe_save(self, tallies: Sequence[Tally], **record: Any) -> None:
        """Save if the last time is long enough ago."""
        if time.monotonic() - self._saved >= self.seconds_between:
            self.save(tallies, **record)

    def save(self, tallies: Sequence[Tally], **record: Any) -> None:
        """Write all that was heard, and a record beside it."""
        if self.path is None:
            return
        record["done"] = [[one.learners, one.seconds, one.gain, one.error] for one in tallies]
        tensors = {f"chance{i}": torch.from_numpy(one.chance) for i, one in enumerate(tallies)}
        tensors |= {f"voices{i}": torch.from_numpy(one.voices) for i, one in enumerate(tallies)}
        save_checkpoint(self.path, self.fingerprint, record, tensors)
        self._saved = time.monotonic()

    def resume(self, tallies: Sequence[Tally]) -> dict[str, Any]:
        """Give the tallies what was heard before a kill; return the record, empty where nothing was saved."""
        if self.path is None or not self.path.exists():
            return {}
        record, tensors = load_checkpoint(self.path, self.fingerprint)
        with resuming(self.path):
            for i, (one, done) in enumerate(zip(tallies, record.items("done"), strict=True)):
                told = Fields({"done": done}, record.where, finite=False).numbers("done", length=4)
                one.learners, (one.seconds, one.gain, one.error) = int(told[0]), told[1:]
                one.chance[:], one.voices[:] = tensors[f"chance{i}"].numpy(), tensors[f"voices{i}"].numpy()
        return {name: value for name, value in record.values.items() if name != "done"}
