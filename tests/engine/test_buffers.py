"""Memory that is lent inside a step: two calls in one graph never share it, and it does not grow.

Every primitive is called twice with the same arguments in one graph; values and gradients must be those of
plain autograd over tensor operations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from model_cases import around, context, ensemble, exact, small_network

from honlearn.engine import propagate
from honlearn.engine.adjacency import attended
from honlearn.engine.attention import Scores, attend
from honlearn.engine.neighborhoods import ExactNeighborhood, Hop
from honlearn.engine.optimizer import Adam
from honlearn.engine.products import product
from honlearn.engine.propagate import (
    Dropout,
    Lookups,
    LookupSites,
    drop,
    gather,
    lookup_layer,
    max_rows,
    sum_rows,
    take,
)
from honlearn.engine.runtime import Runtime
from honlearn.engine.sampled import SampledNeighborhood
from honlearn.hon.edgelist import from_edges

HON = small_network()
ROOTS = np.array([[0, 1, 4, 4], [15, 1, 2, 3], [9, 8, 7, 6]], np.int32)
KEYS = np.array([5, 77, 4_000_000_000], np.uint32)
SITE = Dropout(0.4, KEYS)
SITES = LookupSites(*(Dropout(0.4, KEYS + np.uint32(i)) for i in range(4)))

Case = tuple[Callable[..., Any], list[torch.Tensor]]


def leaf(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def exact_hop() -> Hop:
    return exact(HON, 1).hops(ROOTS, np.arange(3, dtype=np.uint64), 0)[0]


def sampled_hops() -> list[Hop]:
    return SampledNeighborhood(HON, (5, 3)).hops(ROOTS, np.arange(3, dtype=np.uint64), 0)


def of_rows(operation: Callable[..., Any]) -> Callable[[int], Case]:
    def case(tables: int) -> Case:
        hop = exact_hop()
        return lambda run, x: operation(run, hop.into, hop.rows, x, SITE), [leaf(0, tables, 12, 6)]

    return case


def lookup_case(tables: int) -> Case:
    hop = exact_hop()
    leaves = [leaf(9, tables, 10), *(leaf(width, tables, 12, width) for width in (4, 3, 3))]

    def twice(run: Runtime, bias: Any, *rest: Any) -> Any:
        return [lookup_layer(run, hop, rest, bias, SITES, activated) for activated in (True, False)]

    return twice, leaves


def gather_case(tables: int) -> Case:
    return lambda run, x: gather(run, exact_hop(), x), [leaf(0, 3, 12, 6)]


def take_case(tables: int) -> Case:
    return lambda run, x: take(run, exact_hop(), x), [leaf(0, 3, 12, 6)]


def tree_case(tables: int) -> Case:
    first, second = sampled_hops()
    assert second.once
    leaves = [leaf(9, tables, 10), *(leaf(width, tables, 12, width) for width in (4, 3, 3))]
    return lambda run, bias, *rest: gather(run, second, Lookups(run, first, rest, bias, SITES)), leaves


def drop_case(tables: int) -> Case:
    return lambda run, x: drop(run, ROOTS, x, SITE), [leaf(0, 3, 4, 6)]


def product_case(tables: int) -> Case:
    return product, [leaf(0, 3, 4, 6), leaf(1, tables, 6, 5)]


def attention_case(second: bool) -> Callable[[int], Case]:
    def case(tables: int) -> Case:
        (hop,) = ExactNeighborhood(HON, 1, attended(HON, "both")).hops(ROOTS, np.zeros(3, np.uint64), 0)
        x, own, weight = leaf(0, tables, 12, 6), leaf(1, 3, 4, 6), leaf(2, tables, 2)
        wide = 6 if second else 2
        target, vector = leaf(3, 3, 4, wide), leaf(4, tables, 6 if second else 0)
        source, own_source = leaf(5, tables, 12, wide), leaf(6, 3, 4, wide)
        leaves = [x, own, source, own_source, target, vector, weight]

        def attention(run: Runtime, *given: torch.Tensor) -> torch.Tensor:
            # In GATv2 values and scores are one tensor.
            scores = Scores(*given)
            scores = scores._replace(source=scores.x, own_source=scores.own) if second else scores
            return attend(run, hop.parts[0], hop.rows, scores, 2, SITES[:2])

        return attention, leaves

    return case


CASES: dict[str, Callable[[int], Case]] = {
    "sum_rows": of_rows(sum_rows),
    "max_rows": of_rows(max_rows),
    "take": take_case,
    "gather": gather_case,
    "lookup_layer": lookup_case,
    "tree": tree_case,
    "drop": drop_case,
    "product": product_case,
    "attend": attention_case(False),
    "attend of GATv2": attention_case(True),
}


def outputs(operation: Callable[..., Any], run: Runtime, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    out = operation(run, *leaves)
    return list(out) if isinstance(out, (tuple, list)) else [out]


def called_twice(case: Case, run: Runtime, inside: bool) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return values of two calls in one graph, and the gradients of one random function of all of them."""
    operation, leaves = case
    random = torch.Generator().manual_seed(3)
    with run.step() if inside else contextlib.nullcontext():
        parts = [*outputs(operation, run, leaves), *outputs(operation, run, leaves)]
        total = torch.stack([(part * torch.randn(part.shape, generator=random)).sum() for part in parts])
        grads = torch.autograd.grad(total.sum(), leaves, allow_unused=True, materialize_grads=True)
        return [part.detach().clone() for part in parts], [grad.clone() for grad in grads]


def compare(case: Case, run: Runtime, inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    got = called_twice(case, run, inside)
    with monkeypatch.context() as patch:
        patch.setattr(propagate, "is_compiled", lambda tensor: False)
        expected = called_twice(case, Runtime(n_threads=1), False)
    assert any(grad.abs().max() > 0 for grad in got[1] if grad.numel())
    for one, other in zip(got[0] + got[1], expected[0] + expected[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tables", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_two_calls_in_one_graph_have_the_gradients_of_autograd(
    name: str, threads: int, tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Runtime(n_threads=threads)
    # The second step has the memory of the first, which is no longer zero.
    for inside in (True, True, False):
        compare(CASES[name](tables), run, inside, monkeypatch)


@pytest.mark.parametrize("name", ["gather", "lookup_layer", "tree"])
def test_the_comparison_notices_calls_that_share_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lend = Runtime._block

    def first_of_role(run: Runtime, role: str, shape: tuple[int, ...]) -> Any:
        run._lent.pop(role, None)
        return lend(run, role, shape)

    monkeypatch.setattr(Runtime, "_block", first_of_role)
    with pytest.raises(AssertionError, match="not close"):
        compare(CASES[name](3), Runtime(n_threads=1), True, monkeypatch)


def held(run: Runtime) -> set[tuple[str, int, int]]:
    """Return the role, address and size of every block of memory."""
    return {
        (role, block.memory.data_ptr(), block.memory.numel())
        for role, blocks in run._blocks.items()
        for block in blocks
    }


@pytest.mark.parametrize("name", CASES)
def test_memory_does_not_grow_over_steps(name: str) -> None:
    run, case = Runtime(n_threads=1), CASES[name](3)
    called_twice(case, run, True)
    first = held(run)
    for _ in range(50):
        called_twice(case, run, True)
    assert held(run) == first


def test_memory_does_not_grow_with_the_number_of_batch_sizes() -> None:
    ring = [f"n{i:02d}" for i in range(60)]
    hon = from_edges(ring, ring[1:] + ring[:1])
    model, ctx = ensemble(hon, widths=(9, 8, 7)), context()
    near, seen, rows = around(hon, model), set(), set()
    for step in range(50):
        count = 5 - step % 5
        roots = np.arange(3 * count, dtype=np.int32).reshape(3, count)
        rows.add(near.of_kind[0].hops(roots, np.zeros(3, np.uint64), 0)[0].rows.shape[1])
        with ctx.run.step():
            model.represent(roots, near, ctx).sum().backward()
            model.zero_grad()
        seen.add(frozenset(held(ctx.run)))
    assert len(rows) == 5
    assert len(seen) == 1


def test_memory_is_free_at_the_end_of_the_outermost_step() -> None:
    run = Runtime(n_threads=1)
    with run.step():
        one = run.buffer("a", (4,))
        with run.step():
            two = run.buffer("a", (4,))
        three = run.buffer("a", (4,))
        assert len({tensor.data_ptr() for tensor in (one, two, three)}) == 3
    with contextlib.suppress(KeyError), run.step():
        run.buffer("a", (4,))
        raise KeyError
    with run.step():
        assert run.buffer("a", (4,)).data_ptr() == one.data_ptr()
    assert run.buffer("a", (4,)).data_ptr() not in {tensor.data_ptr() for tensor in (one, two, three)}


def test_adam_empties_gradients_and_they_are_not_emptied_twice() -> None:
    run = Runtime(n_threads=1)
    parameter, twin = (torch.nn.Parameter(torch.ones(2, 5, 3)) for _ in range(2))
    optimizer = Adam(torch.nn.ParameterList([parameter]), run, 0.01, 1e-7, 0.0)
    reference = torch.optim.Adam([twin], 0.01, eps=1e-7)
    for step in range(3):
        with run.step():
            grad = run.zeros("table gradient", (2, 5, 3))
            assert not grad.any()
            grad[0, step] += 1.5
            parameter.grad, twin.grad = grad, grad.clone()
            optimizer.step()
            reference.step()
            optimizer.clear()
            assert not grad.any()
        # Written behind its back: only memory that is known to hold zeros is lent as it is.
        grad[1, 1, 1] = 9
        with run.step():
            assert run.zeros("table gradient", (2, 5, 3))[1, 1, 1] == 9
        with run.step():
            assert not run.zeros("table gradient", (2, 5, 3)).any()
        torch.testing.assert_close(parameter, twin, rtol=1e-5, atol=1e-7)


def test_buffers_are_zero_when_they_grow_or_were_used_otherwise() -> None:
    run = Runtime(n_threads=1)

    def zeros(role: str, size: int) -> torch.Tensor:
        with run.step():
            return run.zeros(role, (size,))

    run.emptied(zeros("a", 4))
    assert zeros("a", 9).tolist() == [0.0] * 9
    run.emptied(zeros("a", 9))
    with run.step():
        run.buffer("a", (9,)).fill_(3)
    assert not zeros("a", 9).any()
    run.emptied(torch.zeros(9))
    assert zeros("b", 2).tolist() == [0.0, 0.0]
