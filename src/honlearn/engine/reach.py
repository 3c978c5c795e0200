"""Rows that deep layers compute: for each learner the nodes near its own roots, layer by layer.

In: neighbours of every node, and roots ``[L, B]``. Out: one :class:`Reached` for each layer, first layer
first. Which rows a learner computes depends on its own roots alone, so that sums over its rows are rounded
the same in any company; rows behind its own are there because another learner has more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.adjacency import Rows
from honlearn.engine.runtime import Runtime
from honlearn.jit import Integers, njit


class Reached(NamedTuple):
    """The rows of one layer: nodes [L, R], how many of them are a learner's own [L], and where each node is.

    `place` int32 [L, N] is −1 for a node that a learner does not compute.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]
    place: NDArray[np.int32]


def reached(run: Runtime, part: Rows, roots: NDArray[np.int32], n_layers: int) -> list[Reached]:
    """Return the rows of `n_layers` layers; the last computes the roots, each other what the next reads."""
    learners, nodes = len(roots), len(part.indptr) - 1
    counts = np.full(learners, roots.shape[1], np.int64)
    # Nobody looks for a place among the rows of the last layer.
    out = [Reached(np.ascontiguousarray(roots, np.int32), counts, np.empty((learners, 0), np.int32))]
    while len(out) < n_layers:
        after = out[0]
        if after.place.size and bool((after.counts == nodes).all()):
            out.insert(0, after)
            continue
        place, rows = np.empty((learners, nodes), np.int32), np.zeros((learners, nodes), np.int32)
        counts = np.empty(learners, np.int64)
        run.each(_reach, learners, part.indptr, part.indices, after.rows, after.counts, place, rows, counts)
        out.insert(0, Reached(np.ascontiguousarray(rows[:, : counts.max(initial=0)]), counts, place))
    return out


@njit(error_model="numpy")
def _reach(
    first: int,
    last: int,
    indptr: Integers,
    indices: Integers,
    after: Integers,
    counts_after: Integers,
    place: Integers,
    rows: Integers,
    counts: Integers,
) -> None:
    """Fill place [L, N], rows [L, N] and counts [L] with the rows `after` and their neighbours, in order."""
    for learner in range(first, last):
        for node in range(place.shape[1]):
            place[learner, node] = -1
        for r in range(counts_after[learner]):
            row = after[learner, r]
            place[learner, row] = 0
            for e in range(indptr[row], indptr[row + 1]):
                place[learner, indices[0, e]] = 0
        count = 0
        for node in range(place.shape[1]):
            if place[learner, node] == 0:
                place[learner, node] = count
                rows[learner, count] = node
                count += 1
        counts[learner] = count
