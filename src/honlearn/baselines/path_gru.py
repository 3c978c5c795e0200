"""A recurrent network for the class of a whole path: the neural yardstick of ``evaluate --task paths``.

The embedding and the gated recurrent units of :mod:`honlearn.baselines.gru`, trained in the same way; the
class is read from the mean and from the last of the hidden states. A tenth of the training paths of each
class is held back; training stops when their loss has not fallen for three epochs, and the best weights are
kept.

In: paths with classes. Out: probabilities of the classes of other paths; of a long path the first 64 and the
last 64 entities are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from honlearn.baselines.gru import GRUSettings, train_until_it_stops
from honlearn.baselines.training import stream
from honlearn.paths.paths import Paths
from honlearn.seeds import generator, root_seed
from honlearn.tasks import parameters as check

_HALF = 64
_HELD_BACK = 0.1
# More regular than the model of steps: a path has one class where it has many steps.
SETTINGS = GRUSettings(dropout=0.4, learning_rate=2e-3, batch=128, max_epochs=40)


class PathGRU(nn.Module):
    """Entities [B, T] and which are there [B, T] in, scores of the classes [B, C] out."""

    def __init__(self, n_entities: int, n_classes: int, settings: GRUSettings) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_entities + 1, settings.embedding, padding_idx=n_entities)
        self.gru = nn.GRU(settings.embedding, settings.hidden, batch_first=True)
        self.dropout = nn.Dropout(settings.dropout)
        self.out = nn.Linear(2 * settings.hidden, n_classes)

    def forward(self, codes: Tensor, inside: Tensor) -> Tensor:
        """Return one score per path and class."""
        hidden, _ = self.gru(self.dropout(self.embedding(codes)))
        length = inside.sum(1)
        last = hidden[torch.arange(len(codes)), length - 1]
        mean = (hidden * inside[..., None]).sum(1) / length[:, None]
        scores: Tensor = self.out(self.dropout(torch.cat([mean, last], 1)))
        return scores


class PathGRUClassifier:
    """Classifies whole paths by a recurrent network, with the methods of an estimator.

    Parameters
    ----------
    settings : GRUSettings, optional
        Sizes and training.
    random_state : int, Generator, optional
        Decides weights, batches, dropout and what is held back.
    """

    def __init__(
        self,
        settings: GRUSettings | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Paths, y: Any) -> PathGRUClassifier:
        """Learn from paths with one label each; a path with a count is one example."""
        asked, seed = self.settings or SETTINGS, root_seed(self.random_state)
        self.classes_, codes = check.class_codes(y, len(X), "path")
        self.vocabulary_ = X.vocabulary
        rows, held = _divided(codes, seed)
        targets = torch.from_numpy(codes)
        with stream(seed, "gru", "weights"):
            self.module_ = PathGRU(len(X.vocabulary), len(self.classes_), asked)

        def losses(some: NDArray[np.int64]) -> Iterator[tuple[Tensor, int]]:
            for part, entities, inside in self._batches(X, some, asked.batch):
                loss = nn.functional.cross_entropy(self.module_(entities, inside), targets[part])
                yield loss, len(part)

        self.held_back_loss_ = train_until_it_stops(self.module_, asked, seed, rows, held, losses)
        self.n_parameters_ = sum(one.numel() for one in self.module_.parameters())
        return self

    @torch.no_grad()
    def predict_proba(self, X: Paths) -> NDArray[np.float64]:
        """Return class probabilities [n, C]; columns as in ``classes_``."""
        size = (self.settings or SETTINGS).batch
        found = [
            torch.softmax(self.module_(entities, inside).double(), 1).numpy()
            for _, entities, inside in self._batches(X, np.arange(len(X)), size)
        ]
        return np.concatenate(found) if found else np.zeros((0, len(self.classes_)))

    def _batches(
        self, paths: Paths, rows: NDArray[np.int64], size: int
    ) -> Iterator[tuple[NDArray[np.int64], Tensor, Tensor]]:
        """Yield (rows, entities [B, T], which are there [B, T]); an unknown entity is the padding."""
        pad = len(self.vocabulary_)
        place = {name: code for code, name in enumerate(self.vocabulary_.names)}
        known = np.array([place.get(name, pad) for name in paths.vocabulary.names], np.int64)
        for begin in range(0, len(rows), size):
            some = rows[begin : begin + size]
            places, inside = _places(paths.lengths[some])
            at = np.minimum(paths.offsets[some][:, None] + places, len(paths.codes) - 1)
            entities = np.where(inside, known[paths.codes[at]], pad)
            yield some, torch.from_numpy(entities.astype(np.int64)), torch.from_numpy(inside)


def _places(lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return which entities of each path are read [B, T], and which of these are there."""
    shown = np.minimum(lengths, 2 * _HALF)
    places = np.arange(int(shown.max(initial=1)))
    inside = places < shown[:, None]
    skipped = np.where(places >= _HALF, (lengths - shown)[:, None], 0)
    return places + skipped, inside


def _divided(codes: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that are trained on, and those held back: a tenth of each class, at least one row."""
    order = generator(seed, "gru", "held back").permutation(len(codes))
    held = [
        rows[: int(_HELD_BACK * len(rows))] for c in np.unique(codes) if len(rows := order[codes[order] == c])
    ]
    out = np.sort(np.concatenate(held)) if held else order[:0]
    if not len(out):
        out = order[:1]
    rest = np.setdiff1d(order, out)
    return (rest if len(rest) else order), out
