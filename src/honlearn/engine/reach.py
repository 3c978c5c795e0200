"""Rows that deep layers compute: for each learner the nodes near its own roots, layer by layer.

In: neighbours of every node, and roots ``[L, B]``. Out: one :class:`Reached` for each layer, first layer
first. Which rows a learner computes depends on its own roots alone, so that sums over its rows are rounded
the same in any company; rows behind its own are there because another learner has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.adjacency import Rows
from honlearn.jit import Floats, Integers, njit


class Reached(NamedTuple):
    """The rows of one layer: nodes [L, R], how many of them are a learner's own [L], and where each node is.

    `place` int32 [L, N] is −1 for a node that a learner does not compute.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]
    place: NDArray[np.int32]


def reached(parts: Sequence[Rows], roots: NDArray[np.int32], n_layers: int) -> list[Reached]:
    """Return the rows of `n_layers` layers; the last computes the roots, each other what the next reads."""
    learners, nodes = len(roots), len(parts[0].indptr) - 1
    counts = np.full(learners, roots.shape[1], np.int64)
    # Nobody looks for a place among the rows of the last layer.
    out = [Reached(np.ascontiguousarray(roots, np.int32), counts, np.empty((learners, 0), np.int32))]
    while len(out) < n_layers:
        after = out[0]
        if after.place.size and bool((after.counts == nodes).all()):
            out.insert(0, after)
            continue
        place, rows = np.full((learners, nodes), -1, np.int32), np.empty((learners, nodes), np.int32)
        for part in parts:
            _mark(part.indptr, part.indices, after.rows, after.counts, place)
        counts = _number(place, rows)
        found = np.ascontiguousarray(rows[:, : counts.max(initial=0)])
        out.insert(0, Reached(found, counts, place))
    return out


def only_rows(part: Rows, rows: NDArray[np.int32], place: NDArray[np.int32]) -> Rows:
    """Return rows [L, B] of a part, one behind the other; entries become their `place` [L, N]."""
    start, end = part.indptr[rows.ravel()], part.indptr[rows.ravel() + 1]
    indptr = np.concatenate([[0], np.cumsum(end - start)]).astype(np.int64)
    indices, weights = np.empty((1, indptr[-1]), np.int32), np.empty((1, indptr[-1]), np.float32)
    _copy_rows(start, indptr, part.indices[0], part.weights[0], place, indices[0], weights[0])
    return Rows(indptr, indices, weights)


@njit(error_model="numpy")
def _mark(indptr: Integers, indices: Integers, rows: Integers, counts: Integers, place: Integers) -> None:
    """Set place [L, N] to 0 at a learner's rows and at their neighbours."""
    for learner in range(len(rows)):
        for r in range(counts[learner]):
            row = rows[learner, r]
            place[learner, row] = 0
            for e in range(indptr[row], indptr[row + 1]):
                place[learner, indices[0, e]] = 0


@njit(error_model="numpy")
def _number(place: Integers, rows: Integers) -> NDArray[np.int64]:
    """Number the nodes that are marked in `place` in their order, list them in `rows`; return how many.

    Behind them `rows` repeats the first.
    """
    counts = np.zeros(len(place), np.int64)
    for learner in range(len(place)):
        count = 0
        for node in range(place.shape[1]):
            if place[learner, node] == 0:
                place[learner, node] = count
                rows[learner, count] = node
                count += 1
        rows[learner, count:] = rows[learner, 0]
        counts[learner] = count
    return counts


@njit(error_model="numpy")
def _copy_rows(
    start: Integers,
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    place: Integers,
    out_indices: Integers,
    out_weights: Floats,
) -> None:
    size = (len(indptr) - 1) // len(place)
    for row in range(len(indptr) - 1):
        own, shift = place[row // size], start[row] - indptr[row]
        for e in range(indptr[row], indptr[row + 1]):
            out_indices[e] = own[indices[e + shift]]
            out_weights[e] = weights[e + shift]
