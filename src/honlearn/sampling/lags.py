"""How often one entity follows another a few steps later: counted in paths.

In: paths, the entities of a network, and pairs whose steps are hidden. Out: one sparse matrix of counts for
each lag. Where a path steps between the ends of a hidden pair, in either direction, both visits count as
taken out, as in :func:`~honlearn.paths.pairs.cut_paths`: nothing is counted across them, to them or from
them. A round trip u → a → v → u would otherwise tell that it came back by a hidden step v → u.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.jit import njit
from honlearn.paths.pairs import hidden_visits
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary
from honlearn.sampling.pairs import Keys, Pairs, pair_keys

LAGS = (2, 3, 4)

Lags = tuple["sparse.csr_array[Any, Any]", ...]
"""One matrix [V, V] for each lag: how often v (column) comes that many steps after u (row)."""


class PathLags:
    """Counts pairs of entities that are a lag apart in paths, with the steps of some pairs hidden.

    Entities are those of `vocabulary`; others of the paths are passed through but not counted.

    >>> paths = Paths.from_lists([["A", "B", "C", "D"]], counts=[5])
    >>> lags = PathLags(paths, Vocabulary.from_names("ABCD"))
    >>> [int(lag[0, 2]) for lag in lags.count()], [int(lag[0, 3]) for lag in lags.count()]
    ([5, 0, 0], [0, 5, 0])
    >>> [int(lag.sum()) for lag in lags.count(np.array([[2, 1]]))]  # B → C hidden
    [0, 0, 0]
    """

    def __init__(self, paths: Paths, vocabulary: Vocabulary) -> None:
        self.size = len(vocabulary)
        self._codes = paths.vocabulary.codes_in(vocabulary)[paths.codes]
        self._offsets = paths.offsets
        self._counts = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
        self._steps = _step_keys(self._codes, self._offsets, self.size)

    def count(self, hidden: Pairs | None = None) -> Lags:
        """Return how often v comes 2, 3, 4 steps after u, without the visits of steps of `hidden` pairs."""
        cut = np.zeros(len(self._steps), np.bool_)
        if hidden is not None and len(hidden):
            cut = np.isin(self._steps, np.unique(pair_keys(np.asarray(hidden), self.size, directed=False)))
            # Steps to and from a visit that is taken out; no step leads from one path to the next.
            gone = hidden_visits(cut[:-1])
            cut = gone.copy()
            cut[:-1] |= gone[1:]
        return tuple(self._one(lag, cut) for lag in LAGS)

    def _one(self, lag: int, cut: NDArray[np.bool_]) -> sparse.csr_array[Any, Any]:
        keys, counts = _windows(self._codes, self._offsets, self._counts, cut, lag, self.size)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        total = np.add.reduceat(counts[order], first) if len(first) else counts
        ends = (keys[first] // self.size, keys[first] % self.size)
        return sparse.csr_array((total.astype(np.float64), ends), shape=(self.size, self.size))


def _step_keys(codes: NDArray[np.int32], offsets: NDArray[np.int64], size: int) -> Keys:
    """Return the undirected key of the step from each place of the paths to the next; −1 where none is."""
    keys = np.full(len(codes), -1, np.int64)
    keys[:-1] = pair_keys(np.stack([codes[:-1], codes[1:]], 1), size, directed=False)
    ends = offsets[1:][np.diff(offsets) > 0] - 1
    keys[ends] = -1
    keys[:-1][(codes[:-1] < 0) | (codes[1:] < 0)] = -1
    return keys


@njit
def _windows(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    cut: NDArray[np.bool_],
    lag: int,
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return key and count of every two different entities that are `lag` steps apart with no cut between."""
    keys = np.empty(len(codes), np.int64)
    weights = np.empty(len(codes), np.int64)
    found = 0
    for path in range(len(offsets) - 1):
        free = 0  # steps without a cut that end here
        for end in range(offsets[path], offsets[path + 1]):
            if end > offsets[path]:
                free = 0 if cut[end - 1] else free + 1
            if free >= lag:
                u, v = codes[end - lag], codes[end]
                if u >= 0 and v >= 0 and u != v:
                    keys[found] = np.int64(u) * size + v
                    weights[found] = counts[path]
                    found += 1
    return keys[:found], weights[:found]
