"""The auto-encoder's propagation is the product of dense matrices, and its rows start orthogonal."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from baseline_cases import network

from honlearn.baselines.gae import GAELinkPredictor, LinearEncoder
from honlearn.baselines.graph import Graph
from honlearn.baselines.training import stream
from honlearn.errors import ParameterError


@pytest.mark.parametrize("order", [1, 2])
def test_sources_and_targets_are_sums_of_propagated_rows(order: int) -> None:
    hon = network(order)
    graph = Graph.of(hon, 0.5)
    with stream(0, "test"):
        encoder = LinearEncoder(graph.n_entities, 8, 2, 0.0).eval()
    with torch.no_grad():
        encoder.source.copy_(torch.tensor([1.0, 2.0, 3.0]))
        found = encoder(encoder.view(graph)).numpy()
        rows = encoder.identity.weight.numpy().astype(np.float64)
    dense = graph.adjacency("out").toarray()
    out, into = dense.sum(1), dense.sum(0)
    scaled = dense / np.sqrt(np.maximum(out, 1e-12))[:, None] / np.sqrt(np.maximum(into, 1e-12))
    x = rows[graph.base.numpy()]
    sources = x + 2 * scaled @ x + 3 * scaled @ scaled.T @ x
    targets = x + scaled.T @ x + scaled.T @ scaled @ x
    mean = np.zeros((graph.n_entities, graph.n_nodes))
    mean[graph.base.numpy(), np.arange(graph.n_nodes)] = out
    mean /= mean.sum(1, keepdims=True)
    np.testing.assert_allclose(found, mean @ np.hstack([sources, targets]), rtol=1e-4, atol=1e-5)


def test_rows_of_entities_start_orthogonal() -> None:
    with stream(0, "test"):
        weight = LinearEncoder(30, 8, 2, 0.0).identity.weight.detach()
    torch.testing.assert_close(weight.T @ weight, torch.eye(8) * 30 / 8, atol=1e-4, rtol=1e-4)


def test_depth_is_checked() -> None:
    with pytest.raises(ParameterError, match="'depth' parameter of GAELinkPredictor must be"):
        GAELinkPredictor(network(), depth=-1).fit()
