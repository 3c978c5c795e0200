"""Deep convolutions with initial residual (GCNII), compiled: all layers of a learner in one go.

In: rows H(0) ``[L, R, d]`` of the first layer, weights ``[L, d, d]`` of each layer and the rows that each
computes (:mod:`honlearn.engine.reach`). Out: the roots' rows of the last layer ``[L, B, d]``. A layer is

    Z = (1 − α) Â H + α H(0),  H' = dropout(relu(Z ((1 − β) I + β W))),

that is one pass over the neighbours, one product and one pass over its result, forward, and the same three
backward. In operations of torch a layer is some thirty passes over memory. A learner is computed by one
thread from the first layer to the last, so that its rows stay in cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from honlearn.engine.adjacency import Rows
from honlearn.engine.hashing import hash32
from honlearn.engine.products import aligned, multiply_into
from honlearn.engine.propagate import Dropout
from honlearn.engine.reach import Reached
from honlearn.engine.runtime import Context, Gradients, Runtime
from honlearn.jit import Floats, Integers, njit


class Convolution(NamedTuple):
    """What all layers have in common: neighbours under Â, the weight of each node's loop [N], and α."""

    part: Rows
    loop: Floats
    alpha: float


class ResidualLayers(NamedTuple):
    """The layers: the rows of H(0) and of each layer, their dropout sites, and β of each but H(0)."""

    reached: Sequence[Reached]
    sites: Sequence[Dropout]
    betas: Sequence[float]


def residual_layers(
    run: Runtime,
    convolution: Convolution,
    layers: ResidualLayers,
    first: torch.Tensor,
    weights: Sequence[torch.Tensor],
) -> torch.Tensor:
    """Return the rows of the last layer, [L, B, d]; `first` is H(0) [L, R, d], before its dropout."""
    return _Residual.apply(run, convolution, layers, first, *weights)  # type: ignore[no-any-return, no-untyped-call]


class _Residual(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        run: Runtime,
        convolution: Convolution,
        layers: ResidualLayers,
        first: torch.Tensor,
        *weights: torch.Tensor,
    ) -> torch.Tensor:
        first = first.detach().contiguous()
        learners, _, width = first.shape
        mixes = [_mixing(weight.detach(), beta) for weight, beta in zip(weights, layers.betas, strict=True)]
        shapes = [(learners, one.rows.shape[1], width) for one in layers.reached]
        sums = [run.buffer("residual sums", shape) for shape in shapes[1:]]
        rows = [run.buffer("residual rows", shape) for shape in shapes[:-1]] + [torch.empty(shapes[-1])]
        run.each(_forward, learners, convolution, layers, first, mixes, sums, rows)
        # Worker threads record gradients unless the tensors say not to, and what is returned will not.
        ctx.stored = run, convolution, layers, mixes, sums, [one.detach() for one in rows]
        return rows[-1]

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        run, convolution, layers, mixes, sums, rows = ctx.stored
        learners, most = len(grad), max(one.shape[1] for one in rows)
        scratch = [run.buffer("residual gradient", (learners, most, grad.shape[2])) for _ in range(2)]
        grad_first = run.zeros("gradient of the first rows", tuple(rows[0].shape))
        grad_weights = [torch.empty(mix.shape) for mix in mixes]
        given = (convolution, layers, mixes, sums, rows, grad.contiguous(), scratch, grad_first, grad_weights)
        run.each(_backward, learners, *given)
        return None, None, None, grad_first, *grad_weights


def _mixing(weight: torch.Tensor, beta: float) -> torch.Tensor:
    """Return (1 − β) I + β W, [L, d, d]."""
    out = weight * beta
    out.diagonal(dim1=1, dim2=2).add_(1 - beta)
    return out


def _numbers(site: Dropout, learner: int) -> tuple[np.uint32, np.uint32, np.float32]:
    return site.keys[learner], site.threshold, site.scale


def _forward(
    first_learner: int,
    last_learner: int,
    convolution: Convolution,
    layers: ResidualLayers,
    first: torch.Tensor,
    mixes: Sequence[torch.Tensor],
    sums: Sequence[torch.Tensor],
    rows: Sequence[torch.Tensor],
) -> None:
    """Fill `sums`, the Z of each layer, and `rows`, H of each after its dropout, of some learners."""
    (indptr, indices, edge_weights), loop, alpha = convolution
    start, *later = layers.reached
    for learner in range(first_learner, last_learner):
        own, h = first[learner].numpy(), rows[0][learner].numpy()
        _drop(own, h, start.rows[learner], start.counts[learner], *_numbers(layers.sites[0], learner))
        before = start
        for number, after in enumerate(later):
            count = int(after.counts[learner])
            z, out = sums[number][learner], rows[number + 1][learner]
            places = (after.rows[learner], count, before.place[learner], start.place[learner])
            _mix(indptr, indices[0], edge_weights[0], loop, *places, h, own, np.float32(alpha), z.numpy())
            multiply_into(aligned(z)[:count], aligned(mixes[number][learner]), out[:count])
            before, h = after, out.numpy()
            _activate(h, after.rows[learner], count, *_numbers(layers.sites[number + 1], learner))


def _backward(
    first_learner: int,
    last_learner: int,
    convolution: Convolution,
    layers: ResidualLayers,
    mixes: Sequence[torch.Tensor],
    sums: Sequence[torch.Tensor],
    rows: Sequence[torch.Tensor],
    grad: torch.Tensor,
    scratch: Sequence[torch.Tensor],
    grad_first: torch.Tensor,
    grad_weights: Sequence[torch.Tensor],
) -> None:
    """Fill the gradients of H(0) and of the weights of some learners.

    `scratch` is read at the place of the first of them: what is written there stays in cache.
    """
    (indptr, indices, edge_weights), loop, alpha = convolution
    start, *later = layers.reached
    of_rows, of_sums = (one[first_learner] for one in scratch)
    for learner in range(first_learner, last_learner):
        of_first = grad_first[learner].numpy()
        of_rows[: grad.shape[1]].copy_(grad[learner])
        for number in range(len(later) - 1, -1, -1):
            after, before = later[number], layers.reached[number]
            count, count_before = int(after.counts[learner]), int(before.counts[learner])
            scale = layers.sites[number + 1].scale
            _activate_back(rows[number + 1][learner].numpy(), count, scale, of_rows.numpy())
            passed = aligned(of_rows)[:count]
            multiply_into(aligned(sums[number][learner])[:count].T, passed, grad_weights[number][learner])
            grad_weights[number][learner].mul_(layers.betas[number])
            multiply_into(passed, aligned(mixes[number][learner]).T, of_sums[:count])
            of_rows[:count_before].zero_()
            places = (after.rows[learner], count, before.place[learner], start.place[learner])
            given = (of_sums.numpy(), np.float32(alpha), of_rows.numpy(), of_first)
            _mix_back(indptr, indices[0], edge_weights[0], loop, *places, *given)
        numbers = _numbers(layers.sites[0], learner)
        _drop_back(of_rows.numpy(), of_first, start.rows[learner], start.counts[learner], *numbers)


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def _mix(
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    loop: Floats,
    rows: Integers,
    count: int,
    place: Integers,
    place_first: Integers,
    h: Floats,
    first: Floats,
    alpha: np.float32,
    z: Floats,
) -> None:
    """z[r] = (1 − α) (loop · h + Σ_e weights[e] · h[e]) + α · first, for nodes rows[:count]."""
    width, rest = z.shape[1], np.float32(1) - alpha
    for r in range(count):
        node = rows[r]
        target, own, initial = z[r], h[place[node]], first[place_first[node]]
        own_weight = loop[node]
        for j in range(width):
            target[j] = own_weight * own[j]
        end = indptr[node + 1]
        # Two neighbours at a time: what is summed is loaded and stored half as often.
        for e in range(indptr[node], end - 1, 2):
            a, b = h[place[indices[e]]], h[place[indices[e + 1]]]
            w_a, w_b = weights[e], weights[e + 1]
            for j in range(width):
                target[j] = (target[j] + w_a * a[j]) + w_b * b[j]
        if (end - indptr[node]) % 2:
            a, w_a = h[place[indices[end - 1]]], weights[end - 1]
            for j in range(width):
                target[j] += w_a * a[j]
        for j in range(width):
            target[j] = rest * target[j] + alpha * initial[j]


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def _mix_back(
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    loop: Floats,
    rows: Integers,
    count: int,
    place: Integers,
    place_first: Integers,
    grad: Floats,
    alpha: np.float32,
    grad_h: Floats,
    grad_first: Floats,
) -> None:
    """Add to grad_h and grad_first what :func:`_mix` took from them; `grad` is that of z."""
    width, rest = grad.shape[1], np.float32(1) - alpha
    for r in range(count):
        node = rows[r]
        source, own, initial = grad[r], grad_h[place[node]], grad_first[place_first[node]]
        own_weight = rest * loop[node]
        for j in range(width):
            initial[j] += alpha * source[j]
        for j in range(width):
            own[j] += own_weight * source[j]
        for e in range(indptr[node], indptr[node + 1]):
            target, w = grad_h[place[indices[e]]], rest * weights[e]
            for j in range(width):
                target[j] += w * source[j]


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def _activate(
    x: Floats, rows: Integers, count: int, key: np.uint32, threshold: np.uint32, scale: np.float32
) -> None:
    """In place: x = dropout(relu(x)); rows [R] number the rows for dropout."""
    width = x.shape[1]
    for r in range(count):
        row, start = x[r], np.uint32(rows[r] * width)
        if threshold > 0:
            for j in range(width):
                value = row[j]
                kept = (value > 0) & (hash32(start + np.uint32(j), key) >= threshold)
                row[j] = value * scale if kept else np.float32(0)
        else:
            for j in range(width):
                row[j] = max(row[j], np.float32(0))


@njit(error_model="numpy")
def _activate_back(y: Floats, count: int, scale: np.float32, grad: Floats) -> None:
    """In place: grad times `scale` where :func:`_activate` let y through, else 0."""
    for r in range(count):
        value, target = y[r], grad[r]
        for j in range(len(value)):
            target[j] = target[j] * scale if value[j] > 0 else np.float32(0)


@njit(error_model="numpy")
def _drop(
    x: Floats, out: Floats, rows: Integers, count: int, key: np.uint32, threshold: np.uint32, scale: Any
) -> None:
    """out = dropout(x) of the first `count` rows."""
    width = x.shape[1]
    for r in range(count):
        source, target, start = x[r], out[r], np.uint32(rows[r] * width)
        for j in range(width):
            kept = hash32(start + np.uint32(j), key) >= threshold
            target[j] = source[j] * scale if kept else np.float32(0)


@njit(error_model="numpy")
def _drop_back(
    grad: Floats, out: Floats, rows: Integers, count: int, key: np.uint32, threshold: np.uint32, scale: Any
) -> None:
    """Add to `out` the gradient of :func:`_drop`."""
    width = grad.shape[1]
    for r in range(count):
        source, target, start = grad[r], out[r], np.uint32(rows[r] * width)
        for j in range(width):
            if hash32(start + np.uint32(j), key) >= threshold:
                target[j] += source[j] * scale
