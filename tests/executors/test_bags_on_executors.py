"""Bags whose groups of learners are trained on an executor: the same models, and what is wrong is told."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cluster_cases as cases
import numpy as np
import pytest

import honlearn as hl
from honlearn.ensemble import groups, memory
from honlearn.errors import ParameterError
from honlearn.learners import GIN, SAGE

MADE = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
NAMES, LABELS = list(MADE.labels), list(MADE.labels.values())
HON = hl.grow(MADE.paths)
KIND = SAGE(widths=(6,))


@pytest.fixture(scope="module")
def two() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def fitted(executor: Any, learner: Any = KIND, n_learners: int = 4, **more: Any) -> hl.DGEClassifier:
    training = hl.Training(max_epochs=2, patience=2, **more)
    given = {"n_learners": n_learners, "training": training, "n_threads": 1, "random_state": 0}
    return hl.DGEClassifier(HON, learner, **given, executor=executor).fit(NAMES, LABELS)  # type: ignore[arg-type]


def test_a_mixed_bag_is_the_same(two: Executor) -> None:
    one, other = (fitted(where, [KIND, GIN(widths=(6,))]) for where in (None, two))
    assert one.member_proba(NAMES).tobytes() == other.member_proba(NAMES).tobytes()
    assert one.history_.equals(other.history_)


def test_a_bag_without_groups_is_trained_here(two: Executor) -> None:
    for given in ({"n_learners": 1}, {"learner": KIND}):
        pooled = "learner" in given
        models = [
            hl.DGEClassifier(
                HON, KIND, 2 if pooled else 1, "pool" if pooled else "bag", random_state=0, executor=where
            )
            .set_params(training__max_epochs=2, n_threads=1)
            .fit(NAMES, LABELS)
            for where in (None, two)
        ]
        assert models[0].predict_proba(NAMES).tobytes() == models[1].predict_proba(NAMES).tobytes()


def test_inputs_are_sent_once_and_one_group_goes_to_each_worker(
    two: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, tuple[int, ...]]] = []
    run = groups.on_worker

    def noted(inputs: Any, *rest: Any) -> Any:
        seen.append((id(inputs), rest[6].learners))
        return run(inputs, *rest)

    monkeypatch.setattr(groups, "on_worker", noted)
    fitted(two, n_learners=5)
    assert sorted(learners for _, learners in seen) == [(0, 1, 2), (3, 4)]
    assert len({place for place, _ in seen}) == 1
    monkeypatch.setattr(memory, "group_size", lambda *given: 1)
    seen.clear()
    fitted(two, n_learners=3, memory="1GB")
    assert sorted(learners for _, learners in seen) == [(0,), (1,), (2,)]


def test_groups_that_were_done_are_not_trained_again(
    two: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, checkpoint, killed = groups.on_worker, tmp_path / "fit", [True]

    def broken(*given: Any) -> Any:
        if killed and given[7].learners[0] == 2:
            raise ParameterError("on purpose")
        return run(*given)

    monkeypatch.setattr(groups, "on_worker", broken)
    with pytest.raises(ParameterError, match="on purpose"):
        fitted(two, checkpoint=checkpoint)
    assert {path.name for path in tmp_path.iterdir()} == {"fit.learners0-1", "fit.refit.learners0-1"}
    killed.clear()
    again = fitted(two, checkpoint=checkpoint)
    assert not list(tmp_path.iterdir())
    assert np.array_equal(again.predict_proba(NAMES), fitted(None).predict_proba(NAMES))


def test_what_means_no_executor_is_refused_before_training() -> None:
    with pytest.raises(ParameterError, match="'executor' parameter must be a number of local processes"):
        fitted("nowhere")


def test_an_executor_is_no_part_of_a_saved_model(two: Executor, tmp_path: Path) -> None:
    model = cases.fitted_bag(MADE, two)
    model.save(tmp_path / "m")
    again = hl.load_model(tmp_path / "m")
    assert again.executor is None
    assert again.predict_proba(NAMES).tobytes() == model.predict_proba(NAMES).tobytes()


# --- links ------------------------------------------------------------------------------------------


def test_a_bag_of_links_is_the_same_on_processes() -> None:
    cases.check_links(2)


@pytest.mark.parametrize(
    "given",
    [
        {"learner": [KIND, GIN(widths=(6,))]},
        {"pairs": hl.Pairs(folds=0, counts=False, common=0, negatives="uniform", draw="joint")},
        {"variant": "pool", "n_learners": 2},
    ],
    ids=["mixed", "without folds", "pooled"],
)
def test_links_are_the_same(two: Executor, given: dict[str, Any]) -> None:
    cases.same_links(cases.fitted_links(MADE, None, **given), cases.fitted_links(MADE, two, **given))


def test_learners_of_a_round_train_apart(two: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, str, tuple[int, ...]]] = []
    run = groups.on_worker

    def noted(inputs: Any, *rest: Any) -> Any:
        seen.append((inputs, rest[5].__name__, rest[6].learners))
        return run(inputs, *rest)

    monkeypatch.setattr(groups, "on_worker", noted)
    given = {"training": hl.Training(max_epochs=3, patience=2, refit=0.5)}
    model = cases.fitted_links(MADE, two, **given)
    cases.same_links(model, cases.fitted_links(MADE, None, **given))
    assert model.n_learners_ == 4
    (sent,) = {id(inputs): inputs for inputs, _, _ in seen}.values()
    assert {view.source.paths for view in sent.examples.views} == {None}
    done = sorted((work, learners) for _, work, learners in seen)
    searches = [("search_learners", (learner,)) for learner in range(4)]
    assert done == [("refit_learners", (0, 1)), ("refit_learners", (2, 3)), *searches]


def test_rounds_that_were_done_are_not_trained_again(
    two: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, killed = groups.on_worker, [True]
    training = hl.Training(max_epochs=3, patience=2, checkpoint=tmp_path / "fit")

    def broken(*given: Any) -> Any:
        if killed and given[7].learners[0] == 3:
            raise ParameterError("on purpose")
        return run(*given)

    monkeypatch.setattr(groups, "on_worker", broken)
    with pytest.raises(ParameterError, match="on purpose"):
        cases.fitted_links(MADE, two, training=training)
    done = {"fit.learners0-0", "fit.learners1-1", "fit.from2.learners2-2"}
    assert {path.name for path in tmp_path.iterdir()} == done
    killed.clear()
    again = cases.fitted_links(MADE, two, training=training)
    assert not list(tmp_path.iterdir())
    cases.same_links(again, cases.fitted_links(MADE, None))


def test_an_executor_is_no_part_of_a_saved_model_of_links(two: Executor, tmp_path: Path) -> None:
    model, pairs = cases.fitted_links(MADE, two), [(NAMES[0], NAMES[1]), (NAMES[2], NAMES[0])]
    model.save(tmp_path / "m")
    again = hl.load_model(tmp_path / "m")
    assert again.executor is None
    assert again.predict_proba(pairs).tobytes() == model.predict_proba(pairs).tobytes()
