"""What a pair reads beside the representations of its two ends: counts and common neighbours.

In: a network, paths where there are any, and which pairs are hidden. Out: a :class:`PairView`: the network
without them and, for asked pairs, features float32 [B, F] and common neighbours. Features are standardised by
mean and standard deviation over the training pairs (:class:`Scaling`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.ensemble import Surroundings
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.sampling.common_neighbors import Common, CommonNeighbors
from honlearn.sampling.hidden_networks import HiddenNetworks
from honlearn.sampling.lags import Lags, PathLags
from honlearn.sampling.pair_counts import PairCounts
from honlearn.sampling.pair_factors import PairFactors
from honlearn.sampling.pairs import Pairs, PairSampler

Features = NDArray[np.float32]
FEATURES = (*PairCounts.names, *PairFactors.names)
# Standardised features are cut here: a pair far from all that was trained on is no better known for it.
_FARTHEST = 6.0


class Scaling(NamedTuple):
    """Mean and scale of each feature over the training pairs, float32 [F] each."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]

    @classmethod
    def of(cls, features: Features) -> Scaling:
        """Return the scaling that gives these features mean 0 and standard deviation 1; constants give 0."""
        deviation = features.std(0, dtype=np.float64)
        scale = np.where(deviation > 1e-6, 1.0 / np.maximum(deviation, 1e-6), 0.0)
        return cls(features.mean(0, dtype=np.float64).astype(np.float32), scale.astype(np.float32))

    def __call__(self, features: Features) -> Features:
        """Return standardised features, float32 [B, F]."""
        return np.asarray(np.clip((features - self.mean) * self.scale, -_FARTHEST, _FARTHEST))

    def column(self, place: int, values: Features) -> Features:
        """Return one feature, standardised, of any shape."""
        found = (values - self.mean[place]) * self.scale[place]
        return np.asarray(np.clip(found, -_FARTHEST, _FARTHEST, out=found))


class PairExtras(NamedTuple):
    """What some pairs read beside their ends: standardised features [B, F], common neighbours; or None."""

    features: Features | None
    common: Common | None

    def take(self, rows: NDArray[np.int64]) -> PairExtras:
        """Return what some of the pairs read."""
        return PairExtras(
            None if self.features is None else self.features[rows],
            None if self.common is None else self.common.take(rows),
        )


@dataclass(frozen=True, eq=False)
class PairView:
    """A network with some pairs hidden, as their representations, counts and relatives read it."""

    network: HigherOrderNetwork
    sampler: PairSampler
    source: PairSource
    lags: Lags | None = None
    # Made for each model that reads this view, by its learners.
    near: list[Surroundings] = field(default_factory=list)

    def features(self, pairs: Pairs) -> Features:
        """Return the features of pairs, not yet standardised, float32 [B, F]."""
        parts = [self._counts.at(pairs), self._factors.at(pairs)]
        return np.concatenate(parts, 1)

    def count_columns(self, sources: NDArray[np.int32]) -> Iterator[Features]:
        """Yield the counts of every (u, v), u one of the sources, one after the other, float32 [S, V]."""
        return self._counts.columns(sources)

    def common(self, pairs: Pairs) -> Common:
        """Return the common neighbours of pairs."""
        return self._common.of(pairs)

    def extras(self, pairs: Pairs, scaling: Scaling | None) -> PairExtras:
        """Return what pairs read; features are standardised by `scaling`."""
        features = None if scaling is None else scaling(self.features(pairs))
        return PairExtras(features, self.common(pairs) if self.source.reads_common else None)

    @cached_property
    def _counts(self) -> PairCounts:
        return PairCounts(self.network, self.lags, self.sampler.directed)

    @cached_property
    def _factors(self) -> PairFactors:
        return PairFactors(self.network, self.lags, self.sampler.directed)

    @cached_property
    def _common(self) -> CommonNeighbors:
        return CommonNeighbors(self.network, self.sampler.directed)


@dataclass(frozen=True, eq=False)
class PairSource:
    """Where views come from: the network that may be seen, and the paths where there are any.

    `sampler` makes what draws relatives in a network; `reads_counts` and `reads_common` say what pairs read.
    `known_lags` are lags of the whole paths where a model was loaded and the paths are gone.
    """

    network: HigherOrderNetwork
    paths: Paths | None
    sampler: Callable[[HigherOrderNetwork], PairSampler]
    reads_counts: bool = True
    reads_common: bool = True
    known_lags: Lags | None = None

    @cached_property
    def _lags(self) -> PathLags | None:
        read = self.paths is not None and self.reads_counts
        return PathLags(self.paths, self.network.vocabulary) if read else None  # type: ignore[arg-type]

    @cached_property
    def _hidden(self) -> HiddenNetworks:
        return HiddenNetworks(self.network, self.paths)

    @cached_property
    def whole(self) -> PairView:
        """The network as it is: what pairs read when a prediction is asked for."""
        lags = self.known_lags if self._lags is None else self._lags.count()
        return PairView(self.network, self.sampler(self.network), self, lags)

    def without(self, pairs: Pairs) -> PairView:
        """Return the network and the paths without any trace of steps between the ends of these pairs."""
        network = self._hidden.without(pairs)
        lags = None if self._lags is None else self._lags.count(pairs)
        return PairView(network, self.sampler(network), self, lags)
