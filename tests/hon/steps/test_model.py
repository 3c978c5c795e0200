"""Next steps and scores, against following the model one step after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from step_cases import PATHS, distribution

from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.hon.build import count_grams
from honlearn.hon.steps.automaton import END
from honlearn.hon.steps.model import StepModel
from honlearn.paths.paths import Paths

SOME = [["A", "C", "D"], ["B", "C", "E"], ["A", "C", "E"], ["D"], ["B", "C", "E", "A"]] * 6


def ranked(model: StepModel, state: int) -> list[tuple[float, int]]:
    """Return all outcomes of a state, likeliest first."""
    p = distribution(model, state)
    codes = [*range(len(p) - 1), END]
    return sorted(zip(p.tolist(), codes, strict=True), reverse=True)


@settings(max_examples=40, deadline=None)
@given(PATHS, st.integers(1, 3), st.integers(1, 7))
def test_the_likeliest_steps_are_those_of_the_whole_distribution(
    paths: list[list[str]], order: int, top: int
) -> None:
    model = StepModel.of(count_grams(paths, order=order))
    top = min(top, len(model.vocabulary) + 1)
    states = np.arange(len(model.automaton.end), dtype=np.int32)
    found = model.likeliest(states, top)
    for state in states.tolist():
        wanted = ranked(model, state)[:top]
        np.testing.assert_allclose(found.probabilities[state], [p for p, _ in wanted], rtol=1e-9)
        p = {code: p for p, code in ranked(model, state)}
        assert len(set(found.codes[state].tolist())) == top
        np.testing.assert_allclose(
            found.probabilities[state], [p[code] for code in found.codes[state].tolist()], rtol=1e-9
        )


def test_the_likeliest_of_many_steps_are_those_of_the_whole_distribution() -> None:
    codes = np.random.default_rng(1).geometric(0.05, 6000).astype(np.int32) % 90
    paths = [[f"e{code}" for code in path] for path in codes.reshape(-1, 6).tolist()]
    model = StepModel.of(count_grams(paths, order=2))
    states = np.random.default_rng(2).integers(0, len(model.automaton.end), 60).astype(np.int32)
    states = np.concatenate([[0, model.automaton.start], states, states[:9]]).astype(np.int32)
    found = model.likeliest(states, 7)
    for row, state in enumerate(states.tolist()):
        wanted = ranked(model, state)[:7]
        np.testing.assert_allclose(found.probabilities[row], [p for p, _ in wanted], rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(PATHS, st.lists(st.integers(-1, 4), max_size=9), st.integers(1, 3))
def test_the_last_entities_of_a_history_decide_its_state(
    paths: list[list[str]], history: list[int], order: int
) -> None:
    model = StepModel.of(count_grams(paths, order=order))
    codes = np.array([code for code in history if code < len(model.vocabulary)], np.int32)
    whole = np.append(codes, np.int32(-1))
    from_the_start = model.states_of_steps(whole, np.array([0, len(whole)]))[-1]
    assert model.states(codes, np.array([0, len(codes)]))[0] == from_the_start


@settings(max_examples=40, deadline=None)
@given(
    PATHS,
    st.lists(st.lists(st.sampled_from("ABCDEXY"), max_size=6), min_size=1, max_size=20),
    st.integers(1, 3),
)
def test_bits_are_those_of_the_steps_one_by_one(
    paths: list[list[str]], asked: list[list[str]], order: int
) -> None:
    model = StepModel.of(count_grams(paths, order=order))
    known = {name: code for code, name in enumerate(model.vocabulary.names)}
    codes = np.array([known.get(name, -1) for path in asked for name in path], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(path) for path in asked])])
    scores = model.score_codes(codes, offsets)
    a = model.automaton
    for row, path in enumerate(asked):
        steps = []
        for i in range(len(path) + 1):
            history = codes[offsets[row] : offsets[row] + i]
            state = int(model.states(history, np.array([0, i]))[0])
            if i == len(path):
                steps.append(a.end[state])
            elif path[i] in known:
                steps.append(-np.log2(distribution(model, state)[known[path[i]]]))
            else:
                spent = a.base + a.backoff[0]
                while state:
                    spent, state = spent + a.backoff[state], int(a.shorter[state])
                steps.append(spent)
        own = scores.steps[scores.offsets[row] : scores.offsets[row + 1]]
        np.testing.assert_allclose(own, steps, rtol=1e-5)
        assert scores.bits[row] == pytest.approx(sum(steps), rel=1e-9)
        assert scores.hardest()[row] == int(np.argmax(own))


def test_a_history_is_a_path_so_far_or_the_end_of_a_longer_one() -> None:
    counts = count_grams([["A", "B"], ["C", "A", "D"]] * 50, order=3)
    assert counts.next_steps(["A"], 1)["step"].tolist() == ["B"]
    anywhere = counts.next_steps(["A"], 2, from_start=False)
    assert sorted(anywhere["step"]) == ["B", "D"]
    assert counts.next_steps([], 2)["step"].tolist() == ["A", "C"] or counts.next_steps([], 2)[
        "step"
    ].tolist() == ["C", "A"]
    assert counts.next_steps(["A", "B"], 1)["step"].tolist() == ["<end>"]


def test_histories_that_were_never_seen_have_next_steps() -> None:
    counts = count_grams(SOME, order=3)
    frame = counts.next_steps(["E", "D", "B"], 9)
    assert len(frame) == 6
    assert (frame["probability"] > 0).all()
    assert frame["probability"].is_monotonic_decreasing


def test_many_histories_are_each_by_itself() -> None:
    model = count_grams(SOME, order=2).steps()
    codes = model.vocabulary.codes(["A", "C", "B", "C", "E"])
    many = model.next_codes(codes, np.array([0, 2, 2, 5]), 3)
    assert len(many) == 3
    assert many.names(0) == model.next_steps(["A", "C"], 3)["step"].tolist()
    assert many.names(1) == model.next_steps([], 3)["step"].tolist()
    assert many.names(2) == model.next_steps(["B", "C", "E"], 3)["step"].tolist()


def test_paths_with_a_vocabulary_of_their_own_are_translated() -> None:
    model = count_grams(SOME, order=2).steps()
    other = Paths.from_lists([["Z", "E"], ["A", "C", "D"]])
    assert model.translated(other)[0].tolist()[:1] == [-1]
    scores = model.score(other)
    assert scores.bits[1] == pytest.approx(model.score([["A", "C", "D"]]).bits[0])
    assert scores.bits_per_step[0] == pytest.approx(scores.bits[0] / 3)


def test_models_are_made_once() -> None:
    counts = count_grams(SOME, order=2)
    assert counts.steps() is counts.steps(2)
    assert counts.score(SOME[:2]).bits.tolist() == counts.steps().score(SOME[:2]).bits.tolist()
    assert "5 entities" in repr(counts.steps())


def test_errors_say_what_to_do() -> None:
    counts = count_grams(SOME, order=2)
    with pytest.raises(InputError, match="a list of names"):
        counts.next_steps("A C")
    with pytest.raises(UnknownNodeError, match="no entity 'Q' among 5"):
        counts.next_steps(["Q"])
    with pytest.raises(
        ParameterError, match="'top' parameter of next_steps must be a whole number, at least 1"
    ):
        counts.next_steps(["A"], 0)
    with pytest.raises(ParameterError, match=r"'order' parameter of steps must be .* from 1 to 2"):
        counts.steps(3)
    with pytest.raises(InputError, match=r"codes of entities must be 0 to 4, .* Got 0 to 9 instead"):
        counts.steps().score_codes(np.array([0, 9]), np.array([0, 2]))
    with pytest.raises(InputError, match="offsets of paths must ascend"):
        counts.steps().score_codes(np.array([0, 1]), np.array([0, 1]))
