"""The path kernels of a fit: on the path vectors that say most, whichever network they are of, and their mix.

In: networks with their path vectors, and labelled entities. Out: fitted kernels, and by their shares the
prediction for entities of the fit, its terms, and parts that predict for new entities from path vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.examples import Examples
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.path_space import PathSpace
from honlearn.hon.statistics import GrowParameters
from honlearn.path_kernel.path_vectors import Vectors
from honlearn.path_kernel.ridge import KernelModel, KernelPrediction, fit_kernel
from honlearn.path_kernel.terms import KernelTerms
from honlearn.tasks.shares import MOST_KERNEL

# A kernel with less of the kernels' share is left out: it would be kept and explained for nothing.
_LEAST = 0.02
# Kernels that are fitted at most: on parts of training folds of both flights more were no better.
_MOST = 4


class FittedKernel(NamedTuple):
    """A kernel on the vectors of a network."""

    network: HigherOrderNetwork
    vectors: Vectors
    prediction: KernelPrediction


def fit_kernels(
    read: Mapping[str, tuple[HigherOrderNetwork, Sequence[Vectors]]],
    examples: Examples,
    n_classes: int,
    seed: int,
) -> dict[str, FittedKernel]:
    """Return kernels on the vectors of some networks: on those that lose least, each of them once.

    Networks of the same paths have the vectors of one step in common. The network that suits learners, which
    draw one context of an entity at a time, need not suit vectors, which sum over all.
    """
    every: list[tuple[str, HigherOrderNetwork, Vectors]] = []
    for key, (network, several) in read.items():
        for one in several:
            if not any(one is known for *_, known in every):
                every.append((f"{key} reach {one.reach}", network, one))
    best = sorted(every, key=lambda known: known[2].loss)[:_MOST]
    return {
        name: FittedKernel(network, one, fit_kernel(one.values, examples, n_classes, seed))
        for name, network, one in best
    }


class KernelPart(NamedTuple):
    """A kernel with its share of the kernel's prediction, and the network whose vectors it reads.

    `network` is None in a model that was loaded where no learner reads it; `rule` makes it again from counts.
    """

    share: float
    network: HigherOrderNetwork | None
    rule: GrowParameters | None
    space: PathSpace
    kernel: KernelModel

    def proba(
        self, network: HigherOrderNetwork, entities: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return its share of the probabilities [n, C] of these entities of an updated network."""
        vectors = self.space.vectors(network, entities, columns)
        return np.float32(self.share) * self.kernel.proba(vectors)


class KernelMix(NamedTuple):
    """What kernels predict together: their share of the prediction, probabilities, terms and parts."""

    share: float = 0.0
    proba: NDArray[np.float32] | None = None
    terms: tuple[tuple[float, KernelTerms], ...] = ()
    parts: tuple[KernelPart, ...] = ()


def mixed(
    kernels: Mapping[str, FittedKernel], shares: Mapping[str, float], given: float | None = None
) -> KernelMix:
    """Return the mean of kernels by their shares; those of hardly any share are left out.

    Together they have the share that was `given`, or the sum of theirs.
    """
    total = float(sum(shares.values()))
    kept = {name: share for name, share in shares.items() if share > 0 and share >= _LEAST * total}
    if not kept:
        return KernelMix()
    among = {name: share / sum(kept.values()) for name, share in kept.items()}
    some = [(share, kernels[name]) for name, share in among.items()]
    weighted = np.stack([np.float32(share) * one.prediction.proba for share, one in some])
    parts = tuple(
        KernelPart(
            share, one.network, one.network.parameters, one.vectors.space(one.network), one.prediction.model
        )
        for share, one in some
    )
    return KernelMix(
        # Rounded, the sum may be above the most that it may be.
        min(total, MOST_KERNEL) if given is None else given,
        weighted.sum(0, dtype=np.float32),
        tuple((share, one.prediction.terms) for share, one in some),
        parts,
    )
