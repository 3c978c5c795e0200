"""Sort pooling (Zhang et al., AAAI 2018): graphs of any size become tables of k rows.

In: rows of many graphs side by side, [n, d]. Out: for each graph its k foremost rows in order, [B, k, d].
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray


def pool_size(sizes: NDArray[np.int64], share: float, least: int) -> int:
    """Return k such that `share` of graphs of these sizes [B] have at most k nodes; never below `least`.

    >>> pool_size(np.array([3, 5, 8, 13, 40]), 0.6, 4)
    8
    """
    ordered = np.sort(sizes)
    place = int(np.ceil(share * len(ordered))) - 1
    return max(least, int(ordered[max(place, 0)]))


def sort_pool(rows: torch.Tensor, offsets: torch.Tensor, k: int) -> torch.Tensor:
    """Return the k rows of each graph whose last column is largest, largest first: [B, k, d].

    Graph b has the rows offsets[b] … offsets[b + 1] − 1. Ties are broken by the column before the
    last, then by their place; a graph with fewer rows is filled with rows of 0.
    """
    sizes = torch.diff(offsets)
    owner = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    last = rows[:, -2:].detach().numpy()
    order = np.lexsort((-last[:, 0], -last[:, -1], owner.numpy()))
    rank = torch.arange(len(rows)) - offsets[owner]
    kept = rank < k
    # Sorting keeps each graph's rows together, so owner and rank stay as they are.
    pooled = rows.new_zeros(len(sizes) * k, rows.shape[1])
    place = owner[kept] * k + rank[kept]
    pooled = pooled.index_copy(0, place, rows[torch.from_numpy(order)[kept]])
    return pooled.view(len(sizes), k, rows.shape[1])
