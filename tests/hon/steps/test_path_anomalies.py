"""Anomalous paths: p-values that are uniform where nothing is wrong, and small where something is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest
from step_cases import distribution

from honlearn.datasets.planted import synthetic
from honlearn.errors import ParameterError
from honlearn.hon.build import count_grams, grow
from honlearn.hon.steps.automaton import draw_walks
from honlearn.hon.steps.model import StepModel
from honlearn.hon.steps.network_model import network_model
from honlearn.hon.steps.path_anomalies import path_anomalies
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary

DATA = synthetic(2, n_paths=3000).paths


def walks(model: StepModel, n: int, length: int, stream: int = 7) -> tuple[np.ndarray, np.ndarray]:
    a = model.automaton
    codes, bits = np.empty((n, length), np.int32), np.empty((n, length))
    draw_walks(
        np.uint64(stream), n, a.first, a.symbol, a.bits, a.target, a.end, a.backoff, a.shorter, a.start,
        a.n_entities, a.own[0], codes, bits,
    )  # fmt: skip
    return codes, bits


def test_walks_are_drawn_from_the_model() -> None:
    model = count_grams(
        [["A", "B", "C"], ["B", "A"], ["C", "C", "B", "A"], ["A", "B", "B"]] * 8, order=2
    ).steps()
    codes, bits = walks(model, 40_000, 2)
    state = model.automaton.start
    for step in range(2):
        p = distribution(model, state)
        p = p[:-1] / p[:-1].sum()
        seen = np.bincount(codes[:, step], minlength=3)
        assert chisquare(seen, p * seen.sum()).pvalue > 1e-3
        first = int(np.argmax(p))
        chosen = codes[:, step] == first
        gone = 0.0 if step == 0 else np.unique(bits[chosen, 0]).item()
        # The state has an unknown entity, too, which a walk never draws: its bits are those of the model.
        exact = -np.log2(distribution(model, state)[first] / (1 - 2.0 ** -model.automaton.end[state]))
        np.testing.assert_allclose(bits[chosen, step], gone + exact)
        codes, bits = codes[chosen], bits[chosen]
        history = codes[:1, : step + 1].ravel()
        state = int(model.states(history, np.array([0, len(history)]))[0])


def test_paths_from_the_model_are_not_anomalous() -> None:
    model = count_grams(DATA, order=2).steps()
    codes, _ = walks(model, 2000, 4, stream=99)
    drawn = Paths(codes.ravel(), np.arange(0, 8001, 4), model.vocabulary)
    found = path_anomalies(model, drawn, walks=20_000, seed=1)
    assert kstest(found.p, "uniform").pvalue > 1e-3
    assert (found.q <= 0.05).mean() < 0.01


def test_a_planted_path_is_found_with_its_step() -> None:
    model = count_grams([["A", "B", "C", "D"], ["E", "B", "F", "D"]] * 500, order=2).steps()
    asked = [["A", "B", "C", "D"]] * 20 + [["A", "B", "F", "D"]]
    found = path_anomalies(model, Paths.from_lists(asked), walks=20_000)
    assert np.flatnonzero(found.q <= 0.05).tolist() == [20]
    row = found.table(1).iloc[0]
    assert (row["path"], row["step"], row["step_entity"], row["step_before"]) == (20, 3, "F", "B")
    assert found.table()["entities"].tolist() == [4] * 21


def test_an_early_end_is_a_step_of_its_own() -> None:
    model = count_grams([["A", "B", "C"]] * 300, order=2).steps()
    row = path_anomalies(model, Paths.from_lists([["A", "B"]]), walks=100).table().iloc[0]
    assert (row["step"], row["step_entity"], row["step_before"]) == (3, "<end>", "B")


def test_a_path_without_steps_has_no_hardest_step() -> None:
    network = grow([["A", "C", "D"], ["B", "C", "E"]] * 5)
    paths = Paths(np.array([0, 2, 3], np.int32), np.array([0, 3, 3]), network.vocabulary)
    found = path_anomalies(network_model(network), paths, walks=10)
    row = found.table().iloc[1]
    assert (row["step"], row["step_entity"], row["step_before"], row["p_value"]) == (0, "", "", 1.0)
    assert np.isnan(row["step_bits"])
    nothing = Paths(np.empty(0, np.int32), np.zeros(1, np.int64), Vocabulary.from_names([]))
    assert len(path_anomalies(count_grams(nothing, order=2).steps(), nothing).table()) == 0


def test_the_same_seed_gives_the_same_values() -> None:
    model = count_grams(DATA, order=2).steps()
    one, two, other = (path_anomalies(model, DATA, walks=300, seed=s).p for s in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    with pytest.raises(ParameterError, match="'walks' parameter of path_anomalies must be"):
        path_anomalies(model, DATA, walks=0)
