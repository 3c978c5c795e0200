"""A recurrent network of the next step: the neural yardstick of ``evaluate --task next``, and its training.

Cho et al. (2014), "Learning phrase representations using RNN encoder-decoder for statistical machine
translation"; for next items GRU4Rec (Hidasi et al., 2016). An embedding of each entity, one layer of gated
recurrent units over the path so far, dropout, and a linear layer to all entities and END; Adam on the
cross-entropy of every step. A tenth of the training paths is held back; training stops when their loss has
not fallen for three epochs, and the best weights are kept.

In: paths. Out: log-probabilities of what comes next at every step of other paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from honlearn.baselines.training import stream
from honlearn.paths.paths import Paths
from honlearn.seeds import generator

_WINDOW = 64


@dataclass(frozen=True)
class GRUSettings:
    """Sizes and training of the yardstick."""

    embedding: int = 64
    hidden: int = 128
    dropout: float = 0.2
    learning_rate: float = 3e-3
    batch: int = 256
    max_epochs: int = 30
    patience: int = 3


class StepGRU(nn.Module):
    """Entities [B, T] in, scores of the next step [B, T, V + 1] out; the last is END, code V is no entity."""

    def __init__(self, n_entities: int, settings: GRUSettings) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_entities + 1, settings.embedding, padding_idx=n_entities)
        self.gru = nn.GRU(settings.embedding, settings.hidden, batch_first=True)
        self.dropout = nn.Dropout(settings.dropout)
        self.out = nn.Linear(settings.hidden, n_entities + 1)

    def forward(self, codes: Tensor) -> Tensor:
        """Return the scores of all next steps."""
        hidden, _ = self.gru(self.dropout(self.embedding(codes)))
        scores: Tensor = self.out(self.dropout(hidden))
        return scores


def batches(
    paths: Paths, rows: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], Tensor, Tensor]]:
    """Yield (rows, entities [B, T], next steps [B, T]): END is V, and −100 stands behind it.

    A path longer than 64 entities is seen in its first 64 only.
    """
    pad = len(paths.vocabulary)
    for begin in range(0, len(rows), size):
        some = rows[begin : begin + size]
        lengths = np.minimum(paths.lengths[some], _WINDOW)
        width = int(lengths.max(initial=1))
        places = np.arange(width)
        inside = places < lengths[:, None]
        at = np.minimum(paths.offsets[some][:, None] + places, len(paths.codes) - 1)
        codes = np.where(inside, paths.codes[at], pad)
        then = np.full(codes.shape, -100)
        then[:, :-1] = np.where(inside[:, 1:], codes[:, 1:], -100)
        whole = paths.lengths[some] <= _WINDOW
        then[np.flatnonzero(whole), lengths[whole] - 1] = pad
        yield some, torch.from_numpy(codes.astype(np.int64)), torch.from_numpy(then.astype(np.int64))


def fit_gru(paths: Paths, seed: int, settings: GRUSettings | None = None) -> StepGRU:
    """Return the network trained on paths; the same seed gives the same weights on one machine."""
    asked = settings or GRUSettings()
    times = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
    order = generator(seed, "gru", "held back").permutation(np.repeat(np.arange(len(paths)), times))
    held = np.sort(order[: max(1, len(order) // 10)])
    rows = order[len(held) :] if len(order) > len(held) else order
    with stream(seed, "gru", "weights"):
        model = StepGRU(len(paths.vocabulary), asked)

    def losses(some: NDArray[np.int64]) -> Iterator[tuple[Tensor, int]]:
        for _, codes, then in batches(paths, some, asked.batch):
            yield _loss(model(codes), then), int((then >= 0).sum())

    train_until_it_stops(model, asked, seed, rows, held, losses)
    return model


Losses = Callable[[NDArray[np.int64]], Iterable[tuple[Tensor, int]]]
"""Of some rows, batch by batch: the mean loss, and how many it is the mean of."""


def train_until_it_stops(
    model: nn.Module,
    asked: GRUSettings,
    seed: int,
    rows: NDArray[np.int64],
    held: NDArray[np.int64],
    losses: Losses,
) -> float:
    """Train on `rows` until the loss on the `held` ones has not fallen for a while; keep the best weights.

    Return the least loss on the rows that were held back.
    """
    optimizer = torch.optim.Adam(model.parameters(), asked.learning_rate)
    best, best_state, waited = np.inf, model.state_dict(), 0
    for epoch in range(asked.max_epochs):
        model.train()
        shuffled = generator(seed, "gru", "epoch", epoch).permutation(rows)
        with stream(seed, "gru", "dropout", epoch):
            optimizer.zero_grad()
            for loss, _ in losses(shuffled):
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                optimizer.zero_grad()
        now = _held_back_loss(model, losses, held)
        waited = 0 if now < best else waited + 1
        if now < best:
            best, best_state = now, {key: value.clone() for key, value in model.state_dict().items()}
        if waited >= asked.patience:
            break
    model.load_state_dict(best_state)
    model.eval()
    return float(best)


def _loss(scores: Tensor, then: Tensor) -> Tensor:
    return nn.functional.cross_entropy(scores.flatten(0, 1), then.flatten(), ignore_index=-100)


@torch.no_grad()
def _held_back_loss(model: nn.Module, losses: Losses, rows: NDArray[np.int64]) -> float:
    model.eval()
    parts = [(float(loss) * count, count) for loss, count in losses(rows)]
    return sum(loss for loss, _ in parts) / max(sum(count for _, count in parts), 1)
