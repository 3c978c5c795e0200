"""Each convolution against a dense computation of its equation, and against PyTorch Geometric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GATv2Conv

from honlearn.baselines.attention import Neighbours, pair_scores, softmax_rows, weighted_sum
from honlearn.baselines.gat import GATClassifier, Heads
from honlearn.baselines.gatv2 import DynamicHeads, GATv2Classifier
from honlearn.baselines.gcn import GCNEncoder
from honlearn.baselines.gcnii import GCNIIClassifier
from honlearn.baselines.graph import Graph
from honlearn.baselines.ho_gnn import HOGNNEncoder
from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork

DIRECTIONS = pytest.mark.parametrize("direction", ["in", "out", "both"])


def network() -> HigherOrderNetwork:
    """Return a network with a family of three, a loop, and an entity that hears nobody."""
    rows = [
        ("A", "C|A", 4), ("B", "C|B", 3), ("C|A", "D", 2), ("C|A", "E", 1), ("C|B", "E", 7), ("C", "D", 5),
        ("D", "A", 6), ("D", "D", 2), ("F", "A", 1),
    ]  # fmt: skip
    source, target, weight = zip(*rows, strict=True)
    return from_edges(source, target, weight)


def dense(graph: Graph, direction: str, normalised: bool = True) -> torch.Tensor:
    """Return Â, or the weights alone, by loops over the edges."""
    matrix = torch.zeros(graph.n_nodes, graph.n_nodes, dtype=torch.float64)
    for (source, target), weight in zip(graph.edges.T.tolist(), graph.weights.tolist(), strict=True):
        if direction != "out":
            matrix[target, source] += weight
        if direction != "in":
            matrix[source, target] += weight
    if not normalised:
        return matrix.float()
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
def test_gcn(direction: str) -> None:
    graph = Graph.of(network(), 0.5)
    encoder = stirred(GCNEncoder(graph, 3, 6, 0.5, direction))
    near, h = dense(graph, direction), encoder.identity.weight[graph.base]
    h = torch.relu(near @ h + encoder.bias)
    for layer in encoder.layers:
        h = torch.relu(near @ h @ layer.lin.weight.T + layer.bias)
    torch.testing.assert_close(encoder(encoder.view(graph)), h, rtol=1e-4, atol=1e-5)


@DIRECTIONS
def test_gcnii(direction: str) -> None:
    model = GCNIIClassifier(network(), n_layers=3, width=6, alpha=0.3, theta=0.7, direction=direction)
    graph = model._graph()
    encoder, near = stirred(model._encoder(graph)), dense(graph, direction)
    first = h = near @ encoder.identity.weight[graph.base]
    for number, layer in enumerate(encoder.layers, start=1):
        beta = float(np.log(0.7 / number + 1))
        mixed = 0.7 * near @ h + 0.3 * first
        h = torch.relu((1 - beta) * mixed + beta * mixed @ layer.weight1)
    torch.testing.assert_close(encoder(encoder.view(graph)), h, rtol=1e-4, atol=1e-5)


@DIRECTIONS
def test_ho_gnn_is_the_mean_of_gcn_over_families(direction: str) -> None:
    graph = Graph.of(network())
    encoder = stirred(HOGNNEncoder(graph, 2, 6, 0.5, direction))
    h = encoder.nodes(encoder.nodes.view(graph))
    expected = torch.stack([h[graph.base == entity].mean(0) for entity in range(graph.n_entities)])
    assert (graph.base == 2).sum() == 3
    torch.testing.assert_close(encoder(encoder.view(graph)), expected)


def test_ho_gnn_on_a_first_order_network_is_gcn() -> None:
    graph = Graph.of(network().first_order())
    encoder = stirred(HOGNNEncoder(graph, 2, 6, 0.5, "both"))
    assert torch.equal(encoder(encoder.view(graph)), encoder.nodes(encoder.nodes.view(graph)))


def neighbours_by_hand(graph: Graph, direction: str) -> torch.Tensor:
    """Return the weights with loops: who has none gets the mean weight."""
    matrix = dense(graph, direction, normalised=False)
    mean = matrix[matrix > 0].mean()
    return torch.where((torch.eye(len(matrix)) > 0) & (matrix == 0), mean, matrix)


@DIRECTIONS
def test_neighbours_are_those_heard_and_oneself(direction: str) -> None:
    graph = Graph.of(network())
    near, matrix = Neighbours.of(graph, direction), torch.zeros(graph.n_nodes, graph.n_nodes)
    matrix[near.listener, near.heard] = near.weights
    torch.testing.assert_close(matrix, neighbours_by_hand(graph, direction))
    assert np.diff(near.indptr).tolist() == (matrix > 0).sum(1).tolist()


def scores_by_hand(heads: Any, second: bool, heard: Any, own: Any, log_weight: float) -> torch.Tensor:
    extra = heads.weight * log_weight
    if second:
        return (heads.sender * F.leaky_relu(heard + own, 0.2)).sum(1) + extra
    return F.leaky_relu((heads.sender * heard).sum(1) + (heads.listener * own).sum(1) + extra, 0.2)


@DIRECTIONS
@pytest.mark.parametrize("made", [GATClassifier, GATv2Classifier])
def test_attention_layers(made: Any, direction: str) -> None:
    """Two layers with edge weights, node by node and neighbour by neighbour."""
    model = made(network(), n_layers=2, width=6, n_heads=2, use_weights=True, direction=direction)
    graph = model._graph()
    encoder, weights = stirred(model._encoder(graph)), neighbours_by_hand(graph, direction)
    second = made is GATv2Classifier

    def layer(heads: Any, projected: torch.Tensor) -> torch.Tensor:
        parts = projected.view(graph.n_nodes, -1, 2, 3)
        out = []
        for i in range(graph.n_nodes):
            near = torch.nonzero(weights[i])[:, 0].tolist()
            scores = [
                scores_by_hand(heads, second, parts[j, 0], parts[i, -1], float(weights[i, j].log1p()))
                for j in near
            ]
            attention = torch.softmax(torch.stack(scores), 0)
            rows = [attention[place][:, None] * parts[j, 0] for place, j in enumerate(near)]
            out.append(torch.stack(rows).sum(0).flatten() + heads.bias)
        return torch.stack(out)

    h = layer(encoder.heads[0], encoder.identity.weight[graph.base])
    h = layer(encoder.heads[1], encoder.maps[0](F.elu(h)))
    torch.testing.assert_close(encoder(encoder.view(graph)), h, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("second", [False, True])
def test_heads_are_those_of_pytorch_geometric_with_their_gradients(second: bool) -> None:
    graph = Graph.of(network().first_order())
    near = Neighbours.of(graph, "both")
    heads = stirred((DynamicHeads if second else Heads)(4, 12, 0.0, False))
    random = torch.Generator().manual_seed(0)
    x = torch.randn(graph.n_nodes, 5, generator=random)
    maps = [torch.randn(12, 5, generator=random).requires_grad_() for _ in range(1 + second)]
    theirs = (GATv2Conv if second else GATConv)(5, 3, 4, add_self_loops=False, negative_slope=0.2)
    with torch.no_grad():
        theirs.bias.copy_(heads.bias)
        if second:
            for linear, weight in zip((theirs.lin_l, theirs.lin_r), maps, strict=True):
                linear.weight.copy_(weight)
                linear.bias.zero_()
            theirs.att.copy_(heads.sender)
        else:
            theirs.lin.weight.copy_(maps[0])
            theirs.att_src.copy_(heads.sender)
            theirs.att_dst.copy_(heads.listener)
    got = heads(torch.cat([x @ weight.T for weight in maps], 1), near)
    expected = theirs(x, torch.stack([near.heard, near.listener]))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    pull = torch.randn(got.shape, generator=random)
    vectors = [heads.sender] if second else [heads.sender, heads.listener]
    same = [theirs.att] if second else [theirs.att_src, theirs.att_dst]
    linears = [theirs.lin_l.weight, theirs.lin_r.weight] if second else [theirs.lin.weight]
    ours = torch.autograd.grad((got * pull).sum(), [*maps, *vectors])
    for one, other in zip(ours, torch.autograd.grad((expected * pull).sum(), [*linears, *same]), strict=True):
        torch.testing.assert_close(one, other.view(one.shape), rtol=1e-3, atol=1e-4)


def test_compiled_steps_have_the_gradients_of_their_values() -> None:
    """Slopes of the compiled steps against tensor operations over every edge."""
    near = Neighbours.of(Graph.of(network()), "both")
    count, edges, random = len(near.indptr) - 1, len(near.heard), torch.Generator().manual_seed(1)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random).requires_grad_()

    x, y, attention, scores = drawn(count, 2, 3), drawn(count, 2, 3), drawn(2, 3), drawn(edges, 2)
    rows = (near.listener[:, None] == torch.arange(count)).float()  # [E, N]
    by_row = (scores.exp()[:, None] * rows[:, :, None]).sum(0)
    cases = [
        (softmax_rows(near, scores), scores.exp() / by_row[near.listener], [scores]),
        (
            weighted_sum(near, scores, x),
            torch.einsum("en,eh,ehc->nhc", rows, scores, x[near.heard]),
            [scores, x],
        ),
        (
            pair_scores(near, x, y, attention, 0.2),
            (attention * F.leaky_relu(x[near.heard] + y[near.listener], 0.2)).sum(2),
            [x, y, attention],
        ),
    ]
    for got, expected, leaves in cases:
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
        pull = torch.randn(got.shape, generator=random)
        grads = torch.autograd.grad((got * pull).sum(), leaves)
        wanted = torch.autograd.grad((expected * pull).sum(), leaves)
        for one, other in zip(grads, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_scores_of_any_size_make_weights() -> None:
    near = Neighbours.of(Graph.of(network()), "both")
    scores = torch.linspace(-3e4, 3e4, len(near.heard))[:, None]
    weights = softmax_rows(near, scores)
    sums = torch.zeros(len(near.indptr) - 1).index_add_(0, near.listener, weights[:, 0])
    torch.testing.assert_close(sums, torch.ones_like(sums))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_heads": 3}, r"'width' parameter of GATClassifier must be a multiple of 'n_heads' \(3\)"),
        ({"n_heads": 0}, "'n_heads' parameter of GATClassifier"),
        ({"use_weights": 1}, "'use_weights' parameter of GATClassifier must be True or False. Got 1"),
    ],
)
def test_parameters_of_attention_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        GATClassifier(network(), width=16, **given).fit(["A", "B", "C"], ["x", "y", "x"])


@pytest.mark.parametrize("given", [{"alpha": 1.5}, {"theta": -1}, {"layer_decay": -0.1}])
def test_parameters_of_gcnii_are_checked(given: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=f"'{next(iter(given))}' parameter of GCNIIClassifier"):
        GCNIIClassifier(network(), **given).fit(["A", "B", "C"], ["x", "y", "x"])
