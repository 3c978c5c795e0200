"""Pairs for neural baselines: the head over two ends, and the batches of training.

In: representations of the ends; labelled pairs of a network. Out: logits; for each step of an epoch pairs,
labels, and the edges that must be hidden while messages pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.ensemble.examples import split
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.ensemble.pairs import operate
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import Pairs, edge_keys, pair_keys
from honlearn.seeds import generator

Step = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class PairHead(nn.Module):
    """Scores two ends [B, d] each: the operators, one dense layer over them, then one logit.

    Without direction both orders are averaged.
    """

    def __init__(self, width: int, operator: str, pair_width: int, directed: bool) -> None:
        super().__init__()
        self.operators, self.directed = operator.split("+"), directed
        joined = width * sum(2 if name == "concat" else 1 for name in self.operators)
        layers: list[nn.Module] = [nn.Linear(joined, pair_width), nn.ReLU()] if pair_width else []
        self.layers = nn.Sequential(*layers, nn.Linear(pair_width or joined, 1))

    def forward(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Return logits [B]."""
        logits = self._one_way(u, v)
        return logits if self.directed else (logits + self._one_way(v, u)) / 2

    def _one_way(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        made = torch.cat([operate(name, u, v) for name in self.operators], 1)
        return self.layers(made).squeeze(1)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class PairBatches:
    """Training and validation pairs of a network, and the key of each of its edges, int64 [E]."""

    examples: PairExamples
    unlinked: Unlinked | None
    trained: NDArray[np.int64]
    held: NDArray[np.int64]
    keys: NDArray[np.int64]
    n_entities: int
    seed: int

    @classmethod
    def of(
        cls,
        network: HigherOrderNetwork,
        examples: PairExamples,
        unlinked: Unlinked | None,
        fraction: float,
        seed: int,
    ) -> PairBatches:
        """Split the examples; `fraction` of them, stratified, are for validation."""
        trained, held = split(examples.labels, fraction, seed, "joint")
        keys = edge_keys(network, directed=False)
        return cls(examples, unlinked, trained, held, keys, network.n_entities, seed)

    @property
    def has_validation(self) -> bool:
        """Whether any pairs are held for validation."""
        return len(self.held) > 0

    def epoch(self, epoch: int, n_batches: int) -> Iterator[Step]:
        """Yield pairs [b, 2], labels [b] and hidden edges [E] of each step; unlinked pairs are drawn anew."""
        random = generator(self.seed, "pairs", epoch)
        pairs, labels = self.examples.pairs[self.trained], self.examples.labels[self.trained]
        if self.unlinked is not None:
            free = np.flatnonzero(labels == 0)
            pairs = pairs.copy()
            pairs[free] = self.unlinked.draw(random, len(free), self._held_pairs(0))
        for part in np.array_split(random.permutation(len(pairs)), min(n_batches, len(pairs))):
            some, truth = pairs[part], labels[part]
            # A tested pair is hidden both ways, linked or not; so are those that are trained on.
            hidden = self._hidden(np.concatenate([some, self.examples.pairs[self.held]]))
            yield torch.from_numpy(some).long(), torch.from_numpy(truth).float(), hidden

    def validation(self) -> Step:
        """Return pairs, labels and hidden edges of the validation part."""
        pairs, labels = self.examples.pairs[self.held], self.examples.labels[self.held]
        hidden = self._hidden(pairs)
        return torch.from_numpy(pairs).long(), torch.from_numpy(labels).float(), hidden

    def _held_pairs(self, label: int) -> Pairs:
        held = self.held[self.examples.labels[self.held] == label]
        return np.asarray(self.examples.pairs[held])

    def _hidden(self, pairs: Pairs) -> torch.Tensor:
        hidden = np.unique(pair_keys(pairs, self.n_entities, directed=False))
        return torch.from_numpy(np.isin(self.keys, hidden))
