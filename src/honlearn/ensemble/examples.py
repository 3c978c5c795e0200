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

    def once(self) -> Examples:
        """Return each label of each node once, with all its weight, and none that weighs nothing.

        Of an example that is there twice one copy would be held back while the other is trained on: what is
        held back would be known, and everything that is judged by it would be flattered.

        >>> twice = Examples(np.array([4, 2, 4], np.int32), np.array([1, 0, 1]), np.ones(3, np.float32))
        >>> twice.once().nodes.tolist(), twice.once().weights.tolist()
        ([4, 2], [2.0, 1.0])
        """
        pairs = np.stack([self.nodes.astype(np.int64), self.labels])
        _, first, which = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        if len(first) == len(self) and bool((self.weights > 0).all()):
            return self
        total = np.bincount(which.ravel(), self.weights).astype(np.float32)
        order = np.argsort(first)
        order = order[total[order] > 0]
        return Examples(self.nodes[first[order]], self.labels[first[order]], total[order])

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
    """Return a training and a validation part for each owner, stacked: [G, n_train], [G, n_validation].

    Owners that are numbers are learners. K = round(1 / fraction) learners in a row hold back parts that
    together are (about) all examples, so that every example is held back equally often; the next K divide
    them anew. Any other owner has a :func:`split` of its own.
    """
    parts = [
        _numbered_part(labels, fraction, seed, owner)
        if isinstance(owner, (int, np.integer))
        else split(labels, fraction, seed, owner)
        for owner in owners
    ]
    return np.stack([train for train, _ in parts]), np.stack([held for _, held in parts])


def n_parts(fraction: float) -> int:
    """Return how many learners in a row hold back every example once.

    >>> [n_parts(fraction) for fraction in (0.0, 0.15, 0.25, 0.9)]
    [1, 7, 4, 1]
    """
    return max(1, round(1 / max(fraction, 1e-9))) if fraction > 0 else 1


def _numbered_part(
    labels: NDArray[np.int64], fraction: float, seed: int, learner: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parts of a learner: a window on a circle along which classes are spread evenly.

    As many are held back as by :func:`split`, and every class keeps an example for training.
    """
    counts = np.bincount(labels)
    size = round(float(np.minimum(counts * fraction, np.maximum(counts - 1, 0)).sum()))
    division, part = divmod(int(learner), n_parts(fraction))
    random = generator(seed, "validation", "division", division)
    place = np.empty(len(labels))
    for code, count in enumerate(counts):
        shuffled = random.permutation(np.flatnonzero(labels == code))
        place[shuffled] = (np.arange(count) + random.random()) / max(count, 1)
    # The only example of a class is never held back: without it nothing is known of the class.
    circle = np.argsort(place, kind="stable")
    circle = circle[counts[labels[circle]] > 1]
    start = round(part * len(circle) / n_parts(fraction))
    circle = np.roll(circle, -start)
    held = np.zeros(len(labels), bool)
    held[circle[:size]] = True
    _release_classes(held, circle[size:], labels, counts)
    return np.flatnonzero(~held), np.flatnonzero(held)


def _release_classes(
    held: NDArray[np.bool_], others: NDArray[np.int64], labels: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Exchange examples until no class is held back as a whole; the number held back stays."""
    inside = np.bincount(labels[held], minlength=len(counts))
    for code in np.flatnonzero((inside == counts) & (counts > 0)):
        spare = [i for i in others if not held[i] and inside[labels[i]] < counts[labels[i]] - 1]
        held[np.flatnonzero(held & (labels == code))[0]] = False
        held[spare[0]] = True
        inside[code] -= 1
        inside[labels[spare[0]]] += 1


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
