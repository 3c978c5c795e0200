"""One pass through the learners: where it runs, the learners' random streams, and whether they train.

In: a runtime, streams and a step. Out: the dropout sites that the layers ask for. Masks are a function of
(stream, step, layer, use) alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.hashing import short_keys, site_keys
from honlearn.engine.propagate import Dropout
from honlearn.engine.runtime import Runtime

# What a layer may drop: look-ups of the node itself and of its neighbours (by direction where a layer keeps
# them apart), values of its output, elements of features.
USES = ("own", "into", "out_of", "hidden", "features")
# Sites of one step: see hashing.site_keys.
MAX_LAYERS = 64 // len(USES) - 1


class ForwardContext(NamedTuple):
    """One pass through the layers: the learners' streams uint64 [L], the step, and whether they train."""

    run: Runtime
    streams: NDArray[np.uint64]
    step: int
    training: bool = False

    def site(self, layer: int, use: str, rate: float) -> Dropout:
        """Return the dropout site of this use in this layer; nothing is dropped outside of training."""
        if rate == 0 or not self.training:
            return Dropout(0.0, np.zeros(len(self.streams), np.uint32))
        keys = site_keys(self.streams, self.step, layer * len(USES) + USES.index(use))
        return Dropout(rate, short_keys(keys))

    def of(self, places: list[int]) -> ForwardContext:
        """Return the context of the learners at these places."""
        return self._replace(streams=self.streams[places])
