"""Candidates and their race: which networks take part, who stays, who wins, and what a kill leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import honlearn as hl
from honlearn import DGEClassifier
from honlearn.errors import FormatError, ParameterError
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.tasks.held import Held, Ledger
from honlearn.tasks.settings import Structure
from honlearn.tasks.structure import PARAMETERS, TAUS, Candidate, Race, candidates, counts_of

OPEN = dict.fromkeys(PARAMETERS, "auto")
EXAMPLES = 40


@cache
def varied_counts() -> GramCounts:
    """Walks whose steps depend on two steps before, now more and now less: many values of tau differ."""
    random = np.random.default_rng(0)
    paths = []
    for _ in range(1500):
        walk = random.integers(12, size=2).tolist()
        for _ in range(4):
            remembers = random.random() < 0.2 + 0.06 * walk[-1]
            walk.append(int((walk[-2] * 5 + walk[-1]) % 12 if remembers else random.integers(12)))
        paths.append([f"n{i}" for i in walk])
    return hl.count_grams(paths, order=3)


def made(**wanted: Any) -> list[Candidate]:
    return candidates("Owner", varied_counts(), Structure(**{**OPEN, **wanted}), EXAMPLES)


# --- candidates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted", [{}, {"order": 3}, {"tau": 3.0}, {"min_support": 10}, {"order": 2, "tau": 1.0}], ids=str
)
def test_first_order_takes_part_wherever_something_is_open(wanted: dict[str, Any]) -> None:
    found = made(**wanted)
    firsts = [one for one in found if one.is_first_order]
    assert [(one.order, one.tau, one.min_support) for one in firsts] == [(1, None, 1)]
    assert len(found) > 1
    for one in found:
        if not one.is_first_order:
            assert all(getattr(one, name) == value for name, value in wanted.items())


def test_none_is_auto_too() -> None:
    names = [(one.order, one.tau, one.min_support) for one in made()]
    again = candidates("Owner", varied_counts(), Structure(), EXAMPLES)
    assert names == [(one.order, one.tau, one.min_support) for one in again]
    assert {order for order, _, _ in names} == {1, 2, 3}


def test_equal_networks_take_part_once() -> None:
    found = made()
    for i, one in enumerate(found):
        assert not any(one.network == other.network for other in found[:i])
    # Every value of the grid is there by itself, or by the candidate that keeps the same contexts.
    for order in (2, 3):
        for tau in TAUS:
            for support in (1, 10):
                grown = varied_counts().grow(order, tau, support)
                assert sum(grown == one.network for one in found) == 1


def test_fixed_numbers_are_the_one_network() -> None:
    [only] = made(order=2, tau=3.0, min_support=10)
    assert only.network == varied_counts().grow(2, 3.0, 10)
    [first] = made(order=1)
    assert first.network == varied_counts().grow(1)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"order": 4}, r"'order' parameter of Owner is 4, but .* up to 3; count them with .*order=4\)"),
        ({"order": "best"}, "'order' parameter of Owner must be a number or 'auto'. Got 'best' instead"),
        ({"tau": "low"}, "'tau' parameter of Owner must be a number or 'auto'. Got 'low' instead"),
        ({"min_support": "few"}, "'min_support' parameter of Owner must be a number or 'auto'. Got 'few'"),
        ({"order": 0}, "'order' parameter of Owner must be a whole number, at least 1. Got 0"),
        ({"tau": -1.0}, "'tau' parameter of Owner must be a number at least 0. Got -1.0"),
        ({"tau": np.array([1.0, 3.0])}, "'tau' parameter of Owner must be a number at least 0. Got array"),
        ({"min_support": 0.5}, "'min_support' parameter of Owner must be a whole number, at least 1"),
    ],
)
def test_wrong_parameters_are_refused(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        made(**wanted)


def test_counts_of_paths_look_back_as_far_as_asked() -> None:
    paths = hl.read_paths([["A", "B", "C", "D", "E"]] * 3)
    assert counts_of("Owner", paths, None).order == counts_of("Owner", paths, "auto").order == 3
    assert counts_of("Owner", paths, 4).order == 4
    assert counts_of("Owner", varied_counts(), 2) is varied_counts()
    with pytest.raises(ParameterError, match=r"must be a number or 'auto'. Got 'best' instead"):
        counts_of("Owner", paths, "best")


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_grown_network_has_nothing_to_choose(name: str) -> None:
    model = DGEClassifier(varied_counts().grow(2), structure=Structure(**{name: "auto"}))
    with pytest.raises(ParameterError, match=f"{name} cannot be chosen for a network that is grown already"):
        model.fit(["n0", "n1"], ["a", "b"])


# --- the race --------------------------------------------------------------------------------------------


class Judge:
    """Validates without learning: each network has a probability of the truth, and noise of each example."""

    def __init__(self, probabilities: dict[int, float], spread: float = 0.0, stop: int | None = None) -> None:
        self.probabilities, self.spread, self.left = probabilities, spread, stop
        self.asked: list[tuple[int, int, int]] = []

    def __call__(self, network: HigherOrderNetwork, learners: Sequence[int]) -> Held:
        if self.left is not None:
            if self.left == 0:
                raise KeyboardInterrupt("killed on purpose")
            self.left -= 1
        self.asked.append((network.n_nodes, learners[0], learners[-1] + 1))
        held, probability = [], []
        for learner in learners:
            random = np.random.default_rng([network.n_nodes, learner])
            held.append(np.sort(random.permutation(EXAMPLES)[: EXAMPLES // 2]))
            noise = self.spread * random.standard_normal(EXAMPLES // 2)
            probability.append(np.clip(self.probabilities[network.n_nodes] + noise, 0.01, 0.99))
        return np.stack(held), np.stack(probability)


def judged(best: int, **given: Any) -> tuple[list[Candidate], Judge]:
    """Return all candidates, and a judge who likes the one at `best`, and first order least."""
    found = made()
    probabilities = {one.network.n_nodes: 0.5 + 0.001 * i for i, one in enumerate(found)}
    assert len(probabilities) == len(found)
    probabilities[found[best].network.n_nodes] = 0.9
    return found, Judge(probabilities, **given)


def test_the_better_part_races_on_and_first_order_to_the_end() -> None:
    found, judge = judged(best=3)
    race, left = Race(found), list[HigherOrderNetwork]()
    winner = race.run(judge, 16, False, left.append)
    assert winner is found[3]
    assert {id(network) for network in left} == {id(one.network) for one in found if one.learners < 9}
    count, third = len(found), math.ceil(len(found) / 3)
    assert sorted(one.learners for one in found)[:: count - 1] == [3, 9]
    assert sum(one.learners >= 6 for one in found) == third + 1
    assert sum(one.learners == 9 for one in found) == max(3, math.ceil((third + 1) / 3)) + 1
    assert race.first is found[0]
    assert found[0].learners == 9
    # No learner is trained twice on one network, and all on the validation parts of the same learners.
    for one in found:
        parts = [(start, stop) for nodes, start, stop in judge.asked if nodes == one.network.n_nodes]
        assert [number for start, stop in parts for number in range(start, stop)] == list(range(one.learners))


def test_few_learners_are_one_part() -> None:
    found, judge = judged(best=3)
    assert Race(found).run(judge, 1, False) is found[3]
    assert {one.learners for one in found} == {2}


@pytest.mark.parametrize(("gain", "wins"), [(0.001, False), (0.2, True)])
def test_a_gain_within_the_standard_error_is_none(gain: float, wins: bool) -> None:
    found = made(order=2, tau=1.0)[:2]
    probabilities = {one.network.n_nodes: 0.5 + gain * i for i, one in enumerate(found)}
    race = Race(found)
    winner = race.run(Judge(probabilities, spread=0.15), 16, False)
    assert winner is found[1 if wins else 0]
    losses = found[0].losses - found[1].losses
    known = losses[np.isfinite(losses)]
    assert found[1].gain == pytest.approx(known.mean())
    assert found[1].error == pytest.approx(known.std(ddof=1) / np.sqrt(len(known)))
    assert (found[1].gain > found[1].error) is wins
    assert winner.loss <= found[0].loss if wins else found[1].gain <= found[1].error


def test_the_loss_is_that_of_the_pooled_learners() -> None:
    one = made()[0]

    one.update(2, lambda learners: (np.array([[0, 1]] * len(learners)), np.array([[0.2, 0.5], [0.6, 0.5]])))
    assert one.losses[:2] == pytest.approx([-np.log(0.4), -np.log(0.5)])
    assert np.isnan(one.losses[2:]).all()
    assert one.loss == pytest.approx(-np.log([0.4, 0.5]).mean())


def test_nothing_held_back_is_no_reason_to_leave_first_order() -> None:
    found = made()

    def validate(network: HigherOrderNetwork, learners: Sequence[int]) -> Held:
        return np.zeros((len(learners), 0), np.int64), np.zeros((len(learners), 0))

    race = Race(found)
    assert race.run(validate, 4, False) is found[0]
    table = race.results(found[0])
    assert table["chosen"].sum() == 1
    assert table["loss"].isna().all()


def test_the_table_has_how_far_each_candidate_ran() -> None:
    found, judge = judged(best=3)
    race = Race(found)
    table = race.results(race.run(judge, 16, False))
    assert table.columns.tolist() == [
        *PARAMETERS,
        *("nodes", "edges", "learners", "loss", "gain", "standard_error", "cpu_seconds", "chosen"),
    ]
    assert len(table) == len(found)
    assert table["learners"].is_monotonic_decreasing
    chosen = table[table["chosen"]]
    assert (len(chosen), chosen["nodes"].item()) == (1, found[3].network.n_nodes)
    assert table.loc[table["order"] == 1, ["gain", "standard_error"]].to_numpy().tolist() == [[0.0, 0.0]]
    assert table["tau"].isna().sum() == 1
    # Early leavers are compared with as many learners of first order as they had, not with all of its nine.
    assert table["gain"].min() >= 0


@pytest.mark.parametrize("validations", [1, 5, 9, 12])
def test_a_killed_race_goes_on_to_the_same_end(validations: int, tmp_path: Path) -> None:
    spread = 0.3  # so much that more learners change the ranks
    found, judge = judged(best=3, spread=spread)
    straight = Race(found)
    expected = straight.results(straight.run(judge, 16, False)).drop(columns="cpu_seconds")
    assert len(judge.asked) > 12

    checkpoint = tmp_path / "race"
    killed, dying = judged(best=3, spread=spread, stop=validations)
    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        Race(killed, Ledger(checkpoint, "mark", 0.0)).run(dying, 16, False)
    again, rest = judged(best=3, spread=spread)
    race = Race(again, Ledger(checkpoint, "mark", 0.0))
    table = race.results(race.run(rest, 16, False)).drop(columns="cpu_seconds")
    assert table.equals(expected)
    assert dying.asked + rest.asked == judge.asked
    # A race that is over is not run again, and that of other data is not gone on with.
    over, idle = judged(best=3, spread=spread)
    assert (
        Race(over, Ledger(checkpoint, "mark")).run(idle, 16, False).order == race.run(rest, 16, False).order
    )
    assert idle.asked == []
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        Race(over, Ledger(checkpoint, "another")).run(idle, 16, False)
