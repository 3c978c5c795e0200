"""One mechanism for all choices: candidates, learners trained once, who wins, the table, and a kill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from choice_cases import Designed, Rows, nothing_held, plain_table
from ensemble_cases import tiny

from honlearn.ensemble.learner_training import Searched
from honlearn.errors import FormatError
from honlearn.learners import GAT, GCN, SAGE
from honlearn.tasks import choice as choice_module
from honlearn.tasks.choice import Candidate, Choice
from honlearn.tasks.held import Ledger

N = 40


def constant(**probability: float) -> Designed:
    """Return a search of candidates with one probability each, whatever the example."""
    return Designed(lambda one: np.full(N, probability[one.key]))


def chosen_among(search: Designed, keys: Sequence[str], ledger: Ledger | None = None) -> Choice:
    """Return a choice with a candidate for each key, all of them trained."""
    choice = Choice(search, N, ledger or Ledger(), False)
    some = [choice.add(key, tiny()[0], [SAGE()]) for key in keys]
    choice.train(some, 4, "choosing")
    return choice


# --- candidates and learners -------------------------------------------------------------------------


def test_a_key_is_one_candidate() -> None:
    choice = Choice(constant(a=0.5), N, show=False)
    one = choice.add("a", tiny()[0], [SAGE()])
    assert choice.add("a", tiny()[0].first_order(), [GCN()]) is one
    assert choice.candidates == [one]
    assert (one.name, one.is_first_order) == ("sage", False)
    mixed = choice.add("b", tiny()[0].first_order(), [SAGE(), GCN()])
    assert (mixed.name, mixed.is_first_order) == ("sage,gcn", True)


def test_no_learner_is_trained_twice() -> None:
    search = constant(a=0.5, b=0.6)
    choice = chosen_among(search, ["a", "b"])
    one, other = choice.candidates
    choice.train([one], 4, "choosing")
    choice.train([one, other], 3, "choosing")
    choice.train([one], 7, "choosing")
    assert search.asked == [("a", 0, 4), ("b", 0, 4), ("a", 4, 7)]
    assert (one.learners, other.learners) == (7, 4)


def test_weights_are_kept_for_a_later_training() -> None:
    choice = chosen_among(constant(a=0.5), ["a"])
    (one,) = choice.candidates
    choice.train([one], 6, "choosing")
    weights = torch.cat([part.state["weight"] for part in one.searched])
    assert weights[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_weights_after_a_gap_are_of_no_use() -> None:
    choice = chosen_among(constant(a=0.5), ["a"])
    (one,) = choice.candidates
    one.searched.clear()
    choice.train([one], 6, "choosing")
    assert (one.learners, one.searched) == (6, [])


def test_large_weights_and_those_of_mixed_bags_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_module, "_MOST_NUMBERS", 3)
    (one,) = chosen_among(constant(a=0.5), ["a"]).candidates
    assert (one.learners, one.searched) == (4, [])
    monkeypatch.undo()
    design = constant(a=0.5)

    def twice(candidate: Candidate, learners: Sequence[int]) -> list[Searched]:
        return design(candidate, learners[:2]) + design(candidate, learners[2:])

    choice = Choice(twice, N, show=False)
    mixed = choice.add("a", tiny()[0], [SAGE(), GCN()])
    choice.train([mixed], 4, "choosing")
    assert (mixed.learners, mixed.searched) == (4, [])


# --- who wins ----------------------------------------------------------------------------------------


def test_the_candidate_that_loses_least_wins() -> None:
    choice = chosen_among(constant(a=0.6, b=0.9, c=0.4), ["a", "b", "c"])
    usual, better, worse = choice.candidates
    assert choice.best(choice.candidates, usual) is better
    assert choice.best([usual, worse], usual) is usual
    assert choice.best([worse], worse) is worse
    assert [one.loss() for one in choice.candidates] == pytest.approx([-math.log(x) for x in (0.6, 0.9, 0.4)])


def uneven(gain: float, spread: float) -> Designed:
    """Return a search whose second candidate is better by `gain`, by turns `spread` more and less."""

    def probability(one: Candidate) -> Rows:
        turns = np.where(np.arange(N) // 4 % 2, 1.0, -1.0)
        return 0.5 * np.exp(0.0 * turns if one.key == "usual" else gain + spread * turns)

    return Designed(probability)


@pytest.mark.parametrize(("gain", "wins"), [(0.02, False), (0.2, True)])
def test_a_gain_within_its_standard_error_is_none(gain: float, wins: bool) -> None:
    choice = chosen_among(uneven(gain, 0.4), ["usual", "other"])
    usual, other = choice.candidates
    assert other.loss() < usual.loss()
    found = other.gain_over(usual)
    assert found.mean == pytest.approx(gain, abs=1e-6)
    assert found.error == pytest.approx(0.4 * math.sqrt(N / (N - 1)) / math.sqrt(N), rel=1e-5)
    assert choice.best(choice.candidates, usual) is (other if wins else usual)


def test_without_examples_held_back_the_usual_one_stays() -> None:
    choice = Choice(nothing_held, 3, show=False)
    some = [choice.add(key, tiny()[0], [SAGE()]) for key in "ab"]
    choice.train(some, 2, "choosing")
    assert choice.best(some, some[1]) is some[1]
    table = choice.results({}, {})
    assert table["loss"].isna().all()
    assert not table["chosen"].any()


# --- the table ---------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_candidate() -> None:
    hon, first = tiny()[0], tiny()[0].first_order()
    choice = Choice(constant(a=0.6, b=0.9, c=0.4, d=0.5), N, show=False)
    given = [("a", first, SAGE()), ("b", hon, GCN(edge_power=1.0)), ("c", hon, GAT()), ("d", hon, SAGE())]
    for key, network, kind in given:
        choice.train([choice.add(key, network, [kind])], 3 if key == "d" else 4, "choosing")
    table = choice.results({"b": 0.3, "d": 0.5}, {"b": 6, "d": 10})
    assert table.columns.tolist() == [
        *("learner", "edge_power", "order", "tau", "min_support", "nodes", "edges", "learners", "loss"),
        *("gain", "standard_error", "cpu_seconds", "members", "share", "chosen"),
    ]
    # By share, and by loss where there is none.
    assert table["learner"].tolist() == ["sage", "gcn", "sage", "gat"]
    assert table["share"].tolist() == [0.5, 0.3, 0.0, 0.0]
    assert table["members"].tolist() == [10, 6, 0, 0]
    assert table["chosen"].tolist() == [True, True, False, False]
    assert table["learners"].tolist() == [3, 4, 4, 4]
    assert table["edge_power"].tolist()[:2] == [0.5, 1.0]
    assert table["nodes"].tolist() == [hon.n_nodes, hon.n_nodes, first.n_nodes, hon.n_nodes]
    assert table["edges"].tolist() == [hon.n_edges, hon.n_edges, first.n_edges, hon.n_edges]
    assert table["order"].tolist() == [2, 2, 1, 2]
    assert table["tau"].isna().tolist() == [False, False, True, False]
    assert table["loss"].tolist() == pytest.approx([-math.log(x) for x in (0.5, 0.9, 0.6, 0.4)])
    gains = [math.log(x / 0.6) for x in (0.5, 0.9, 0.4)]
    assert table["gain"].dropna().tolist() == pytest.approx(gains)
    assert math.isnan(table["gain"].iloc[2])


# --- killed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("searches", [1, 2, 4])
def test_a_killed_choice_goes_on(searches: int, tmp_path: Path) -> None:
    keys, probability = ["a", "b", "c", "d", "e"], {"a": 0.5, "b": 0.6, "c": 0.4, "d": 0.9, "e": 0.3}

    def design(stop: int | None = None) -> Designed:
        return Designed(lambda one: np.full(N, probability[one.key]), stop)

    straight = chosen_among(design(), keys)
    dying, path = design(searches), tmp_path / "fit.choice"
    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        chosen_among(dying, keys, Ledger(path, "mark", 1e6))
    assert dying.seen() == keys[:searches]
    rest = design()
    resumed = chosen_among(rest, keys, Ledger(path, "mark", 1e6))
    assert dying.asked + rest.asked == [(key, 0, 4) for key in keys]
    assert plain_table(resumed.results({}, {})).equals(plain_table(straight.results({}, {})))
    idle = design(0)
    assert (
        chosen_among(idle, keys, Ledger(path, "mark")).best(resumed.candidates, resumed.candidates[0]).key
        == "d"
    )
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        chosen_among(idle, keys, Ledger(path, "another"))
