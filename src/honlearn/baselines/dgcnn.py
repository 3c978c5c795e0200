"""DGCNN (Zhang et al., AAAI 2018): a graph network that classifies whole graphs, by sort pooling.

In: :class:`~honlearn.baselines.subgraphs.Subgraphs`. Out: one logit a graph. For a graph of n nodes:

    Z⁰ = E[label] (+ features)                              [n, d]
    Zˡ⁺¹ = tanh(Zˡ Wˡ + Â Zˡ Uˡ + B̂ Zˡ Vˡ)                  [n, d], L times; then once more to [n, 1]
    the k foremost rows of [Z¹ ‖ … ‖ Zᴸ⁺¹] by its last column   [k, L d + 1]
    a 1-D convolution over each row, pooling in twos, a convolution over five, a dense layer

Â has the edges out of each node and B̂ those into it, as rows that sum to 1. The original has one matrix of
undirected edges with loops, D⁻¹(A + I), and one weight matrix: the case U = V = W.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from honlearn.baselines.sort_pool import sort_pool
from honlearn.baselines.subgraphs import Rows, Subgraphs
from honlearn.engine import kernels
from honlearn.engine.runtime import Context, Gradients

# Labels from here on share a row; nodes so far from both ends are rare.
MOST_LABELS = 64
_CHANNELS, _KERNEL, _DENSE = (16, 32), 5, 128
# The second convolution needs _KERNEL rows after pooling has halved them.
LEAST_POOL = 2 * _KERNEL
INPUTS = ("labels", "labels+degree", "labels+identity", "labels+degree+identity")


@dataclass(frozen=True)
class Shape:
    """The size of a DGCNN: `n_layers` of `width` before the last of one channel, `pool` rows after sorting.

    `inputs` are the features of a node, `direction` is as of the baselines; with `directed` the source has a
    label of its own.
    """

    n_entities: int
    n_layers: int
    width: int
    pool: int
    dropout: float
    inputs: str
    direction: str
    directed: bool


class DGCNN(nn.Module):
    """Scores subgraphs; see the equations above."""

    pool: torch.Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        # The last row is the source's, so that a pair and its way back differ.
        self.labels = nn.Embedding(MOST_LABELS + 1, shape.width)
        self.degrees = nn.Linear(4, shape.width) if "degree" in shape.inputs else None
        self.identity = nn.Embedding(shape.n_entities, shape.width) if "identity" in shape.inputs else None
        sides = 3 if shape.direction == "both" else 2
        widths = [*[shape.width] * shape.n_layers, 1]
        self.layers = nn.ModuleList(nn.Linear(shape.width, sides * width) for width in widths)
        self.rows = nn.Linear(sum(widths), _CHANNELS[0])
        self.convolution = nn.Conv1d(*_CHANNELS, _KERNEL)
        left = shape.pool // 2 - _KERNEL + 1
        self.dense = nn.Linear(left * _CHANNELS[1], _DENSE)
        self.head = nn.Linear(_DENSE, 1)
        self.register_buffer("pool", torch.tensor(shape.pool))

    def forward(self, graphs: Subgraphs, base: torch.Tensor) -> torch.Tensor:
        """Return logits [B]; `base` int64 [N] is the entity of each node of the network."""
        z, parts = self._first(graphs, base), []
        sides = {"out": (graphs.out,), "in": (graphs.into,), "both": (graphs.out, graphs.into)}
        for layer in self.layers:
            z = torch.tanh(_Neighbors.apply(layer(z), sides[self.shape.direction]))  # type: ignore[no-untyped-call]
            parts.append(z)
        pooled = sort_pool(torch.cat(parts, 1), torch.from_numpy(graphs.offsets), self.shape.pool)
        h = F.max_pool1d(torch.relu(self.rows(pooled)).transpose(1, 2), 2)
        h = torch.relu(self.convolution(h)).flatten(1)
        h = F.dropout(torch.relu(self.dense(h)), self.shape.dropout, self.training)
        return self.head(h).squeeze(1)  # type: ignore[no-any-return]

    def _first(self, graphs: Subgraphs, base: torch.Tensor) -> torch.Tensor:
        labels = np.minimum(graphs.labels, MOST_LABELS - 1)
        if self.shape.directed:
            labels = np.where(graphs.roles == 1, MOST_LABELS, labels)
        z: torch.Tensor = self.labels(torch.from_numpy(labels))
        if self.degrees is not None:
            z = z + self.degrees(torch.from_numpy(graphs.degrees))
        if self.identity is not None:
            z = z + self.identity(base[torch.from_numpy(graphs.nodes).long()])
        return z


_NO_KEYS = np.zeros(1, np.uint32)


class _Neighbors(torch.autograd.Function):
    """The first part of [n, (s + 1) d], plus each of the s others summed over the neighbours of one side."""

    @staticmethod
    def forward(ctx: Context, parts: torch.Tensor, sides: tuple[Rows, ...]) -> torch.Tensor:
        first, *others = parts.detach().chunk(len(sides) + 1, 1)
        ctx.stored = sides
        out, summed = first.contiguous().clone(), np.empty((1, *first.shape), np.float32)
        every = np.arange(len(parts))[None]
        for (indptr, indices, weights), part in zip(sides, others, strict=True):
            rows = (indptr, indices[None], weights[None], every, part.contiguous().numpy()[None])
            kernels.sum_rows(0, 1, *rows, summed, 0, np.float32(1), _NO_KEYS, np.uint32(0))
            out += torch.from_numpy(summed[0])
        return out

    @staticmethod
    def backward(ctx: Context, *grads: torch.Tensor) -> Gradients:
        grad = grads[0].contiguous()
        every = np.arange(len(grad))[None]
        back = [grad]
        for indptr, indices, weights in ctx.stored:
            spread = np.zeros((1, *grad.shape), np.float32)
            rows = (indptr, indices[None], weights[None], every, grad.numpy()[None])
            kernels.sum_rows_back(0, 1, *rows, 0, np.float32(1), _NO_KEYS, np.uint32(0), spread)
            back.append(torch.from_numpy(spread[0]))
        return torch.cat(back, 1), None
