"""What the builder knows about a network beyond its edges: how it was grown and why each context was kept.

In: arrays from :func:`honlearn.grow`, one value for each conditional node. Out: two immutable values that
the network carries and that the native file keeps; a network read from an edge list has neither.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError

# D(g) is at most the bits of a count, 62; what is far beyond it was never computed from paths.
_MOST_BITS = 1000.0


@dataclass(frozen=True)
class GrowParameters:
    """The parameters of the builder: longest context (k), threshold multiplier (τ) and least frequency."""

    order: int
    tau: float | None
    min_support: int


@dataclass(frozen=True, eq=False)
class ContextStatistics:
    """Why each conditional node is in the network; row i belongs to node ``n_entities + i``.

    frequency: f(g), how often the context occurs in the paths, int64.
    divergence: D(g), bits by which its next step differs from that of its immediate suffix, float64.
    threshold: τ·(m − 1) / log2(1 + f(g)), which D(g) had to exceed, float64.
    by_extension: the context was kept because a longer one needs it; no test was made, bool.
    """

    frequency: NDArray[np.int64]
    divergence: NDArray[np.float64]
    threshold: NDArray[np.float64]
    by_extension: NDArray[np.bool_]

    def __post_init__(self) -> None:
        kinds = {
            "frequency": np.int64,
            "divergence": np.float64,
            "threshold": np.float64,
            "by_extension": np.bool_,
        }
        for name, kind in kinds.items():
            array: NDArray[Any] = np.ascontiguousarray(getattr(self, name), kind)
            if array.shape != (len(self.frequency),):
                raise InputError(
                    f"statistics: {name} has shape {array.shape}; give one value for each of the "
                    f"{len(self.frequency):,} conditional nodes"
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if (self.frequency < 1).any():
            raise InputError(
                f"statistics: a frequency of {self.frequency.min()}; every context was seen once"
            )
        if (np.abs(self.divergence) > _MOST_BITS).any():
            raise InputError(
                f"statistics: a divergence of more than {_MOST_BITS:g} bits; no counts give that"
            )

    def __len__(self) -> int:
        return len(self.frequency)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextStatistics):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name), equal_nan=f.name != "by_extension")
            for f in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]
