"""Sums over walks between two entities: a product of sparse matrices, at asked pairs or along whole rows.

In: sparse matrices S [V, N], T [N, N] and R [N, V], non-negative. Out: (S Tⁱ R)[u, v] for some i, for asked
pairs (u, v) or for all v of asked u. A pair never needs the last product: the row of u is pushed up to the
last step, and read at the few nodes that lead to v. What is computed for one pair depends on no other pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.jit import njit
from honlearn.sampling.pairs import Pairs

Values = NDArray[np.float64]


class Rows(NamedTuple):
    """A sparse matrix by rows, for compiled loops: indptr int64 [n + 1], indices int32 [E], data [E]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: Values


def as_rows(matrix: Any) -> Rows:
    """Return the arrays of a SciPy matrix, columns ascending in each row."""
    made = sparse.csr_array(matrix, copy=True)
    made.sum_duplicates()
    made.eliminate_zeros()
    return Rows(
        made.indptr.astype(np.int64), made.indices.astype(np.int32), np.ascontiguousarray(made.data, float)
    )


@dataclass(frozen=True)
class WalkSums:
    """The sums (S Tⁱ R)[u, v] for i = `first` … `first` + `count` − 1.

    >>> ring = sparse.csr_array(np.roll(np.eye(4), 1, axis=1))
    >>> walks = WalkSums(ring, ring, ring, first=0, count=2)
    >>> walks.at(np.array([[0, 2], [0, 3]], np.int32)).tolist()  # two steps, three steps
    [[1.0, 0.0], [0.0, 1.0]]
    """

    start: sparse.csr_array[Any, Any]
    onward: sparse.csr_array[Any, Any]
    last: sparse.csr_array[Any, Any]
    first: int = 0
    count: int = 1

    @cached_property
    def _start(self) -> Rows:
        return as_rows(self.start)

    @cached_property
    def _onward(self) -> Rows:
        return as_rows(self.onward)

    def reversed(self) -> WalkSums:
        """Return the sums of the walks the other way: (u, v) has what (v, u) has here."""
        return WalkSums(
            self.last.T.tocsr(), self.onward.T.tocsr(), self.start.T.tocsr(), self.first, self.count
        )

    def at(self, pairs: Pairs) -> Values:
        """Return the sums of pairs [B, 2], float64 [B, count]."""
        out = np.empty((len(pairs), self.count))
        order = np.argsort(pairs[:, 0], kind="stable")
        back = self._last_by_target
        _pair_sums(self._start, self._onward, back, pairs, order, self.first, self.onward.shape[0], out)
        return out

    def rows(self, sources: NDArray[np.integer[Any]]) -> Values:
        """Return the sums from each of the sources [S] to every entity, float64 [S, V, count]."""
        out = np.zeros((len(sources), self.last.shape[1], self.count))
        last = self._last
        places = np.ascontiguousarray(sources, np.int32)
        _row_sums(self._start, self._onward, last, places, self.first, self.onward.shape[0], out)
        return out

    @cached_property
    def _last(self) -> Rows:
        return as_rows(self.last)

    @cached_property
    def _last_by_target(self) -> Rows:
        return as_rows(self.last.T)


@njit
def _push(
    matrix: Rows, row: Values, seen: NDArray[np.int32], size: int, to: Values, to_seen: NDArray[np.int32]
) -> int:
    """Add row @ matrix to `to`, which holds zeros; return how many places of it are listed in `to_seen`.

    `row` is not zero at the first `size` places of `seen` only, and is zero everywhere when this is done.
    """
    found = 0
    for i in range(size):
        node = seen[i]
        value = row[node]
        row[node] = 0.0
        for edge in range(matrix.indptr[node], matrix.indptr[node + 1]):
            target = matrix.indices[edge]
            if to[target] == 0.0:
                to_seen[found] = target
                found += 1
            to[target] += value * matrix.data[edge]
    return found


@njit
def _begin(matrix: Rows, source: int, row: Values, seen: NDArray[np.int32]) -> int:
    """Write one row of a matrix to `row`, which holds zeros."""
    start = matrix.indptr[source]
    size = int(matrix.indptr[source + 1] - start)
    for i in range(size):
        seen[i] = matrix.indices[start + i]
        row[seen[i]] = matrix.data[start + i]
    return size


@njit
def _pair_sums(
    start: Rows,
    onward: Rows,
    last: Rows,
    pairs: Pairs,
    order: NDArray[np.int64],
    first: int,
    n_nodes: int,
    out: Values,
) -> None:
    """Fill `out` [B, count]; `order` visits the pairs by source, and `last` has a row for each target."""
    row, other = np.zeros(n_nodes), np.zeros(n_nodes)
    seen, other_seen = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    begin = 0
    while begin < len(order):
        source = pairs[order[begin], 0]
        end = begin
        while end < len(order) and pairs[order[end], 0] == source:
            end += 1
        size = _begin(start, source, row, seen)
        for step in range(first + out.shape[1]):
            if step >= first:
                for i in range(begin, end):
                    target = pairs[order[i], 1]
                    total = 0.0
                    for edge in range(last.indptr[target], last.indptr[target + 1]):
                        total += row[last.indices[edge]] * last.data[edge]
                    out[order[i], step - first] = total
            if step + 1 < first + out.shape[1]:
                size = _push(onward, row, seen, size, other, other_seen)
                row, other = other, row
                seen, other_seen = other_seen, seen
        for i in range(size):
            row[seen[i]] = 0.0
        begin = end


@njit
def _row_sums(
    start: Rows,
    onward: Rows,
    last: Rows,
    sources: NDArray[np.int32],
    first: int,
    n_nodes: int,
    out: Values,
) -> None:
    """Fill `out` [S, V, count], which holds zeros."""
    row, other = np.zeros(n_nodes), np.zeros(n_nodes)
    seen, other_seen = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    for place in range(len(sources)):
        size = _begin(start, sources[place], row, seen)
        for step in range(first + out.shape[2]):
            if step >= first:
                for i in range(size):
                    node = seen[i]
                    for edge in range(last.indptr[node], last.indptr[node + 1]):
                        out[place, last.indices[edge], step - first] += row[node] * last.data[edge]
            if step + 1 < first + out.shape[2]:
                size = _push(onward, row, seen, size, other, other_seen)
                row, other = other, row
                seen, other_seen = other_seen, seen
        for i in range(size):
            row[seen[i]] = 0.0
