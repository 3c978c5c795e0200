"""Dense products of stacked learners: their values, and that no learner depends on its company."""

from __future__ import annotations

import pytest
import torch

from honlearn.engine.products import for_rows, product
from honlearn.engine.runtime import Runtime


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("sizes", [(5, 37, 11, 7), (4, 1, 3, 2), (3, 0, 4, 4)])
def test_products_and_their_gradients(sizes: tuple[int, int, int, int], threads: int | None) -> None:
    learners, rows, width, out = sizes
    run = None if threads is None else Runtime(n_threads=threads)
    x, weight = drawn(learners, rows, width), drawn(learners, width, out, seed=1)
    found = product(run, x, weight)
    torch.testing.assert_close(found, x @ weight)
    given = torch.randn(found.shape, generator=torch.Generator().manual_seed(2))
    grads = torch.autograd.grad(found, (x, weight), given)
    for grad, expected in zip(grads, torch.autograd.grad(x @ weight, (x, weight), given), strict=True):
        torch.testing.assert_close(grad, expected)


def test_shared_rows_and_shared_weights() -> None:
    x, weight = drawn(1, 9, 4).detach(), drawn(3, 4, 5, seed=1)
    torch.testing.assert_close(product(None, x, weight), x @ weight)
    many, one = drawn(3, 9, 4), drawn(1, 4, 5, seed=1)
    torch.testing.assert_close(product(None, many, one), many @ one)


def test_only_the_first_rows_of_a_learner_are_multiplied() -> None:
    x, weight = drawn(3, 9, 4), drawn(3, 4, 5, seed=1)
    found = product(None, x, weight, [9, 4, 0])
    inside = torch.arange(9)[None, :, None] < torch.tensor([9, 4, 0])[:, None, None]
    torch.testing.assert_close(found, (x @ weight) * inside)
    grads = torch.autograd.grad(found.square().sum(), (x, weight))
    expected = torch.autograd.grad(((x @ weight) * inside).square().sum(), (x, weight))
    for grad, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(grad, other)


@pytest.mark.parametrize("sizes", [(437, 128, 42), (437, 42, 10), (61, 24, 42), (13, 7, 3)])
def test_a_learner_is_the_same_to_the_bit_in_any_company(sizes: tuple[int, int, int]) -> None:
    rows, width, out = sizes
    x, weight, bias = drawn(5, rows, width), drawn(5, width, out, seed=1), drawn(5, out, seed=2)

    def computed(places: list[int]) -> list[torch.Tensor]:
        own = [tensor[places].detach().clone().requires_grad_() for tensor in (x, weight, bias)]
        z = product(None, own[0], own[1]) + for_rows(own[2], len(places), rows)
        return [z.detach(), *torch.autograd.grad(torch.tanh(z).sum(), own)]

    whole = computed([0, 1, 2, 3, 4])
    for places in ([2], [3, 4], [4, 1, 0]):
        for part, expected in zip(computed(places), whole, strict=True):
            assert torch.equal(part, expected[places])
