"""The contexts that are kept, to be looked up: the end of a path → the node that it leads to.

In: the kept contexts, newest entity first, with the numbers of their nodes. Out: for the newest entities of
paths, the node of the longest suffix that is one. It is sent to every worker that makes edges
(:mod:`honlearn.hon.family_network`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.families import joined


class _Depth(NamedTuple):
    """Contexts of one length and of suffixes of longer ones: (place one depth above, entity), and nodes."""

    keys: NDArray[np.uint64]
    node: NDArray[np.int32]


class ContextIndex:
    """Where the end of a path leads.

    Parameters
    ----------
    entities : int32 [E]
        The node of each entity, by its code; −1 for none.
    grams : int32 [n, k]
        The kept contexts: codes, newest first, filled up with −1.
    nodes : int32 [n]
        Their nodes.

    Examples
    --------
    >>> index = ContextIndex(np.arange(3, dtype=np.int32), np.array([[2, 1, 0]], np.int32), np.array([3]))
    >>> ends = np.array([[2, 1, 0], [2, 1, 1], [1, 0, 0]], np.int32)
    >>> index.longest(ends).tolist()
    [3, 2, 1]
    """

    def __init__(
        self, entities: NDArray[np.int32], grams: NDArray[np.int32], nodes: NDArray[np.int32]
    ) -> None:
        self.entities = entities
        self._depths: list[_Depth] = []
        at, left = grams[:, 0].astype(np.int64), np.arange(len(grams))
        for m in range(1, grams.shape[1]):
            longer = grams[left, m] >= 0
            at, left = at[longer], left[longer]
            keys, at = np.unique(joined(at, grams[left, m]), return_inverse=True)
            node = np.full(len(keys), -1, np.int32)
            ended = left if m + 1 == grams.shape[1] else left[grams[left, m + 1] < 0]
            node[at[np.searchsorted(left, ended)]] = nodes[ended]
            self._depths.append(_Depth(keys, node))

    def longest(self, ends: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the node of the longest kept suffix of each end of a path, codes newest first [n, m]."""
        found = self.entities[ends[:, 0]]
        at, left = ends[:, 0].astype(np.int64), np.arange(len(ends))
        for depth, m in zip(self._depths, range(1, ends.shape[1]), strict=False):
            if not len(depth.keys):
                break
            wanted = joined(at, ends[left, m])
            at = np.minimum(np.searchsorted(depth.keys, wanted), len(depth.keys) - 1)
            there = depth.keys[at] == wanted
            at, left = at[there], left[there]
            node = depth.node[at]
            found[left[node >= 0]] = node[node >= 0]
        return found
