"""The products of :mod:`honlearn.engine.propagate` in tensor operations: for CUDA and MPS.

Same arguments, same masks, gradients by autograd. Every entry of every learner becomes a row of one
gathered tensor, which a graphics card likes and a CPU does not; there the compiled kernels run instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from honlearn.engine.adjacency import Rows
from honlearn.engine.hashing import drop_threshold, hash32_tensor

if TYPE_CHECKING:
    from honlearn.engine.attention import Scores
    from honlearn.engine.propagate import Dropout


class _Entries(NamedTuple):
    """Entries that are there: target learner · R + row, number in the part, column, weight and learner."""

    target: NDArray[np.int64]
    entry: NDArray[np.int64]
    column: NDArray[np.int64]
    weight: NDArray[np.float32]
    learner: NDArray[np.int64]


def _entries(part: Rows, rows: NDArray[np.int32], learners: int) -> _Entries:
    rows = np.broadcast_to(rows, (learners, rows.shape[1]))
    start = part.indptr[rows].ravel()
    # An empty row may end before it begins (see neighborhoods._doubled).
    count = np.maximum(part.indptr[rows + 1].ravel() - start, 0)
    target = np.repeat(np.arange(rows.size), count)
    entry = np.arange(len(target)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(start, count)
    learner = target // rows.shape[1]
    column = part.indices[learner if len(part.indices) > 1 else 0, entry].astype(np.int64)
    weight = part.weights[learner if len(part.weights) > 1 else 0, entry]
    there = column >= 0
    return _Entries(target[there], entry[there], column[there], weight[there], learner[there])


def _is_kept(
    place: NDArray[np.int64], learner: NDArray[np.int64], rate: float, keys: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """Return which places dropout keeps, each under the key of its learner."""
    key = torch.from_numpy(keys.astype(np.int64))[learner]
    return np.asarray((hash32_tensor(torch.from_numpy(place), key) >= drop_threshold(rate)).numpy())


def _kept_entries(
    part: Rows, rows: NDArray[np.int32], learners: int, rate: float, keys: NDArray[np.uint32] | None
) -> _Entries:
    entries = _entries(part, rows, learners)
    if rate == 0 or keys is None:
        return entries
    kept = _is_kept(entries.entry, entries.learner, rate, keys)
    target, entry, column, weight, learner = entries
    return _Entries(target[kept], entry[kept], column[kept], weight[kept], learner[kept])


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
    target, _, column, weight, learner = _kept_entries(part, rows, learners, rate, keys)
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
    target, _, column, _, learner = _kept_entries(part, rows, learners, rate, keys)
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


def attend(
    part: Rows,
    rows: NDArray[np.int32],
    scores: Scores,
    n_heads: int,
    sites: tuple[Dropout, Dropout],
    slope: float,
) -> torch.Tensor:
    """Return :func:`honlearn.engine.attention.attend` in tensor operations: [L, R, H · C]."""
    learners, count, size = scores.own.shape
    entries = _entries(part, rows, learners)
    everyone = np.repeat(np.arange(learners), count)
    into = torch.from_numpy(entries.target).to(scores.own.device)

    def of_learner(x: torch.Tensor, which: NDArray[np.int64]) -> torch.Tensor:
        return x[torch.from_numpy(which if len(x) > 1 else np.zeros_like(which)).to(x.device)]

    def by_head(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(len(x), n_heads, -1)

    def score(
        source: torch.Tensor, target: torch.Tensor, extra: torch.Tensor | float, learner: NDArray[np.int64]
    ) -> torch.Tensor:
        if not scores.vector.shape[1]:
            return F.leaky_relu(source + target + extra, slope)
        bent = F.leaky_relu(source + target, slope) * of_learner(scores.vector, learner)
        return torch.add(by_head(bent).sum(2), extra)

    def scale(place: NDArray[np.int64], learner: NDArray[np.int64], site: Dropout) -> torch.Tensor:
        kept = _is_kept(place, learner, site.rate, site.keys)
        return torch.from_numpy(kept * site.scale).to(scores.own)[:, None]

    target = scores.target.flatten(0, 1)
    weights = torch.from_numpy(entries.weight).to(scores.own)[:, None]
    extra = of_learner(scores.weight, entries.learner) * weights
    source = _gathered(scores.source, entries.column, entries.learner)
    near = score(source, target[into], extra, entries.learner)
    own = score(scores.own_source.flatten(0, 1), target, 0.0, everyone)
    top = own.scatter_reduce(0, into[:, None].expand_as(near), near, "amax").detach()
    near, own = torch.exp(near - top[into]), torch.exp(own - top)
    total = own.index_add(0, into, near)
    near = near / total[into] * scale(entries.entry, entries.learner, sites[0])
    row = np.broadcast_to(rows, (learners, count)).ravel().astype(np.int64)
    own = own / total * scale(row, everyone, sites[1])
    gathered = by_head(_gathered(scores.x, entries.column, entries.learner))
    out = own[..., None] * by_head(scores.own.flatten(0, 1))
    summed: torch.Tensor = out.index_add(0, into, near[..., None] * gathered)
    return summed.view(learners, count, size)
