from __future__ import annotations

import numpy as np
import torch

import honlearn as hl
from honlearn.baselines.dbgnn import DBGNNClassifier, DBGNNEncoder, first_order, higher_order
from honlearn.baselines.graph import Graph
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork

PATHS = [list("ACD"), list("BCE"), list("ACDA"), list("DACD"), list("BCEB")]


def labels_of(network: HigherOrderNetwork, graph: Graph, nodes: torch.Tensor) -> set[tuple[str, str, float]]:
    names = [network.nodes[int(node)] for node in nodes]
    return {
        (names[int(u)], names[int(v)], float(w))
        for (u, v), w in zip(graph.edges.T, graph.weights, strict=True)
    }


def test_without_pruning_the_higher_graph_is_the_de_bruijn_graph() -> None:
    network = hl.grow(PATHS, order=2, alpha=1, min_support=1)
    graph, nodes = higher_order(Graph.of(network))
    expected: dict[tuple[str, str], float] = {}
    for path in PATHS:
        for a, b, c in zip(path, path[1:], path[2:], strict=False):
            key = (f"{b}|{a}", f"{c}|{b}" if f"{c}|{b}" in network else c)
            expected[key] = expected.get(key, 0) + 1
    assert labels_of(network, graph, nodes) == {(*key, weight) for key, weight in expected.items()}


def test_the_first_graph_is_the_first_order_network() -> None:
    network = hl.grow(PATHS, order=2, alpha=1, min_support=1)
    one = network.first_order()
    got = first_order(Graph.of(network)).adjacency("out").toarray()
    np.testing.assert_array_equal(got, one.to_scipy().toarray())


def test_a_context_that_was_not_kept_is_its_base_node() -> None:
    hon = from_edges(["A", "C|A", "C", "C"], ["C|A", "D", "D", "E"], [2, 2, 6, 3])
    graph, nodes = higher_order(Graph.of(hon))
    assert labels_of(hon, graph, nodes) == {("C|A", "D", 2.0)}
    assert [hon.nodes[int(node)] for node in nodes] == ["D", "C|A"]


def dense_gcn(
    weights: np.ndarray, rows: torch.Tensor, bias: torch.Tensor, layers: torch.nn.ModuleList
) -> torch.Tensor:
    """Convolve the long way: both directions, a loop of the mean weight, D^-1/2 A D^-1/2."""
    both = weights + weights.T
    both = both + np.eye(len(both)) * (both[both > 0].mean() if (both > 0).any() else 1.0)
    degree = both.sum(1)
    adjacency = torch.from_numpy(both / np.sqrt(degree[:, None] * degree[None])).float()
    h = torch.relu(adjacency @ rows + bias)
    for layer in layers:
        h = torch.relu(adjacency @ (h @ layer.lin.weight.T) + layer.bias)
    return h


def test_the_encoder_is_the_dense_computation() -> None:
    network = hl.grow(PATHS, order=2, alpha=1, min_support=1)
    graph = Graph.of(network)
    torch.manual_seed(0)
    encoder = DBGNNEncoder(graph, n_layers=2, width=4, dropout=0.5, direction="both").eval()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.normal_()
        got = encoder(encoder.view(graph))
        whole = network.to_scipy().toarray().astype(float)
        size = network.n_entities
        first = np.zeros((size, size))
        for u in range(size):
            for v in range(network.n_nodes):
                first[u, network.base[v]] += whole[u, v]
        used = [v for v in range(network.n_nodes) if v >= size or whole[size:, v].any()]
        higher = whole[np.ix_(used, used)].copy()
        higher[[i for i, v in enumerate(used) if v < size]] = 0  # base nodes only receive here
        parts = []
        for part, weights, base in (
            (encoder.first, first, np.arange(size)),
            (encoder.higher, higher, network.base[used]),
        ):
            rows = part.identity.weight[torch.from_numpy(base.astype(np.int64))]
            parts.append(dense_gcn(weights, rows, part.bias, part.layers))
        expected = []
        for v in range(size):
            ending = [i for i, u in enumerate(used) if network.base[u] == v]
            told = parts[1][ending].mean(0) if ending else torch.zeros(4)
            expected.append(torch.relu(parts[0][v] + encoder.bipartite.weight @ told))
    torch.testing.assert_close(got, torch.stack(expected), atol=1e-5, rtol=1e-4)


def test_memory_is_read_from_the_higher_graph() -> None:
    data = hl.datasets.synthetic(2, n_nodes=40, labelled="hubs", seed=1)
    nodes, y = np.array(list(data.labels)), np.array(list(data.labels.values()))
    network = hl.grow(data.paths, order=2, alpha=1, min_support=1)
    encoder = (
        DBGNNClassifier(network, n_threads=1, random_state=0, max_epochs=2).fit(nodes, y).module_.encoder
    )
    with torch.no_grad():
        view = encoder.view(Graph.of(network))
        silent = view._replace(ends=torch.zeros(network.n_entities, view.ends.shape[1]))
        assert not torch.allclose(encoder(view), encoder(silent))
