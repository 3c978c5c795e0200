"""Groups of learners: trained in turn, elsewhere or together, a bag is the same to the byte."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_training import HON, LEARNER, OPTIONS, examples

from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.fitting import Fitted
from honlearn.ensemble.groups import Workers
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.node_model import NodeModel, Plan
from honlearn.ensemble.training import Trainer
from honlearn.learners import GAT, GCNII, GIN, SAGE, Learner
from honlearn.sampling.relatives import RelativeSampler

REFIT = dataclasses.replace(OPTIONS, refit=0.5, restart=False, max_epochs=6)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Products as small as these wait longer for a second thread than they take on one."""
    with Runtime(n_threads=1).threads():
        yield


def model(*kinds: Learner, learners: int = 4, variant: str = "bag") -> NodeModel:
    shape = Architecture(variant, False, learners, 3, HON.n_entities, kinds or (LEARNER,))
    return NodeModel(HON, RelativeSampler(HON), shape, None, 5)


def fitted(one: NodeModel, size: int | None, options: TrainingOptions = REFIT) -> Fitted:
    given = [options] * len(one.shape.kinds)
    return one.fit(Plan(Runtime(n_threads=1), examples(), given, lambda phase: phase, size))


def check_same(found: Any, expected: Fitted) -> None:
    assert found.state.keys() == expected.state.keys()
    assert all(torch.equal(found.state[name], tensor) for name, tensor in expected.state.items())
    assert found.history == expected.history
    assert found.held.proba.tobytes() == expected.held.proba.tobytes()


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("restart", [False, True])
def test_groups_of_any_size_give_the_same_bytes(size: int, restart: bool) -> None:
    options = dataclasses.replace(REFIT, restart=restart)
    found, expected = fitted(model(), size, options), fitted(model(), None, options)
    check_same(found, expected)
    assert np.array_equal(found.best_epochs, expected.best_epochs)
    assert {row["phase"] for row in found.history} == {"search", "refit"}


@pytest.mark.parametrize(
    "kind",
    [
        GIN(widths=(9, 7)),
        GAT(widths=(8, 8), heads=2),
        GCNII(widths=(9, 9, 9)),
        SAGE(widths=(9, 7)),
        SAGE(widths=(9, 9, 9)),
        SAGE(widths=(9, 7), aggregator="max"),
        SAGE(widths=(9, 7), fan_outs=(3, 1)),
    ],
)
def test_learners_of_every_kind_do_not_depend_on_their_group(kind: Learner) -> None:
    one = model(kind.resolved("nodes"), learners=3)
    options = dataclasses.replace(REFIT, max_epochs=2)
    check_same(fitted(one, 2, options), fitted(one, None, options))


def test_a_mixed_bag_is_trained_in_groups_of_each_kind() -> None:
    one = model(LEARNER, GIN(widths=LEARNER.widths).resolved("nodes"), learners=5)
    check_same(fitted(one, 2), fitted(one, None))


def test_searches_and_refits_in_groups() -> None:
    one, given = model(), (Runtime(n_threads=1), examples(), [REFIT], lambda phase: phase)
    together, apart = (one.search(Plan(*given, size), range(4))[0] for size in (None, 3))
    assert all(torch.equal(apart.state[name], tensor) for name, tensor in together.state.items())
    assert apart.best_epochs == together.best_epochs
    assert apart.history == together.history
    expected = one.refit(Plan(*given), [together])
    check_same(one.refit(Plan(*given, 1), [apart]), expected)


def test_searches_and_refits_on_workers() -> None:
    one, given = model(), (Runtime(n_threads=1), examples(), [REFIT], lambda phase: phase)
    expected = one.search(Plan(*given), range(4))[0]
    with ThreadPoolExecutor(2) as threads, Workers(threads, 1) as workers:
        found = one.search(Plan(*given, None, workers), range(4))[0]
        again = one.refit(Plan(*given, None, workers), [found])
        assert len(workers._sent) == 1
    assert found.held.proba.tobytes() == expected.held.proba.tobytes()
    assert found.history == expected.history
    check_same(again, one.refit(Plan(*given), [expected]))


def test_learners_that_are_pooled_are_one_group() -> None:
    check_same(fitted(model(variant="pool"), 1), fitted(model(variant="pool"), None))


class Killed(Exception):
    pass


def test_a_fit_that_was_killed_keeps_the_groups_that_were_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fitted(model(), None)
    options = dataclasses.replace(REFIT, checkpoint=tmp_path / "fit", checkpoint_seconds=1e9)
    train, trained = Trainer._train_epoch, list[tuple[int, ...]]()

    def epoch(self: Trainer) -> None:
        trained.append(tuple(self.problem.learners))
        if self.problem.learners[0] == 2 and self.schedule is not None:
            raise Killed("on purpose")
        train(self)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_train_epoch", epoch)
        with pytest.raises(Killed, match="on purpose"):
            fitted(model(), 2, options)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"fit.learners0-1", "fit.refit.learners0-1", "fit.learners2-3"}
    trained.clear()
    monkeypatch.setattr(
        Trainer, "_train_epoch", lambda self: (trained.append(tuple(self.problem.learners)), train(self))[1]
    )
    check_same(fitted(model(), 2, options), expected)
    assert set(trained) == {(2, 3)}
