"""Synthetic paths: below the planted order all labelled nodes look alike, at it the classes are plain."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

from honlearn import HigherOrderNetwork, grow
from honlearn.datasets import Dataset, synthetic
from honlearn.errors import ParameterError

CASES = [
    ("sources", 2, 0.0),
    ("sources", 2, 0.3),
    ("sources", 3, 0.0),
    ("sources", 3, 0.3),
    ("hubs", 2, 0.0),
    ("hubs", 2, 0.3),
    ("hubs", 3, 0.1),
]
CHANCE = 0.25


def made(labelled: str, order: int, noise: float, **sizes: int) -> Dataset:
    sizes = {"n_nodes": 80, "n_hubs": 2 if labelled == "hubs" else 4, **sizes}
    return synthetic(4, order=order, labelled=labelled, noise=noise, seed=5, **sizes)


def steps(network: HigherOrderNetwork, starts: list[int], count: int) -> list[NDArray[np.float64]]:
    """Where walkers from `starts` are after 1..count steps, by entity: [starts, entities] each."""
    weights = network.to_scipy().astype(float)
    out = np.asarray(weights.sum(axis=1)).ravel()
    at = np.eye(network.n_nodes)[starts]
    entities = np.eye(network.n_entities)[np.asarray(network.base)]
    places = []
    for _ in range(count):
        at = (weights.T @ (at / np.maximum(out, 1)).T).T
        places.append(at @ entities)
    return places


def source_features(network: HigherOrderNetwork, data: Dataset, count: int) -> NDArray[np.float64]:
    """Identity of each labelled node, and where its walks lead, step by step."""
    nodes, _ = data.labelled()
    places = steps(network, [network.index(node) for node in nodes], count)
    return np.hstack([np.eye(len(nodes)), *places])


def hub_features(network: HigherOrderNetwork, data: Dataset, count: int) -> NDArray[np.float64]:
    """Identity of each labelled node, and (whence × whither) of its relatives, averaged by out-weight."""
    nodes, _ = data.labelled()
    weights = network.to_scipy().astype(float)
    entities = np.eye(network.n_entities)[np.asarray(network.base)]
    rows = []
    for node in nodes:
        members = [network.index(relative) for relative in network.family(node)]
        members = [m for m in members if weights[[m]].sum() > 0]
        # The base keeps the whole out-weight but the redirected steps arrive at its relatives.
        if len(members) > 1:
            members = [m for m in members if network.order[m] > 1]
        whither = steps(network, members, count)[-1]
        whence = (weights[:, members].T / weights[:, members].sum(axis=0).reshape(-1, 1)) @ entities
        share = np.array([weights[[m]].sum() for m in members])
        rows.append(np.einsum("m,mi,mj->ij", share / share.sum(), np.asarray(whence), whither).ravel())
    return np.hstack([np.eye(len(nodes)), np.array(rows)])


def accuracy(network: HigherOrderNetwork, data: Dataset) -> float:
    """Five-fold accuracy of a linear classifier on what the network shows of each labelled node."""
    assert data.truth is not None
    if data.truth.labelled == "sources":
        features = source_features(network, data, data.truth.order)
    else:
        features = hub_features(network, data, data.truth.order - 1)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = RidgeClassifier(alpha=1e-3)
    return float(cross_val_score(model, features, data.labelled()[1], cv=folds).mean())


@pytest.mark.parametrize(("labelled", "order", "noise"), CASES)
def test_only_the_planted_order_separates(labelled: str, order: int, noise: float) -> None:
    data = made(labelled, order, noise)
    for lower in range(1, order):
        assert accuracy(grow(data.paths, order=lower, tau=1.0, min_support=1), data) <= CHANCE + 0.02
    assert accuracy(grow(data.paths, order=order, tau=1.0, min_support=1), data) >= 0.95


@pytest.mark.parametrize(("labelled", "order", "noise"), CASES)
def test_the_network_keeps_the_planted_contexts_and_their_prefixes(
    labelled: str, order: int, noise: float
) -> None:
    data = made(labelled, order, noise)
    assert data.truth is not None
    network = grow(data.paths, order=order, tau=1.0, min_support=1)
    prefixes = {
        "|".join(context.split("|")[cut:]) for context in data.truth.contexts for cut in range(order - 1)
    }
    kept = {node for node, size in zip(network.nodes, network.order, strict=True) if size > 1}
    assert kept == prefixes
    lower = grow(data.paths, order=order - 1, tau=1.0, min_support=1)
    assert max(lower.order) == 1


@pytest.mark.parametrize(("labelled", "order", "noise"), CASES)
def test_lower_orders_are_exactly_the_same_for_all_labelled_nodes(
    labelled: str, order: int, noise: float
) -> None:
    """Counts, not expectations: around every labelled node the grams up to `order` entities are the same."""
    data = made(labelled, order, noise)
    grams: Counter[tuple[str, ...]] = Counter()
    assert data.paths.counts is not None
    for path, count in zip(data.paths, data.paths.counts.tolist(), strict=True):
        for size in range(1, order + 1):
            for start in range(len(path) - size + 1):
                grams[path[start : start + size]] += count
    shapes = {}
    for node in data.labels:
        around = {
            tuple("*" if place == node else place for place in gram): count
            for gram, count in grams.items()
            if node in gram
        }
        shapes[node] = around
    first = next(iter(shapes.values()))
    assert first
    assert all(shape == first for shape in shapes.values())


@pytest.mark.parametrize(("labelled", "order", "noise"), [case for case in CASES if case[2] == 0])
def test_without_noise_every_context_leads_to_its_group(labelled: str, order: int, noise: float) -> None:
    data = made(labelled, order, noise)
    truth = data.truth
    assert truth is not None
    for path in data.paths:
        assert truth.groups[path[-1]] == truth.contexts["|".join(reversed(path[:-1]))]
        if labelled == "sources":
            assert truth.classes[path[0]] == f"c{truth.groups[path[-1]]}"
        else:
            turn = (truth.groups[path[-1]] - truth.groups[path[0]]) % 4
            assert truth.classes[path[1]] == f"c{turn}"
    assert dict(truth.classes) == dict(data.labels)


def test_noise_moves_the_share_of_paths_it_says() -> None:
    data = synthetic(4, n_nodes=400, n_hubs=10, noise=0.4, seed=1)
    assert data.truth is not None
    assert data.paths.counts is not None
    astray = sum(
        count
        for path, count in zip(data.paths, data.paths.counts.tolist(), strict=True)
        if data.truth.groups[path[-1]] != data.truth.contexts[f"{path[1]}|{path[0]}"]
    )
    # Of the shuffled 40 % a quarter falls back into its own group.
    assert abs(astray / data.paths.total - 0.3) < 0.01


def test_the_same_seed_the_same_paths_and_another_seed_others() -> None:
    def listed(seed: int, **sizes: int) -> list[tuple[tuple[str, ...], int]]:
        paths = synthetic(3, n_nodes=30, seed=seed, **sizes).paths
        assert paths.counts is not None
        return list(zip(paths, paths.counts.tolist(), strict=True))

    assert listed(1) == listed(1)
    assert listed(1) != listed(2)


def test_any_order_can_be_planted() -> None:
    data = synthetic(2, order=70, n_nodes=4, n_hubs=1, n_paths=8)
    assert data.paths.lengths.tolist() == [71] * len(data.paths)
    assert data.paths.total == 8


def test_sizes_are_as_asked() -> None:
    data = synthetic(3, n_nodes=31, n_hubs=5, n_destinations=2, n_paths=1000, seed=2)
    assert data.paths.total == 31 * 5 * 7
    assert data.classes == {"c0": 11, "c1": 10, "c2": 10}
    assert len(data.paths.vocabulary) == 31 + 5 + 6
    assert set(data.paths.lengths) == {3}
    assert synthetic(2, order=5, n_nodes=4, n_hubs=2).paths.lengths.max() == 6
    assert data.nodes is None
    assert set(data.labels) == {f"s{i}" for i in range(31)}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_classes": 1}, "'n_classes' parameter of synthetic must be a whole number, at least 2. Got 1"),
        ({"order": 1}, "'order' parameter of synthetic must be a whole number, at least 2"),
        ({"n_nodes": 3}, "'n_nodes' parameter of synthetic must be a whole number, at least 4"),
        ({"n_hubs": 0}, "'n_hubs' parameter"),
        ({"n_destinations": 0}, "'n_destinations' parameter"),
        ({"n_paths": 0}, "'n_paths' parameter"),
        ({"noise": 1.5}, "'noise' parameter of synthetic must be a number at least 0 and at most 1"),
        ({"labelled": "hub"}, "'labelled' parameter .* Got 'hub' instead; did you mean 'hubs'"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"order": 9, "n_hubs": 20}, "more than 10,000,000; lower 'n_hubs', 'n_nodes' or 'order'"),
    ],
)
def test_what_is_refused(sizes: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        synthetic(**sizes)  # type: ignore[arg-type]
