"""Attention over the neighbours of each row, stacked over learners: what GAT and GATv2 are made of.

In: projected rows ``[1|L, M, H · C]`` of sources, projected rows ``[L, R, H · C]`` of the targets themselves,
and a part of a :class:`~honlearn.engine.neighborhoods.Hop`. Out: ``[L, R, H · C]``. A row attends to its
neighbours and to itself:

    out_i = α_ii x_i + Σ_j α_ij x_j,  α_i = softmax over i and its neighbours of e_i.

GAT scores e_ij = leaky_relu(s_j + t_i + w log(1 + weight)), GATv2 e_ij = a · leaky_relu(x_j + y_i) + the same
weight term. Entries of α are dropped out by their own key. Nothing is stored for an edge: backward computes
the scores again. On other devices than the CPU the same is written with tensor operations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine import propagate, tensorops
from honlearn.engine.adjacency import Rows
from honlearn.engine.hashing import hash32
from honlearn.engine.propagate import Dropout
from honlearn.engine.runtime import Runtime
from honlearn.jit import njit

SLOPE = 0.2
_FAST = {"contract", "nsz"}


class Scores(NamedTuple):
    """What attention is computed from, all float32: values and scores of sources and of the targets.

    `x` [1|L, M, H · C] and `own` [L, R, H · C] are summed. GAT: `source` [1|L, M, H], `own_source` and
    `target` [L, R, H], and `vector` is [1|L, 0]. GATv2: `source` is x, `own_source` is own, `target` is
    [L, R, H · C], and `vector` is a, [1|L, H · C]. `weight` [1|L, H] multiplies the entries' weights.
    """

    x: Any
    own: Any
    source: Any
    own_source: Any
    target: Any
    vector: Any
    weight: Any


def attend(
    run: Runtime,
    part: Rows,
    rows: NDArray[np.int32],
    scores: Scores,
    n_heads: int,
    sites: tuple[Dropout, Dropout],
) -> torch.Tensor:
    """Return the attended rows [L, R, H · C]; `sites` drop neighbours, and the row itself."""
    if propagate.is_compiled(scores.own):
        return _Attend.apply(run, part, rows, n_heads, sites, *scores)  # type: ignore[no-any-return, no-untyped-call]
    return tensorops.attend(part, rows, scores, n_heads, sites, SLOPE)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, run: Runtime, part: Rows, rows: NDArray[np.int32], n_heads: int, sites: Any, *scores: Any
    ) -> Any:
        scores = tuple(tensor.contiguous() for tensor in scores)
        own = scores[1]
        out = torch.empty_like(own)
        norms = torch.empty(*own.shape[:2], 2 * n_heads)
        arrays = Scores(*(tensor.detach().numpy() for tensor in scores))
        numbers = tuple((site.keys, site.threshold, site.scale) for site in sites)
        run.each(_attend, len(own), *part, rows, arrays, numbers, out.numpy(), norms.numpy())
        ctx.stored = (run, part, rows, numbers)
        ctx.save_for_backward(out, norms, *scores)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        run, part, rows, numbers = ctx.stored
        out, norms, *scores = ctx.saved_tensors
        # The scores of sources may be the sources themselves: each argument has a gradient of its own.
        grads = Scores(*(torch.zeros_like(tensor) for tensor in scores))
        arrays = Scores(*(tensor.detach().numpy() for tensor in scores))
        slopes = Scores(*(tensor.numpy() for tensor in grads))
        given = (grad.contiguous().numpy(), out.detach().numpy(), norms.numpy())
        serial = min(len(tensor) for tensor in scores) < len(out)
        run.each(_attend_back, len(out), *part, rows, arrays, numbers, *given, slopes, serial=serial)
        return None, None, None, None, None, *grads


@njit(inline="always", error_model="numpy")
def _score(head: Any, width: Any, source: Any, target: Any, vector: Any, extra: Any) -> Any:
    """Return e of one head from a source's row and a target's row."""
    if len(vector):
        total = extra
        for j in range(head * width, (head + 1) * width):
            z = source[j] + target[j]
            total += vector[j] * (z if z > 0 else np.float32(SLOPE) * z)
        return total
    z = source[head] + target[head] + extra
    return z if z > 0 else np.float32(SLOPE) * z


@njit(fastmath=_FAST, error_model="numpy")
def _attend(
    first: Any,
    last: Any,
    indptr: Any,
    indices: Any,
    weights: Any,
    rows: Any,
    scores: Any,
    sites: Any,
    out: Any,
    norms: Any,
) -> Any:
    """Fill out [L, R, H · C], and norms [L, R, 2 H] with the largest score and the sum of exponentials."""
    heads = norms.shape[2] // 2
    width = out.shape[2] // heads
    for learner in range(first, last):
        x = scores.x[learner if scores.x.shape[0] > 1 else 0]
        source = scores.source[learner if scores.source.shape[0] > 1 else 0]
        vector = scores.vector[learner if scores.vector.shape[0] > 1 else 0]
        factor = scores.weight[learner if scores.weight.shape[0] > 1 else 0]
        column = indices[learner if indices.shape[0] > 1 else 0]
        weight = weights[learner if weights.shape[0] > 1 else 0]
        which = rows[learner if rows.shape[0] > 1 else 0]
        key, threshold, scale = sites[0][0][learner], sites[0][1], sites[0][2]
        own_key, own_threshold, own_scale = sites[1][0][learner], sites[1][1], sites[1][2]
        for r in range(len(which)):
            target, own = scores.target[learner, r], scores.own_source[learner, r]
            result, norm = out[learner, r], norms[learner, r]
            start, end = indptr[which[r]], indptr[which[r] + 1]
            for h in range(heads):
                norm[h] = _score(h, width, own, target, vector, np.float32(0))
                norm[heads + h] = norm[h]
            for e in range(start, end):
                c = column[e]
                if c >= 0:
                    for h in range(heads):
                        value = _score(h, width, source[c], target, vector, factor[h] * weight[e])
                        norm[h] = max(norm[h], value)
            kept = hash32(np.uint32(which[r]), own_key) >= own_threshold
            values = scores.own[learner, r]
            for h in range(heads):
                p = np.exp(norm[heads + h] - norm[h])
                norm[heads + h] = p
                q = p * own_scale if kept else np.float32(0)
                for j in range(h * width, (h + 1) * width):
                    result[j] = q * values[j]
            for e in range(start, end):
                c = column[e]
                if c < 0:
                    continue
                kept = hash32(np.uint32(e), key) >= threshold
                for h in range(heads):
                    value = _score(h, width, source[c], target, vector, factor[h] * weight[e])
                    p = np.exp(value - norm[h])
                    norm[heads + h] += p
                    if kept:
                        q = p * scale
                        for j in range(h * width, (h + 1) * width):
                            result[j] += q * x[c, j]
            for h in range(heads):
                for j in range(h * width, (h + 1) * width):
                    result[j] /= norm[heads + h]


@njit(inline="always", error_model="numpy")
def _score_back(
    head: Any,
    width: Any,
    grad: Any,
    source: Any,
    target: Any,
    vector: Any,
    extra: Any,
    grad_source: Any,
    grad_target: Any,
    grad_vector: Any,
) -> Any:
    """Spread the gradient of e to what it was made of; return that of the weight term."""
    if len(vector):
        for j in range(head * width, (head + 1) * width):
            z = source[j] + target[j]
            bent = z if z > 0 else np.float32(SLOPE) * z
            grad_vector[j] += grad * bent
            slope = grad * vector[j] * (np.float32(1) if z > 0 else np.float32(SLOPE))
            grad_source[j] += slope
            grad_target[j] += slope
        return grad
    z = source[head] + target[head] + extra
    slope = grad if z > 0 else np.float32(SLOPE) * grad
    grad_source[head] += slope
    grad_target[head] += slope
    return slope


@njit(fastmath=_FAST, error_model="numpy")
def _attend_back(
    first: Any,
    last: Any,
    indptr: Any,
    indices: Any,
    weights: Any,
    rows: Any,
    scores: Any,
    sites: Any,
    grad: Any,
    out: Any,
    norms: Any,
    slopes: Any,
) -> Any:
    """Add the gradients of :func:`_attend` to slopes: with g the gradient of a row of a head and k what
    dropout multiplied an entry by, ∂e_j = α_j (k_j g · x_j − g · out) and ∂x_j = α_j k_j g.
    """
    heads = norms.shape[2] // 2
    width = out.shape[2] // heads
    inner = np.empty(heads, np.float32)
    for learner in range(first, last):
        one = learner if scores.x.shape[0] > 1 else 0
        x, grad_x = scores.x[one], slopes.x[one]
        one = learner if scores.source.shape[0] > 1 else 0
        source, grad_source = scores.source[one], slopes.source[one]
        one = learner if scores.vector.shape[0] > 1 else 0
        vector, grad_vector = scores.vector[one], slopes.vector[one]
        one = learner if scores.weight.shape[0] > 1 else 0
        factor, grad_factor = scores.weight[one], slopes.weight[one]
        column = indices[learner if indices.shape[0] > 1 else 0]
        weight = weights[learner if weights.shape[0] > 1 else 0]
        which = rows[learner if rows.shape[0] > 1 else 0]
        key, threshold, scale = sites[0][0][learner], sites[0][1], sites[0][2]
        own_key, own_threshold, own_scale = sites[1][0][learner], sites[1][1], sites[1][2]
        for r in range(len(which)):
            g, norm = grad[learner, r], norms[learner, r]
            target, grad_target = scores.target[learner, r], slopes.target[learner, r]
            own, grad_own_source = scores.own_source[learner, r], slopes.own_source[learner, r]
            values, grad_own = scores.own[learner, r], slopes.own[learner, r]
            factor_kept = (
                own_scale if hash32(np.uint32(which[r]), own_key) >= own_threshold else np.float32(0)
            )
            for h in range(heads):
                total, dot = np.float32(0), np.float32(0)
                for j in range(h * width, (h + 1) * width):
                    total += g[j] * out[learner, r, j]
                    dot += g[j] * values[j]
                inner[h] = total
                value = _score(h, width, own, target, vector, np.float32(0))
                alpha = np.exp(value - norm[h]) / norm[heads + h]
                for j in range(h * width, (h + 1) * width):
                    grad_own[j] += alpha * factor_kept * g[j]
                slope = alpha * (factor_kept * dot - total)
                _score_back(
                    h,
                    width,
                    slope,
                    own,
                    target,
                    vector,
                    np.float32(0),
                    grad_own_source,
                    grad_target,
                    grad_vector,
                )
            for e in range(indptr[which[r]], indptr[which[r] + 1]):
                c = column[e]
                if c < 0:
                    continue
                factor_kept = scale if hash32(np.uint32(e), key) >= threshold else np.float32(0)
                for h in range(heads):
                    extra = factor[h] * weight[e]
                    value = _score(h, width, source[c], target, vector, extra)
                    alpha = np.exp(value - norm[h]) / norm[heads + h]
                    dot = np.float32(0)
                    for j in range(h * width, (h + 1) * width):
                        dot += g[j] * x[c, j]
                    for j in range(h * width, (h + 1) * width):
                        grad_x[c, j] += alpha * factor_kept * g[j]
                    slope = alpha * (factor_kept * dot - inner[h])
                    through = _score_back(
                        h, width, slope, source[c], target, vector, extra,
                        grad_source[c], grad_target, grad_vector,
                    )  # fmt: skip
                    grad_factor[h] += through * weight[e]
