"""Which vectors of paths suit a task: reach, smoothing and length, for learners and for the kernel.

In: a network and labelled entities. Out: vectors [V, d] (:func:`honlearn.hon.embedding.path_embedding`). They
are compared by the loss of a kernel regression on examples left out (:mod:`honlearn.path_kernel.ridge`),
which has a closed form, so that the choice takes seconds.
"""

from __future__ import annotations

import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.ensemble.examples import Examples
from honlearn.hon.embedding import Sparse, embedding, steps_to_others, unit
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.path_space import PathSpace
from honlearn.path_kernel.calibration import Rows
from honlearn.path_kernel.ridge import PathRidge, shuffled

# Reach and smoothing; learners take the first whose loss is within noise of the least.
_STEPS = ((2, 1.0), (2, 0.75), (1, 1.0), (1, 0.75))
_LENGTHS = (8, 16, 32, 64, 128)
# Vectors are compared on so many examples and landmarks at most, with these penalties.
_COMPARED, _LANDMARKS, _PENALTIES = 4096, 256, (0.01, 0.1, 1.0)


class Vectors(NamedTuple):
    """A vector of each entity [V, d] from steps up to `reach` away, the largest components first.

    `loss` is the mean log loss of labelled entities left out that these were chosen by.
    """

    reach: int
    smoothing: float
    values: Rows
    loss: float = math.inf

    def first(self, count: int) -> NDArray[np.float32]:
        """Return the first components of each vector at a length of 1, for learners."""
        return unit(self.values[:, :count]).astype(np.float32)

    def space(self, network: HigherOrderNetwork, count: int | None = None) -> PathSpace:
        """Return the space of the first components, in which other entities have their place."""
        return PathSpace.of(network, self.values[:, :count], self.reach, self.smoothing)


class EntityVectors(NamedTuple):
    """The path vectors of a network's entities: those of the learners [V, d], and those of each kernel.

    `source` is what the learners' vectors are the first components of.
    """

    learned: NDArray[np.float32] | None
    kernels: tuple[Vectors, ...]
    source: Vectors | None = None

    def space(self, network: HigherOrderNetwork) -> PathSpace | None:
        """Return the space of the learners' vectors."""
        if self.source is None or self.learned is None:
            return None
        return self.source.space(network, self.learned.shape[1])


# The losses of the best vectors of one step on each example [n], and these, by all that they are made from.
OneStep = dict[tuple[str, float], tuple[Rows, Vectors]]


def choose_vectors(
    network: HigherOrderNetwork,
    examples: Examples,
    n_classes: int,
    seed: int,
    one_step: OneStep | None = None,
    n_threads: int = 1,
) -> tuple[Vectors, list[Vectors]]:
    """Return vectors for learners, and for kernels those of each reach, the best first.

    The best predict labelled entities left out best. Learners look at neighbours themselves, so theirs reach
    two steps, which hold the memory, unless the loss of one step is lower by more than a standard error.
    `one_step` has the losses and vectors of one step on other networks: those of the same paths have them in
    common, and they are not made again. Vectors are compared on `n_threads` threads; the result does not
    depend on how many.
    """
    examples = shuffled(examples, seed)
    examples = examples.take(np.arange(min(len(examples), _COMPARED)))
    # On several threads sums come out in another order, and with them the last bits.
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        compared = _Comparison(network, examples, n_classes, {} if one_step is None else one_step)
        tried = dict.fromkeys((compared.followed(reach), smoothing) for reach, smoothing in _STEPS)
        found = list(pool.map(lambda steps: compared.best(*steps), tried))
    ordered = sorted(found, key=lambda one: one[1].loss)
    least = ordered[0][0]
    learned = next(vectors for losses, vectors in found if _is_within_noise(losses - least))
    of_reach: dict[int, Vectors] = {}
    for _, vectors in ordered:
        of_reach.setdefault(vectors.reach, vectors)
    return learned, list(of_reach.values())


class _Comparison:
    """Vectors of a network, compared by the loss of a kernel regression on examples that are left out."""

    def __init__(
        self, network: HigherOrderNetwork, examples: Examples, n_classes: int, one_step: OneStep
    ) -> None:
        self.examples, self.n_classes, self.one_step = examples, n_classes, one_step
        self.ahead = {1: steps_to_others(network, 1)}
        for reach in sorted({reach for reach, _ in _STEPS} - {1}):
            further = steps_to_others(network, reach)
            if not _is_same(further, self.ahead[1]):
                self.ahead[reach] = further
        self.most = max(network.n_entities // 2, 1)
        near, digest = self.ahead[1], hashlib.sha256(str(n_classes).encode())
        for array in (near.indptr, near.indices, near.data, *examples.arrays()):
            digest.update(array.tobytes())
        self.mark = digest.hexdigest()

    def followed(self, reach: int) -> int:
        """Return how far steps are followed: on large networks, and where none goes on, one step only."""
        return reach if reach in self.ahead else 1

    def best(self, reach: int, smoothing: float) -> tuple[Rows, Vectors]:
        """Return the losses [n] and the vectors of the length with the least."""
        if reach > 1:
            return self._best(reach, smoothing)
        key = (self.mark, smoothing)
        if key not in self.one_step:
            self.one_step[key] = self._best(reach, smoothing)
        return self.one_step[key]

    def _best(self, reach: int, smoothing: float) -> tuple[Rows, Vectors]:
        shorter = sorted({min(length, self.most) for length in _LENGTHS})
        every, tried = embedding(self.ahead[reach], shorter[-1], smoothing), []
        for length in shorter:
            kernel = PathRidge(every[:, :length], self.examples, self.n_classes, _LANDMARKS)
            found = min(kernel.fits(_PENALTIES, mixed=False), key=lambda fit: fit.loss)
            tried.append((found.losses, Vectors(reach, smoothing, every[:, :length], found.loss)))
        return min(tried, key=lambda one: one[1].loss)


def _is_same(one: Sparse, other: Sparse) -> bool:
    pairs = zip((one.indptr, one.indices, one.data), (other.indptr, other.indices, other.data), strict=True)
    return one.nnz == other.nnz and all(np.array_equal(a, b) for a, b in pairs)


def _is_within_noise(differences: Rows) -> bool:
    """Return whether the mean of these is at most one standard error."""
    return bool(differences.mean() <= differences.std() / np.sqrt(len(differences)))
