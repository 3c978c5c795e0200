"""Rows by learner: those near its own roots and no others, and what they give is the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from model_cases import around, context, ensemble, exact, small_network

from honlearn.engine.neighborhoods import ExactNeighborhood
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Ensemble, Surroundings
from honlearn.hon.network import HigherOrderNetwork

ROOTS = np.array([[3, 17, 9], [20, 5, 30], [8, 3, 44]], np.int32)


@pytest.fixture(scope="module")
def hon() -> HigherOrderNetwork:
    return small_network(3, entities=40, extra=20, edges=70)


def near_to(hon: HigherOrderNetwork, nodes: set[int]) -> set[int]:
    out_of = {int(t) for n in nodes for t in hon.indices[hon.indptr[n] : hon.indptr[n + 1]]}
    into = {int(s) for n in nodes for s in hon.in_indices[hon.in_indptr[n] : hon.in_indptr[n + 1]]}
    return nodes | out_of | into


def test_each_learner_has_the_rows_near_its_own_roots(hon: HigherOrderNetwork) -> None:
    _, layers = exact(hon, 3).rows_by_learner(ROOTS)
    for learner, roots in enumerate(ROOTS):
        expected = set(roots.tolist())
        for rows, counts, place in reversed(layers):
            own = rows[learner, : counts[learner]]
            assert set(own.tolist()) == expected
            if place.size:
                assert own.tolist() == sorted(expected)
                assert place[learner, own].tolist() == list(range(len(own)))
                assert (place[learner] >= 0).sum() == len(own)
            expected = near_to(hon, expected)
    # Else there would be nothing to leave out.
    assert layers[1].counts.max() < hon.n_nodes / 2


def outcome(model: Ensemble, near: Surroundings) -> list[torch.Tensor]:
    """Return representations of the roots in a training step, and the gradients of all weights."""
    ctx = context(step=5, training=True)
    with ctx.run.step():
        rows = model.represent(ROOTS, near, ctx)
        (rows * torch.linspace(-1, 2, rows.numel()).view_as(rows)).sum().backward()
        found = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    return [rows.detach().clone(), *found]


@pytest.mark.parametrize("featured", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_rows_that_nobody_reads_make_no_difference(
    hon: HigherOrderNetwork, masked: bool, featured: bool
) -> None:
    values = np.random.default_rng(0).normal(size=(hon.n_entities, 5))
    features = Features(values) if featured else None
    given = {"input_dropout": 0.4, "hidden_dropout": 0.4, "mask_self": masked}
    model = ensemble(hon, widths=(16, 9), features=features, **given)
    near = around(hon, model, featured).for_batches(3)
    (kind,), (one,) = model.shape.kinds, near.of_kind
    assert isinstance(one, ExactNeighborhood)
    assert not kind.sums_over_rows(one)
    own, everyone = one.with_own_rows(), one.with_all_rows()
    few, many = (way.hops(ROOTS, np.zeros(3, np.uint64), 0)[0].rows.shape[1] for way in (own, everyone))
    assert few < many
    with_own, with_all = (outcome(model, Surroundings((way,))) for way in (own, everyone))
    assert len(with_own) > 5
    for a, b in zip(with_own, with_all, strict=True):
        assert torch.equal(a, b)


def test_large_batches_multiply_first_and_compute_all_rows(hon: HigherOrderNetwork) -> None:
    model = ensemble(hon, widths=(64, 9))
    (kind,), (few,) = model.shape.kinds, around(hon, model).for_batches(1).of_kind
    (many,) = around(hon, model).for_batches(hon.n_nodes).of_kind
    assert not kind.sums_over_rows(few)
    assert kind.sums_over_rows(many)
    bag = Surroundings((many,)).for_bag(model.shape.kinds).of_kind[0]
    assert bag.hops(ROOTS, np.zeros(3, np.uint64), 0)[0].rows.shape[1] == hon.n_nodes
