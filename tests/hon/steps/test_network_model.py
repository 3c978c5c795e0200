"""A network as a model: the longest kept suffix, smoothed, and no END."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from network_cases import Edges, edge_lists, network

import honlearn as hl
from honlearn.errors import InputError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.steps.model import StepModel
from honlearn.hon.steps.network_model import network_model


def distribution(model: StepModel, state: int) -> np.ndarray:
    found = model.likeliest(np.array([state], np.int32), len(model.vocabulary))
    return found.probabilities[0]


@settings(max_examples=40, deadline=None)
@given(edge_lists())
def test_every_distribution_adds_up_to_one(edges: Edges) -> None:
    model = network_model(network(edges))
    a = model.automaton
    for state in range(len(a.end)):
        spent, now = a.base + a.backoff[0], state
        while now:
            spent, now = spent + a.backoff[now], int(a.shorter[now])
        p = distribution(model, state)
        assert (p > 0).all()
        assert p.sum() + 2.0**-spent == pytest.approx(1.0, abs=1e-9)


def test_a_context_is_used_where_it_was_kept() -> None:
    paths = [["A", "C", "D"], ["B", "C", "E"]] * 50
    hon = hl.grow(paths, order=2)
    model = network_model(hon)
    assert model.next_steps(["A", "C"], 1)["step"].tolist() == ["D"]
    assert model.next_steps(["B", "C"], 1)["step"].tolist() == ["E"]
    first = network_model(hon.first_order())
    p = first.next_steps(["A", "C"], 2)["probability"].tolist()
    assert p == pytest.approx([p[0], p[0]])
    assert model.score(paths).bits.sum() < first.score(paths).bits.sum()


def test_a_network_knows_no_end() -> None:
    model = network_model(hl.grow([["A", "B"], ["B", "A"]]))
    assert not model.knows_end
    scores = model.score([["A", "B"], ["A"]])
    assert np.diff(scores.offsets).tolist() == [2, 1]
    assert "<end>" not in model.next_steps(["A"], 9)["step"].tolist()


def test_a_network_without_edges_has_no_next_steps() -> None:
    with pytest.raises(InputError, match="no edges, so nothing comes next"):
        network_model(hl.grow([["A"], ["B"]]))


def test_several_targets_of_one_entity_are_one_step() -> None:
    hon = from_edges(["A", "A", "B|A", "B"], ["B", "B|A", "C", "C"], [1, 3, 3, 1])
    model = network_model(hon)
    assert model.next_steps(["A"], 1)["step"].tolist() == ["B"]
    assert model.automaton.target[model.automaton.first[1]] == hon.index("B|A") + 1
