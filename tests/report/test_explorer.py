"""The explorer's data: places, families and what a memory changes, against the network's own answers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from report_cases import small_labels, small_network

import honlearn as hl
from honlearn.report import explorer as module
from honlearn.report.explorer import explorer, next_step_changes
from honlearn.report.layout import equal_area, link_layout, place_nodes
from honlearn.report.study import context_information_gain

KINDS = {"u1": "u1", "u2": "<u2", "u4": "<u4", "i2": "<i2", "i4": "<i4", "f4": "<f4"}


def unpacked(value: dict[str, Any]) -> np.ndarray[Any, Any]:
    array = np.frombuffer(base64.b64decode(value["d"]), KINDS[value["k"]]).reshape(value["s"])
    return array / value["q"] if "q" in value else array


@pytest.fixture(scope="module")
def third() -> hl.HigherOrderNetwork:
    draw = np.random.default_rng(3)
    paths = [[f"e{i}" for i in draw.integers(0, 6, 6)] for _ in range(300)]
    return hl.grow(paths, order=3, tau=0.1, min_support=2)


def test_changes_are_differences_of_transitions(third: hl.HigherOrderNetwork) -> None:
    nodes = np.arange(third.n_entities, third.n_nodes)
    found = next_step_changes(third, nodes, 4)
    assert third.max_order == 3
    for row, node in enumerate(nodes.tolist()):
        label = third.nodes[node]
        inside = third.transition(label, collapse=True)
        base = third.transition(label.split("|")[0], collapse=True)
        change = {name: abs(inside.get(name, 0.0) - base.get(name, 0.0)) for name in {*inside, *base}}
        largest = sorted(change.values(), reverse=True)[:4]
        shown = [third.vocabulary[int(t)] for t in found.targets[row] if t >= 0]
        assert [change[name] for name in shown] == pytest.approx(largest)
        assert found.inside[row, : len(shown)] == pytest.approx([inside.get(name, 0.0) for name in shown])
        bits = sum(p * np.log2(p / base[name]) for name, p in inside.items())
        assert found.bits[row] == pytest.approx(bits, abs=1e-9)


def test_probabilities_and_neighbours_are_the_networks() -> None:
    network = small_network()
    shown = explorer(network, small_labels(network), {})
    names, contexts = shown["names"], shown["contexts"]
    hub = names.index("hub one")
    expected = network.relatives("hub one")
    chance, base = unpacked(contexts["chance"]), unpacked(contexts["base"])
    assert unpacked(contexts["base_chance"])[hub] == pytest.approx(expected["hub one"])
    own = {label: c for label, c, b in zip(contexts["label"], chance, base, strict=True) if b == hub}
    assert own == pytest.approx({name: p for name, p in expected.items() if name != "hub one"})
    places = dict(zip(contexts["label"], unpacked(contexts["place"]).tolist(), strict=True))
    assert [network.family("hub one")[places[label]] for label in own] == list(own)
    first = network.first_order()
    links = shown["links"]
    edges = {
        (names[s], names[t]): w
        for s, t, w in zip(
            *(unpacked(links[key]).tolist() for key in ("source", "target", "weight")), strict=True
        )
    }
    table = first.to_pandas()
    assert edges == {(s, t): w for s, t, w in table.itertuples(index=False)}


def test_a_large_network_shows_its_strongest_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTITIES", 4)
    monkeypatch.setattr(module, "LINKS", 5)
    monkeypatch.setattr(module, "CONTEXTS", 3)
    network = small_network()
    shown = explorer(network, {}, {})
    assert len(shown["names"]) == 4
    assert {"hub one", "hub two"} <= set(shown["names"])
    assert shown["sizes"]["shown"] < shown["sizes"]["entities"]
    assert (shown["links"]["kept"], len(shown["contexts"]["label"])) == (5, 3)
    targets = unpacked(shown["contexts"]["targets"])
    assert ((targets < 4) | (targets == 65535)).all()


def test_coordinates_make_a_map_and_few_of_them_do_not() -> None:
    first = small_network().first_order()
    facts = {
        name: {"Latitude": str(30 + i), "lon": -100.0 + i} for i, name in enumerate(first.vocabulary.names)
    }
    where = place_nodes(first, facts)
    assert where.kind == "map"
    assert where.grid
    # North is up and east is right.
    assert (np.diff(where.positions[:, 0]) > 0).all()
    assert (np.diff(where.positions[:, 1]) > 0).all()
    half = {name: facts[name] for name in list(facts)[::2]}
    assert place_nodes(first, half).kind == "links"
    wrong = {name: {"latitude": "north", "longitude": 500} for name in facts}
    assert place_nodes(first, wrong).kind == "links"


def test_the_projection_keeps_areas() -> None:
    middle = np.array([-95.0, 40.0])

    def area(lon: float, lat: float) -> float:
        step = 0.01
        a, b, c = equal_area(np.array([[lon, lat], [lon + step, lat], [lon, lat + step]]), middle)
        return abs(float(np.cross(np.append(b - a, 0), np.append(c - a, 0))[2])) / np.cos(np.radians(lat))

    assert area(-120, 45) == pytest.approx(area(-80, 28), rel=1e-3)


def test_linked_nodes_stand_near_one_another_and_the_layout_is_the_same_again() -> None:
    draw = np.random.default_rng(0)
    groups = [[f"g{g}n{i}" for i in range(20)] for g in range(3)]
    paths = [[str(x) for x in draw.choice(group, 4)] for group in groups for _ in range(200)]
    paths += [["g0n0", "g1n0"], ["g1n1", "g2n0"]]
    network = hl.grow(paths, order=1)
    at = link_layout(network)
    assert np.isfinite(at).all()
    group = np.array([int(name[1]) for name in network.vocabulary.names])
    middle = np.stack([at[group == g].mean(0) for g in range(3)])
    nearest = np.linalg.norm(at[:, None] - middle, axis=2).argmin(1)
    assert (nearest == group).mean() > 0.9
    assert (link_layout(network) == at).all()


def test_memory_tells_nothing_in_a_first_order_network() -> None:
    assert context_information_gain(hl.grow([["a", "b"], ["a", "c"]], order=1)) == (0.0, 1.0)
