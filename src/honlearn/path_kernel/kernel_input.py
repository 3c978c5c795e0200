"""What a kernel reads of entities: path vectors alone, or with the profiles and statistics of their steps.

In: a network and path vectors of its entities. Out: columns [V, d], and the space in which entities that were
not there have theirs. Profiles tell more than vectors where entities are many and well sampled, and less
where they are few, so kernels of both kinds are fitted and get shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.path_space import PathSpace
from honlearn.hon.profiles import (
    MOST_ENTITIES,
    N_STATISTICS,
    ProfileSpace,
    step_profiles,
    step_statistics,
)
from honlearn.path_kernel.calibration import Rows
from honlearn.path_kernel.path_vectors import Vectors
from honlearn.path_kernel.terms import Blocks


class KernelSpace(NamedTuple):
    """The spaces of what a kernel reads; statistics, which come with profiles, need none."""

    vectors: PathSpace
    profiles: ProfileSpace | None = None

    @property
    def blocks(self) -> Blocks:
        """What the columns are that a kernel reads."""
        return _blocks(self.vectors.width, self.profiles)

    def rows(
        self, network: HigherOrderNetwork, entities: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> Rows:
        """Return what the kernel reads of these entities of another network, [n, d].

        ``columns[c]`` is the column of the network's entity c, −1 where it has none.
        """
        vectors = self.vectors.vectors(network, entities, columns)
        if self.profiles is None:
            return vectors
        profiles = self.profiles.profiles(network, entities, columns)
        return np.hstack([vectors, profiles, step_statistics(network)[entities]])

    def taken(self, columns: NDArray[np.int64]) -> KernelSpace:
        """Return the space with other columns: ``columns[c]`` of this one, or nothing where it is −1."""
        profiles = None if self.profiles is None else self.profiles.taken(columns)
        return KernelSpace(self.vectors.taken(columns), profiles)


class KernelInput(NamedTuple):
    """What a kernel reads of every entity of a network, [V, d]."""

    values: Rows
    vectors: Vectors
    profiles: ProfileSpace | None = None

    @classmethod
    def with_profiles(cls, network: HigherOrderNetwork, vectors: Vectors) -> KernelInput | None:
        """Return path vectors, profiles and statistics; None where the network is too large for them."""
        if network.n_entities > MOST_ENTITIES:
            return None
        profiles, space = step_profiles(network)
        values = np.hstack([vectors.values, profiles, step_statistics(network)])
        return cls(values, vectors, space)

    @property
    def blocks(self) -> Blocks:
        """What the columns are."""
        return _blocks(self.vectors.values.shape[1], self.profiles)

    def space(self, network: HigherOrderNetwork) -> KernelSpace:
        """Return the space in which other entities have their columns."""
        return KernelSpace(self.vectors.space(network), self.profiles)


def _blocks(width: int, profiles: ProfileSpace | None) -> Blocks:
    return Blocks(width) if profiles is None else Blocks(width, profiles.width, N_STATISTICS)
