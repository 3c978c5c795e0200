"""Which labelled entities a prediction of the path kernel comes from: its terms, which are exact.

In: what a fit of :class:`~honlearn.path_kernel.ridge.PathRidge` was made of. Out: for an entity the weight of
every labelled one. A score is linear in the labels,

    f_c(u) = Σ_j a_j(u) (1[y_j = c] − mean_c),    a(u) = k(u, Z) (K_ZX W K_XZ + λ K_ZZ)⁻¹ K_ZX W,

with landmarks Z, labelled entities X and their weights W. Without its own term, that of a labelled entity is
Σ_{j ≠ i} a_j / (1 − a_i) (1[y_j = c] − mean_c). The means are over all labelled entities: an own label is one
n-th of them, which lowers its own class, so that nothing is flattered by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.path_kernel.calibration import Rows

GAMMA = 0.3
STATISTICS_WEIGHT = 0.5
LANDMARKS, MORE_LANDMARKS = 1024, 2048
PARTS = 5
# Of the mean of the diagonal: what keeps a matrix that is almost singular solvable.
_JITTER = 1e-9
# Entities whose weights are held at once.
_BLOCK = 1024


class Blocks(NamedTuple):
    """How many columns x of what a kernel reads are path vectors, profiles and statistics."""

    vectors: int
    profiles: int = 0
    statistics: int = 0

    @property
    def landmarks(self) -> int:
        """How many landmarks there are at most: profiles tell more entities apart."""
        return MORE_LANDMARKS if self.profiles else LANDMARKS

    def split(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return the path vectors, profiles and statistics among the columns of rows."""
        first = self.vectors + self.profiles
        return rows[:, : self.vectors], rows[:, self.vectors : first], rows[:, first:]


def alike(rows: Rows, landmarks: Rows, blocks: Blocks) -> Rows:
    """Return the kernel of what it reads of entities and of landmarks, [n, m]."""
    if not blocks.profiles:
        return _gaussian(rows, landmarks)
    (vectors, profiles, statistics), its = blocks.split(rows), blocks.split(landmarks)
    out = _gaussian(statistics, its[2])
    out *= STATISTICS_WEIGHT
    out += _gaussian(vectors, its[0])
    out += profiles @ its[1].T
    return out


def _gaussian(rows: Rows, landmarks: Rows) -> Rows:
    """Return exp(−γ |x_i − x_j|² / d) of two sets of vectors, [n, m]."""
    apart = np.square(rows).sum(1)[:, None] + np.square(landmarks).sum(1)
    apart -= 2 * rows @ landmarks.T
    # In place: of large tables, new memory takes longer than the arithmetic.
    np.maximum(apart, 0, out=apart)
    apart *= -GAMMA / rows.shape[1]
    return np.asarray(np.exp(apart, out=apart))


@dataclass(frozen=True, eq=False)
class LabelledEntities:
    """What the kernel was fitted on: nodes int32, labels int64 and weights float64 (mean 1), [n] each."""

    nodes: NDArray[np.int32]
    labels: NDArray[np.int64]
    weights: Rows


@dataclass(frozen=True, eq=False)
class KernelTerms:
    """The terms of a kernel's predictions.

    Parameters
    ----------
    vectors : what the kernel reads of all entities, standardised, float32 [V, d].
    blocks : what the columns of `vectors` are.
    labelled : the labelled entities, in the order of the fit: the first are landmarks.
    penalty : λ.
    calibration : float64 [6, C + 1, C]: matrices with biases below them. The last is for entities without a
        label, number i for labelled ones in places i, i + 5, …, whose labels it was not fitted on.
    """

    vectors: NDArray[np.float32]
    blocks: Blocks
    labelled: LabelledEntities
    penalty: float
    calibration: Rows

    @property
    def n_classes(self) -> int:
        """The number of classes, C."""
        return int(self.calibration.shape[2])

    @cached_property
    def _landmarks(self) -> Rows:
        return self.vectors[self.labelled.nodes[self._places]].astype(np.float64)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Where the landmarks are among the labelled entities, ascending by node, [m]."""
        return np.unique(self.labelled.nodes[: self.blocks.landmarks], return_index=True)[1]

    @cached_property
    def _solver(self) -> tuple[tuple[Rows, bool], Rows]:
        """A factor of K_ZX W K_XZ + λ K_ZZ, [m, m], and K_ZX W, [m, n]."""
        labelled = self.vectors[self.labelled.nodes].astype(np.float64)
        onto = alike(self._landmarks, labelled, self.blocks)
        # Weights of 1, the usual ones, need no copies of a large table.
        is_plain = bool((self.labelled.weights == 1).all())
        root = onto if is_plain else onto * np.sqrt(self.labelled.weights)
        # A matrix times its own transpose takes half the work of a product of two.
        matrix = root @ root.T
        matrix += self.penalty * onto[:, self._places]
        matrix[np.diag_indices_from(matrix)] += _JITTER * np.trace(matrix) / len(matrix)
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        return factor, onto if is_plain else onto * self.labelled.weights

    @cached_property
    def _truth(self) -> Rows:
        """The labels, one column per class, less their means, [n, C]."""
        truth = np.eye(self.n_classes)[self.labelled.labels]
        return np.asarray(truth - self.labelled.weights @ truth / len(truth))

    @cached_property
    def _place(self) -> dict[int, int]:
        """The place of each labelled entity; of one with several labels, the last."""
        return {int(node): place for place, node in enumerate(self.labelled.nodes)}

    def weights(self, entities: Sequence[int]) -> Rows:
        """Return a_j of every labelled entity in the scores of entities, [B, n]; an entity's own is 0."""
        with threadpool_limits(1):
            factor, weighted = self._solver
            rows = self.vectors[list(entities)].astype(np.float64)
            near = alike(rows, self._landmarks, self.blocks)
            found = cho_solve(factor, near.T).T @ weighted
        for row, entity in zip(found, entities, strict=True):
            own = self._place.get(int(entity))
            if own is not None:
                row /= 1 - min(row[own], 1 - 1e-6)
                row[own] = 0.0
        return np.asarray(found)

    def terms(self, weights: Rows) -> Rows:
        """Return the term of every labelled entity in the scores that these weights [n] give, [n, C]."""
        return weights[:, None] * self._truth

    def predicted(self, entities: Sequence[int]) -> Rows:
        """Return class probabilities of entities, [B, C]."""
        found = []
        for start in range(0, len(entities), _BLOCK):
            some = entities[start : start + _BLOCK]
            scores = self.weights(some) @ self._truth
            found += [self.proba(int(entity), row) for entity, row in zip(some, scores, strict=True)]
        return np.array(found).reshape(-1, self.n_classes)

    def proba(self, entity: int, scores: Rows) -> Rows:
        """Return class probabilities of an entity from scores [..., C]."""
        own = self._place.get(entity)
        numbers = self.calibration[PARTS if own is None else own % PARTS]
        return np.asarray(special.softmax(scores @ numbers[:-1] + numbers[-1], axis=-1))
