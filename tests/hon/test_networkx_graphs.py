"""Networks from NetworkX graphs and from edge lists with further nodes."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from network_cases import Edges, edge_lists, names, network

import honlearn as hl
from honlearn.errors import InputError, ParameterError


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists(names()))
def test_there_and_back(edges: Edges) -> None:
    assert hl.from_networkx(network(edges).to_networkx()) == network(edges)


def test_the_adjacency_is_that_of_networkx() -> None:
    random = np.random.default_rng(0)
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        graph = kind()
        graph.add_nodes_from(range(9))
        pairs = random.integers(0, 9, (30, 2)).tolist()
        graph.add_weighted_edges_from((a, b, 1 + i / 4) for i, (a, b) in enumerate(pairs))
        hon = hl.from_networkx(graph)
        assert hon.nodes[:] == tuple("012345678")
        assert np.array_equal(hon.to_scipy().toarray(), nx.to_numpy_array(graph, nodelist=range(9)))
        ones = hl.from_networkx(graph, weight=None).to_scipy().toarray()
        assert np.array_equal(ones, nx.to_numpy_array(graph, nodelist=range(9), weight=None))


def test_isolated_nodes_and_edges_without_weight() -> None:
    graph = nx.DiGraph([("A", "B")])
    graph.add_node("C")
    graph.add_edge("B", "A", weight=2.5)
    hon = hl.from_networkx(graph)
    assert list(hon.nodes) == ["A", "B", "C"]
    assert hon.weights.tolist() == [1.0, 2.5]
    assert list(hl.from_networkx(nx.empty_graph(2)).nodes) == ["0", "1"]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (
            [("A", "B", {"weight": 0})],
            "the edge 'A' → 'B': weight 0; an edge's weight is a finite number above 0",
        ),
        ([("A", "B", {"weight": float("nan")})], "the edge 'A' → 'B': weight nan"),
        ([("A", "B", {"weight": "2"})], "the edge 'A' → 'B' has weight='2'; a weight is a number above 0"),
        ([("A", "B", {"weight": None})], "the edge 'A' → 'B' has weight=None"),
        ([(1, "1", {})], "the nodes 1 and '1' have one name, '1'; relabel"),
        ([("", "1", {})], "the edge '' → '1': an empty id"),
        ([("A|", "1", {})], "the edge 'A|' → '1': the label 'A|' has an empty part"),
    ],
)
def test_refused(edges: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        hl.from_networkx(nx.DiGraph(edges))


def test_what_is_no_graph() -> None:
    with pytest.raises(
        ParameterError, match=r"must be a networkx graph. Got an object of type list.*from_edges"
    ):
        hl.from_networkx([("A", "B")])  # type: ignore[arg-type]


def test_from_edges_with_further_nodes() -> None:
    hon = hl.from_edges(["A"], ["B"], nodes=["C|A", "B", "D"])
    assert list(hon.nodes) == ["A", "B", "C", "D", "C|A"]
    assert hon.n_edges == 1
    assert list(hl.from_edges([], [], nodes=["X"]).nodes) == ["X"]
    with pytest.raises(InputError, match="node 1: an empty id"):
        hl.from_edges(["A"], ["B"], nodes=["C", ""])
    with pytest.raises(InputError, match="node 0: no nodes; give the label"):
        hl.from_edges(["A"], ["B"], nodes=[None])
