"""Differentiable products of sparse rows with stacked tables: the operations that the layers are made of.

In: tables ``[1|L, M, d]`` and a :class:`~honlearn.engine.neighborhoods.Hop`. Out: rows ``[L, R, d]``. On
the CPU these are the compiled kernels, with backward passes of their own (a transposed product over the
same rows); on other devices :mod:`honlearn.engine.tensorops` says the same with tensor operations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine import kernels, tensorops, trees
from honlearn.engine.adjacency import Rows
from honlearn.engine.hashing import drop_threshold, hash32_tensor
from honlearn.engine.neighborhoods import Hop
from honlearn.engine.runtime import Context, Gradients, Runtime


class Dropout(NamedTuple):
    """A dropout site: the probability to drop, and a key for each learner, uint32 [L]."""

    rate: float
    keys: NDArray[np.uint32]

    @property
    def threshold(self) -> np.uint32:
        """Hashes below this are dropped."""
        return np.uint32(drop_threshold(self.rate))

    @property
    def scale(self) -> np.float32:
        """What the kept values are multiplied by."""
        return np.float32(1.0 / (1.0 - self.rate))


class LookupSites(NamedTuple):
    """The dropout sites of a look-up layer: one mask for each use of the input, one for its output."""

    own: Dropout
    into: Dropout
    out_of: Dropout
    hidden: Dropout


def is_compiled(tensor: torch.Tensor) -> bool:
    """Return whether the compiled kernels can work on this tensor."""
    return tensor.device.type == "cpu"


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    return tensor.detach().numpy()


def lookup_layer(
    run: Runtime,
    hop: Hop,
    tables: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    bias: torch.Tensor,
    sites: LookupSites,
    activated: bool,
) -> torch.Tensor:
    """Return ``[own ‖ into ‖ out_of] + bias`` of table rows, then relu and dropout if `activated`: [L, R, D].

    Tables [1|L, M, d] hold the input of the layer already multiplied by its weight: with identity features
    the weight matrix itself. Dropping an entry drops the whole neighbour, as dropout on a one-hot does.
    """
    if is_compiled(bias):
        return _Lookup.apply(run, hop, sites, activated, bias, *tables)  # type: ignore[no-any-return, no-untyped-call]
    parts = [
        tensorops.sum_rows(table, part, hop.rows, len(site.keys), site.rate, site.keys)
        for table, part, site in zip(tables, (hop.own, *hop.parts), sites[:3], strict=True)
    ]
    out = torch.cat(parts, 2) + bias[:, None]
    if not activated:
        return out
    return tensorops.drop(torch.relu(out), hop.rows, sites.hidden.rate, sites.hidden.keys)


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        run: Runtime,
        hop: Hop,
        sites: LookupSites,
        activated: bool,
        bias: torch.Tensor,
        *tables: torch.Tensor,
    ) -> torch.Tensor:
        learners, width = len(sites.hidden.keys), sum(table.shape[2] for table in tables)
        shape = (learners, hop.rows.shape[1], width)
        out = run.buffer("lookup", shape) if activated else torch.empty(shape)
        offset = 0
        for table, part, site in zip(tables, (hop.own, *hop.parts), sites[:3], strict=True):
            args = (
                *part,
                hop.rows,
                _array(table),
                _array(out),
                offset,
                site.scale,
                site.keys,
                site.threshold,
            )
            run.each(kernels.sum_rows, learners, *args)
            offset += table.shape[2]
        if activated:
            site = sites.hidden
            values = (_array(out), _array(bias), hop.rows, site.keys, site.threshold, site.scale)
            run.each(kernels.activate, learners, *values)
        else:
            out += bias[:, None]
        ctx.stored = (run, hop, sites, activated, bias.shape, [table.shape for table in tables])
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        run, hop, sites, activated, bias_shape, shapes = ctx.stored
        (out,) = ctx.saved_tensors
        learners, grad = out.shape[0], grad.contiguous()
        if activated:
            source = run.buffer("lookup gradient", tuple(out.shape))
            grad_bias = torch.zeros(bias_shape)
            args = (_array(out), _array(grad), sites.hidden.scale, _array(source), _array(grad_bias))
            run.each(kernels.activate_back, learners, *args, serial=bias_shape[0] < learners)
        else:
            source = grad
            grad_bias = grad.sum(1) if bias_shape[0] == learners else grad.sum((0, 1))[None]
        grads, offset = [], 0
        parts = zip(shapes, (hop.own, *hop.parts), sites[:3], strict=True)
        for number, (shape, part, site) in enumerate(parts):
            grad_table = run.zeros(f"table gradient {number}", tuple(shape))
            args = (*part, hop.rows, _array(source), offset, site.scale, site.keys, site.threshold)
            run.each(kernels.sum_rows_back, learners, *args, _array(grad_table), serial=shape[0] < learners)
            grads.append(grad_table)
            offset += shape[2]
        return (None, None, None, None, grad_bias, *grads)


class Lookups(NamedTuple):
    """The rows of a look-up layer before they are computed: their reader decides how."""

    run: Runtime
    hop: Hop
    tables: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    bias: torch.Tensor
    sites: LookupSites

    def rows(self, activated: bool = True) -> torch.Tensor:
        """Return the rows, :func:`lookup_layer`: [L, R, D]."""
        return lookup_layer(self.run, self.hop, self.tables, self.bias, self.sites, activated)


def gather(run: Runtime, hop: Hop, x: torch.Tensor | Lookups) -> tuple[torch.Tensor, ...]:
    """Return each row itself and the sum over each part of its neighbours: [L, R, d] each."""
    if isinstance(x, Lookups):
        if hop.once and is_compiled(x.bias):
            return _Tree.apply(run, x.hop, hop, x.sites, x.bias, *x.tables)  # type: ignore[no-any-return, no-untyped-call]
        x = x.rows()
    if is_compiled(x):
        return _Gather.apply(run, hop, x.contiguous())  # type: ignore[no-any-return, no-untyped-call]
    return tuple(tensorops.sum_rows(x, part, hop.rows, x.shape[0]) for part in (hop.own, *hop.parts))


def take(run: Runtime, hop: Hop, x: torch.Tensor) -> torch.Tensor:
    """Return each row of x itself, [L, R, d]."""
    return sum_all(run, hop.own, hop.rows, x)


def sum_all(run: Runtime, part: Rows, rows: NDArray[np.int32], x: torch.Tensor) -> torch.Tensor:
    """Return :func:`sum_rows` of x [L, M, d] without dropout: [L, R, d]."""
    return sum_rows(run, part, rows, x.contiguous(), Dropout(0.0, np.zeros(len(x), np.uint32)))


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, run: Runtime, hop: Hop, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        learners, keys = x.shape[0], np.zeros(x.shape[0], np.uint32)
        shape = (learners, hop.rows.shape[1], x.shape[2])
        out = tuple(run.buffer("gathered", shape) for _ in range(1 + len(hop.parts)))
        for part, target in zip((hop.own, *hop.parts), out, strict=True):
            args = (*part, hop.rows, _array(x), _array(target), 0, np.float32(1), keys, np.uint32(0))
            run.each(kernels.sum_rows, learners, *args)
        ctx.stored = (run, hop, tuple(x.shape), keys)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: torch.Tensor) -> Gradients:
        run, hop, shape, keys = ctx.stored
        grad_x = run.zeros("gather gradient", shape)
        for part, grad in zip((hop.own, *hop.parts), grads, strict=True):
            args = (*part, hop.rows, _array(grad.contiguous()), 0, np.float32(1), keys, np.uint32(0))
            run.each(kernels.sum_rows_back, shape[0], *args, _array(grad_x))
        return None, None, grad_x


class _Tree(torch.autograd.Function):
    """Look-ups and the sums of them in one pass: see :mod:`honlearn.engine.trees`."""

    @staticmethod
    def forward(
        ctx: Context,
        run: Runtime,
        hop: Hop,
        upper: Hop,
        sites: LookupSites,
        bias: torch.Tensor,
        *tables: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        learners, width = len(sites.hidden.keys), bias.shape[1]
        # Compiled once for both: the loops read places, whatever they stand for.
        hop = hop._replace(touched=None)
        numbers = tuple((site.keys, site.threshold, site.scale) for site in sites)
        out = tuple(torch.empty(learners, upper.rows.shape[1], width) for _ in range(3))
        rows = hop.rows.shape[1]
        # A byte for each value, in memory that is counted in floats.
        passed = run.buffer("passed", (-(-learners * rows * width // 4),)).view(torch.uint8).numpy()
        passed = passed[: learners * rows * width].reshape(learners, rows, width)
        inputs = (tuple(_array(table.contiguous()) for table in tables), _array(bias))
        run.each(trees.sum_looked_up, learners, hop, upper, *inputs, numbers, tuple(map(_array, out)), passed)
        ctx.stored = (run, hop, upper, numbers, passed, bias.shape, [tuple(table.shape) for table in tables])
        return out

    @staticmethod
    def backward(ctx: Context, *grads: torch.Tensor) -> Gradients:
        run, hop, upper, numbers, passed, bias_shape, shapes = ctx.stored
        grad_bias = torch.zeros(bias_shape)
        tables = [run.zeros(f"table gradient {number}", shape) for number, shape in enumerate(shapes)]
        given = tuple(_array(grad.contiguous()) for grad in grads)
        args = (hop, upper, given, numbers, passed, _array(grad_bias), tuple(map(_array, tables)))
        serial = min(shape[0] for shape in (bias_shape, *shapes)) < len(passed)
        run.each(trees.sum_looked_up_back, len(passed), *args, serial=serial)
        return (None, None, None, None, grad_bias, *tables)


def sum_rows(
    run: Runtime, part: Rows, rows: NDArray[np.int32], x: torch.Tensor, site: Dropout
) -> torch.Tensor:
    """Return Σ of table rows [1|L, M, d] over the entries of `part` that dropout keeps: [L, R, d]."""
    if is_compiled(x):
        return _SumRows.apply(run, part, rows, x, site)  # type: ignore[no-any-return, no-untyped-call]
    return tensorops.sum_rows(x, part, rows, len(site.keys), site.rate, site.keys)


class _SumRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, run: Runtime, part: Rows, rows: NDArray[np.int32], x: torch.Tensor, site: Dropout
    ) -> torch.Tensor:
        out = torch.empty(len(site.keys), rows.shape[1], x.shape[2])
        args = (*part, rows, _array(x), _array(out), 0, site.scale, site.keys, site.threshold)
        run.each(kernels.sum_rows, len(out), *args)
        ctx.stored = (run, part, rows, x.shape, site)
        return out

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        run, part, rows, shape, site = ctx.stored
        grad, grad_x = grad.contiguous(), torch.zeros(shape)
        args = (*part, rows, _array(grad), 0, site.scale, site.keys, site.threshold)
        run.each(kernels.sum_rows_back, len(grad), *args, _array(grad_x), serial=shape[0] < len(grad))
        return None, None, None, grad_x, None


def max_rows(
    run: Runtime, part: Rows, rows: NDArray[np.int32], x: torch.Tensor, site: Dropout
) -> torch.Tensor:
    """Return the elementwise maximum of table rows over the entries kept, 0 where none is: [L, R, d]."""
    if is_compiled(x):
        return _MaxRows.apply(run, part, rows, x, site)  # type: ignore[no-any-return, no-untyped-call]
    return tensorops.max_rows(x, part, rows, len(site.keys), site.rate, site.keys)


class _MaxRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, run: Runtime, part: Rows, rows: NDArray[np.int32], x: torch.Tensor, site: Dropout
    ) -> torch.Tensor:
        out = torch.empty(len(site.keys), rows.shape[1], x.shape[2])
        winner = np.empty(out.shape, np.int32)
        args = (part.indptr, part.indices, rows, _array(x), _array(out), winner, site.keys, site.threshold)
        run.each(kernels.max_rows, len(out), *args)
        ctx.stored = (run, winner, x.shape)
        return out

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        run, winner, shape = ctx.stored
        grad, grad_x = grad.contiguous(), torch.zeros(shape)
        args = (_array(grad), winner, _array(grad_x))
        run.each(kernels.max_rows_back, len(grad), *args, serial=shape[0] < len(grad))
        return None, None, None, grad_x, None


def drop(run: Runtime, rows: NDArray[np.int32], x: torch.Tensor, site: Dropout) -> torch.Tensor:
    """Return dropout of x [L, R, d], each learner by its own key, each row by its number in `rows`."""
    if site.rate == 0:
        return x
    if is_compiled(x):
        return _Drop.apply(run, rows, x, site)  # type: ignore[no-any-return, no-untyped-call]
    return tensorops.drop(x, rows, site.rate, site.keys)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, run: Runtime, rows: NDArray[np.int32], x: torch.Tensor, site: Dropout
    ) -> torch.Tensor:
        ctx.stored = (run, rows, site)
        return _dropped(run, rows, x, site)

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        run, rows, site = ctx.stored
        return None, None, _dropped(run, rows, grad.contiguous(), site), None


def _dropped(run: Runtime, rows: NDArray[np.int32], x: torch.Tensor, site: Dropout) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    args = (_array(x), _array(out), rows, site.keys, site.threshold, site.scale)
    run.each(kernels.drop, x.shape[0], *args)
    return out


def drop_rows(x: torch.Tensor, site: Dropout) -> torch.Tensor:
    """Return x [1|L, M, d] with whole rows dropped, each learner by its own key: [L, M, d]."""
    if site.rate == 0:
        return x
    place = torch.arange(x.shape[1], device=x.device)
    keys = torch.from_numpy(site.keys.astype(np.int64)).to(x.device)[:, None]
    kept = hash32_tensor(place, keys) >= drop_threshold(site.rate)
    return x * (kept.to(x) * float(site.scale))[:, :, None]
