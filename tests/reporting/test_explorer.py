"""The explorer's data: places, families and what a memory changes, against the network's own answers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from report_cases import small_labels, small_network

import honlearn as hl
from honlearn.reporting import explorer as module
from honlearn.reporting.explorer import explorer, next_step_changes
from honlearn.reporting.land import clipped_ring, land_within
from honlearn.reporting.layout import equal_area, place_nodes
from honlearn.reporting.study import context_information_gain

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
    names = list(small_network().first_order().vocabulary.names)
    facts = {name: {"Latitude": str(30 + i), "lon": -100.0 + i} for i, name in enumerate(names)}
    where = place_nodes(names, facts)
    assert where is not None
    assert where.grid
    # North is up and east is right.
    assert (np.diff(where.positions[:, 0]) > 0).all()
    assert (np.diff(where.positions[:, 1]) > 0).all()
    assert place_nodes(names, {name: facts[name] for name in names[::2]}) is None
    wrong = {name: {"latitude": "north", "longitude": 500} for name in facts}
    assert place_nodes(names, wrong) is None


def inside(ring: np.ndarray[Any, Any], lon: float, lat: float) -> bool:
    """Return whether a point is in a ring: how often a ray to the east crosses it."""
    x, y = ring[:, 0], ring[:, 1]
    after_x, after_y = np.roll(x, -1), np.roll(y, -1)
    crosses = (y > lat) != (after_y > lat)
    with np.errstate(divide="ignore", invalid="ignore"):
        east = lon < (after_x - x) * (lat - y) / (after_y - y) + x
    return bool((crosses & east).sum() % 2)


def test_land_is_where_it_is_and_borders_lie_on_it() -> None:
    low, high = np.array([-130.0, 20.0]), np.array([-60.0, 52.0])
    lines = list(land_within(low, high))
    rings = [line for kind, line in lines if kind == "land"]
    lakes = [line for kind, line in lines if kind == "lake"]
    assert any(inside(ring, -97.0, 38.0) for ring in rings)  # Kansas
    assert not any(inside(ring, -70.0, 30.0) for ring in rings)  # the Atlantic
    assert any(inside(ring, -87.0, 43.5) for ring in lakes)  # Lake Michigan
    # Kansas and Nebraska meet at 40° north, from 102.05° to 95.3° west.
    corners = np.array([[-102.05, 40.0], [-95.3, 40.0]])
    states = (line[[0, -1]] for kind, line in lines if kind == "state")
    assert any(np.abs(np.sort(ends, axis=0) - corners).max() < 0.1 for ends in states)
    border = np.concatenate([line for kind, line in lines if kind == "country"])
    assert (np.abs(border[:, 1] - 49) < 0.05).any()  # the 49th parallel
    assert not list(land_within(np.array([-40.0, 25.0]), np.array([-35.0, 30.0])))


def test_a_cut_ring_has_the_area_of_the_part_inside() -> None:
    draw = np.random.default_rng(0)
    angle = np.sort(draw.random(40)) * 2 * np.pi
    ring = np.stack([np.cos(angle), np.sin(angle)], 1) * draw.uniform(0.5, 1.0, (40, 1))
    low, high = np.array([-0.3, -0.4]), np.array([0.7, 0.5])
    cut = clipped_ring(ring, low, high)
    assert (cut >= low - 1e-12).all()
    assert (cut <= high + 1e-12).all()
    points = draw.uniform(-1, 1, (4000, 2))
    within = [((p >= low) & (p <= high)).all() and inside(ring, *p) for p in points]
    area = 0.5 * abs(float(np.sum(cut[:, 0] * np.roll(cut[:, 1], -1) - cut[:, 1] * np.roll(cut[:, 0], -1))))
    assert area == pytest.approx(4 * np.mean(within), abs=0.06)


def test_contexts_lead_where_the_network_says(third: hl.HigherOrderNetwork) -> None:
    shown = explorer(third, {}, {})
    names, contexts = shown["names"], shown["contexts"]
    steps = {key: unpacked(value).tolist() for key, value in contexts["steps"].items()}
    start = 0
    for label, size, came in zip(contexts["label"], steps["sizes"], steps["came"], strict=True):
        if "," in label or label.count("|") > 1 or size == 0:
            continue
        here = slice(start, start + size)
        found = dict(zip(steps["target"][here], steps["weight"][here], strict=True))
        start += size
        chance = {names[int(t)]: w / sum(found.values()) for t, w in found.items()}
        assert chance == pytest.approx(third.transition(label, collapse=True))
        assert names[int(came)] == label.split("|")[1]
    assert start == len(steps["target"])


def test_contexts_seen_once_are_not_shown() -> None:
    paths = [["A", "C", "D"]] * 9 + [["B", "C", "E"]] * 9 + [["F", "C", "D"], ["C", "E"], ["C", "D"]]
    network = hl.grow(paths, order=2, alpha=1.0)
    frame = network.dependencies()
    once = set(frame["node"][frame["frequency"] == 1])
    assert "C|F" in once
    contexts = explorer(network, {}, {})["contexts"]
    assert set(contexts["label"]) == set(frame["node"]) - once
    assert contexts["seen_once"] == len(once)


def test_the_projection_keeps_areas() -> None:
    middle = np.array([-95.0, 40.0])

    def area(lon: float, lat: float) -> float:
        step = 0.01
        a, b, c = equal_area(np.array([[lon, lat], [lon + step, lat], [lon, lat + step]]), middle)
        return abs(float(np.cross(np.append(b - a, 0), np.append(c - a, 0))[2])) / np.cos(np.radians(lat))

    assert area(-120, 45) == pytest.approx(area(-80, 28), rel=1e-3)


def test_memory_tells_nothing_in_a_first_order_network() -> None:
    assert context_information_gain(hl.grow([["a", "b"], ["a", "c"]], order=1)) == (0.0, 1.0)
