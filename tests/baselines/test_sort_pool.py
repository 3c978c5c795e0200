"""Sort pooling against a loop over graphs and rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from honlearn.baselines.sort_pool import pool_size, sort_pool


def slowly(rows: torch.Tensor, offsets: list[int], k: int) -> torch.Tensor:
    """Return what sort pooling says, graph by graph."""
    out = torch.zeros(len(offsets) - 1, k, rows.shape[1])
    for graph in range(len(offsets) - 1):
        own = list(range(offsets[graph], offsets[graph + 1]))
        own.sort(key=lambda i: (-float(rows[i, -1]), -float(rows[i, -2]), i))
        for place, i in enumerate(own[:k]):
            out[graph, place] = rows[i]
    return out


@given(
    st.lists(st.integers(0, 7), min_size=1, max_size=6),
    st.integers(1, 8),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_it_is_the_loop(sizes: list[int], k: int, seed: int, tied: bool) -> None:
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = torch.randn(int(offsets[-1]), 4, generator=torch.Generator().manual_seed(seed))
    if tied:
        rows[:, -2:] = rows[:, -2:].round()
    pooled = sort_pool(rows, torch.from_numpy(offsets), k)
    assert torch.equal(pooled, slowly(rows, offsets.tolist(), k))


def test_gradients_reach_the_rows_that_are_kept() -> None:
    rows = torch.tensor([[1.0, 2.0], [5.0, 9.0], [3.0, 4.0], [7.0, 0.5]], requires_grad=True)
    pooled = sort_pool(rows, torch.tensor([0, 3, 4]), 2)
    (pooled * torch.arange(1.0, 9.0).view(2, 2, 2)).sum().backward()
    assert rows.grad is not None
    assert rows.grad.tolist() == [[0, 0], [1, 2], [3, 4], [5, 6]]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.floats(0.01, 1.0))
def test_the_share_has_at_most_k_nodes(sizes: list[int], share: float) -> None:
    k = pool_size(np.array(sizes), share, 1)
    assert np.mean(np.array(sizes) <= k) >= share - 1e-12
    smaller = np.mean(np.array(sizes) < k)
    assert smaller < share + 1e-12, "and k is the smallest such number"


@pytest.mark.parametrize(("share", "k"), [(0.0, 10), (0.6, 20), (1.0, 100)])
def test_k_has_a_floor(share: float, k: int) -> None:
    assert pool_size(np.array([2, 20, 100]), share, 10) == k
