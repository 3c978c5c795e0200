"""The network as tensors: edges, directions, normalisation, hidden edges."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from honlearn.baselines.graph import Graph, as_tensor
from honlearn.engine.adjacency import matrix_of, normalized
from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork

EDGES = [("A", "C|A", 4), ("C|A", "A", 1), ("C", "D", 9), ("C", "A", 16), ("D", "D", 25)]


def small() -> HigherOrderNetwork:
    source, target, weight = zip(*EDGES, strict=True)
    return from_edges(source, target, weight)


def dense(network: HigherOrderNetwork, power: float = 1.0) -> np.ndarray:
    """Return the weights [N, N] from the table of the network's edges, by name."""
    place = {name: i for i, name in enumerate(network.nodes)}
    matrix = np.zeros((len(place), len(place)))
    for source, target, weight in EDGES:
        matrix[place[source], place[target]] = weight**power
    return matrix


def test_a_context_has_its_entity_as_base() -> None:
    graph = Graph.of(small())
    assert graph.n_entities == 3
    assert graph.n_nodes == 4
    assert graph.base.tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize("power", [1.0, 0.5, 0.0])
def test_rows_hold_the_neighbours_that_messages_come_from(power: float) -> None:
    network = small()
    graph, out = Graph.of(network, power), dense(network, power)
    np.testing.assert_allclose(graph.adjacency("out").toarray(), out)
    np.testing.assert_allclose(graph.adjacency("in").toarray(), out.T)
    np.testing.assert_allclose(graph.adjacency("both").toarray(), out + out.T)


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_convolutions_and_learners_have_the_same_neighbours(direction: str) -> None:
    expected = matrix_of(small(), 0.5, direction).toarray()
    np.testing.assert_allclose(Graph.of(small(), 0.5).adjacency(direction).toarray(), expected, rtol=1e-6)


def test_an_unknown_direction_gets_a_near_match() -> None:
    with pytest.raises(ParameterError, match=r"must be one of 'in', 'out', 'both'.*did you mean 'both'"):
        Graph.of(small()).adjacency("bth")


def test_hidden_edges_are_gone_and_nodes_stay() -> None:
    graph = Graph.of(small())
    hidden = graph.weights > 8
    part = graph.without(hidden)
    assert part.n_nodes == graph.n_nodes
    assert sorted(part.weights.tolist()) == [1, 4]
    assert part.adjacency("out").sum() == 5
    assert graph.adjacency("out").sum() == 55  # the graph itself is as it was


@pytest.mark.parametrize("loops", [True, False])
def test_normalised_as_the_equations_say(loops: bool) -> None:
    random = np.random.default_rng(0)
    matrix = random.integers(0, 4, (6, 6)) * 1.0
    matrix[2] = matrix[:, 2] = 0
    whole = matrix + np.eye(6) * matrix[matrix > 0].mean() * loops
    rows, columns = whole.sum(1), whole.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        symmetric = np.nan_to_num(whole / np.sqrt(rows)[:, None] / np.sqrt(columns))
        stochastic = np.nan_to_num(whole / rows[:, None])
    got = sparse.csr_array(matrix)
    np.testing.assert_allclose(normalized(got, "symmetric", loops).toarray(), symmetric, atol=1e-12)
    np.testing.assert_allclose(normalized(got, "rows", loops).toarray(), stochastic, atol=1e-12)
    np.testing.assert_array_equal(got.toarray(), matrix)


def test_a_graph_without_edges_has_loops_alone() -> None:
    graph = Graph.of(small())
    empty = graph.without(torch.ones(len(EDGES), dtype=torch.bool))
    np.testing.assert_allclose(normalized(empty.adjacency("both")).toarray(), np.eye(4))


def test_sparse_products_and_their_gradients_are_those_of_dense_ones() -> None:
    random = np.random.default_rng(1)
    matrix = random.random((5, 5)) * (random.random((5, 5)) < 0.5)
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    got = as_tensor(sparse.csr_array(matrix)) @ x
    expected = torch.from_numpy(matrix).float() @ x
    torch.testing.assert_close(got, expected)
    pull = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    one, other = (torch.autograd.grad((out * pull).sum(), x)[0] for out in (got, expected))
    torch.testing.assert_close(one, other)
