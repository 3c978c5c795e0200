"""Tables of identities and features against the same sums by plain autograd."""

from __future__ import annotations

import pytest
import torch

from honlearn.engine.input_tables import input_table
from honlearn.engine.runtime import Runtime


@pytest.mark.parametrize("for_roots", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_values_and_gradients_are_those_of_autograd(for_roots: bool, threads: int) -> None:
    random = torch.Generator().manual_seed(0)
    features = torch.randn(7, 4, generator=random)
    identity, matrix = (torch.randn(3, rows, 5, generator=random, requires_grad=True) for rows in (7, 4))
    slope = torch.randn(3, 14 if for_roots else 7, 5, generator=random)
    run = Runtime(n_threads=threads)
    with run.threads():
        table = input_table(run, features, identity, matrix, for_roots)
        found = torch.autograd.grad((table * slope).sum(), (identity, matrix))
    nameless = features @ matrix
    expected = torch.cat([identity + nameless, nameless], 1) if for_roots else identity + nameless
    torch.testing.assert_close(table, expected)
    grads = torch.autograd.grad((expected * slope).sum(), (identity, matrix))
    for one, other in zip(found, grads, strict=True):
        torch.testing.assert_close(one, other)
