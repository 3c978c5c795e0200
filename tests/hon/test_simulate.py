"""Paths that a network makes: where they start, how long they are, and that steps have their shares."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

import honlearn as hl
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.hon import walks

PATHS = [["A", "C", "D"]] * 30 + [["B", "C", "E"]] * 30 + [["A", "C", "E"]] * 10 + [["D", "A"], ["E", "B"]]


def test_steps_have_the_shares_of_edges() -> None:
    hon = hl.grow(PATHS, order=2, tau=0.1, min_support=1)
    made = hon.simulate(4000, seed=1, length=3)
    after = Counter(path[2] for path in made if path[:2] == ("A", "C"))
    # 30 of 40 who came from A went on to D.
    total = after.total()
    assert set(after) == {"D", "E"}
    assert chisquare([after["D"], after["E"]], [0.75 * total, 0.25 * total]).pvalue > 1e-3
    assert "D" not in {path[2] for path in made if path[:2] == ("B", "C")}
    starts = Counter(path[0] for path in made)
    weight = dict(zip(hon.vocabulary.names, hon.out_weight[:5].tolist(), strict=True))
    expected = np.array([weight[name] for name in starts]) / sum(weight.values()) * 4000
    assert chisquare(list(starts.values()), expected).pvalue > 1e-3


def test_seeded_and_of_the_length_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hon = hl.from_edges(["A", "B", "C"], ["B", "C", "A"])
    made = hon.simulate(50, 7)
    assert set(made.lengths.tolist()) == {10}
    assert all(hon.neighbors(a) == {b: 1} for path in made for a, b in pairwise(path))
    assert list(hon.simulate(50, 7)) == list(made) != list(hon.simulate(50, 8))
    monkeypatch.setattr(walks, "_STEPS_AT_ONCE", 13)
    assert list(hon.simulate(50, 7)) == list(made)
    assert set(hon.simulate(9, 7, length=1).lengths.tolist()) == {1}


def test_a_walk_ends_where_no_edge_leads_on() -> None:
    made = hl.from_edges(["A", "B"], ["B", "C"]).simulate(200, 0)
    assert set(made) == {("A", "B", "C"), ("B", "C")}


def test_like_observed_paths() -> None:
    hon = hl.from_edges(["A", "B", "C"], ["B", "C", "A"])
    observed = hl.read_paths([["C", "A"], ["B", "C", "A", "B"]], counts=[3, 1])
    made = Counter(hon.simulate(4000, 0, like=observed))
    assert set(made) == {("C", "A"), ("B", "C", "A", "B")}
    assert chisquare([made["C", "A"], made["B", "C", "A", "B"]], [3000, 1000]).pvalue > 1e-3
    with pytest.raises(UnknownNodeError, match="'X'"):
        hon.simulate(1, 0, like=hl.read_paths([["X", "A"]]))


def test_refused() -> None:
    hon = hl.from_edges(["A|B"], ["B"])
    with pytest.raises(InputError, match="no base node has an out-edge"):
        hon.simulate(3)
    with pytest.raises(ParameterError, match="'n' parameter of simulate"):
        hon.simulate(0)
    with pytest.raises(ParameterError, match="'length' parameter of simulate"):
        hon.simulate(1, length=0)
    hon = hl.from_edges(["A"], ["B"])
    with pytest.raises(InputError, match="like has no path with an entity; give observed paths"):
        hon.simulate(1, like=hl.Paths(np.empty(0, np.int32), np.zeros(2, np.int64), hon.vocabulary))
