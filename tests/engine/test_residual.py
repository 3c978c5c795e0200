"""Compiled residual convolutions against tensor operations, and a learner alone against company."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from model_cases import STREAMS, around, context, ensemble, small_network

from honlearn.engine.context import ForwardContext
from honlearn.engine.runtime import Runtime
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import GCNII

ROOTS = np.array([[3, 17, 9], [20, 5, 30], [8, 3, 44]], np.int32)


@pytest.fixture(scope="module")
def hon() -> HigherOrderNetwork:
    return small_network(3, entities=40, extra=20, edges=70)


def learner(**given: Any) -> GCNII:
    dropout = {"input_dropout": 0.3, "hidden_dropout": 0.5, "mask_self": False}
    return GCNII(**{"widths": (9, 9, 9), "alpha": 0.3, **dropout, **given})


def gradients(model: torch.nn.Module, rows: torch.Tensor) -> list[torch.Tensor]:
    factors = torch.linspace(-1, 2, rows[0].numel()).view_as(rows[0])
    (rows * factors).sum().backward()
    found = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    return found


@pytest.mark.parametrize("direction", ["in", "both"])
@pytest.mark.parametrize("training", [True, False])
def test_both_ways_are_the_same(hon: HigherOrderNetwork, training: bool, direction: str) -> None:
    model = ensemble(hon, learner(direction=direction))
    (near,), (stack,) = around(hon, model).of_kind, model.stacks
    ctx = context(step=4, training=training)
    compiled = stack.represent(ROOTS, near, ctx)
    plain = stack._by_tensors(near.hops(ROOTS, STREAMS, 4), ctx)
    torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)
    for a, b in zip(gradients(stack, compiled), gradients(stack, plain), strict=True):
        assert b.abs().max() > 0
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_learner_alone_is_the_same_to_the_bit(hon: HigherOrderNetwork) -> None:
    model = ensemble(hon, learner())
    (near,), (stack,) = around(hon, model).of_kind, model.stacks
    together = stack.represent(ROOTS, near, context(step=4, training=True))
    of_all = gradients(stack, together)
    for one in range(3):
        alone = ensemble(hon, learner(), learners=1).stacks[0]
        for own, among in zip(alone.parameters(), stack.parameters(), strict=True):
            own.data = among.data[one : one + 1].clone()
        ctx = ForwardContext(Runtime(n_threads=1), STREAMS[one : one + 1], 4, training=True)
        rows = alone.represent(ROOTS[one : one + 1], near, ctx)
        assert torch.equal(rows[0], together[one])
        for a, b in zip(gradients(alone, rows), of_all, strict=True):
            assert torch.equal(a[0], b[one])


def test_threads_change_nothing(hon: HigherOrderNetwork) -> None:
    model = ensemble(hon, learner())
    (near,), (stack,) = around(hon, model).of_kind, model.stacks
    found = []
    for n_threads in (1, 2):
        run = Runtime(n_threads=n_threads)
        with run.threads(), run.step():
            rows = stack.represent(ROOTS, near, ForwardContext(run, STREAMS, 4, training=True))
            found.append([rows.detach().clone(), *gradients(stack, rows)])
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)


def test_two_calls_in_one_step_do_not_share_memory(hon: HigherOrderNetwork) -> None:
    model = ensemble(hon, learner())
    (near,), (stack,) = around(hon, model).of_kind, model.stacks
    run, others = Runtime(n_threads=1), np.roll(ROOTS, 1, 0)

    def rows(roots: np.ndarray[Any, np.dtype[np.int32]]) -> torch.Tensor:
        return stack.represent(roots, near, ForwardContext(run, STREAMS, 4, training=True))

    apart = [gradients(stack, rows(roots)) for roots in (ROOTS, others)]
    for _ in range(2):
        with run.step():
            first, second = rows(ROOTS), rows(others)
            together = gradients(stack, first + second)
        for a, b, both in zip(*apart, together, strict=True):
            torch.testing.assert_close(a + b, both, rtol=1e-5, atol=1e-6)
