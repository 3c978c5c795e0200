"""Convolutions over a graph's normalised adjacency, against a dense computation of their equation."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from honlearn.baselines.convolutions import Convolutions
from honlearn.baselines.graph import Graph
from honlearn.baselines.ho_gnn import HOGNNEncoder
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork

DIRECTIONS = pytest.mark.parametrize("direction", ["in", "out", "both"])


def network() -> HigherOrderNetwork:
    """Return a network with a family of three, a loop, and an entity without in-neighbours."""
    rows = [
        ("A", "C|A", 4), ("B", "C|B", 3), ("C|A", "D", 2), ("C|A", "E", 1), ("C|B", "E", 7), ("C", "D", 5),
        ("D", "A", 6), ("D", "D", 2), ("F", "A", 1),
    ]  # fmt: skip
    source, target, weight = zip(*rows, strict=True)
    return from_edges(source, target, weight)


def dense(graph: Graph, direction: str) -> torch.Tensor:
    """Return Â by loops over the edges."""
    matrix = torch.zeros(graph.n_nodes, graph.n_nodes, dtype=torch.float64)
    for (source, target), weight in zip(graph.edges.T.tolist(), graph.weights.tolist(), strict=True):
        if direction != "out":
            matrix[target, source] += weight
        if direction != "in":
            matrix[source, target] += weight
    matrix += torch.eye(graph.n_nodes) * matrix[matrix > 0].mean()
    return (matrix / matrix.sum(1, keepdim=True).sqrt() / matrix.sum(0).sqrt()).float()


def stirred(module: Any) -> Any:
    """Return the module, in evaluation, with every parameter drawn at random: none is 0 or 1 by its start."""
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=random))
    return module.eval()


@DIRECTIONS
def test_convolutions(direction: str) -> None:
    graph = Graph.of(network(), 0.5)
    encoder = stirred(Convolutions(graph, 3, 6, 0.5, direction))
    near, h = dense(graph, direction), encoder.identity.weight[graph.base]
    h = torch.relu(near @ h + encoder.bias)
    for layer in encoder.layers:
        h = torch.relu(near @ h @ layer.lin.weight.T + layer.bias)
    torch.testing.assert_close(encoder(encoder.view(graph)), h, rtol=1e-4, atol=1e-5)


@DIRECTIONS
def test_ho_gnn_is_the_mean_of_convolutions_over_families(direction: str) -> None:
    graph = Graph.of(network())
    encoder = stirred(HOGNNEncoder(graph, 2, 6, 0.5, direction))
    h = encoder.nodes(encoder.nodes.view(graph))
    expected = torch.stack([h[graph.base == entity].mean(0) for entity in range(graph.n_entities)])
    assert (graph.base == 2).sum() == 3
    torch.testing.assert_close(encoder(encoder.view(graph)), expected)


def test_ho_gnn_on_a_first_order_network_is_its_convolutions() -> None:
    graph = Graph.of(network().first_order())
    encoder = stirred(HOGNNEncoder(graph, 2, 6, 0.5, "both"))
    assert torch.equal(encoder(encoder.view(graph)), encoder.nodes(encoder.nodes.view(graph)))
