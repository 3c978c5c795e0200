"""Models of the next step compared on held-out paths: ranks, bits, records and resuming."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from honlearn.errors import InputError, ParameterError
from honlearn.experiments.next_models import MODELS, ask, popular
from honlearn.experiments.next_steps import NextData, evaluate_next, keep_memory, measured, plan_next
from honlearn.hon.build import count_grams
from honlearn.hon.steps.sets import StepSets
from honlearn.paths.paths import Paths
from honlearn.results.record import Record
from honlearn.seeds import derive_seed

PATHS = Paths.from_lists([["A", "C", "D"], ["B", "C", "E"], ["A", "C", "D", "B"]], counts=[40, 40, 20])


def test_ranks_and_bits_are_those_of_the_next_entity() -> None:
    counts = count_grams(PATHS, order=2)
    model = counts.steps()
    found = ask(model, PATHS)
    assert found.position.tolist() == [1, 2, 1, 2, 1, 2, 3]
    assert found.rank.tolist() == [1] * 7
    state = model.states(model.vocabulary.codes(["A", "C"]), np.array([0, 2]))
    p = model.next_steps(["A", "C"], 1)["probability"][0] / (1 - 2.0 ** -model.automaton.end[state[0]])
    assert found.bits[1] == pytest.approx(-np.log2(p), rel=1e-5)


def test_what_is_entered_most_is_popular() -> None:
    found = popular(PATHS, PATHS, 1, 0)
    # C is entered 100 times, D 60, E 40, B 20 times.
    assert found.rank.tolist() == [1, 2, 1, 3, 1, 2, 4]
    scores = measured(found, np.array([40, 40, 40, 40, 20, 20, 20]))
    assert scores["top1"] == pytest.approx(100 / 220)
    assert scores["top1_after_1"] == 1.0
    assert scores["mrr"] == pytest.approx((100 + 60 / 2 + 40 / 3 + 20 / 4) / 220)


def test_a_run_has_one_record_per_job_and_goes_on(tmp_path: Path) -> None:
    data = NextData.by_path(PATHS, folds=2, seed=3)
    jobs = plan_next(data, [name for name in MODELS if name != "gru"], 2)
    assert [(job.model, job.order) for job in jobs[::2]] == [
        ("back-off", 1), ("back-off", 2), ("network", 1), ("network", 2), ("first-order", 0), ("popular", 0)
    ]  # fmt: skip
    done = list(evaluate_next(data, jobs[:5], tmp_path))
    assert all(ran for _, _, ran in done)
    again = list(evaluate_next(data, jobs, tmp_path))
    assert [ran for _, _, ran in again] == [False] * 5 + [True] * 7
    records = {(job.model, job.order, job.fold): record for job, record, _ in again}
    assert records["back-off", 2, 0].score("bits") < records["first-order", 0, 0].score("bits")
    assert records["network", 2, 0].score("top1") > records["popular", 0, 0].score("top1")
    one = records["back-off", 2, 0]
    assert Record.from_json(one.to_json(), "line") == one
    one.check_whole("line")
    trained, tested = data.parts(0)
    assert (trained.total, tested.total) == (50, 50)


def test_models_that_know_the_end_have_sets_of_next_steps(tmp_path: Path) -> None:
    data = NextData.by_path(PATHS, folds=2, seed=3)
    jobs = plan_next(data, ["back-off", "popular"], 2)
    records = {(j.model, j.order, j.fold): r for j, r, _ in evaluate_next(data, jobs, tmp_path)}
    one = records["back-off", 2, 1]
    assert records["popular", 0, 1].scores.get("coverage_90") is None
    # By hand: the sets before every step of every test path, and whether they hold it.
    train, test = data.parts(1)
    sets = StepSets.of(train, 2, seed=derive_seed(data.seed, "next", "sets", 1))
    held, sizes, steps = 0.0, 0, 0
    for path, count in zip(test, test.counts.tolist(), strict=True):
        found = sets.next_sets([path[:i] for i in range(len(path) + 1)], 0.1)
        names = [*path, "<end>"]
        held += count * np.mean([name in found.names(row) for row, name in enumerate(names)])
        sizes += count * int(found.sizes.sum())
        steps += count * len(names)
    assert one.score("coverage_90") == pytest.approx(held / test.total)
    assert one.score("set_size_90") == pytest.approx(sizes / steps)


def test_the_recurrent_network_learns_memory_and_repeats_itself() -> None:
    from honlearn.baselines.gru import GRUSettings, fit_gru

    lists = [["A", "C", "D"], ["B", "C", "E"]] * 60
    settings = GRUSettings(embedding=8, hidden=16, dropout=0.0, learning_rate=0.05, batch=32, max_epochs=8)
    paths = Paths.from_lists(lists)
    one, two = fit_gru(paths, 0, settings), fit_gru(paths, 0, settings)
    for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True):
        assert (a == b).all()
    found = MODELS["gru"](paths, paths, 0, 0)
    assert len(found.bits) == 240
    assert (found.rank == 1).mean() == 1.0


def test_what_is_refused() -> None:
    data = NextData.by_path(PATHS, folds=2)
    with pytest.raises(ParameterError, match=r"no model 'backoff' for next; .* did you mean 'back-off'"):
        plan_next(data, ["backoff"], 2)
    with pytest.raises(InputError, match="3 paths cannot be divided into 5 folds"):
        NextData.by_path(Paths.from_lists([["A", "B"]] * 3))
    with pytest.raises(InputError, match="no path has two entities"):
        NextData.by_path(Paths.from_lists([["A"]] * 9))


def test_paths_divided_at_a_moment_are_tested_once(tmp_path: Path) -> None:
    early = np.array([True, False, True])
    data = NextData.by_time(PATHS, early, "2024-05-31")
    jobs = plan_next(data, ["back-off"], 1)
    assert [job.configuration.folds for job in jobs] == ["at 2024-05-31"]
    trained, tested = data.parts(0)
    assert (list(trained), list(tested)) == ([PATHS[0], PATHS[2]], [PATHS[1]])
    ((_, record, _),) = evaluate_next(data, jobs, tmp_path)
    assert (record.sizes.train, record.sizes.test) == (60, 40)
    with pytest.raises(InputError, match=r"all 100 paths began before 2025 .* none to test on"):
        NextData.by_time(PATHS, np.ones(3, bool), "2025")
    with pytest.raises(InputError, match=r"all 100 paths began at or after 1999 .* none to learn from"):
        NextData.by_time(PATHS, np.zeros(3, bool), "1999")
    with pytest.raises(InputError, match="a test part has no path with two entities"):
        NextData.by_time(Paths.from_lists([["A", "B"], ["A"]]), np.array([True, False]), "1999")


def test_how_much_memory_helps_is_of_the_same_parts_and_kept(tmp_path: Path) -> None:
    from honlearn.hon.steps.memory import gain_of_parts

    data = NextData.by_path(PATHS, 2, seed=3)
    memory = keep_memory(data, 2, tmp_path)
    gain = gain_of_parts(data.paths, data.held, 2)
    assert (memory.sentence, gain.n_paths) == (gain.sentence(), 100)
    assert memory.rows[1]["saved"] == pytest.approx(gain.orders[1].saved)
    (file,) = (tmp_path / "artefacts").iterdir()
    before = file.stat().st_mtime_ns
    assert keep_memory(data, 2, tmp_path) == memory
    assert file.stat().st_mtime_ns == before  # not computed again
    assert len(keep_memory(data, 3, tmp_path).rows) == 3
    later = NextData.by_time(PATHS, np.array([True, False, True]), "1")
    assert keep_memory(later, 2, tmp_path).division == "at 1"
