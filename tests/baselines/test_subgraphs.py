"""Enclosing subgraphs and their labels, against NetworkX and slow searches over shortest paths."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import honlearn as hl
from honlearn.baselines.double_radius import double_radius
from honlearn.baselines.subgraphs import Extractor, Rows, Subgraphs
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork


@st.composite
def networks(draw: st.DrawFn) -> HigherOrderNetwork:
    """Return a random network of first order with loops, ways back, and at least two nodes."""
    size = draw(st.integers(2, 9))
    end = st.integers(0, size - 1)
    edges = draw(st.dictionaries(st.tuples(end, end), st.integers(1, 9), min_size=1, max_size=25))
    edges.setdefault((0, 1), 1)
    return from_edges([f"n{u}" for u, _ in edges], [f"n{v}" for _, v in edges], list(edges.values()))


@st.composite
def histories(draw: st.DrawFn) -> HigherOrderNetwork:
    """Return a random network of second order, grown from paths."""
    step = st.sampled_from("ABCDE")
    paths = draw(st.lists(st.lists(step, min_size=3, max_size=6), min_size=4, max_size=15))
    return hl.grow([*paths, ["A", "B", "C"]], order=2, alpha=1, min_support=1)


def pairs_of(network: HigherOrderNetwork) -> NDArray[np.int32]:
    """Return all ordered pairs of different entities."""
    size = network.n_entities
    every = np.stack(np.divmod(np.arange(size**2), size), 1).astype(np.int32)
    return every[every[:, 0] != every[:, 1]]


def without_pair(network: HigherOrderNetwork, u: int, v: int) -> nx.DiGraph:
    """Return the network, nodes by number, without the edges between relatives of u and of v."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.n_nodes))
    base = network.base
    for a, b, w in zip(
        network.sources.tolist(), network.indices.tolist(), network.weights.tolist(), strict=True
    ):
        if {int(base[a]), int(base[b])} != {u, v}:
            graph.add_edge(a, b, weight=w)
    return graph


def one(found: Subgraphs, row: int) -> slice:
    return slice(int(found.offsets[row]), int(found.offsets[row + 1]))


def edges_of(rows: Rows, nodes: NDArray[np.int32], part: slice) -> dict[tuple[int, int], float]:
    """Return the weights of the edges of one graph by the numbers of its nodes in the network."""
    return {
        (int(nodes[i]), int(nodes[rows.indices[e]])): float(rows.weights[e])
        for i in range(part.start, part.stop)
        for e in range(rows.indptr[i], rows.indptr[i + 1])
    }


def enclosing(graph: nx.DiGraph, ends: list[int], hops: int) -> nx.DiGraph:
    """Return the union of the ego graphs of these nodes, with all edges among its nodes."""
    around = [nx.ego_graph(graph, end, hops, undirected=True) for end in ends]
    return graph.subgraph(set().union(*around))


def slow_label(graph: nx.Graph, node: int, us: set[int], vs: set[int]) -> int:
    """Return the double-radius label by shortest paths, node by node, as the paper defines it."""
    if node in us | vs:
        return 1
    distances = []
    for ends, others in ((us, vs), (vs, us)):
        seen = graph.subgraph(set(graph) - others)
        lengths = [nx.shortest_path_length(seen, node, end) for end in ends if nx.has_path(seen, node, end)]
        if not lengths:
            return 0
        distances.append(min(lengths))
    # The labels count up over (d, min) with d the sum of both: the closed form must agree with counting.
    wanted = (sum(distances), min(distances))
    order = sorted((x + y, x) for x in range(1, 40) for y in range(x, 40))
    return 2 + order.index(wanted)


@given(networks(), st.integers(1, 3))
@settings(max_examples=60)
def test_nodes_and_edges_are_those_of_ego_graphs(network: HigherOrderNetwork, hops: int) -> None:
    pairs = pairs_of(network)
    found = Extractor(network, hops)(pairs)
    for row, (u, v) in enumerate(pairs.tolist()):
        part, wanted = one(found, row), enclosing(without_pair(network, u, v), [u, v], hops)
        nodes = found.nodes[part].tolist()
        assert nodes[:2] == [u, v]
        assert found.roles[part].tolist() == [1, 2] + [0] * (len(nodes) - 2)
        assert len(set(nodes)) == len(nodes)
        assert set(nodes) == set(wanted)
        assert set(edges_of(found.out, found.nodes, part)) == set(wanted.edges)
        assert set(edges_of(found.into, found.nodes, part)) == {(b, a) for a, b in wanted.edges}


@given(networks(), st.integers(1, 3))
@settings(max_examples=60)
def test_labels_are_those_of_shortest_paths(network: HigherOrderNetwork, hops: int) -> None:
    pairs = pairs_of(network)
    found = Extractor(network, hops)(pairs)
    for row, (u, v) in enumerate(pairs.tolist()):
        part = one(found, row)
        graph = enclosing(without_pair(network, u, v), [u, v], hops).to_undirected()
        wanted = [slow_label(graph, node, {u}, {v}) for node in found.nodes[part].tolist()]
        assert found.labels[part].tolist() == wanted


@given(histories(), st.integers(1, 2))
@settings(max_examples=30)
def test_an_end_is_a_family(network: HigherOrderNetwork, hops: int) -> None:
    pairs = pairs_of(network)
    found = Extractor(network, hops)(pairs)
    for row, (u, v) in enumerate(pairs.tolist()):
        part = one(found, row)
        us, vs = (set(np.flatnonzero(network.base == end).tolist()) for end in (u, v))
        wanted = enclosing(without_pair(network, u, v), sorted(us | vs), hops)
        nodes = found.nodes[part].tolist()
        assert set(nodes) == set(wanted)
        assert set(edges_of(found.out, found.nodes, part)) == set(wanted.edges)
        graph = wanted.to_undirected()
        assert found.labels[part].tolist() == [slow_label(graph, node, us, vs) for node in nodes]
        assert {node for node, role in zip(nodes, found.roles[part], strict=True) if role == 1} == us


@given(networks() | histories())
@settings(max_examples=40)
def test_weights_are_shares_and_degrees_know_no_target(network: HigherOrderNetwork) -> None:
    pairs = pairs_of(network)
    found = Extractor(network, edge_power=0.5)(pairs)
    for row, (u, v) in enumerate(pairs.tolist()):
        part, graph = one(found, row), without_pair(network, u, v)
        nodes = found.nodes[part].tolist()
        inside = graph.subgraph(nodes)
        for (a, b), share in edges_of(found.out, found.nodes, part).items():
            total = sum(inside[a][c]["weight"] ** 0.5 for c in inside[a])
            np.testing.assert_allclose(share, inside[a][b]["weight"] ** 0.5 / total, rtol=1e-5)
        for (b, a), share in edges_of(found.into, found.nodes, part).items():
            total = sum(inside[c][b]["weight"] ** 0.5 for c in inside.predecessors(b))
            np.testing.assert_allclose(share, inside[a][b]["weight"] ** 0.5 / total, rtol=1e-5)
        wanted = [
            [
                degree(node, weight=weight)
                for degree in (graph.out_degree, graph.in_degree)
                for weight in (None, "weight")
            ]
            for node in nodes
        ]
        np.testing.assert_allclose(found.degrees[part], np.log1p(wanted), rtol=1e-5, atol=1e-6)


@given(networks() | histories(), st.integers(1, 3), st.sampled_from([1, 2, 3, None]))
@settings(max_examples=60)
def test_the_target_is_never_visible(network: HigherOrderNetwork, hops: int, most: int | None) -> None:
    """A pair's subgraph is the same, to the byte, in the network without its edges."""
    from honlearn.tasks.link_split import hide_pairs

    for pair in pairs_of(network)[:6]:
        whole = Extractor(network, hops, most)(pair[None])
        hidden = Extractor(hide_pairs(network, pair[None]), hops, most)(pair[None])
        assert same(whole, hidden)


@given(networks() | histories(), st.integers(1, 3), st.sampled_from([1, 2, 3, None]))
@settings(max_examples=40)
def test_a_batch_is_its_pairs_side_by_side(network: HigherOrderNetwork, hops: int, most: int | None) -> None:
    extract, pairs = Extractor(network, hops, most, seed=3), pairs_of(network)
    found = extract(pairs)
    for row in range(len(pairs)):
        alone, part = extract(pairs[row : row + 1]), one(found, row)
        for name in ("nodes", "roles", "labels", "degrees"):
            assert getattr(found, name)[part].tobytes() == getattr(alone, name).tobytes()
        for side in ("out", "into"):
            rows, own = getattr(found, side), getattr(alone, side)
            first, last = rows.indptr[part.start], rows.indptr[part.stop]
            assert (rows.indptr[part.start : part.stop + 1] - first).tolist() == own.indptr.tolist()
            assert (rows.indices[first:last] - part.start).tolist() == own.indices.tolist()
            assert rows.weights[first:last].tobytes() == own.weights.tobytes()


def same(a: Subgraphs, b: Subgraphs) -> bool:
    names = ("offsets", "nodes", "roles", "labels", "degrees")
    arrays = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
    return arrays and all(
        np.array_equal(x, y) for x, y in zip((*a.out, *a.into), (*b.out, *b.into), strict=True)
    )


def star(size: int) -> HigherOrderNetwork:
    """Return a hub H with many leaves, and a node S that is linked to one of them."""
    leaves = [f"L{i:03d}" for i in range(size)]
    return from_edges(["H"] * size + ["S"], [*leaves, leaves[0]], [1] * (size + 1))


def test_a_hop_is_drawn_uniformly_by_seed() -> None:
    network = star(40)
    pair = network.vocabulary.codes(["H", "S"])[None].astype(np.int32)
    counts = np.zeros(network.n_nodes)
    for seed in range(600):
        found = Extractor(network, 1, 10, seed=seed)(pair)
        assert len(found.nodes) == 12
        counts[found.nodes[2:]] += 1
    leaves = np.delete(counts, pair[0])
    # 40 leaves of which 10 are drawn: 600 draws give 150 of each, with a deviation of 10.6.
    assert abs(leaves - 150).max() < 45
    assert ((leaves - 150) ** 2 / (600 * 0.25 * 0.75)).sum() < 80
    again = Extractor(network, 1, 10, seed=1)
    assert same(again(pair), Extractor(network, 1, 10, seed=1)(pair))
    assert not same(again(pair), Extractor(network, 1, 10, seed=2)(pair))


def test_a_large_family_keeps_its_base_node() -> None:
    sources = [f"C|{chr(97 + i)}" for i in range(20)]
    network = from_edges([*sources, "C", "E"], ["D"] * 22, [1] * 22)
    pair = network.vocabulary.codes(["C", "E"])[None].astype(np.int32)
    found = Extractor(network, 2, 5)(pair)
    ends = found.nodes[found.roles == 1]
    assert len(ends) == 5
    assert ends[0] == pair[0, 0]
    assert (network.base[found.nodes] == pair[0, 0]).sum() == 5, "who was not drawn does not come back"


def test_labels_grow_with_the_distance() -> None:
    x, y = np.arange(1, 12), np.arange(1, 12)
    near = double_radius(x, y)
    assert all(a < b for a, b in pairwise(near.tolist()))
    assert double_radius(np.array([3]), np.array([5])) == double_radius(np.array([5]), np.array([3]))
