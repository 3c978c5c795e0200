"""Communities through the real infomap package."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import honlearn as hl
from honlearn.errors import HonlearnError, InputError, ParameterError

pytest.importorskip("infomap", reason="the infomap extra is not installed")


def planted(order: int) -> hl.HigherOrderNetwork:
    """Return two groups that share the hub: who comes from a group returns to it."""
    random = np.random.default_rng(0)
    paths = []
    for group in ("abcd", "vwxy"):
        for _ in range(300):
            steps = [group[i] for i in random.integers(0, 4, 4)]
            paths.append([*steps[:2], "hub", *steps[2:]])
    return hl.grow(paths, order=order, tau=1.0, min_support=5)


def test_an_entity_is_in_the_modules_of_its_contexts() -> None:
    hon = planted(2)
    nodes = hon.communities(by="node")
    assert list(nodes.columns) == ["node", "entity", "order", "module", "flow"]
    assert sorted(nodes["node"]) == sorted(hon.nodes)
    assert nodes["flow"].sum() == pytest.approx(1)
    module = nodes.set_index("node")["module"]
    assert {module[x] for x in "abcd"} != {module[x] for x in "vwxy"}
    assert module["hub|a"] == module["a"] == module["b"]
    assert module["hub|v"] == module["v"] == module["w"]
    entities = hon.communities().set_index("entity")
    assert set(entities.loc["hub", "modules"]) >= {module["a"], module["v"]}
    assert entities.loc["hub", "share"] < 1
    assert entities.loc["a", "modules"] == (module["a"],)
    assert entities.loc["a", "share"] == 1
    assert sorted(entities["module"].unique())[:2] == [1, 2]
    # Without memory the hub is in one module.
    assert len(planted(1).communities().set_index("entity").loc["hub", "modules"]) == 1


def test_modules_are_numbered_by_flow_and_seeded() -> None:
    hon = planted(2)
    nodes = hon.communities(by="node", seed=3)
    flow = nodes.groupby("module")["flow"].sum().round(9)
    assert flow.is_monotonic_decreasing
    assert nodes["module"].is_monotonic_increasing
    assert nodes.equals(hon.communities(by="node", seed=3))


def test_nodes_without_edges_are_modules_of_their_own() -> None:
    hon = hl.from_edges(["A", "B", "C", "D"], ["B", "A", "D", "C"], nodes=["E", "F"])
    found = hon.communities().set_index("entity")
    assert found["module"].nunique() == 4
    assert found.loc["A", "module"] == found.loc["B", "module"] != found.loc["C", "module"]
    assert found.loc["E", "share"] == 1


def test_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hon = hl.from_edges(["A"], ["B"])
    with pytest.raises(ParameterError, match=r"'by' parameter of communities"):
        hon.communities(by="x")
    with pytest.raises(ParameterError, match=r"'trials' parameter of communities"):
        hon.communities(trials=0)
    with pytest.raises(InputError, match="no edges"):
        hl.from_edges([], [], nodes=["A"]).communities()
    monkeypatch.setitem(sys.modules, "infomap", None)
    with pytest.raises(HonlearnError, match=r"pip install 'honlearn\[infomap\]'"):
        hon.communities()
