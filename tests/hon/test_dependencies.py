from __future__ import annotations

import json
from math import inf, isnan, log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from network_cases import FIGURE, Edges, edge_lists, network

from honlearn.errors import ParameterError
from honlearn.hon.dependencies import Shift
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import ContextStatistics


def divergence(p: dict[str, float], q: dict[str, float]) -> float:
    return sum(share * log2(share / q[x]) if x in q else inf for x, share in p.items())


def test_the_papers_figure() -> None:
    frame = network(FIGURE).dependencies()
    assert frame.node.tolist() == ["C|A", "C|B"]  # C|B was seen once, and is never on top
    assert frame.base.tolist() == ["C", "C"]
    assert frame.context.tolist() == ["A", "B"]
    assert frame.compared_with.tolist() == ["C", "C"]
    assert frame.divergence.tolist() == pytest.approx([log2(4 / 3), 2.0])
    assert frame.strength.tolist() == pytest.approx([2 * log2(4 / 3), 2.0])
    assert frame.p_value.tolist() == [1.0, 1.0]
    assert frame.frequency.isna().all()
    assert frame.threshold.isna().all()
    assert frame.q_value.isna().all()
    assert frame.shifts[1] == (Shift("D", 0.0, 0.75), Shift("E", 1.0, 0.25))
    assert network(FIGURE).dependencies(top=1, shifts=1).shifts.tolist() == [(Shift("D", 1.0, 0.75),)]


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists())
@example({("A", "A"): 1, ("B", "A"): 108441428324, ("B", "B"): 1, ("B|A", "A"): 32})  # two maxima are equal
def test_rows_agree_with_the_transitions(edges: Edges) -> None:
    hon = network(edges)
    frame = hon.dependencies(shifts=2)
    assert sorted(frame.node) == sorted(hon.nodes[hon.n_entities :])
    for row in frame.to_dict("records"):
        parts = row["node"].split("|")
        suffixes = ["|".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
        known = next(suffix for suffix in suffixes if suffix in hon)
        assert row["compared_with"] == known
        p, q = (hon.transition(node, collapse=True) for node in (row["node"], known))
        if known == suffixes[0] and p:
            assert row["divergence"] == pytest.approx(divergence(p, q))
        else:
            assert isnan(row["divergence"])
        changes = {x: abs(p.get(x, 0) - q.get(x, 0)) for x in p | q}
        assert len(row["shifts"]) == min(2, len(changes))
        for shift, change in zip(row["shifts"], sorted(changes.values(), reverse=True), strict=False):
            assert (shift.probability, shift.without) == pytest.approx(
                (p.get(shift.target, 0), q.get(shift.target, 0))
            )
            assert abs(shift.probability - shift.without) == pytest.approx(change, abs=1e-12)


def test_the_builders_statistics_are_shown_as_they_are() -> None:
    hon = network(FIGURE)
    known = ContextStatistics(
        np.array([90, 4]), np.array([1.5, 1.25]), np.array([0.3, 0.4]), np.array([False, True])
    )
    arrays = (hon.gram_offsets, hon.grams, hon.indptr, hon.indices, hon.weights)
    frame = HigherOrderNetwork(hon.vocabulary, *arrays, known).dependencies()
    assert frame.node.tolist() == ["C|A", "C|B"]
    assert frame.frequency.tolist() == [90, 4]
    assert frame.weight.tolist() == [3, 1]
    assert frame.divergence.tolist() == [1.5, 1.25]
    assert frame.threshold.tolist() == [0.3, 0.4]
    assert frame.kept_by.tolist() == ["test", "extension"]
    assert frame.strength.tolist() == pytest.approx([1.5 * log2(91), 1.25 * log2(5)])


def test_divergence_of_published_edges_is_the_published_one(shared: Path) -> None:
    checked = 0
    for line in (shared / "golden/growhon.jsonl").read_text().splitlines():
        case = json.loads(line)
        if not case["edges"] or "kld_and_threshold" not in case:
            continue
        frame = network({(a, b): w for a, b, w in case["edges"]}).dependencies()
        for node, value in zip(frame.node, frame.divergence, strict=True):
            if node in case["kld_and_threshold"] and not isnan(value):
                assert value == pytest.approx(case["kld_and_threshold"][node][0], abs=1e-12)
                checked += 1
    assert checked > 1000


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="'top' parameter of dependencies"):
        network(FIGURE).dependencies(top=-1)
    with pytest.raises(ParameterError, match="'shifts' parameter of dependencies"):
        network(FIGURE).dependencies(shifts=-1)
