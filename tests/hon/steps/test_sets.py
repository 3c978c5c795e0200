"""Sets of next steps: what is in them, by definition; coverage of exchangeable paths; alpha; refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from step_cases import PATHS, distribution, planted, unknown

import honlearn as hl
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.hon.steps.automaton import END
from honlearn.hon.steps.model import StepModel
from honlearn.hon.steps.network_model import network_model
from honlearn.hon.steps.sets import StepSets
from honlearn.hon.steps.within import outcomes_within, sizes_within, unseen_within


@settings(deadline=None, max_examples=40)
@given(PATHS, st.integers(1, 3), st.floats(0.1, 9))
def test_outcomes_within_a_limit_by_definition(lists: list[list[str]], order: int, limit: float) -> None:
    model = StepModel.of(hl.count_grams(lists, order))
    a = model.automaton
    states = np.arange(len(a.end), dtype=np.int32)
    offsets, codes, bits = outcomes_within(a, states, limit)
    assert sizes_within(a, states, limit).tolist() == np.diff(offsets).tolist()
    for state in states.tolist():
        expected = -np.log2(distribution(model, state))
        low, high = offsets[state : state + 2]
        own = np.where(codes[low:high] == END, a.n_entities, codes[low:high]).tolist()
        found = dict(zip(own, bits[low:high].tolist(), strict=True))
        near = np.abs(expected - limit) < 1e-9
        assert set(np.flatnonzero((expected < limit) & ~near)) <= set(found)
        assert set(found) <= set(np.flatnonzero((expected < limit) | near))
        assert all(found[code] == pytest.approx(expected[code]) for code in found)
        assert (np.diff(bits[low:high]) >= 0).all()
    rare = -np.log2([unknown(model, state) for state in states.tolist()])
    assert unseen_within(a, states, limit)[np.abs(rare - limit) > 1e-9].tolist() == (
        (rare < limit)[np.abs(rare - limit) > 1e-9].tolist()
    )


def test_without_a_limit_every_outcome_once() -> None:
    lists = planted(2, 50)
    model = StepModel.of(hl.count_grams(lists, 2))
    states = np.arange(len(model.automaton.end), dtype=np.int32)
    entities = len(model.vocabulary)
    offsets, codes, bits = outcomes_within(model.automaton, states, np.inf)
    wanted = [END, *range(entities)]
    assert all(sorted(codes[low:high].tolist()) == wanted for low, high in pairwise(offsets))
    sums = np.add.reduceat(np.exp2(-bits), offsets[:-1])
    rest = [unknown(model, state) for state in states.tolist()]
    assert sums + rest == pytest.approx(np.ones(len(states)))
    # The model of a network does not know how paths end.
    net = network_model(hl.grow(lists)).automaton
    assert END not in outcomes_within(net, np.arange(3, dtype=np.int32), np.inf)[1]


def test_the_threshold_is_that_of_p_values_over_paths() -> None:
    lists = planted(2, 300)
    sets = StepSets.of(lists, order=2, parts=5, seed=1)
    assert sets.n_paths == 60
    assert sets.weights.sum() == pytest.approx(60)
    for alpha in (0.02, 0.1, 0.25, 0.5):
        p = [(1 + sets.weights[sets.scores >= s].sum()) / 61 for s in sets.scores]
        inside = sets.scores[np.array(p) > alpha + 1e-12]
        assert sets.limit(alpha) == pytest.approx(inside.max(), abs=1e-5)
    assert sets.limit(0.01) == np.inf
    assert sets.limit(1) == -np.inf


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_coverage_of_steps_of_new_paths(alpha: float) -> None:
    # Paths differ much in length; coverage is over paths, a step of each.
    found = []
    for seed in range(12):
        lists = planted(2, 1400, seed)
        sets = StepSets.of(lists[:700], order=2, parts=4, seed=seed)
        found.append(sets.coverage(lists[700:], alpha))
    covered = np.array([one.paths for one in found])
    # Ties between equally likely steps make sets larger than they have to be, never smaller.
    assert covered.mean() > 1 - alpha - 3 * covered.std(ddof=1) / np.sqrt(len(covered))
    assert covered.mean() < 1 - alpha + 0.06
    assert all(one.n_paths == 700 for one in found)


def test_coverage_by_definition() -> None:
    lists = planted(2, 400)
    sets = StepSets.of(lists[:300], order=2)
    new = [*lists[300:], ["x0", "never seen", "to0"]]
    found = sets.coverage(hl.Paths.from_lists(new, [2] * 101), 0.2)
    shares, hits, sizes, steps = [], 0, 0, 0
    for path in new:
        own = 0
        for i, step in enumerate([*path, "<end>"]):
            before = list(path[:i])
            if "never seen" in before:
                codes = [-1 if name == "never seen" else sets.model.vocabulary.index(name) for name in before]
                states = sets.model.states(np.array(codes), np.array([0, len(codes)]))
                _, inside, _ = outcomes_within(sets.model.automaton, states, sets.limit(0.2))
                names = ["<end>" if c == END else sets.model.vocabulary[c] for c in inside.tolist()]
            else:
                names = list(sets.next_sets([before], 0.2).names(0))
            own += step in names
            sizes += len(names)
        shares.append(own / (len(path) + 1))
        hits, steps = hits + own, steps + len(path) + 1
    assert found.paths == pytest.approx(np.mean(shares))
    assert found.steps == pytest.approx(hits / steps)
    assert found.size == pytest.approx(sizes / steps)
    assert (found.n_paths, found.n_steps) == (202, 2 * steps)


def test_sets_nest_in_alpha_and_are_the_likeliest() -> None:
    lists = planted(2, 500)
    sets = StepSets.of(lists, order=2)
    histories = [["x0", "from1", "crossing"], [], ["x1"]]
    smaller = None
    for alpha in (0.5, 0.3, 0.1, 0.05, 0.001):
        found = sets.next_sets(histories, alpha)
        now = [found.names(row) for row in range(3)]
        for history, names in zip(histories, now, strict=True):
            if names:
                assert names == tuple(sets.model.next_steps(history, len(names))["step"])
        assert smaller is None or all(a == b[: len(a)] for a, b in zip(smaller, now, strict=True))
        smaller = now
    table = found.table()
    assert list(table.columns) == ["history", "set", "set_size", "probability", "unseen"]
    assert table["unseen"].all()
    assert table["set_size"].tolist() == [len(sets.model.vocabulary) + 1] * 3
    assert "to1" in sets.next_sets(histories, 0.3).names(0)
    assert len(sets.next_sets([])) == 0
    assert "calibrated on 50 paths" in repr(sets)


def test_counts_stand_for_paths_and_seeds_decide() -> None:
    lists = planted(2, 300)
    counted = StepSets.of(hl.Paths.from_lists(lists, [3] * 300), order=2)
    assert counted.n_paths == 90
    again = StepSets.of(hl.Paths.from_lists(lists, [3] * 300), order=2)
    assert np.array_equal(counted.scores, again.scores)
    other = StepSets.of(hl.Paths.from_lists(lists, [3] * 300), order=2, seed=1)
    assert not np.array_equal(counted.scores, other.scores)


def test_refused() -> None:
    with pytest.raises(InputError, match="4 paths cannot be divided into 10 parts"):
        StepSets.of([["A", "B"]] * 4)
    sets = StepSets.of([["A", "B"]] * 40)
    with pytest.raises(ParameterError, match="The 'alpha' parameter of StepSets"):
        sets.next_sets([["A"]], alpha=2)
    for single in (["A", "B"], "AB"):
        with pytest.raises(InputError, match="takes a list of histories"):
            sets.next_sets(single)
    with pytest.raises(UnknownNodeError, match="'Q'"):
        sets.next_sets([["Q"]])
    with pytest.raises(ParameterError, match="'parts' parameter of StepSets"):
        StepSets.of([["A", "B"]] * 4, parts=1)
    with pytest.raises(InputError, match="there are no paths"):
        sets.coverage(hl.Paths.from_lists([["A"]]).take([]))
