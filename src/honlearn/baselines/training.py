"""Training of one module: Adam, early stopping with the best epoch restored, checkpoints, progress.

In: a module, a function that yields the losses of an epoch, and one that validates. Out: the best state, the
best epoch and a history. Every epoch draws from a stream of its own (seed, phase, epoch), so a training that
was killed goes on to the same bytes; the global generator is left as it was.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from honlearn.models.checkpoint import load_checkpoint, resuming, save_checkpoint
from honlearn.progress import progress
from honlearn.seeds import Label, derive_seed
from honlearn.stored import Fields

State = dict[str, torch.Tensor]
Losses = Callable[[int], Iterator[torch.Tensor]]
Validate = Callable[[], tuple[float, float]]


@dataclass(frozen=True)
class FitOptions:
    """How to train; see :class:`honlearn.baselines.neural.Neural` for what each does."""

    learning_rate: float = 0.01
    weight_decay: float = 0.0
    max_epochs: int = 200
    patience: int = 20
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    show: bool | None = None


@dataclass
class Outcome:
    """Where a training stands, and at its end what came out of it."""

    epoch: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf
    history: list[dict[str, float]] = field(default_factory=list)
    best: State = field(default_factory=dict)


def train(
    module: nn.Module,
    losses: Losses,
    validate: Validate | None,
    options: FitOptions,
    seed: int,
    fingerprint: str = "",
    label: str = "training",
) -> Outcome:
    """Train until `patience` epochs brought no better validation loss, or for all epochs without validation.

    `losses(epoch)` yields one loss a step; `validate()` returns loss and score of the module as it is.
    """
    groups = _groups(module, options.weight_decay)
    optimizer = torch.optim.Adam(groups, options.learning_rate, fused=True)
    at, saved = _resume(module, optimizer, options.checkpoint, fingerprint), time.monotonic()
    with progress(label, total=options.max_epochs, show=options.show) as advance:
        advance(at.epoch)
        while at.epoch < options.max_epochs and (
            validate is None or at.epoch - at.best_epoch < options.patience
        ):
            row = _epoch(module, optimizer, losses, at.epoch, seed)
            at.epoch += 1
            if validate is not None:
                row |= _judge(module, validate, at)
            else:
                at.best_epoch = at.epoch
            at.history.append(row)
            advance(1, " ".join(f"{name} {value:.3f}" for name, value in row.items() if name != "epoch"))
            if options.checkpoint is not None and time.monotonic() - saved >= options.checkpoint_seconds:
                _save(module, optimizer, at, options.checkpoint, fingerprint)
                saved = time.monotonic()
    if validate is None:
        at.best = _copy(module)
    return at


def _groups(module: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return parameters by their weight decay; a part of the module that has one of its own keeps it."""
    decays = dict.fromkeys(module.parameters(), weight_decay)
    for part in module.modules():
        own = getattr(part, "weight_decay", None)
        decays |= {} if own is None else dict.fromkeys(part.parameters(), float(own))
    rates = dict.fromkeys(decays.values())
    return [
        {"params": [one for one, decay in decays.items() if decay == rate], "weight_decay": rate}
        for rate in rates
    ]


def _epoch(
    module: nn.Module, optimizer: torch.optim.Optimizer, losses: Losses, epoch: int, seed: int
) -> dict[str, float]:
    module.train()
    total, count = 0.0, 0
    with stream(seed, "epoch", epoch):
        for loss in losses(epoch):
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total, count = total + loss.item(), count + 1
    return {"epoch": epoch + 1, "loss": total / max(count, 1)}


@torch.no_grad()
def _judge(module: nn.Module, validate: Validate, at: Outcome) -> dict[str, float]:
    module.eval()
    loss, score = validate()
    # The first epoch always counts, so that a loss that is not a number cannot leave us with nothing.
    if loss < at.best_loss or at.epoch == 1:
        at.best_loss = loss if math.isfinite(loss) else math.inf
        at.best_epoch, at.best = at.epoch, _copy(module)
    return {"validation_loss": loss, "validation_score": score}


def _copy(module: nn.Module) -> State:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


@contextmanager
def stream(seed: int, *labels: Label) -> Iterator[None]:
    """Let torch draw from the stream of these labels inside the block, as if nothing was drawn after it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, *labels))
        yield


def _save(
    module: nn.Module, optimizer: torch.optim.Optimizer, at: Outcome, path: Path, fingerprint: str
) -> None:
    tensors = {f"model.{name}": tensor for name, tensor in module.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in at.best.items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": value for name, value in values.items()}
    record: dict[str, Any] = {
        "epoch": at.epoch,
        "best_epoch": at.best_epoch,
        "best_loss": at.best_loss if math.isfinite(at.best_loss) else None,
        "history": at.history,
    }
    save_checkpoint(path, fingerprint, record, tensors)


def _resume(
    module: nn.Module, optimizer: torch.optim.Optimizer, path: Path | None, fingerprint: str
) -> Outcome:
    if path is None or not path.exists():
        return Outcome()
    record, tensors = load_checkpoint(path, fingerprint)
    with resuming(path):
        return _taken(module, optimizer, record, tensors)


def _taken(module: nn.Module, optimizer: torch.optim.Optimizer, record: Fields, tensors: State) -> Outcome:
    """Return where a checkpoint stands, with module and optimizer as they were."""

    def pick(prefix: str) -> State:
        return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}

    module.load_state_dict(pick("model."))
    moments: dict[int, State] = {}
    for name, tensor in pick("adam.").items():
        number, _, key = name.partition(".")
        moments.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    best_loss = record.number("best_loss") if record.has("best_loss") else math.inf
    best, own = pick("best."), module.state_dict()
    if best and {n: t.shape for n, t in best.items()} != {n: t.shape for n, t in own.items()}:
        raise ValueError("the best weights are of another module")
    return Outcome(
        record.integer("epoch", 0), record.integer("best_epoch", 0), best_loss, record.rows("history"), best
    )
