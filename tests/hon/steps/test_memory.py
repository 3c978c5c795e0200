"""How much memory helps: planted memory is measured, absent memory is not, and counts are paths."""

from __future__ import annotations

import numpy as np
import pytest
from step_cases import planted

from honlearn.errors import InputError, ParameterError
from honlearn.hon.build import count_grams
from honlearn.hon.steps.memory import MemoryGain, OrderGain, divided, hits_per_path, memory_gain, ratio
from honlearn.paths.paths import Paths


def test_memory_of_two_steps_is_measured() -> None:
    gain = memory_gain(planted(2, 3000), 3)
    assert gain.best >= 2
    assert gain.orders[1].saved > 0.1
    assert gain.orders[1].saved > 5 * gain.orders[2].saved
    assert gain.orders[1].saved == pytest.approx(gain.orders[0].bits - gain.orders[1].bits)
    assert gain.orders[1].top1 > gain.orders[0].top1
    assert gain.sentence().startswith("Knowing one step back saves 0.")
    assert gain.table()["order"].tolist() == [1, 2, 3]


def test_no_memory_is_said_to_be_none() -> None:
    random = np.random.default_rng(2)
    # Ends that are as likely after any step: where all paths are of one length, memory knows when they end.
    paths = [random.choice(list("ABCDE"), random.geometric(0.2)).tolist() for _ in range(3000)]
    gain = memory_gain(paths, 2, parts=3)
    assert gain.best == 1
    assert gain.sentence().startswith("Knowing where a path came from saves none of the ")
    assert (gain.n_paths, gain.n_parts) == (3000, 3)
    assert gain.n_steps == sum(map(len, paths)) + 3000


def test_rows_with_counts_aredivided_as_the_paths_they_stand_for() -> None:
    paths = Paths.from_lists([["A", "B"], ["B"], ["C", "A"]], counts=[10, 1, 9])
    held = divided(paths, 4, 0)
    assert held.sum(axis=0).tolist() == [10, 1, 9]
    assert held.sum(axis=1).tolist() == [5, 5, 5, 5]
    one = memory_gain(Paths.from_lists([["A", "B"], ["B", "A"]], counts=[400, 300]), 2, seed=0)
    many = memory_gain([["A", "B"]] * 400 + [["B", "A"]] * 300, 2, seed=0)
    for a, b in zip(one.orders, many.orders, strict=True):
        assert (a.bits, a.top1) == pytest.approx((b.bits, b.top1))
        assert a.bits_pm == pytest.approx(b.bits_pm, rel=1e-6)


def test_hits_are_steps_that_come_first() -> None:
    model = count_grams([["A", "B", "C"]] * 9 + [["A", "B", "D"]] * 3, order=2).steps()
    asked = Paths(model.vocabulary.codes("ABCABDC"), np.array([0, 3, 6, 7]), model.vocabulary)
    # A, B, C and END; A, B, END; from the start C is wrong, and after it END is right.
    assert hits_per_path(model, asked).tolist() == [4, 3, 1]


def test_intervals_treat_paths_as_the_unit() -> None:
    random = np.random.default_rng(0)
    steps = random.integers(1, 6, 400).astype(float)
    covered = 0
    for _ in range(300):
        sums = 2.0 * steps + random.normal(0, 1, 400) * steps  # steps of one path err together
        value, half = ratio(sums, steps, np.ones(400))
        covered += abs(value - 2.0) <= half
    assert 0.90 <= covered / 300 <= 0.99


def test_the_sentence() -> None:
    nan = float("nan")
    rows = [(4.6, nan, nan), (4.19, 0.41, 0.02), (4.1, 0.09, 0.001), (4.11, -0.01, 0.02)]
    orders = tuple(OrderGain(k, b, 0.1, 0.2, 0.1, s, pm) for k, (b, s, pm) in enumerate(rows, start=1))
    assert MemoryGain(orders, 9, 9, 5).sentence() == (
        "Knowing one step back saves 0.41 ± 0.02 of 4.60 bits per step; two steps back another "
        "0.090 ± 0.001; three steps back nothing more."
    )


def test_too_few_paths() -> None:
    with pytest.raises(InputError, match="2 paths cannot be divided into 5 parts; give fewer parts"):
        memory_gain([["A"], ["B"]])
    with pytest.raises(ParameterError, match="'parts' parameter of memory_gain must be"):
        memory_gain([["A"], ["B"]], parts=1)
