"""Dense products of stacked rows and weights, one learner at a time, the same to the bit in any company.

In: rows ``[1|L, R, d]`` and weights ``[1|L, d, w]``. Out: ``[L, R, w]``. The library behind torch rounds a
product by where its operands lie in memory: only from 64-byte boundaries on are two runs the same. The slice
of a learner begins at one or not, depending on how many learners come before it. So slices that do not are
copied to one, and every learner is multiplied by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from honlearn.engine.runtime import Context, Gradients, Runtime

_BOUNDARY = 64


def aligned(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor itself where its memory begins at a boundary, else a copy with the same strides.

    >>> rows = torch.zeros(5, 3)
    >>> aligned(rows) is rows, rows[1].data_ptr() % 64, aligned(rows[1]).data_ptr() % 64
    (True, 12, 0)
    """
    return tensor.clone() if tensor.data_ptr() % _BOUNDARY else tensor


def product(
    run: Runtime | None, x: torch.Tensor, weight: torch.Tensor, counts: Sequence[int] | None = None
) -> torch.Tensor:
    """Return x [1|L, R, d] times weight [1|L, d, w]: [L, R, w], learners spread over the threads of `run`.

    With `counts` [L] only so many rows of a learner are multiplied: the others are there for those beside it.

    Torch itself runs on one thread (:meth:`Runtime.threads`): how it splits a product depends on the number
    of threads, and with it the last bits would.
    """
    own = len(weight) == len(x) or not x.requires_grad
    if x.device.type == "cpu" and own and len(weight) >= len(x):
        rows = [x.shape[1]] * len(weight) if counts is None else [int(count) for count in counts]
        return _Product.apply(run, rows, x.contiguous(), weight.contiguous())  # type: ignore[no-any-return, no-untyped-call]
    return x @ weight


def _slice(tensor: torch.Tensor, learner: int) -> torch.Tensor:
    return aligned(tensor[learner if tensor.size(0) > 1 else 0])


def multiply_into(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """out = a · b, the same to the bit wherever `out` lies."""
    if out.data_ptr() % _BOUNDARY:
        out.copy_(torch.mm(a, b))
    else:
        torch.mm(a, b, out=out)


def _by_rows(
    first: int, last: int, rows: list[int], a: torch.Tensor, b: torch.Tensor, out: torch.Tensor
) -> None:
    """out[l] = a[l] · b[l] for the first rows of each learner, 0 for the others."""
    for learner in range(first, last):
        count, to = rows[learner], out[learner]
        if count == to.size(0):  # the usual case, without views of everything
            multiply_into(_slice(a, learner), _slice(b, learner), to)
        else:
            multiply_into(_slice(a, learner)[:count], _slice(b, learner), to[:count])
            to[count:] = 0


def _over_rows(
    first: int, last: int, rows: list[int], a: torch.Tensor, b: torch.Tensor, out: torch.Tensor
) -> None:
    """out[l] = a[l]ᵀ · b[l], summed over the first rows of each learner."""
    for learner in range(first, last):
        count, left, right = rows[learner], _slice(a, learner), _slice(b, learner)
        if count != left.size(0):
            left, right = left[:count], right[:count]
        multiply_into(left.T, right, out[learner])


def _each(run: Runtime | None, multiply: Callable[..., None], out: torch.Tensor, *given: Any) -> None:
    if run is None:
        multiply(0, len(out), *given, out)
    else:
        run.each(multiply, len(out), *given, out)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, run: Runtime | None, rows: list[int], x: torch.Tensor, weight: torch.Tensor
    ) -> torch.Tensor:
        ctx.stored = run, rows
        ctx.save_for_backward(x, weight)
        out = torch.empty(len(weight), x.shape[1], weight.shape[2])
        _each(run, _by_rows, out, rows, x.detach(), weight.detach())
        return out

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        # Worker threads record gradients unless the tensors say not to.
        x, weight = (tensor.detach() for tensor in ctx.saved_tensors)
        (run, rows), grad_x, grad = ctx.stored, None, grad.contiguous()
        if ctx.needs_input_grad[2]:
            shape = tuple(x.shape)
            grad_x = torch.empty(shape) if run is None else run.buffer("product gradient", shape)
            _each(run, _by_rows, grad_x, rows, grad, weight.transpose(1, 2))
        grad_weight = torch.empty(weight.shape)
        _each(run, _over_rows, grad_weight, rows, x, grad)
        return None, None, grad_x, grad_weight


def for_rows(parameter: torch.Tensor, learners: int, rows: int) -> torch.Tensor:
    """Return a parameter [P, d] for every row, [L, rows, d], a view.

    Its gradient is summed learner by learner: how torch splits a sum over several depends on how many there
    are, and with it the last bits would.
    """
    return _ForRows.apply(parameter, learners, rows)  # type: ignore[no-any-return, no-untyped-call]


class _ForRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, parameter: torch.Tensor, learners: int, rows: int) -> torch.Tensor:
        ctx.stored = len(parameter)
        return parameter[:, None].expand(learners, rows, parameter.shape[1])

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        sums = torch.stack([one.contiguous().sum(0) for one in grad])
        return sums if ctx.stored == len(sums) else sums.sum(0, keepdim=True), None, None
