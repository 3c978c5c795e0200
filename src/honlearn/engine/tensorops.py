"""The products of :mod:`honlearn.engine.propagate` in tensor operations: for CUDA and MPS.

Same arguments, same masks, gradients by autograd. Every entry of every learner becomes a row of one
gathered tensor, which a graphics card likes and a CPU does not; there the compiled kernels run instead.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine.hashing import drop_threshold, hash32_tensor
from honlearn.engine.neighborhoods import Rows


def _entries(
    part: Rows, rows: NDArray[np.int32], learners: int, rate: float, keys: NDArray[np.uint32] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Return learner·R + row, column, weight and learner of every entry that is there and kept."""
    rows = np.broadcast_to(rows, (learners, rows.shape[1]))
    start = part.indptr[rows].ravel()
    count = part.indptr[rows + 1].ravel() - start
    target = np.repeat(np.arange(rows.size), count)
    entry = np.arange(len(target)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(start, count)
    learner = target // rows.shape[1]
    column = part.indices[learner if len(part.indices) > 1 else 0, entry].astype(np.int64)
    weight = part.weights[learner if len(part.weights) > 1 else 0, entry]
    kept = column >= 0
    if rate > 0 and keys is not None:
        key = torch.from_numpy(keys.astype(np.int64))[learner]
        kept &= (hash32_tensor(torch.from_numpy(entry), key) >= drop_threshold(rate)).numpy()
    return target[kept], column[kept], weight[kept], learner[kept]


def _gathered(x: torch.Tensor, column: NDArray[np.int64], learner: NDArray[np.int64]) -> torch.Tensor:
    flat = column + (learner * x.shape[1] if x.shape[0] > 1 else 0)
    return x.reshape(-1, x.shape[2])[torch.from_numpy(flat).to(x.device)]


def sum_rows(
    x: torch.Tensor,
    part: Rows,
    rows: NDArray[np.int32],
    learners: int,
    rate: float = 0.0,
    keys: NDArray[np.uint32] | None = None,
) -> torch.Tensor:
    """Return Σ weight · x over the entries kept, times 1 / (1 − rate): [L, R, d]."""
    target, column, weight, learner = _entries(part, rows, learners, rate, keys)
    scaled = torch.from_numpy(weight / np.float32(1 - rate)).to(x)
    out = x.new_zeros(learners * rows.shape[1], x.shape[2])
    out = out.index_add(
        0, torch.from_numpy(target).to(x.device), _gathered(x, column, learner) * scaled[:, None]
    )
    return out.view(learners, rows.shape[1], x.shape[2])


def max_rows(
    x: torch.Tensor,
    part: Rows,
    rows: NDArray[np.int32],
    learners: int,
    rate: float = 0.0,
    keys: NDArray[np.uint32] | None = None,
) -> torch.Tensor:
    """Return the elementwise maximum of x over the entries kept, 0 where there is none: [L, R, d]."""
    target, column, _, learner = _entries(part, rows, learners, rate, keys)
    gathered = _gathered(x, column, learner)
    index = torch.from_numpy(target).to(x.device)[:, None].expand_as(gathered)
    out = x.new_zeros(learners * rows.shape[1], x.shape[2])
    out = out.scatter_reduce(0, index, gathered, "amax", include_self=False)
    return out.view(learners, rows.shape[1], x.shape[2])


def drop(x: torch.Tensor, rows: NDArray[np.int32], rate: float, keys: NDArray[np.uint32]) -> torch.Tensor:
    """Return dropout of x [L, R, d] with the mask that the compiled kernel uses."""
    if rate == 0:
        return x
    place = torch.from_numpy(rows.astype(np.int64)).to(x.device)[:, :, None] * x.shape[2]
    place = (place + torch.arange(x.shape[2], device=x.device)) & 0xFFFFFFFF
    key = torch.from_numpy(keys.astype(np.int64)).to(x.device)[:, None, None]
    kept = hash32_tensor(place, key) >= drop_threshold(rate)
    return torch.where(kept, x / (1 - rate), x.new_zeros(()))
