"""Layers of SAGE and GIN against the same arithmetic with dense one-hots and dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from model_cases import around, context, dense, ensemble, small_network
from scipy.sparse import csr_array

from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Architecture, Ensemble, count_parameters
from honlearn.hon.network import HigherOrderNetwork


@pytest.fixture(scope="module")
def hon() -> HigherOrderNetwork:
    return small_network()


def weight_of(layer: torch.nn.Module, name: str, learner: int) -> torch.Tensor:
    weight = getattr(layer, name)
    if not isinstance(weight, torch.nn.Parameter):
        parts = [part for part in (weight.identity, weight.matrix) if part is not None]
        weight = torch.cat(parts, 1)
    return weight[learner].detach()


def dense_layer(
    hon: HigherOrderNetwork, kind: str, layer: torch.nn.Module, x: torch.Tensor, learner: int
) -> torch.Tensor:
    w = {
        name: weight_of(layer, name, learner) for name in vars(layer)["_parameters"] | vars(layer)["_modules"]
    }
    if kind == "mean":
        parts = [
            x @ w["own"],
            dense(hon, "in", "mean") @ x @ w["into"],
            dense(hon, "out", "mean") @ x @ w["out_of"],
        ]
        return torch.cat(parts, 1) + w["bias"]
    if kind == "gin":
        eps = w["epsilon"]
        width = w["into"].shape[1]
        inner = torch.cat(
            [
                ((1 + eps[0]) * x + dense(hon, "in", "sum") @ x) @ w["into"],
                ((1 + eps[1]) * x + dense(hon, "out", "sum") @ x) @ w["out_of"],
            ],
            1,
        )
        hidden = torch.relu(inner + w["bias"])
        return (
            torch.cat([hidden[:, :width] @ w["into_2"], hidden[:, width:] @ w["out_of_2"]], 1) + w["bias_2"]
        )
    parts = [x @ w["own"]]
    start = 0
    for direction, pool, last in (("in", "pool_into", "into"), ("out", "pool_out_of", "out_of")):
        there, values = dense(hon, direction, "there"), x @ w[pool]
        best = torch.stack(
            [values[row].amax(0) if row.any() else torch.zeros(values.shape[1]) for row in there]
        )
        shift = w["pool_bias"][start : start + values.shape[1]]
        parts.append(torch.relu(best + shift) @ w[last])
        start += values.shape[1]
    return torch.cat(parts, 1) + w["bias"]


def reference(hon: HigherOrderNetwork, model: Ensemble, inputs: torch.Tensor, kind: str) -> torch.Tensor:
    out = []
    for learner in range(model.shape.n_learners):
        x = inputs[hon.base.tolist()]
        for number, layer in enumerate(model.stacks[0].layers):
            x = dense_layer(hon, kind, layer, x, learner)
            if number < len(model.stacks[0].layers) - 1:
                x = torch.relu(x)
        out.append(x)
    return torch.stack(out)


@pytest.mark.parametrize("widths", [(7,), (9, 7), (9, 8, 7)])
@pytest.mark.parametrize("kind", ["mean", "max", "gin"])
def test_identity_look_ups_equal_dense_one_hots(
    hon: HigherOrderNetwork, kind: str, widths: tuple[int, ...]
) -> None:
    model = ensemble(hon, kind, widths=widths)
    roots = np.arange(hon.n_nodes, dtype=np.int32)[None].repeat(3, 0)
    got = model.represent(roots, around(hon, model), context())
    expected = reference(hon, model, torch.eye(hon.n_entities), kind)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("kind", ["mean", "max", "gin"])
def test_user_features_equal_dense_inputs(
    hon: HigherOrderNetwork, kind: str, sparse: bool, identity: bool
) -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=(hon.n_entities, 5)) * (random.random((hon.n_entities, 5)) < 0.5)
    features = Features(csr_array(values) if sparse else values)
    model = ensemble(hon, kind, features=features, identity=identity)
    roots = np.arange(hon.n_nodes, dtype=np.int32)[None].repeat(3, 0)
    table = torch.tensor(values, dtype=torch.float32)
    inputs = torch.cat([torch.eye(hon.n_entities), table], 1) if identity else table
    got = model.represent(roots, around(hon, model, True), context())
    torch.testing.assert_close(got, reference(hon, model, inputs, kind), rtol=1e-4, atol=1e-5)


@pytest.fixture(params=[4, 4096], ids=["summed first", "multiplied first"])
def usual_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few usual rows: neighbours are summed first. Many: inputs are multiplied first (transforms_first)."""
    monkeypatch.setattr(Architecture, "usual_rows", request.param)


@pytest.mark.usefixtures("usual_rows")
def test_rows_that_are_needed_are_computed_as_among_all() -> None:
    hon = small_network(3, entities=40, extra=20, edges=70)
    model = ensemble(hon, widths=(9, 9, 9))
    near = around(hon, model)
    everyone = np.arange(hon.n_nodes, dtype=np.int32)[None].repeat(3, 0)
    whole = model.represent(everyone, near, context())
    few = np.array([[3, 17], [20, 5], [3, 3]], np.int32)
    assert near.of_kind[0].hops(few, np.zeros(3, np.uint64), 0)[1].rows.shape[1] < hon.n_nodes
    some = model.represent(few, near, context())
    assert torch.equal(some, torch.stack([whole[i, few[i]] for i in range(3)]))


@pytest.mark.usefixtures("usual_rows")
def test_dropout_does_not_depend_on_the_other_rows() -> None:
    hon = small_network(3, entities=40, extra=20, edges=70)
    model = ensemble(hon, input_dropout=0.5, hidden_dropout=0.5)
    near, ctx = around(hon, model), context(training=True)
    everyone = np.arange(hon.n_nodes, dtype=np.int32)[None].repeat(3, 0)
    few = np.array([[3], [20], [5]], np.int32)
    whole = model.represent(everyone, near, ctx)
    some = model.represent(few, near, ctx)
    assert torch.equal(some, torch.stack([whole[i, few[i]] for i in range(3)]))


def test_sizes_are_the_papers() -> None:
    hon = small_network()
    model = ensemble(hon, learners=2, widths=(128, 128))
    layer = 128 * 128 + 128
    assert count_parameters(model) == 2 * (hon.n_entities * 128 + 128 + layer + 128 * 4 + 4)
