"""path2vec: skip-gram on the paths themselves, then a logistic regression.

In: paths, and a network that holds which entities and steps there are. Out: an entity's two skip-gram vectors
at unit length, side by side, [V, 2 d]. Direction and weights of edges are not used but through the paths: a
step that is taken often is seen often; a window reaches as far back as ahead. It is what word2vec (Mikolov et
al. 2013) makes of paths, and DeepWalk (Perozzi et al. 2014) where walks over the network stand for them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn import interrupts
from honlearn.baselines import skipgram
from honlearn.baselines.embedding import Embedding, EmbeddingClassifier, EmbeddingLinkPredictor, Rows
from honlearn.ensemble.checkpoint import load_checkpoint, resuming, save_checkpoint
from honlearn.errors import InputError, check_integer, check_real
from honlearn.hon.embedding import unit
from honlearn.paths import read_paths
from honlearn.paths.paths import Paths
from honlearn.progress import progress
from honlearn.sampling.paths_within import paths_within
from honlearn.seeds import derive_seed, generator
from honlearn.stored import Spec, check_arrays

# Paths that an epoch passes at most; of more, each epoch draws as many by their counts.
_MOST = 1_000_000


@dataclass(eq=False, repr=False)
class Path2vec(Embedding):
    """Skip-gram on paths.

    `paths` are the observed ones: :class:`~honlearn.paths.Paths`, lists of names, or the name of a file that
    :func:`honlearn.read_paths` reads as it is. None has none and samples `n_walks` random walks an entity
    from the network, `walk_length` entities each. Paths are cut where the network lacks the step.

    `dimensions` is the length of each of an entity's two vectors; neighbours are up to `window` steps away,
    with `n_negatives` random entities each; `n_epochs` passes while the `learning_rate` falls to 0.
    """

    paths: Any = None
    n_walks: int = 10
    walk_length: int = 10
    dimensions: int = 128
    window: int = 5
    n_negatives: int = 5
    n_epochs: int = 5
    learning_rate: float = 0.025
    regularization: float = 0.03

    data_parameters: ClassVar[tuple[str, ...]] = ("paths",)

    def _check(self) -> None:
        super()._check()
        name = type(self).__name__
        for field in ("n_walks", "walk_length", "window", "n_negatives", "n_epochs"):
            check_integer(name, field, getattr(self, field), 1)
        check_real(name, "learning_rate", self.learning_rate, 0, open_below=True)

    def _paths(self) -> Paths:
        network = self.network
        if self.paths is not None:
            found = paths_within(read_paths(self.paths), network)
        else:
            seed = derive_seed(self.seed_, "walks")
            found = network.random_walks(self.n_walks * network.n_entities, self.walk_length, seed).to_paths()
        if not (found.lengths > 1).any():
            raise InputError(
                f"{type(self).__name__}: no path has a step of the network; give the paths it was grown from"
            )
        return found

    def _embed(self) -> tuple[Rows, list[dict[str, Any]]]:
        paths, network = self._paths(), self.network
        counts = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
        seen = np.bincount(paths.codes, np.repeat(counts, paths.lengths), minlength=network.n_entities)
        table = skipgram.noise_table(seen)
        mark = self.fingerprint("skip-gram", paths.codes, paths.offsets, counts)
        vectors, history = self._start(mark)
        saved = time.monotonic()
        with (
            interrupts.held_back(self.checkpoint is not None),
            progress("training skip-gram", total=self.n_epochs, show=self.verbose) as advance,
        ):
            advance(len(history))
            for epoch in range(len(history), self.n_epochs):
                rows = _visits(counts, generator(self.seed_, "visits", epoch))
                rates = tuple(self.learning_rate * (1 - e / self.n_epochs) for e in (epoch, epoch + 1))
                stream = derive_seed(self.seed_, "skip-gram", epoch)
                loss = skipgram.epoch(
                    paths.codes, paths.offsets, rows, vectors, table, self.window, self.n_negatives,
                    (rates[0], rates[1]), stream,
                )  # fmt: skip
                history.append({"epoch": epoch + 1, "loss": loss})
                advance(1, f"loss {loss:.3f}")
                is_due = time.monotonic() - saved >= self.checkpoint_seconds
                if self.checkpoint is not None and (is_due or interrupts.is_waiting()):
                    tensors = {"inner": torch.from_numpy(vectors[0]), "outer": torch.from_numpy(vectors[1])}
                    save_checkpoint(Path(self.checkpoint), mark, {"history": history}, tensors)
                    saved = time.monotonic()
                    interrupts.give_way()
        if self.checkpoint is not None:
            Path(self.checkpoint).unlink(missing_ok=True)
        return np.hstack([unit(part.astype(np.float64)) for part in vectors]), history

    def _start(self, mark: str) -> tuple[tuple[skipgram.Vectors, skipgram.Vectors], list[dict[str, Any]]]:
        """Return the vectors to go on from and the epochs that are done."""
        if self.checkpoint is not None and Path(self.checkpoint).exists():
            record, tensors = load_checkpoint(Path(self.checkpoint), mark)
            specs: dict[str, Spec] = dict.fromkeys(
                ("inner", "outer"), ("f4", (self.network.n_entities, self.dimensions))
            )
            with resuming(Path(self.checkpoint)):
                vectors = {name: tensors[name].numpy() for name in specs}
                check_arrays(vectors, specs, record.where, finite=False)
            return (vectors["inner"], vectors["outer"]), record.rows("history")
        random = generator(self.seed_, "vectors")
        return skipgram.start(self.network.n_entities, self.dimensions, random), []


def _visits(counts: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return the paths of an epoch in random order: each as often as it counts, or a draw where too many."""
    total = int(counts.sum())
    if total <= _MOST:
        return random.permutation(np.repeat(np.arange(len(counts)), counts))
    return np.searchsorted(np.cumsum(counts), random.integers(0, total, _MOST), "right").astype(np.int64)


@dataclass(eq=False, repr=False)
class Path2vecClassifier(Path2vec, EmbeddingClassifier):
    """path2vec for nodes."""


@dataclass(eq=False, repr=False)
class Path2vecLinkPredictor(Path2vec, EmbeddingLinkPredictor):
    """path2vec for links; fewer dimensions, since a pair has several times as many features."""

    dimensions: int = 64
    regularization: float = 0.1
