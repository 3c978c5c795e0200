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
from honlearn.engine.hashing import Site, hash32
from honlearn.engine.kernels import longest_row
from honlearn.engine.propagate import Dropout
from honlearn.engine.runtime import Context, Gradients, Runtime
from honlearn.jit import Floats, Integers, njit

SLOPE = 0.2
_FAST = {"contract", "nsz", "reassoc"}


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
        ctx: Context,
        run: Runtime,
        part: Rows,
        rows: NDArray[np.int32],
        n_heads: int,
        sites: tuple[Dropout, Dropout],
        *scores: torch.Tensor,
    ) -> torch.Tensor:
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
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
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


# Rows are never passed as views: each is a counted reference, which costs more than the arithmetic on it.


@njit(fastmath=_FAST, error_model="numpy")
def _leaky_dot(a: Floats, i: int, b: Floats, r: int, vector: Floats, first: int, last: int) -> np.float32:
    """Return Σ vector[j] · leaky_relu(a[i, j] + b[r, j]) over j from first to last."""
    total, slope = np.float32(0), np.float32(SLOPE)
    for j in range(first, last):
        z = a[i, j] + b[r, j]
        total += vector[j] * max(z, slope * z)
    return total


@njit(fastmath=_FAST, error_model="numpy")
def _leaky_dot_back(
    a: Floats,
    i: int,
    grad_a: Floats,
    b: Floats,
    r: int,
    vector: Floats,
    first: int,
    last: int,
    g: np.float32,
    grad_b: Floats,
    grad_vector: Floats,
) -> None:
    """Add g times the gradients of :func:`_leaky_dot`."""
    slope = np.float32(SLOPE)
    for j in range(first, last):
        z = a[i, j] + b[r, j]
        grad_vector[j] += g * max(z, slope * z)
        part = g * vector[j] * (np.float32(1) if z > 0 else slope)
        grad_a[i, j] += part
        grad_b[r, j] += part


@njit(fastmath=_FAST, error_model="numpy")
def _fill_scores(
    learner: int,
    r: int,
    row: int,
    indptr: Integers,
    column: Integers,
    weight: Floats,
    scores: Scores,
    out: Floats,
) -> None:
    """out[k, h] = e of the k-th entry of the row; out[last, h] = e of the row itself."""
    heads = out.shape[1]
    one = learner if scores.source.shape[0] > 1 else 0
    source, target, own = scores.source[one], scores.target[learner], scores.own_source[learner]
    vector = scores.vector[learner if scores.vector.shape[0] > 1 else 0]
    factor = scores.weight[learner if scores.weight.shape[0] > 1 else 0]
    start, end = indptr[row], indptr[row + 1]
    width = len(vector) // heads
    slope = np.float32(SLOPE)
    for e in range(start, end + 1):
        c = column[e] if e < end else -1
        if e < end and c < 0:
            continue
        for h in range(heads):
            extra = factor[h] * weight[e] if e < end else np.float32(0)
            if len(vector):
                first, last = h * width, (h + 1) * width
                if e < end:
                    out[e - start, h] = extra + _leaky_dot(source, c, target, r, vector, first, last)
                else:
                    out[e - start, h] = _leaky_dot(own, r, target, r, vector, first, last)
            else:
                z = (source[c, h] if e < end else own[r, h]) + target[r, h] + extra
                out[e - start, h] = z if z > 0 else slope * z


@njit(fastmath=_FAST, error_model="numpy")
def _attend(
    first: int,
    last: int,
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    rows: Integers,
    scores: Scores,
    sites: tuple[Site, Site],
    out: Floats,
    norms: Floats,
) -> None:
    """Fill out [L, R, H · C], and norms [L, R, 2 H] with the largest score and the sum of exponentials."""
    heads = norms.shape[2] // 2
    width = out.shape[2] // heads
    most = longest_row(indptr)
    e_of = np.empty((most + 1, heads), np.float32)
    for learner in range(first, last):
        x = scores.x[learner if scores.x.shape[0] > 1 else 0]
        values, result, norm = scores.own[learner], out[learner], norms[learner]
        column = indices[learner if indices.shape[0] > 1 else 0]
        weight = weights[learner if weights.shape[0] > 1 else 0]
        which = rows[learner if rows.shape[0] > 1 else 0]
        key, threshold, scale = sites[0][0][learner], sites[0][1], sites[0][2]
        own_key, own_threshold, own_scale = sites[1][0][learner], sites[1][1], sites[1][2]
        for r in range(len(which)):
            start, end = indptr[which[r]], indptr[which[r] + 1]
            _fill_scores(learner, r, which[r], indptr, column, weight, scores, e_of)
            kept = hash32(np.uint32(which[r]), own_key) >= own_threshold
            for h in range(heads):
                top = e_of[end - start, h]
                for e in range(start, end):
                    if column[e] >= 0:
                        top = max(top, e_of[e - start, h])
                p = np.exp(e_of[end - start, h] - top)
                norm[r, h], norm[r, heads + h] = top, p
                q = p * own_scale if kept else np.float32(0)
                for j in range(h * width, (h + 1) * width):
                    result[r, j] = q * values[r, j]
            for e in range(start, end):
                c = column[e]
                if c < 0:
                    continue
                factor = scale if hash32(np.uint32(e), key) >= threshold else np.float32(0)
                for h in range(heads):
                    p = np.exp(e_of[e - start, h] - norm[r, h])
                    norm[r, heads + h] += p
                    if factor > 0:
                        q = p * factor
                        for j in range(h * width, (h + 1) * width):
                            result[r, j] += q * x[c, j]
            for h in range(heads):
                rest = np.float32(1) / norm[r, heads + h]
                for j in range(h * width, (h + 1) * width):
                    result[r, j] *= rest


@njit(fastmath=_FAST, error_model="numpy")
def _spread_scores(
    learner: int,
    r: int,
    row: int,
    indptr: Integers,
    column: Integers,
    weight: Floats,
    scores: Scores,
    grad: Floats,
    slopes: Scores,
) -> None:
    """Add to slopes what the gradients grad[k, h] of :func:`_fill_scores` come from."""
    heads = grad.shape[1]
    one = learner if scores.source.shape[0] > 1 else 0
    source, target, own = scores.source[one], scores.target[learner], scores.own_source[learner]
    grad_source, grad_target = slopes.source[one], slopes.target[learner]
    grad_own = slopes.own_source[learner]
    one = learner if scores.vector.shape[0] > 1 else 0
    vector, grad_vector = scores.vector[one], slopes.vector[one]
    one = learner if scores.weight.shape[0] > 1 else 0
    factor, grad_factor = scores.weight[one], slopes.weight[one]
    start, end = indptr[row], indptr[row + 1]
    width = len(vector) // heads
    slope = np.float32(SLOPE)
    for e in range(start, end + 1):
        c = column[e] if e < end else -1
        if e < end and c < 0:
            continue
        for h in range(heads):
            g = grad[e - start, h]
            extra = factor[h] * weight[e] if e < end else np.float32(0)
            through = g
            if len(vector):
                parts = (target, r, vector, h * width, (h + 1) * width, g, grad_target, grad_vector)
                if e < end:
                    _leaky_dot_back(source, c, grad_source, *parts)
                else:
                    _leaky_dot_back(own, r, grad_own, *parts)
            else:
                z = (source[c, h] if e < end else own[r, h]) + target[r, h] + extra
                through = g if z > 0 else slope * g
                grad_target[r, h] += through
                if e < end:
                    grad_source[c, h] += through
                else:
                    grad_own[r, h] += through
            if e < end:
                grad_factor[h] += through * weight[e]


@njit(fastmath=_FAST, error_model="numpy")
def _attend_back(
    first: int,
    last: int,
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    rows: Integers,
    scores: Scores,
    sites: tuple[Site, Site],
    grad: Floats,
    out: Floats,
    norms: Floats,
    slopes: Scores,
) -> None:
    """Add the gradients of :func:`_attend` to slopes: with g the gradient of a row of a head and k what
    dropout multiplied an entry by, ∂e_j = α_j (k_j g · x_j − g · out) and ∂x_j = α_j k_j g.
    """
    heads = norms.shape[2] // 2
    width = out.shape[2] // heads
    most = longest_row(indptr)
    e_of, inner = np.empty((most + 1, heads), np.float32), np.empty(heads, np.float32)
    for learner in range(first, last):
        one = learner if scores.x.shape[0] > 1 else 0
        x, grad_x = scores.x[one], slopes.x[one]
        g, result, norm = grad[learner], out[learner], norms[learner]
        values, grad_values = scores.own[learner], slopes.own[learner]
        column = indices[learner if indices.shape[0] > 1 else 0]
        weight = weights[learner if weights.shape[0] > 1 else 0]
        which = rows[learner if rows.shape[0] > 1 else 0]
        key, threshold, scale = sites[0][0][learner], sites[0][1], sites[0][2]
        own_key, own_threshold, own_scale = sites[1][0][learner], sites[1][1], sites[1][2]
        for r in range(len(which)):
            start, end = indptr[which[r]], indptr[which[r] + 1]
            _fill_scores(learner, r, which[r], indptr, column, weight, scores, e_of)
            kept = own_scale if hash32(np.uint32(which[r]), own_key) >= own_threshold else np.float32(0)
            for h in range(heads):
                total, dot = np.float32(0), np.float32(0)
                for j in range(h * width, (h + 1) * width):
                    total += g[r, j] * result[r, j]
                    dot += g[r, j] * values[r, j]
                inner[h] = total
                alpha = np.exp(e_of[end - start, h] - norm[r, h]) / norm[r, heads + h]
                e_of[end - start, h] = alpha * (kept * dot - total)
                for j in range(h * width, (h + 1) * width):
                    grad_values[r, j] += alpha * kept * g[r, j]
            for e in range(start, end):
                c = column[e]
                if c < 0:
                    continue
                kept = scale if hash32(np.uint32(e), key) >= threshold else np.float32(0)
                for h in range(heads):
                    alpha = np.exp(e_of[e - start, h] - norm[r, h]) / norm[r, heads + h]
                    dot = np.float32(0)
                    if kept > 0:
                        for j in range(h * width, (h + 1) * width):
                            dot += g[r, j] * x[c, j]
                        q = alpha * kept
                        for j in range(h * width, (h + 1) * width):
                            grad_x[c, j] += q * g[r, j]
                    e_of[e - start, h] = alpha * (kept * dot - inner[h])
            _spread_scores(learner, r, which[r], indptr, column, weight, scores, e_of, slopes)
