"""GCN, GCNII, GAT and GATv2 against the convolutions of PyTorch Geometric with the same weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from model_cases import around, context, ensemble
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GATv2Conv, GCN2Conv, GCNConv

from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Ensemble
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import GAT, GCN, GCNII, GATv2, Learner

OPEN: dict[str, Any] = {"input_dropout": 0.0, "hidden_dropout": 0.0, "mask_self": False}

every_direction = pytest.mark.parametrize("direction", ["in", "out", "both"])
with_features = pytest.mark.parametrize("featured", [False, True])


def network(loops: bool = True) -> HigherOrderNetwork:
    """Return a network with a family of three, a loop, and an entity without in-edges."""
    sources = ["A", "B", "C|A", "C|A", "C|B", "C", "D", "F", *(["D"] if loops else [])]
    targets = ["C|A", "C|B", "D", "E", "E", "D", "A", "A", *(["D"] if loops else [])]
    return from_edges(sources, targets, [4, 3, 2, 1, 7, 5, 6, 1, *([2] if loops else [])])


def dense(hon: HigherOrderNetwork, power: float, direction: str) -> torch.Tensor:
    """Return weights [N, N], row i from the neighbours of i, by a loop over the edges."""
    matrix = torch.zeros(hon.n_nodes, hon.n_nodes, dtype=torch.float64)
    for source, target, weight in hon.to_pandas().itertuples(index=False):
        i, j = hon.index(source), hon.index(target)
        if direction != "out":
            matrix[j, i] += weight**power
        if direction != "in":
            matrix[i, j] += weight**power
    return matrix


def normalised(matrix: torch.Tensor) -> torch.Tensor:
    """Return D^-1/2 (A + m I) D^-1/2 with m the mean weight."""
    matrix = matrix + torch.eye(len(matrix)) * matrix[matrix > 0].mean()
    return (matrix / matrix.sum(1, keepdim=True).sqrt() / matrix.sum(0).sqrt()).float()


def edges_of(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return edge_index from source to target, and the weights."""
    target, source = torch.nonzero(matrix, as_tuple=True)
    return torch.stack([source, target]), matrix[target, source].float()


def model_of(hon: HigherOrderNetwork, learner: Learner, featured: bool) -> tuple[Ensemble, torch.Tensor]:
    """Return a model of one learner whose weights are all random, and its input as PyG takes it."""
    values = np.random.default_rng(0).normal(size=(hon.n_entities, 3)).astype(np.float32)
    model = ensemble(hon, learner, learners=1, features=Features(values) if featured else None)
    one_hot = torch.eye(hon.n_entities)
    x = torch.cat([one_hot, torch.from_numpy(values)], 1) if featured else one_hot
    return model, x[hon.base.tolist()]


def copied(linear: Any, weight: Any) -> list[tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]]:
    """Give PyG's linear map our weight; return our parameters, and what they are of its gradient."""
    parts = [weight] if isinstance(weight, torch.Tensor) else [weight.identity, weight.matrix]
    parts = [part for part in parts if part is not None]
    whole = torch.cat([part.detach()[0] for part in parts])
    with torch.no_grad():
        linear.weight.copy_(whole.T)
        if linear.bias is not None:
            linear.bias.zero_()
    ends = np.cumsum([0, *(part.shape[1] for part in parts)])
    return [
        (part, lambda grad, start=start, end=end: grad.T[start:end])
        for part, start, end in zip(parts, ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]


Pair = tuple[torch.Tensor, torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]


def same(theirs: torch.Tensor, ours: torch.Tensor, pairs: Iterable[Pair]) -> None:
    """Compare values, and the gradients of (our parameter, their parameter, theirs as ours)."""
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    pull, found = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1)), list(pairs)
    got = torch.autograd.grad((ours * pull).sum(), [one for one, _, _ in found])
    wanted = torch.autograd.grad((theirs * pull).sum(), [other for _, other, _ in found])
    for grad, expected, (_, _, turned) in zip(got, wanted, found, strict=True):
        assert expected.any()
        torch.testing.assert_close(grad[0], turned(expected).reshape(grad[0].shape), rtol=1e-4, atol=1e-5)


def all_of(hon: HigherOrderNetwork, model: Ensemble, featured: bool) -> torch.Tensor:
    """Return the representations of all nodes, [N, d]."""
    roots = np.arange(hon.n_nodes, dtype=np.int32)[None]
    return model.represent(roots, around(hon, model, featured), context(1))[0]


def give(theirs: torch.Tensor, ours: torch.Tensor) -> Pair:
    with torch.no_grad():
        theirs.copy_(ours.detach()[0].reshape(theirs.shape))
    return ours, theirs, lambda grad: grad


@with_features
@every_direction
def test_gcn(direction: str, featured: bool) -> None:
    hon = network()
    model, x = model_of(hon, GCN(widths=(6, 4), edge_power=0.5, direction=direction, **OPEN), featured)
    edges, weights = edges_of(normalised(dense(hon, 0.5, direction)))
    h, pairs = x, []
    for layer in model.stacks[0].layers:
        conv = GCNConv(h.shape[1], layer.shape.width, normalize=False)
        pairs += [(one, conv.lin.weight, turned) for one, turned in copied(conv.lin, layer.linear)]
        pairs.append(give(conv.bias, layer.bias))
        h = torch.relu(conv(h, edges, weights))
    same(h, all_of(hon, model, featured), pairs)


def test_gcn_with_the_normalisation_of_pytorch_geometric() -> None:
    hon = network(loops=False)
    model, x = model_of(hon, GCN(widths=(6,), edge_power=0.5, **OPEN), False)
    matrix = dense(hon, 0.5, "both")
    # A loop of PyG weighs 1, ours as much as the mean edge.
    edges, weights = edges_of(matrix / matrix[matrix > 0].mean())
    (layer,) = model.stacks[0].layers
    conv = GCNConv(x.shape[1], 6)
    pairs = [(one, conv.lin.weight, turned) for one, turned in copied(conv.lin, layer.linear)]
    pairs.append(give(conv.bias, layer.bias))
    same(torch.relu(conv(x, edges, weights)), all_of(hon, model, False), pairs)


@with_features
@every_direction
def test_gcnii(direction: str, featured: bool) -> None:
    hon = network()
    given = {"widths": (6, 6, 6), "edge_power": 0.5, "direction": direction, "alpha": 0.3, "theta": 0.7}
    model, x = model_of(hon, GCNII(**given, **OPEN), featured)
    matrix = normalised(dense(hon, 0.5, direction))
    edges, weights = edges_of(matrix)
    stack, first = model.stacks[0], torch.nn.Linear(x.shape[1], 6, bias=False)
    pairs: list[Pair] = [(one, first.weight, turned) for one, turned in copied(first, stack.first.linear)]
    start = h = matrix @ first(x)
    for number, weight in enumerate(stack.layers, 1):
        conv = GCN2Conv(6, 0.3, 0.7, number, normalize=False)
        pairs.append(give(conv.weight1, weight))
        h = torch.relu(conv(h, start, edges, weights))
    same(h, all_of(hon, model, featured), pairs)


@pytest.mark.parametrize("use_weights", [False, True])
@with_features
@every_direction
def test_gat(direction: str, featured: bool, use_weights: bool) -> None:
    hon = network()
    given = {"widths": (6, 8), "heads": 2, "direction": direction, "use_weights": use_weights}
    model, x = model_of(hon, GAT(**given, **OPEN), featured)
    edges, weights = edges_of(dense(hon, 1.0, direction))
    h, pairs, layers = x, [], model.stacks[0].layers
    for number, layer in enumerate(layers):
        width = layer.shape.width // 2
        conv = GATConv(h.shape[1], width, 2, edge_dim=1 if use_weights else None, fill_value=0.0)
        pairs += [(one, conv.lin.weight, turned) for one, turned in copied(conv.lin, layer.linear)]
        pairs += [give(conv.att_src, layer.source), give(conv.att_dst, layer.target)]
        pairs.append(give(conv.bias, layer.bias))
        if use_weights:
            with torch.no_grad():
                # Scores of PyG get att · (lin times the attribute); the first number of a head is ours.
                conv.lin_edge.weight.fill_(1.0)
                conv.att_edge.zero_()
                conv.att_edge[0, :, 0] = layer.of_weights[0]
            pairs.append((layer.of_weights, conv.att_edge, lambda grad: grad[0, :, 0]))
        h = conv(h, edges, weights.log1p()[:, None] if use_weights else None)
        h = h if number == len(layers) - 1 else F.elu(h)
    same(h, all_of(hon, model, featured), pairs)


@with_features
@every_direction
def test_gatv2(direction: str, featured: bool) -> None:
    hon = network()
    model, x = model_of(hon, GATv2(widths=(6, 8), heads=2, direction=direction, **OPEN), featured)
    edges, _ = edges_of(dense(hon, 1.0, direction))
    h, pairs, layers = x, [], model.stacks[0].layers
    for number, layer in enumerate(layers):
        conv = GATv2Conv(h.shape[1], layer.shape.width // 2, 2)
        for linear, weight in ((conv.lin_l, layer.linear), (conv.lin_r, layer.linear_target)):
            pairs += [(one, linear.weight, turned) for one, turned in copied(linear, weight)]
        pairs += [give(conv.att, layer.vector), give(conv.bias, layer.bias)]
        h = conv(h, edges)
        h = h if number == len(layers) - 1 else F.elu(h)
    same(h, all_of(hon, model, featured), pairs)
