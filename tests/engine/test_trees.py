"""Sampled trees in one pass against the same layers kept row by row: values and gradients to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from model_cases import small_network

from honlearn.engine.neighborhoods import Hop
from honlearn.engine.propagate import Dropout, Lookups, LookupSites, gather
from honlearn.engine.runtime import Runtime
from honlearn.engine.sampled import SampledNeighborhood
from honlearn.engine.vectors import add_row, set_row
from honlearn.jit import njit

HON = small_network(2, entities=30, extra=20, edges=160)
KEYS = np.array([5, 77, 4_000_000_000], np.uint32)
ROOTS = np.array([[0, 1, 4, 4], [15, 1, 2, 3], [9, 8, 7, 6]], np.int32)


@njit
def _set(target: Any, to: Any, source: Any, start: Any, width: Any, weight: Any) -> Any:
    set_row(target, to, source, start, width, weight)


@njit
def _add(target: Any, to: Any, source: Any, start: Any, width: Any, weight: Any) -> Any:
    add_row(target, to, source, start, width, weight)


@pytest.mark.parametrize("width", [1, 15, 16, 17, 32, 42, 47, 64])
def test_rows_of_any_width(width: int) -> None:
    random = np.random.default_rng(width)
    source, target = random.normal(size=(2, 3, 70)).astype(np.float32)
    for operation, kept in ((_set, 0), (_add, 1)):
        got, expected = target.copy(), target.astype(np.float64)
        operation(got, 73, source, 2, width, np.float32(1.5))
        flat = expected.reshape(-1)
        flat[73 : 73 + width] = kept * flat[73 : 73 + width] + 1.5 * source.reshape(-1)[2 : 2 + width]
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
        # What lies beside the row has not been touched.
        aside = np.ones(target.size, bool)
        aside[73 : 73 + width] = False
        assert np.array_equal(got.reshape(-1)[aside], target.reshape(-1)[aside])


def summed(
    hops: list[Hop], once: bool, learners: int, rate: float, widths: tuple[int, int, int], threads: int = 1
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the sums that the second hop takes of the first, and the gradients of bias and tables."""
    random = torch.Generator().manual_seed(3)
    tables = [torch.randn(learners, HON.n_entities, width, generator=random) for width in widths]
    leaves = [torch.randn(learners, sum(widths), generator=random), *tables]
    bias, own, into, out_of = (leaf.requires_grad_() for leaf in leaves)
    sites = LookupSites(*(Dropout(rate, KEYS + np.uint32(i)) for i in range(4)))
    run = Runtime(n_threads=threads)
    looked_up = Lookups(run, hops[0], (own, into, out_of), bias, sites)
    sums = gather(run, hops[1]._replace(once=once), looked_up)
    pulls = [torch.randn(part.shape, generator=random) for part in sums]
    total = sum((part * pull).sum() for part, pull in zip(sums, pulls, strict=True))
    return [part.detach() for part in sums], list(torch.autograd.grad(total, leaves))


@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize("learners", [1, 3])
@pytest.mark.parametrize("widths", [(4, 3, 3), (18, 17, 17), (44, 42, 42)])
# Seventy neighbours are more than one block of rows.
@pytest.mark.parametrize("fan_outs", [(70, 1), (5, 3)])
def test_one_pass_gives_the_bits_of_two(
    fan_outs: tuple[int, int], widths: tuple[int, int, int], learners: int, rate: float
) -> None:
    hops = SampledNeighborhood(HON, fan_outs).hops(ROOTS, np.arange(3, dtype=np.uint64), 0)
    assert hops[1].once
    assert (hops[1].into.indices < 0).any()
    kept, through = (summed(hops, once, learners, rate, widths) for once in (False, True))
    for one, other in zip(kept[0] + kept[1], through[0] + through[1], strict=True):
        assert other.abs().max() > 0
        torch.testing.assert_close(other, one, rtol=0, atol=0)


def test_rows_that_are_read_twice_get_both_gradients() -> None:
    hops = SampledNeighborhood(HON, (4, 3, 2)).hops(ROOTS, np.arange(3, dtype=np.uint64), 0)
    kept, through = (summed(hops[:2], once, 3, 0.4, (18, 17, 17)) for once in (False, True))
    for one, other in zip(kept[0] + kept[1], through[0] + through[1], strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("learners", [1, 3])
def test_threads_change_nothing(learners: int) -> None:
    hops = SampledNeighborhood(HON, (8, 1)).hops(ROOTS, np.arange(3, dtype=np.uint64), 0)
    one, two = (summed(hops, True, learners, 0.4, (18, 17, 17), threads) for threads in (1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one[0] + one[1], two[0] + two[1], strict=True))
