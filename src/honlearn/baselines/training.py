"""Training of one module by the common loop: a model gives the losses of an epoch, and how it validates.

In: a module, a function that yields the losses of an epoch, and one that validates. Out: the best state, by
:class:`honlearn.ensemble.loop.TrainingLoop`. Every epoch draws from a stream of its own (seed, epoch), so a
training that was killed goes on to the same bytes; the global generator is left as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from honlearn.engine.runtime import Runtime
from honlearn.ensemble.loop import TrainingLoop, TrainingOptions
from honlearn.seeds import Label, derive_seed

Losses = Callable[[int], Iterator[torch.Tensor]]
Validate = Callable[[], tuple[float, float]]


class ModuleLoop(TrainingLoop):
    """Trains one module: `losses(epoch)` yields one loss for each step, `validate()` gives loss and score."""

    def __init__(
        self,
        module: nn.Module,
        losses: Losses,
        validate: Validate | None,
        options: TrainingOptions,
        seed: int,
        schedule: list[list[int]] | None = None,
        fingerprint: str = "",
        label: str = "training",
    ) -> None:
        super().__init__(module, options, Runtime(n_threads=1), schedule, fingerprint)
        self.losses, self.validate, self.seed, self.label = losses, validate, seed, label

    def _train_epoch(self) -> None:
        self.module.train()
        total, count = 0.0, 0
        with stream(self.seed, "epoch", self.at.epoch):
            for loss in self.losses(self.at.epoch):
                self._step(loss)
                total, count = total + loss.item(), count + 1
                self.at.step += 1
        self.at.loss = [total / max(count, 1)]

    @property
    def _has_validation(self) -> bool:
        return self.validate is not None

    @torch.no_grad()
    def _validate(self) -> tuple[list[float], list[float]]:
        assert self.validate is not None
        self.module.eval()
        loss, score = self.validate()
        return [loss], [score]

    def _close_epoch(self) -> dict[str, float]:
        row = super()._close_epoch()
        self._maybe_save()
        return row

    def _shrink(self, places: list[int]) -> None:
        """Do nothing: there is one group, and it stays to the end."""


@contextmanager
def stream(seed: int, *labels: Label) -> Iterator[None]:
    """Let torch draw from the stream of these labels inside the block, as if nothing was drawn after it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, *labels))
        yield
