"""What the learners train on: labelled nodes, a stratified validation part, and batches in random order.

In: entity codes, class codes and weights. Out: positions of examples ``[G, n]`` for each of G groups: every
learner of a bag is a group with a split and an order of its own; learners that are pooled are one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.seeds import Label, generator


@dataclass(frozen=True)
class Examples:
    """Labelled nodes: entity codes int32 [n], class codes int64 [n], weights float32 [n]."""

    nodes: NDArray[np.int32]
    labels: NDArray[np.int64]
    weights: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.nodes)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all that the examples are, for a digest."""
        return self.nodes, self.labels, self.weights

    def take(self, positions: NDArray[np.int64]) -> Examples:
        """Return the examples at these positions, in their order."""
        return Examples(self.nodes[positions], self.labels[positions], self.weights[positions])


def split(
    labels: NDArray[np.int64], fraction: float, seed: int, owner: Label
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions of a training and of a validation part, stratified, ascending.

    Each class gives its share, rounded so that the total is right; a class always keeps one example for
    training, so a class with one member is never validated on. The sizes depend on the labels only.
    """
    counts = np.bincount(labels)
    share = np.minimum(counts * fraction, np.maximum(counts - 1, 0))
    taken = np.floor(share).astype(np.int64)
    rest = share - taken
    missing = min(round(float(share.sum())) - int(taken.sum()), int((rest > 0).sum()))
    taken[np.argsort(-rest, kind="stable")[: max(missing, 0)]] += 1
    random = generator(seed, "validation", owner)
    held = np.zeros(len(labels), bool)
    for code, count in enumerate(taken):
        members = np.flatnonzero(labels == code)
        held[random.permutation(members)[:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def splits(
    labels: NDArray[np.int64], fraction: float, seed: int, owners: Sequence[Label]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return :func:`split` for each owner, stacked: [G, n_train], [G, n_validation]."""
    parts = [split(labels, fraction, seed, owner) for owner in owners]
    return np.stack([train for train, _ in parts]), np.stack([held for _, held in parts])


def shuffled_batches(
    positions: NDArray[np.int64], size: int, seed: int, owners: Sequence[Label], *labels: Label
) -> list[NDArray[np.int64]]:
    """Return the positions [G, n] in batches [G, b] of equal size (±1), each group in an order of its own."""
    orders = [
        generator(seed, "order", owner, *labels).permutation(row)
        for owner, row in zip(owners, positions, strict=True)
    ]
    count = -(-positions.shape[1] // size)
    return np.array_split(np.stack(orders), count, axis=1)
