"""Choices without training: a search whose learners give designed probabilities to the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.learner_training import Searched
from honlearn.ensemble.training import Held
from honlearn.tasks.choice import Candidate

# Learners in a row that hold back every example once.
ROUND = 4
Rows = NDArray[np.float64]


class Designed:
    """Searches in place of training: learner i holds back every fourth example, from i modulo 4 on.

    `probability` says what the true class of each example is given by learners of a candidate [n]; `stop`
    searches are done, then it is interrupted. `asked` has the key and the learners of every search.
    """

    def __init__(self, probability: Callable[[Candidate], Rows], stop: int | None = None) -> None:
        self.probability, self.left = probability, stop
        self.asked: list[tuple[str, int, int]] = []

    def __call__(self, candidate: Candidate, learners: Sequence[int]) -> list[Searched]:
        if self.left == 0:
            raise KeyboardInterrupt("killed on purpose")
        self.left = None if self.left is None else self.left - 1
        self.asked.append((candidate.key, learners[0], learners[-1] + 1))
        given = np.asarray(self.probability(candidate), np.float64)
        whole = len(given) // ROUND * ROUND
        positions = np.stack([np.arange(i % ROUND, whole, ROUND) for i in learners])
        of_truth = given[positions]
        proba = np.stack([of_truth, 1 - of_truth], 2).astype(np.float32)
        held = Held(positions, proba, np.zeros(positions.shape, np.int64))
        state = {"weight": torch.tensor([[float(i)] for i in learners])}
        return [Searched(tuple(learners), state, [[7] * len(learners)], [], held)]

    def seen(self) -> list[str]:
        """Return the keys of all candidates that were searched, in order of the first search."""
        return list(dict.fromkeys(key for key, _, _ in self.asked))

    def trained(self, key: str) -> list[int]:
        """Return the learners of a candidate in the order in which they were searched."""
        return [i for name, start, stop in self.asked if name == key for i in range(start, stop)]


def nothing_held(candidate: Candidate, learners: Sequence[int]) -> list[Searched]:
    """Return the searches of learners that had no example to hold back."""
    shape = (len(learners), 0)
    held = Held(np.zeros(shape, np.int64), np.zeros((*shape, 2), np.float32), np.zeros(shape, np.int64))
    state = {"weight": torch.zeros(len(learners), 1)}
    return [Searched(tuple(learners), state, [[1] * len(learners)], [], held)]


def plain_table(table: Any) -> Any:
    """Return a table of a choice without what depends on the clock."""
    return table.drop(columns="cpu_seconds")
