"""What predicts for new entities from their path vectors: the path kernel on each network that has a share.

In: the vectors and kernels of a fit. Out: parts, each with a network, the space of its vectors, the kernel
and its share among the kernels. Entities of the fit have their prediction already (``kernel_proba_``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.path_space import PathSpace
from honlearn.hon.statistics import GrowParameters
from honlearn.path_kernel.path_vectors import Vectors
from honlearn.path_kernel.ridge import KernelModel, KernelPrediction


class KernelPart(NamedTuple):
    """A kernel with its share of the kernel's prediction, and the network whose vectors it reads.

    `network` is None in a model that was loaded where no learner reads it; `rule` makes it again from counts.
    """

    share: float
    network: HigherOrderNetwork | None
    rule: GrowParameters | None
    space: PathSpace
    kernel: KernelModel

    @classmethod
    def of(
        cls,
        read: Mapping[str, tuple[HigherOrderNetwork, Vectors | None, KernelPrediction | None]],
        shares: Mapping[str, float],
    ) -> list[KernelPart]:
        """Return a part for each network whose kernel has a share; those are scaled to sum to 1."""
        found = []
        total = float(sum(shares.values()))
        for key, (network, vectors, kernel) in read.items():
            if vectors is not None and kernel is not None and shares.get(key, 0) > 0:
                share = float(shares[key]) / total
                found.append(cls(share, network, network.parameters, vectors.space(network), kernel.model))
        return found

    def proba(
        self, network: HigherOrderNetwork, entities: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return its share of the probabilities [n, C] of these entities of an updated network."""
        vectors = self.space.vectors(network, entities, columns)
        return np.float32(self.share) * self.kernel.proba(vectors)
