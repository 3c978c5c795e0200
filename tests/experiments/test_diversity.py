"""Pairs of learners, growing ensembles, node characteristics: against scikit-learn and SciPy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, log_loss

import honlearn as hl
from honlearn.errors import InputError
from honlearn.experiments.characteristics import change_facts, node_facts, node_losses, on_axis, regression
from honlearn.experiments.diversity import pair_facts, size_facts
from honlearn.experiments.sources import Source
from honlearn.results.artefacts import Answers, write_answers
from honlearn.results.metrics import kappas
from honlearn.results.record import Configuration, Record

CLASSES = ["a", "b", "c"]


def answered(folder: Path, digest: str, nodes: list[str], seed: int = 0) -> tuple[Any, Any, Record]:
    random = np.random.default_rng(seed)
    members = random.dirichlet([1, 1, 1], (4, len(nodes))).astype(np.float32)
    truth = random.integers(3, size=len(nodes))
    about = {"nodes": nodes, "truth": [CLASSES[i] for i in truth], "classes": CLASSES, "history": []}
    write_answers(folder, digest, Answers(about, {"proba": members.mean(0), "members": members}))
    return members, truth, Record(digest, Configuration("dge-bag", "gk", seed=0, fold=1), {})


def test_kappa_is_that_of_scikit_learn() -> None:
    votes = np.random.default_rng(0).integers(3, size=(5, 60))
    found = kappas(votes, 3)
    for a in range(5):
        for b in range(5):
            assert found[a, b] == pytest.approx(cohen_kappa_score(votes[a], votes[b]))
    assert np.isnan(kappas(np.zeros((2, 4), np.int64), 3)).all()


def test_pairs_and_growing_ensembles(tmp_path: Path) -> None:
    members, truth, record = answered(tmp_path, "d1", [f"n{i}" for i in range(30)])
    pairs = pair_facts(tmp_path, [record])
    assert len(pairs) == 6
    single = [log_loss(truth, member, labels=[0, 1, 2]) for member in members]
    assert pairs[0]["loss"] == pytest.approx((single[0] + single[1]) / 2, rel=1e-5)
    assert pairs[0]["kappa"] == pytest.approx(cohen_kappa_score(members[0].argmax(1), members[1].argmax(1)))
    sizes = size_facts(tmp_path, [record])
    assert [fact["learners"] for fact in sizes] == [1, 2, 3, 4]
    assert sizes[2]["micro_f1"] == pytest.approx((members[:3].mean(0).argmax(1) == truth).mean())
    assert sizes[0]["log_loss"] == pytest.approx(single[0], rel=1e-5)
    with pytest.raises(InputError, match="the answers of a fit are missing"):
        pair_facts(tmp_path, [replace(record, digest="d2")])


def test_characteristics_of_nodes(tmp_path: Path) -> None:
    paths = [["A", "C", "D"], ["B", "C", "E"]] * 20 + [["A", "D"]]
    hon = hl.grow(paths, order=2)
    source = Source("toy", hon, ("A", "B", "C", "D", "E"), ("x", "y", "x", "x", "y"))
    facts = node_facts(source)
    assert facts["C"] == {"out_degree": 2, "in_degree": 2, "family_size": 3, "homophily": 0.5}
    assert facts["A"] == {"out_degree": 2, "in_degree": 0, "family_size": 1, "homophily": 1.0}
    assert np.isnan(facts["D"]["homophily"])
    *_, one = answered(tmp_path, "d1", ["A", "C"], seed=1)
    *_, two = answered(tmp_path, "d2", ["C", "D"], seed=2)
    ours, theirs = node_losses(tmp_path, [one]), node_losses(tmp_path, [two])
    [change] = change_facts(source, ours, theirs)
    assert change["node"] == "C"
    assert change["change"] == pytest.approx(ours[0, "C"] - theirs[0, "C"])
    # Two seeds are one point of the regression: a node is one observation.
    again = {**ours, **{(1, node): loss + 1 for (_, node), loss in ours.items()}}
    [two_seeds] = change_facts(source, again, {**theirs, (1, "C"): theirs[0, "C"]})
    assert two_seeds["seeds"] == 2
    assert two_seeds["change"] == pytest.approx(change["change"] + 0.5)
    assert on_axis("out_degree", [0, 9]).tolist() == [0, 1]
    assert on_axis("homophily", [0.5]).tolist() == [0.5]


def test_the_regression_and_its_band() -> None:
    random = np.random.default_rng(3)
    x = random.normal(2, 1, 50)
    y = 0.7 * x + random.normal(0, 0.5, 50)
    line = regression(np.append(x, np.nan), np.append(y, 1.0))
    assert line is not None
    # The same by the normal equations: coefficients, their covariance, and the band at any place.
    design = np.column_stack([np.ones(50), x])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    covariance = ((y - design @ coefficients) ** 2).sum() / 48 * inverse
    assert (line.intercept, line.slope) == pytest.approx(tuple(coefficients))
    statistic = abs(line.slope) / np.sqrt(covariance[1, 1])
    assert line.p_value == pytest.approx(2 * stats.t.sf(statistic, 48))
    assert line.count == 50
    places = np.array([0.0, 1.5, 4.0])
    grid = np.column_stack([np.ones(3), places])
    middle, half = line.at(places)
    assert middle == pytest.approx(grid @ coefficients)
    errors = np.sqrt(np.einsum("ij,jk,ik->i", grid, covariance, grid))
    assert half == pytest.approx(stats.t.ppf(0.975, 48) * errors)


def test_regressions_that_cannot_be_or_are_certain() -> None:
    assert regression(np.ones(5), np.arange(5.0)) is None
    assert regression(np.array([1.0, 2.0]), np.array([1.0, 2.0])) is None
    level, exact = regression(np.arange(4.0), np.ones(4)), regression(np.arange(4.0), 2 * np.arange(4.0))
    assert level is not None
    assert exact is not None
    assert (level.slope, level.p_value) == (0.0, 1.0)
    assert exact.slope == pytest.approx(2)
    assert exact.p_value < 1e-12
    assert exact.at(np.array([3.0]))[1] == pytest.approx(0, abs=1e-6)
