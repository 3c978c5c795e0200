"""Tables of a first layer that has identities and features: both at once, learner by learner.

In: identities ``[P, V, d]``, features ``[V, F]`` and their matrices ``[P, F, d]``. Out: tables ``[P, V, d]``,
identities + features · matrix; for roots whose identity is hidden, below them the features alone,
``[P, 2 V, d]``. One learner's table stays in cache from the product to the sum, and learners are spread over
the threads of a step, forward and backward; in operations of torch every one of these passes would be over
the tables of all learners, on one thread.
"""

from __future__ import annotations

import torch

from honlearn.engine.products import aligned, multiply_into
from honlearn.engine.runtime import Context, Gradients, Runtime


def input_table(
    run: Runtime, features: torch.Tensor, identity: torch.Tensor, matrix: torch.Tensor, for_roots: bool
) -> torch.Tensor:
    """Return identity + features · matrix, [P, V, d]; `for_roots` with the features alone below, [P, 2 V, d].

    The features [V, F] are constant: they have no gradient.
    """
    return _InputTable.apply(run, features, identity, matrix, for_roots)  # type: ignore[no-any-return, no-untyped-call]


def _fill(
    first: int,
    last: int,
    features: torch.Tensor,
    identity: torch.Tensor,
    matrix: torch.Tensor,
    out: torch.Tensor,
) -> None:
    size = len(features)
    for learner in range(first, last):
        whole = out[learner]
        nameless = whole[size:] if len(whole) > size else whole
        multiply_into(features, aligned(matrix[learner]), nameless)
        torch.add(identity[learner], nameless, out=whole[:size])


def _spread(
    first: int,
    last: int,
    features: torch.Tensor,
    grad: torch.Tensor,
    grad_identity: torch.Tensor | None,
    grad_matrix: torch.Tensor,
) -> None:
    """Fill the gradients of matrices, and of identities unless they are `grad` itself."""
    size = len(features)
    for learner in range(first, last):
        of_features = own = grad[learner, :size]
        if grad_identity is not None:
            grad_identity[learner].copy_(own)
            of_features = own + grad[learner, size:]
        multiply_into(features.T, aligned(of_features), grad_matrix[learner])


class _InputTable(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        run: Runtime,
        features: torch.Tensor,
        identity: torch.Tensor,
        matrix: torch.Tensor,
        for_roots: bool,
    ) -> torch.Tensor:
        learners, size, width = identity.shape
        out = run.buffer("input table", (learners, size * (1 + for_roots), width))
        run.each(_fill, learners, features, identity.detach(), matrix.detach(), out)
        ctx.stored = (run, features, tuple(identity.shape), tuple(matrix.shape))
        return out

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        run, features, identity_shape, matrix_shape = ctx.stored
        grad = grad.contiguous()
        grad_matrix = torch.empty(matrix_shape)
        # Of a table that is not for roots, the gradient of the identities is that of the table.
        is_whole = grad.shape[1] == identity_shape[1]
        grad_identity = None if is_whole else run.buffer("identity gradient", identity_shape)
        run.each(_spread, len(grad), features, grad, grad_identity, grad_matrix)
        return None, None, grad if grad_identity is None else grad_identity, grad_matrix, None
