"""Double-radius node labelling (Zhang & Chen, NeurIPS 2018): a node's place between the two ends of a pair.

In: subgraphs side by side, and which nodes are ends. Out: one whole number for each node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import Integers, njit


def double_radius(to_u: NDArray[np.int64], to_v: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the label of each node from its distances to the two ends, −1 for no way at all; [n] each.

    f(i) = 1 + min(x, y) + ⌊d/2⌋ (⌊d/2⌋ + d mod 2 − 1) with d = x + y; 1 for an end, and 0 for a node that
    does not reach both. Nearer nodes have smaller labels: (1, 1) is 2, (1, 2) is 3, (1, 3) is 4, (2, 2) is 5.

    >>> double_radius(np.array([0, 1, 1, 2, 1]), np.array([-1, 1, 2, 2, -1])).tolist()
    [1, 2, 3, 5, 0]
    """
    near, total = np.minimum(to_u, to_v), to_u + to_v
    half = total // 2
    labels: NDArray[np.int64] = 1 + near + half * (half + total % 2 - 1)
    labels[near < 0] = 0
    labels[(to_u == 0) | (to_v == 0)] = 1
    return labels


def double_radius_labels(
    offsets: NDArray[np.int64],
    roles: NDArray[np.int8],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    in_indptr: NDArray[np.int64],
    in_indices: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the labels int64 [n] of the nodes of graphs that start at `offsets`.

    `roles` is 1 for one end, 2 for the other, 0 else. Steps go along edges and against them; on the way to
    one end the other is not there, as in the reference.
    """
    arrays = (offsets, roles, indptr, indices, in_indptr, in_indices)
    return double_radius(_distances(1, *arrays), _distances(2, *arrays))


@njit
def _distances(
    role: int,
    offsets: Integers,
    roles: Integers,
    indptr: Integers,
    indices: Integers,
    in_indptr: Integers,
    in_indices: Integers,
) -> NDArray[np.int64]:
    """Return the steps from each node to the nearest node with this role, −1 for no way, int64 [n]."""
    distance = np.full(len(roles), -1, np.int64)
    queue = np.empty(len(roles), np.int64)
    for row in range(len(offsets) - 1):
        head = tail = 0
        for i in range(offsets[row], offsets[row + 1]):
            if roles[i] == role:
                distance[i] = 0
                queue[tail] = i
                tail += 1
        while head < tail:
            i = queue[head]
            head += 1
            for starts, ends in ((indptr, indices), (in_indptr, in_indices)):
                for e in range(starts[i], starts[i + 1]):
                    j = ends[e]
                    if distance[j] < 0 and roles[j] != 3 - role:
                        distance[j] = distance[i] + 1
                        queue[tail] = j
                        tail += 1
    return distance
