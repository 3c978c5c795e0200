"""What a network was grown from: paths and parameters, to grow it anew without some of the paths.

In: paths and the parameters that a network carries. Out: :class:`GrownFrom`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from honlearn.errors import InputError
from honlearn.hon.build import GramCounts, count_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import GrowParameters
from honlearn.paths.paths import Paths


@dataclass(frozen=True, eq=False)
class GrownFrom:
    """The paths that a network was grown from, and by which parameters."""

    paths: Paths
    parameters: GrowParameters

    @cached_property
    def counts(self) -> GramCounts:
        """The counts of all paths, counted once."""
        return count_grams(self.paths, self.parameters.order)

    def grow(self, counts: GramCounts) -> HigherOrderNetwork:
        """Return the network of these counts by the parameters.

        >>> paths = Paths.from_lists([["A", "C", "D"], ["B", "C", "E"]] * 5)
        >>> source = GrownFrom(paths, GrowParameters(2, 1.0, 1))
        >>> list(source.grow(source.counts).nodes)[5:]
        ['C|A', 'C|B']
        """
        return counts.grow_by(self.parameters)

    def check(self, network: HigherOrderNetwork, where: object = "the paths") -> None:
        """Raise unless these paths and parameters give this network."""
        grown = self.grow(self.counts)
        if grown != network:
            raise InputError(
                f"{where}: grown by the network's own parameters ({self.parameters.rule}, order "
                f"{self.parameters.order}) they give {grown!r}, and the network is {network!r}; name the "
                "paths that it was grown from, with the options they were read with"
            )

    def __getstate__(self) -> dict[str, Any]:
        # Another process counts for itself: it may need no counts at all.
        return {"paths": self.paths, "parameters": self.parameters}
