"""Candidates and their race: which networks take part, who stays, who wins, and what a kill leaves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from choice_cases import Designed, Rows, nothing_held, plain_table

import honlearn as hl
from honlearn import DGEClassifier
from honlearn.errors import ParameterError
from honlearn.hon.build import GramCounts
from honlearn.learners import SAGE
from honlearn.tasks.choice import Candidate, Choice
from honlearn.tasks.held import Ledger
from honlearn.tasks.settings import Structure
from honlearn.tasks.structure import PARAMETERS, TAUS, Grown, candidates, counts_of, race

OPEN = dict.fromkeys(PARAMETERS, "auto")
EXAMPLES = 40


@cache
def varied_counts() -> GramCounts:
    """Walks whose steps depend on two steps before, now more and now less: many values of tau differ."""
    random = np.random.default_rng(0)
    paths = []
    for _ in range(1500):
        walk = random.integers(24, size=2).tolist()
        for _ in range(4):
            remembers = random.random() < 0.2 + 0.03 * walk[-1]
            walk.append(int((walk[-2] * 5 + walk[-1]) % 24 if remembers else random.integers(24)))
        paths.append([f"n{i}" for i in walk])
    return hl.count_grams(paths, order=3)


def made(**wanted: Any) -> list[Grown]:
    return candidates("Owner", varied_counts(), Structure(**{**OPEN, **wanted}))


# --- candidates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted", [{}, {"order": 3}, {"tau": 3.0}, {"min_support": 10}, {"order": 2, "tau": 1.0}], ids=str
)
def test_first_order_takes_part_wherever_something_is_open(wanted: dict[str, Any]) -> None:
    found = made(**wanted)
    firsts = [one for one in found if not one.network.n_conditional]
    assert [(one.order, one.tau, one.min_support) for one in firsts] == [(1, None, 1)]
    assert len(found) > 1
    for one in found:
        if one.network.n_conditional:
            assert all(getattr(one, name) == value for name, value in wanted.items())


def test_none_is_auto_too() -> None:
    names = [(one.order, one.tau, one.min_support) for one in made()]
    again = candidates("Owner", varied_counts(), Structure())
    assert names == [(one.order, one.tau, one.min_support) for one in again]
    assert {order for order, _, _ in names} == {1, 2, 3}


def contexts_of(network: hl.HigherOrderNetwork) -> set[tuple[int, ...]]:
    offsets, grams = network.gram_offsets.tolist(), network.grams.tolist()
    nodes = [tuple(grams[a:b]) for a, b in itertools.pairwise(offsets)]
    return {node for node in nodes if len(node) > 1}


def shared(some: set[tuple[int, ...]], others: set[tuple[int, ...]]) -> float:
    return len(some & others) / len(some | others) if some | others else 1.0


def test_networks_with_nearly_the_same_contexts_take_part_once() -> None:
    found = [contexts_of(one.network) for one in made()]
    for i, one in enumerate(found):
        assert all(shared(one, other) < 0.9 for other in found[:i])
    # Every value of the grid is there by itself, or by the candidate that keeps nearly the same contexts.
    for order in (2, 3):
        for tau in TAUS:
            for support in (1, 10):
                grown = contexts_of(varied_counts().grow(order, tau, support))
                assert max(shared(grown, one) for one in found) >= 0.9


def test_rare_contexts_are_not_of_the_coarse_grid_unless_an_order_has_no_others() -> None:
    frequent = {one.order for one in made()[1:] if one.min_support == 10}
    for one in made()[1:]:
        assert one.is_coarse == (one.min_support == 10 or one.order not in frequent)
    assert {one.order for one in made() if one.is_coarse} == {1, 2, 3}
    # A support that is fixed leaves nothing to refine.
    assert all(one.is_coarse for one in made(min_support=1))


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


def judged(
    best: int = 2, spread: float = 0.0, stop: int | None = None, **others: float
) -> tuple[Designed, list[Grown]]:
    """Return all networks, and searches that like the one at `best`, and first order least.

    With `spread` learners of a network differ so much that more of them change the ranks. `others` are
    probabilities by place, as ``at0=0.999``.
    """
    found = made()
    likes = {one.key: 0.5 + 0.001 * i for i, one in enumerate(found)}
    likes[found[best].key] = 0.9
    likes |= {found[int(name.removeprefix("at"))].key: given for name, given in others.items()}

    def probability(one: Candidate) -> Rows:
        random = np.random.default_rng([one.network.n_nodes, one.learners])
        noise = random.standard_normal(EXAMPLES)
        # Losses that are all equal would have no standard error.
        return np.clip(likes[one.key] + spread * noise + 1e-4 * noise, 0.01, 0.9999)

    return Designed(probability, stop), found


def run(
    search: Designed, found: Sequence[Grown], n_learners: int = 16, ledger: Ledger | None = None
) -> tuple[Choice, list[Candidate]]:
    """Let these networks race, judged by half of a bag; return the choice, and those that stayed."""
    choice = Choice(search, EXAMPLES, ledger or Ledger(), False)
    running = [choice.add(one.key, one.network, [SAGE()]) for one in found]
    return choice, race(choice, found, running, n_learners // 2)


def test_the_coarse_grid_is_judged_then_what_is_beside_its_best_and_the_better_go_on() -> None:
    search, found = judged(spread=0.2)
    choice, left = run(search, found)
    best = choice.candidates[2]
    assert left[0] is best
    assert choice.best(left, choice.candidates[0]) is best
    grown = found[2]
    beside = [one for one in found if (one.order, one.tau) == (grown.order, grown.tau)]
    # Of order 3 only what is no worse at order 2 beyond doubt.
    coarse = [one for one in found if one.is_coarse and (one.order < 3 or one.tau == grown.tau)]
    assert (grown.order, len(coarse)) == (2, 3)
    assert search.seen() == [one.key for one in coarse + [one for one in beside if not one.is_coarse]]
    judged_by = {one.key: one.learners for one in choice.candidates}
    assert {count for count in judged_by.values() if count} <= {4, 8}
    assert {key for key, count in judged_by.items() if count == 8} == {one.key for one in left}
    assert choice.candidates[0] in left
    assert len(left) <= 3
    # No learner is trained twice on one network, and all on the validation parts of the same learners.
    for one in choice.candidates:
        assert search.trained(one.key) == list(range(one.learners))
    # Weights of networks that have left are of no use to anybody.
    assert all(bool(one.searched) is (one in left) for one in choice.candidates)


def test_what_nobody_can_tell_apart_is_tried_with_one_entity_more() -> None:
    search, found = judged(spread=0.2, at2=0.5)
    run(search, found)
    coarse = [one.key for one in found if one.is_coarse]
    assert max(one.order for one in found if one.is_coarse) == 3
    assert search.seen()[: len(coarse)] == coarse


def test_a_network_that_is_clearly_worse_than_the_best_leaves() -> None:
    _, left = run(*judged(at2=0.9))
    assert [one.is_first_order for one in left] == [False, True]


def test_solved_by_first_order_ends_the_race() -> None:
    search, found = judged(at0=0.999)
    choice, left = run(search, found)
    assert left == [choice.candidates[0]]
    assert search.asked == [(found[0].key, 0, 4)]
    # The table has what was tried.
    assert len(choice.results({}, {})) == 1


def test_where_memory_cannot_gain_nothing_is_refined() -> None:
    search, found = judged(at0=0.95, at2=0.6)
    choice, left = run(search, found)
    assert search.seen() == [one.key for one in found if one.is_coarse and one.order < 3]
    assert left[0] is choice.candidates[0]


@pytest.mark.parametrize(("n_learners", "most"), [(1, 2), (3, 2), (8, 4), (15, 4), (16, 8), (64, 8)])
def test_not_more_than_half_of_a_bag_judge(n_learners: int, most: int) -> None:
    search, found = judged()
    choice, left = run(search, found, n_learners)
    assert left[0] is choice.candidates[2]
    assert max(one.learners for one in choice.candidates) == most


def test_losses_are_compared_by_as_many_learners_of_each() -> None:
    search, found = judged()
    choice, left = run(search, found)
    table = choice.results({left[0].key: 1.0}, {left[0].key: 16})
    # Early leavers are compared with as many learners of first order as they had, not with all of its eight.
    assert table["gain"].min() >= 0
    assert len(table) == len(search.seen())
    chosen = table[table["chosen"]]
    assert (len(chosen), chosen["nodes"].item()) == (1, found[2].network.n_nodes)
    assert table.loc[table["order"] == 1, "gain"].isna().tolist() == [True]
    assert table["tau"].isna().sum() == 1


def test_nothing_held_back_is_no_reason_to_leave_first_order() -> None:
    choice = Choice(nothing_held, EXAMPLES, show=False)
    running = [choice.add(one.key, one.network, [SAGE()]) for one in made()]
    left = race(choice, made(), running, 2)
    assert choice.best(left, running[0]) is running[0]
    assert choice.results({}, {})["loss"].isna().all()


@pytest.mark.parametrize("searches", [1, 3, 5])
def test_a_killed_race_goes_on_to_the_same_end(searches: int, tmp_path: Path) -> None:
    search, found = judged(spread=0.3)
    straight, left = run(search, found)
    assert len(search.asked) > 5
    path = tmp_path / "fit.choice"
    dying, _ = judged(spread=0.3, stop=searches)
    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        run(dying, found, ledger=Ledger(path, "mark", 0.0))
    rest, _ = judged(spread=0.3)
    resumed, again = run(rest, found, ledger=Ledger(path, "mark", 0.0))
    assert plain_table(resumed.results({}, {})).equals(plain_table(straight.results({}, {})))
    assert [one.key for one in again] == [one.key for one in left]
    assert dying.asked + rest.asked == search.asked
    # A race that is over is not run again.
    idle, _ = judged(spread=0.3, stop=0)
    assert [one.key for one in run(idle, found, ledger=Ledger(path, "mark"))[1]] == [one.key for one in left]
