"""GraphSAINT's subgraphs: who is found, what is induced, and that both normalisations are unbiased."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from baseline_cases import network
from scipy import sparse
from scipy.stats import chisquare

import honlearn.baselines.walk_subgraphs as walks
from honlearn.baselines.graph import Graph
from honlearn.baselines.graphsaint import GraphSAINTClassifier, GraphSAINTEncoder, _balanced
from honlearn.baselines.training import stream
from honlearn.baselines.walk_subgraphs import Coefficients, Parts, WalkSubgraphs
from honlearn.errors import ParameterError

# Node 4 hears nobody; node 2 hears 0 and 3 with very different weights.
HEARD = np.array([[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [9, 0, 0, 1, 0], [1, 0, 1, 0, 1], [0, 0, 0, 0, 0]], float)


def graph() -> Graph:
    """Return the graph in which row i of HEARD is whom node i has an edge to."""
    source, target = np.nonzero(HEARD)
    return Graph(
        torch.arange(5),
        torch.from_numpy(np.stack([source, target])),
        torch.from_numpy(HEARD[source, target]).float(),
        5,
    )


def test_roots_are_uniform_and_so_are_steps() -> None:
    sampler = WalkSubgraphs(sparse.csr_array(HEARD), 5, n_roots=1, walk_length=1)
    random, counts = np.random.default_rng(0), dict[tuple[int, ...], int]()
    for _ in range(6000):
        found = tuple(sampler.draw(random).tolist())
        counts[found] = counts.get(found, 0) + 1
    chances = dict[tuple[int, ...], float]()
    for root, row in enumerate(HEARD):
        heard = np.flatnonzero(row) if row.any() else np.array([root])
        for next_one in heard.tolist():
            key = tuple(sorted({root, next_one}))
            chances[key] = chances.get(key, 0.0) + 0.2 / len(heard)
    assert set(counts) == set(chances)
    assert chisquare([counts[k] for k in chances], [6000 * chances[k] for k in chances]).pvalue > 1e-3


def test_without_edges_walks_stay_where_they_are() -> None:
    sampler = WalkSubgraphs(sparse.csr_array((5, 5)), 5, n_roots=40, walk_length=3)
    assert sampler.draw(np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]


def test_walks_start_at_base_nodes() -> None:
    whole = Graph.of(network())
    sampler = WalkSubgraphs(whole.adjacency("both"), whole.n_entities, n_roots=30, walk_length=0)
    found = np.concatenate([sampler.draw(np.random.default_rng(number)) for number in range(20)])
    assert set(found) == set(range(whole.n_entities))
    parts = Parts(whole, "both", n_roots=30, walk_length=1, seed=0)
    assert parts.n_steps == round(
        1 / (parts.coefficients.nodes[: whole.n_entities].mean() / parts.coefficients.n_samples)
    )
    assert parts.coefficients.nodes[whole.n_entities :].any(), "walks go on to conditional nodes"


def test_what_is_induced_is_the_part_of_the_matrix() -> None:
    matrix = Graph.of(network()).adjacency("both")
    sampler = WalkSubgraphs(matrix, network().n_entities, n_roots=9, walk_length=2)
    for number in range(5):
        nodes = sampler.draw(np.random.default_rng(number))
        assert (np.diff(nodes) > 0).all()
        pointers, columns, places = sampler.induced(nodes)
        made = sparse.csr_array((matrix.data[places], columns, pointers), shape=(len(nodes), len(nodes)))
        np.testing.assert_array_equal(made.toarray(), matrix.toarray()[np.ix_(nodes, nodes)])


def test_over_the_counted_subgraphs_sums_and_losses_are_exact() -> None:
    sampler = WalkSubgraphs(sparse.csr_array(HEARD), 5, n_roots=1, walk_length=2)
    counted = Coefficients.count(sampler, seed=3)
    assert counted.edges.min() > 0
    rows = np.repeat(np.arange(5), np.diff(sampler.indptr))
    heard, kept, x = HEARD[HEARD > 0], counted.kept(rows), np.random.default_rng(0).normal(size=5)
    sums, losses = np.zeros(5), 0.0
    for number in range(counted.n_samples):
        nodes = sampler.draw(walks.generator(3, "coefficients", number))
        pointers, columns, places = sampler.induced(nodes)
        part = sparse.csr_array((heard[places] / kept[places], columns, pointers), shape=[len(nodes)] * 2)
        sums[nodes] += part @ x[nodes] / counted.nodes[nodes]
        losses += (x[nodes] / counted.found[nodes]).sum() / counted.n_samples
    np.testing.assert_allclose(sums, HEARD @ x, rtol=1e-10)
    np.testing.assert_allclose(losses, x.sum(), rtol=1e-10)


def test_new_subgraphs_are_unbiased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "COVERAGE", 3000)
    parts = Parts(graph(), "out", n_roots=1, walk_length=2, seed=0)
    shown, found = parts.shown(), parts.coefficients.found
    mean = HEARD / np.maximum(HEARD.sum(1, keepdims=True), 1)
    x = torch.tensor([3.0, -1.0, 2.0, 5.0, 1.0])
    sums: list[list[float]] = [[] for _ in range(5)]
    losses = []
    for step in range(6000):
        nodes, (base, adjacency) = parts.draw(shown, epoch=0, step=step)
        assert base.tolist() == nodes.tolist()
        for node, value in zip(nodes.tolist(), (adjacency @ x[base][:, None])[:, 0].tolist(), strict=True):
            sums[node].append(value)
        losses.append(float((x.numpy()[nodes] / found[nodes]).sum()))
    for node, values in enumerate(sums):
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - mean[node] @ x.numpy()) <= 4 * error + 1e-6, node
    assert abs(np.mean(losses) - float(x.sum())) <= 4 * np.std(losses) / np.sqrt(len(losses))


def test_a_subgraph_of_all_nodes_is_the_graph() -> None:
    whole = Graph.of(network(), 0.5)
    parts = Parts(whole, "both", n_roots=200 * whole.n_nodes, walk_length=2, seed=0)
    with stream(0, "test"), torch.no_grad():
        encoder = GraphSAINTEncoder(whole, 2, 8, 0.0, "both").eval()
        nodes, view = parts.draw(parts.shown(), 0, 0)
        assert len(nodes) == whole.n_nodes
        torch.testing.assert_close(encoder(view), encoder(encoder.view(whole)))


def test_the_encoder_is_the_equation() -> None:
    with stream(0, "test"), torch.no_grad():
        encoder = GraphSAINTEncoder(graph(), 2, 4, 0.5, "out").eval()
        mean = torch.from_numpy(HEARD / np.maximum(HEARD.sum(1, keepdims=True), 1)).float()
        h = torch.relu(encoder.own.weight + mean @ encoder.neighbors.weight + encoder.bias)
        layer = encoder.layers[0]
        expected = layer.lin_root(h) + layer.lin_rel(mean @ h)
        torch.testing.assert_close(encoder(encoder.view(graph())), expected)


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_hidden_edges_pass_no_message(direction: str) -> None:
    whole = graph()
    source, target = whole.edges
    hidden = ((source == 0) & (target == 2)) | ((source == 2) & (target == 0))
    parts = Parts(whole, direction, n_roots=5, walk_length=1, seed=0)
    matrix = whole.adjacency(direction)
    made = sparse.csr_array((parts.shown(hidden), matrix.indices, matrix.indptr), shape=matrix.shape)
    rest = whole.without(hidden).adjacency(direction).toarray()
    np.testing.assert_allclose(made.toarray(), rest / np.maximum(rest.sum(1, keepdims=True), 1e-9))
    assert made.toarray()[0, 2] == made.toarray()[2, 0] == 0


def test_either_kind_of_pair_counts_by_its_share() -> None:
    logits, labels = torch.tensor([0.3, 2.0, -1.0, 0.5]), torch.tensor([1.0, 1.0, 1.0, 0.0])
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    expected = 0.5 * loss[:3].mean() + 0.5 * loss[3]
    torch.testing.assert_close(_balanced(logits, labels, torch.tensor(0.5)), expected)


def test_roots_are_a_number() -> None:
    with pytest.raises(ParameterError, match="'n_roots' parameter of GraphSAINTClassifier"):
        GraphSAINTClassifier(network(), n_roots=0).fit(["ash01"], ["a"])
