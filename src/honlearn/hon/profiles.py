"""What follows and precedes an entity as a distribution, and the statistics of its steps.

In: a network. Out: profiles [V, d] and statistics [V, 9], deterministic. With P(i, j) the share of j among
all that is passed up to `reach` steps after i, and Q(i, j) the same before i, the product of two profiles is
about

    ½ Σ_j √(P(i, j) P(i', j)) + ½ Σ_j √(Q(i, j) Q(i', j)),

the Bhattacharyya coefficients of both sides: 1 for entities with the same steps, 0 for those without a common
one. Profiles are the truncated SVD of the matrix [V, 2 V] of these roots; unlike path vectors
(:mod:`honlearn.hon.embedding`) they weigh steps by how often they are taken. Statistics tell how often an
entity is passed and how its steps spread, wherever they lead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.hon.embedding import SKETCHED_ABOVE, Sparse, factors, steps_apart, steps_to_others
from honlearn.hon.network import HigherOrderNetwork

# Networks of more entities have no profiles: two steps of each would be too many.
MOST_ENTITIES = 100_000
N_STATISTICS = 9
_DIMENSIONS, _REACH = 128, 2


class ProfileSpace(NamedTuple):
    """Steps up to `reach`, and the right singular vectors of both sides, float32 [2, V, d]."""

    reach: int
    loadings: NDArray[np.float32]

    @property
    def width(self) -> int:
        """How many numbers a profile has, d."""
        return int(self.loadings.shape[2])

    def profiles(
        self, network: HigherOrderNetwork, entities: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return profiles [n, d] of these entities of another network.

        ``columns[c]`` is the column of the network's entity c, −1 where it has none.
        """
        known = np.flatnonzero(columns >= 0)
        out = np.zeros((len(entities), self.width))
        for steps, loadings in zip(_sides(network, self.reach), self.loadings, strict=True):
            # As in the fit, where steps to others were not there: shares of the steps that are known.
            out += _roots(steps[entities][:, known]) @ loadings[columns[known]].astype(np.float64)
        return out

    def taken(self, columns: NDArray[np.int64]) -> ProfileSpace:
        """Return the space with other columns: ``columns[c]`` of this one, or nothing where it is −1."""
        there = columns >= 0
        return self._replace(loadings=np.where(there[:, None], self.loadings[:, columns], np.float32(0)))


def step_profiles(
    network: HigherOrderNetwork, dimensions: int = _DIMENSIONS, reach: int | None = None
) -> tuple[NDArray[np.float64], ProfileSpace]:
    """Return the profile of every entity [V, d], and the space in which others have theirs.

    d is at most `dimensions`. Profiles reach two steps, one on more than 10,000 entities.

    >>> from honlearn.hon.build import grow
    >>> network = grow([["A", "C"], ["B", "C"], ["A", "D"], ["B", "D"], ["E", "F"]])
    >>> profiles, _ = step_profiles(network)
    >>> a, b, e = (network.index(name) for name in "ABE")
    >>> (profiles @ profiles.T)[a, [a, b, e]].round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    size = network.n_entities
    if reach is None:
        reach = _REACH if size <= SKETCHED_ABOVE else 1
    both = sparse.hstack([_roots(steps) for steps in _sides(network, reach)]).tocsr()
    if both.nnz == 0:
        return np.zeros((size, 1)), ProfileSpace(reach, np.zeros((2, size, 1), np.float32))
    left, right = factors(both, min(dimensions, size))
    # The factors share the singular values; all of them belong to the profiles.
    root = np.linalg.norm(left, axis=0)
    loadings = np.divide(right, root, out=np.zeros_like(right), where=root > 0)
    return left * root, ProfileSpace(reach, loadings.reshape(2, size, -1).astype(np.float32))


def _sides(network: HigherOrderNetwork, reach: int) -> tuple[Sparse, Sparse]:
    """Return the steps after an entity, and those before it, [V, V] each."""
    ahead = steps_to_others(network, reach)
    return ahead, ahead.T.tocsr()


def _roots(steps: Sparse) -> Sparse:
    """Return the roots of half the share of each step among those of its row."""
    side = steps.astype(np.float64)
    total = np.asarray(side.sum(1)).ravel()
    side.data = np.sqrt(side.data / np.repeat(2 * total, np.diff(side.indptr)))
    return side


def step_statistics(network: HigherOrderNetwork) -> NDArray[np.float64]:
    """Return nine numbers for each entity, [V, 9].

    The logs of how many steps leave and enter and of their ratio, the logs of how many entities follow and
    precede, the entropies of both, the share of steps to itself, and the share of steps that are taken back.
    """
    steps = steps_apart(network, 1)
    back = steps.T.tocsr()
    out, into = (np.asarray(side.sum(1), np.float64).ravel() for side in (steps, back))
    after, before = (np.diff(side.indptr).astype(np.float64) for side in (steps, back))
    taken_back = np.asarray(steps.minimum(back).sum(1), np.float64).ravel()
    leaving = np.maximum(out, 1)
    columns = [
        np.log1p(out),
        np.log1p(into),
        np.log((out + 1) / (into + 1)),
        np.log1p(after),
        np.log1p(before),
        _entropy(steps),
        _entropy(back),
        steps.diagonal() / leaving,
        taken_back / leaving,
    ]
    return np.stack(columns, axis=1)


def _entropy(steps: Sparse) -> NDArray[np.float64]:
    """Return the entropy of each row's shares, [V]."""
    total = np.asarray(steps.sum(1), np.float64).ravel()
    rows = np.repeat(np.arange(len(total)), np.diff(steps.indptr))
    shares = steps.data / total[rows]
    weighted = -shares * np.log(shares)
    return np.asarray(np.bincount(rows, weighted, minlength=len(total)), np.float64)
