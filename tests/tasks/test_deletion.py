"""Predictions without neighbours: one layer against networks without edges; copies together and alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ensemble_cases import Case, fit, fitted, tiny

from honlearn.engine.copies import Copies
from honlearn.ensemble.deletion import Deletions
from honlearn.ensemble.node_model import NodeModel
from honlearn.learners import GAT, SAGE
from honlearn.tasks.explain.players import Groups, as_players
from honlearn.tasks.link_split import hide_pairs

LEARNERS = ("sage", "gin", "gcn", "gcnii", "gat", "gatv2", "torch")


def deletions(model: Any, network: Any = None) -> Deletions:
    """Return the deletions of a fitted classifier, on its network or with the same weights on another."""
    one = model.components_[0]
    made = one.model
    if network is not None:
        made = NodeModel(network, made.sampler, made.shape, made.features, made.seed)
    return Deletions(made, one.ensemble, model._runtime(), hide_pairs)


def copies_of(nodes: list[int], groups: list[int], *players: Groups) -> Copies:
    return Copies(
        np.array(nodes, np.int32), np.array(groups, np.uint64), as_players(players, tiny()[0].n_entities)
    )


def neighbors(entity: int) -> Groups:
    """Return every other entity as a group of its own."""
    others = [other for other in range(tiny()[0].n_entities) if other != entity]
    return Groups(entity, tuple(np.array([other], np.int32) for other in others))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "learner", [SAGE(widths=(9,)), SAGE(widths=(9,), aggregator="max"), GAT(widths=(8,), heads=2)]
)
def test_of_one_layer_a_deletion_is_a_network_without_the_edges(learner: Any, masked: bool) -> None:
    learner.set_params(mask_self=masked)
    model = fit(Case(("sage",)), learner=learner)
    network = tiny()[0]
    for entity in (0, 5):
        groups = neighbors(entity)
        family = [node for node in range(network.n_nodes) if network.base[node] == entity]
        for group in (0, 3, 6):
            kept = groups.everyone ^ (1 << group)
            found = deletions(model).rows(copies_of(family, [kept] * len(family), groups))
            pair = np.array([[entity, groups.members[group][0]]], np.int32)
            whole = copies_of(family, [groups.everyone] * len(family), groups)
            expected = deletions(model, hide_pairs(network, pair)).rows(whole)
            np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", LEARNERS)
def test_with_all_neighbours_a_copy_is_its_node(name: str) -> None:
    model = fitted(Case((name,)))
    network, one = tiny()[0], model.components_[0]
    everybody = [neighbors(entity) for entity in range(network.n_entities)]
    everyone = everybody[0].everyone
    nodes = list(range(network.n_nodes))
    found = deletions(model).rows(copies_of(nodes, [everyone] * len(nodes), *everybody))[0]
    proba = one.model.sampler.probabilities
    mean = np.zeros((network.n_entities, 2))
    np.add.at(mean, network.base, proba[:, None] * found)
    np.testing.assert_allclose(mean, model.predict_proba(tiny()[1]), atol=1e-6)


@pytest.mark.parametrize("name", LEARNERS)
def test_copies_take_no_notice_of_each_other(name: str) -> None:
    made = deletions(fitted(Case((name,))))
    groups, other = neighbors(2), neighbors(9)
    together = made.rows(copies_of([2, 9, 2, 2], [0b1011, 0b1, 0, groups.everyone], groups, other))
    for place, (node, kept) in enumerate([(2, 0b1011), (9, 0b1), (2, 0), (2, groups.everyone)]):
        alone = made.rows(copies_of([node], [kept], groups, other))
        np.testing.assert_allclose(together[:, [place]], alone, atol=1e-6)


def test_without_neighbours_masked_roots_are_all_alike() -> None:
    model = fit(Case(("sage",)), learner=SAGE(widths=(9, 6), mask_self=True))
    # Steps from an entity to itself are no neighbour's.
    everyone = np.arange(tiny()[0].n_entities, dtype=np.int32)
    made = deletions(model, hide_pairs(tiny()[0], np.stack([everyone, everyone], axis=1)))
    rows = made.rows(copies_of([1, 6], [0, 0], neighbors(1), neighbors(6)))
    np.testing.assert_allclose(rows[:, 0], rows[:, 1], atol=1e-6)


def test_sampled_neighbourhoods_are_read_whole() -> None:
    sampled = fit(Case(("sage",)), learner=SAGE(widths=(9, 6), fan_outs=(2, 1)))
    groups = neighbors(3)
    whole = deletions(sampled).rows(copies_of([3], [groups.everyone], groups))
    again = deletions(sampled).rows(copies_of([3], [groups.everyone], groups))
    np.testing.assert_array_equal(whole, again)
    sampled.set_params(learner__fan_outs=None, n_draws="all")
    names, network = tiny()[1], tiny()[0]
    family = np.flatnonzero(network.base == 3)
    rows = deletions(sampled).rows(copies_of(family.tolist(), [groups.everyone] * len(family), groups))[0]
    expected = network.relative_probabilities()[family] @ rows
    np.testing.assert_allclose(expected, sampled.predict_proba([names[3]])[0], atol=1e-6)
