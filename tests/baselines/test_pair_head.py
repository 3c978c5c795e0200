"""Pairs for neural baselines: the head, the batches, and that no pair sees its own edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from baseline_cases import network

from honlearn.baselines.convolutions import Convolutions
from honlearn.baselines.graph import Graph
from honlearn.baselines.ho_gnn import HOGNNEncoder, HOGNNLinkPredictor
from honlearn.baselines.neural import PairModel
from honlearn.baselines.pair_head import PairBatches, PairHead
from honlearn.errors import ParameterError
from honlearn.tasks.link_parameters import training_pairs
from honlearn.tasks.settings import check_operator

SEED = 4


def batches(fraction: float = 0.2, drawn: bool = True) -> PairBatches:
    hon = network()
    examples, unlinked = training_pairs("Model", hon, None, None, None, True, SEED)
    return PairBatches.of(hon, examples, unlinked if drawn else None, fraction, SEED)


def unordered(pairs: Any) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in np.asarray(pairs).tolist()}


def linked(graph: Graph) -> set[tuple[int, int]]:
    """Return the entities that an edge of the graph joins, whichever relatives it joins."""
    return unordered(graph.base[graph.edges].numpy().T)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("concat", [[1, -2, 3, 5]]),
        ("hadamard", [[3, -10]]),
        ("average", [[2, 1.5]]),
        ("l1", [[2, 7]]),
        ("l2", [[4, 49]]),
        ("hadamard+l1", [[3, -10, 2, 7]]),
    ],
)
def test_operators(operator: str, expected: list[list[float]]) -> None:
    head = PairHead(2, operator, 0, directed=True)
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 5.0]])
    layer: Any = head.layers[0]
    assert layer.in_features == len(expected[0])
    torch.testing.assert_close(head(u, v), layer(torch.tensor(expected).float()).squeeze(1))


def test_direction_counts_or_not() -> None:
    random = torch.Generator().manual_seed(0)
    u, v = torch.randn(9, 6, generator=random), torch.randn(9, 6, generator=random)
    directed, free = (PairHead(6, "concat+hadamard", 5, directed) for directed in (True, False))
    assert not torch.allclose(directed(u, v), directed(v, u))
    assert torch.equal(free(u, v), free(v, u))


def test_an_operator_must_be_known_and_named_once() -> None:
    with pytest.raises(ParameterError, match=r"'operator' parameter of Model must be one of.*'hadamard'"):
        check_operator("Model", "hadamrd")
    with pytest.raises(ParameterError, match="names one twice: 'l1\\+concat\\+l1'"):
        check_operator("Model", "l1+concat+l1")


def test_an_epoch_passes_every_linked_pair_once_with_new_unlinked_ones() -> None:
    made = batches()
    positive = {tuple(p) for p in made.examples.pairs[made.trained][made.examples.labels[made.trained] == 1]}
    held_unlinked = {tuple(p) for p in made.examples.pairs[made.held][made.examples.labels[made.held] == 0]}
    drawn = []
    for epoch in (0, 1):
        pairs, labels, _ = zip(*made.epoch(epoch, 3), strict=True)
        assert len(pairs) == 3
        pair, label = torch.cat(pairs).numpy(), torch.cat(labels).numpy()
        assert sorted(map(tuple, pair[label == 1])) == sorted(positive)
        free = {tuple(p) for p in pair[label == 0].tolist()}
        assert not free & positive
        assert not free & held_unlinked
        drawn.append(free)
    assert drawn[0] != drawn[1]
    again = torch.cat([pairs for pairs, _, _ in made.epoch(1, 3)])
    assert {tuple(p) for p in again.tolist()} == positive | drawn[1]


def test_pairs_of_the_user_stay_as_they_are() -> None:
    made = batches(drawn=False)
    pairs = torch.cat([pairs for pairs, _, _ in made.epoch(0, 2)]).numpy()
    assert sorted(map(tuple, pairs)) == sorted(map(tuple, made.examples.pairs[made.trained]))


def test_more_batches_than_pairs_is_one_pair_each() -> None:
    made = batches()
    assert {len(pairs) for pairs, _, _ in made.epoch(0, 10**6)} == {1}


def test_without_a_validation_part_all_is_trained() -> None:
    made = batches(0.0)
    assert not made.has_validation
    assert len(made.trained) == len(made.examples)


def test_a_step_hides_all_between_its_own_and_held_pairs_and_nothing_else() -> None:
    made, graph = batches(), Graph.of(network())
    held = unordered(made.examples.pairs[made.held])
    for pairs, labels, hidden in made.epoch(0, 3):
        assert unordered(pairs[labels == 1]) <= linked(graph)
        assert linked(graph.without(hidden)) == linked(graph) - unordered(pairs) - held
    pairs, _, hidden = made.validation()
    assert unordered(pairs) == held
    assert linked(graph.without(hidden)) == linked(graph) - held


def test_no_message_passes_over_the_edges_of_the_pairs_of_a_step() -> None:
    """Weights of hidden edges change no logit and no gradient of the step; those of others do."""
    made, graph = batches(), Graph.of(network())
    encoder = Convolutions(graph, 2, 8, 0.0, "both")
    model = PairModel(encoder, PairHead(8, "concat+hadamard", 4, directed=True))
    pairs, labels, hidden = next(made.epoch(0, 3))

    def answer(which: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        heavier = torch.where(which, graph.weights * 7, graph.weights)
        changed = Graph(graph.base, graph.edges, heavier, graph.n_entities)
        logits = model(encoder.view(changed.without(hidden)), pairs)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        return logits, torch.autograd.grad(loss, encoder.identity.weight)[0]

    none = torch.zeros_like(hidden)
    other = none.clone()
    other[torch.nonzero(~hidden)[0]] = True
    for before, after in zip(answer(none), answer(hidden), strict=True):
        assert torch.equal(before, after)
    assert not torch.equal(answer(none)[0], answer(other)[0])


def test_a_fit_shows_no_pair_its_own_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watch a real fit: no graph that messages pass over has an edge between the ends of a pair asked."""
    hon, seen = network(), []
    graphs: dict[int, Graph] = {}
    view, forward = HOGNNEncoder.view, PairModel.forward

    def watched_view(self: HOGNNEncoder, graph: Graph) -> Any:
        made = view(self, graph)
        graphs[id(made[1])] = graph
        kept.append(made)
        return made

    def watched_forward(self: PairModel, made: Any, pairs: torch.Tensor) -> torch.Tensor:
        seen.append((graphs[id(made[1])], pairs))
        return forward(self, made, pairs)

    kept: list[Any] = []  # so that no id is given twice
    monkeypatch.setattr(HOGNNEncoder, "view", watched_view)
    monkeypatch.setattr(PairModel, "forward", watched_forward)
    HOGNNLinkPredictor(hon, width=8, max_epochs=2, n_batches=3, random_state=0).fit()
    assert len(seen) == 2 * (3 + 1)
    everything = linked(Graph.of(hon))
    for graph, pairs in seen:
        assert unordered(pairs) & everything  # there was something to hide
        assert not unordered(pairs) & linked(graph)
