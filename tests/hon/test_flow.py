"""PageRank and visits against NetworkX, a linear system and closed forms."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from network_cases import Edges, edge_lists, network

import honlearn as hl
from honlearn.errors import HonlearnError, InputError, ParameterError
from honlearn.hon.flow import pagerank, visits


@settings(deadline=None, max_examples=60)  # the first example imports and compiles
@given(edge_lists())
def test_pagerank_is_that_of_networkx_with_teleportation_to_base_nodes(edges: Edges) -> None:
    hon = network(edges)
    base = dict.fromkeys(hon.vocabulary.names, 1.0)
    for damping in (0.85, 0.3, 0):
        expected = nx.pagerank(
            hon.to_networkx(), damping, personalization=base, dangling=base, tol=1e-13, max_iter=2000
        )
        found = pagerank(hon, damping, by="node")
        assert dict(zip(found["node"], found["pagerank"], strict=True)) == pytest.approx(expected, abs=1e-9)
        summed = pagerank(hon, damping)
        for entity, share in zip(summed["entity"], summed["pagerank"], strict=True):
            family = [expected[label] for label in hon.nodes if label.split("|")[0] == entity]
            assert share == pytest.approx(sum(family), abs=1e-9)
        assert summed["pagerank"].is_monotonic_decreasing
        assert summed["pagerank"].sum() == pytest.approx(1)


@settings(deadline=None, max_examples=60)
@given(edge_lists())
def test_visits_solve_their_equation(edges: Edges) -> None:
    hon = network(edges)
    size, out = hon.n_nodes, hon.out_weight.astype(float)
    start = np.zeros(size)
    start[: hon.n_entities] = out[: hon.n_entities]
    if not start.sum():
        with pytest.raises(InputError, match="no base node has an out-edge"):
            visits(hon)
        return
    start /= start.sum()
    steps = hon.to_scipy().toarray() / np.where(out > 0, out, 1)[:, None]
    moves = 0.85 * (steps + np.outer(out == 0, start)) + 0.15 * start
    stay = np.linalg.solve(np.vstack([(moves.T - np.eye(size))[:-1], np.ones(size)]), np.eye(size)[-1])
    along = stay @ steps
    found = visits(hon, by="node").set_index("node")["visits"]
    assert found[list(hon.nodes)].to_numpy() == pytest.approx(along / along.sum(), abs=1e-8)
    assert visits(hon)["visits"].sum() == pytest.approx(1)


@pytest.mark.parametrize("damping", [0.2, 0.85, 0.99])
def test_visits_of_an_undirected_graph_are_degrees(damping: float) -> None:
    graph = nx.gnm_random_graph(30, 80, seed=1)
    hon = hl.from_networkx(graph)
    found = visits(hon, damping).set_index("entity")["visits"]
    for node, degree in graph.degree:
        assert found.get(str(node), 0) == pytest.approx(degree / 160, abs=1e-8)


def test_memory_changes_the_ranks() -> None:
    # Whoever comes from A returns to A; without memory half of them would go on to B.
    paths = [["A", "C", "A", "C", "A"]] * 9 + [["B", "C", "B", "C", "B"]] * 3 + [["D", "A"], ["D", "B"]]
    hon = hl.grow(paths, order=2, tau=0.1, min_support=1)
    assert hon.n_conditional
    shares = [net.pagerank().set_index("entity")["pagerank"] for net in (hon, hon.first_order())]
    assert shares[0]["A"] != pytest.approx(shares[1]["A"], abs=1e-3)
    rows = hon.pagerank(by="node")
    assert list(rows.columns) == ["node", "entity", "order", "pagerank"]
    assert set(rows["node"]) == set(hon.nodes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1}, "'damping' parameter of pagerank must be a number, at least 0 and below 1. Got 1"),
        ({"damping": "x"}, "'damping'.*Got 'x'"),
        ({"tolerance": -1}, "'tolerance'.*Got -1"),
        ({"max_iterations": 0}, "'max_iterations'.*at least 1"),
        ({"by": "family"}, "'by' parameter of pagerank.*'entity', 'node'"),
    ],
)
def test_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        hl.from_edges(["A"], ["B"]).pagerank(**options)


def test_a_network_without_nodes_has_no_ranks() -> None:
    with pytest.raises(InputError, match="pagerank: the network has no nodes"):
        hl.from_edges([], []).pagerank()


def test_numbers_of_numpy_are_numbers() -> None:
    hon = hl.from_edges(["A", "B"], ["B", "A"])
    assert hon.pagerank(np.float32(0.5)).equals(hon.pagerank(0.5))


def test_no_convergence_is_told() -> None:
    ring = hl.from_edges(["A", "B", "C", "C"], ["B", "C", "A", "B"])
    with pytest.raises(
        HonlearnError, match=r"after 3 iterations the last change was .*; raise max_iterations"
    ):
        ring.pagerank(0.99, max_iterations=3)
