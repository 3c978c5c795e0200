"""Large networks: fan-outs that are chosen, groups that fit in memory, what is told of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from task_cases import FAST, communities

from honlearn import DGEClassifier, load_model
from honlearn.ensemble import inference, memory
from honlearn.errors import InputError, ParameterError
from honlearn.learners import GCN, SAGE
from honlearn.tasks import large
from honlearn.tasks.model_card import model_card
from honlearn.tasks.nested import nested

HON, NODES, Y = communities()


def classifier(**flat: Any) -> DGEClassifier:
    given = {**FAST, "max_epochs": 2, "n_learners": 4, **flat}
    return DGEClassifier(HON, **nested(DGEClassifier, given))


def test_fan_outs_are_chosen_above_a_size_and_given_ones_stay() -> None:
    kinds = SAGE(widths=(9, 9, 9)), SAGE(fan_outs=(3, 2)), GCN()
    some = large.SAMPLED_ABOVE // HON.n_edges
    assert large.with_fan_outs(kinds, HON, some) == kinds
    deep, given, whole = large.with_fan_outs(kinds, HON, some + 1)
    assert isinstance(deep, SAGE)
    assert deep.fan_outs == (64, 1, 1)
    assert kinds[0].fan_outs is None
    assert (given, whole) == kinds[1:]


def test_a_large_network_is_sampled_and_the_card_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(large, "SAMPLED_ABOVE", 10)
    model = classifier(learner="sage", verbose=True).fit(NODES, Y)
    assert model.architecture_.kinds[0].fan_outs == (64, 1)
    (note,) = model.notes_
    assert note.startswith("neighbourhoods are sampled (sage fan_outs=(64, 1))")
    assert note in capsys.readouterr().err
    before = model.predict_proba(NODES)
    assert model.architecture_.kinds[0].fan_outs == (64, 1)
    model.save(tmp_path / "m")
    assert note in model_card(tmp_path / "m")["training"]["notes"]
    again = load_model(tmp_path / "m")
    assert again.fit_facts_.notes == (note,)
    assert np.array_equal(again.predict_proba(NODES), before)


def test_an_ordinary_network_is_read_whole_and_nothing_is_told() -> None:
    model = classifier(learner="sage").fit(NODES, Y)
    assert model.architecture_.kinds[0].fan_outs is None
    assert model.notes_ == ()


@pytest.mark.parametrize("learner", ["sage", "auto"])
def test_groups_change_no_prediction(learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = classifier(learner=learner).fit(NODES, Y)
    monkeypatch.setattr(memory, "group_size", lambda *given: 1)
    found = classifier(learner=learner).fit(NODES, Y)
    assert found.predict_proba(NODES).tobytes() == whole.predict_proba(NODES).tobytes()
    assert found.history_.equals(whole.history_)
    assert any("trained 1 at a time" in note for note in found.notes_)


def test_too_little_memory_is_told_before_training() -> None:
    with pytest.raises(InputError, match=r"DGEClassifier: 4 learners need .* of memory, one at a time .*"):
        classifier(learner="sage", memory="1MB").fit(NODES, Y)
    with pytest.raises(InputError, match=r"4 learners need .* of memory; 0 bytes are allowed"):
        classifier(learner="sage", variant="pool", memory=1000).fit(NODES, Y)
    with pytest.raises(ParameterError, match=r"'training.memory' parameter of DGEClassifier must be a size"):
        classifier(learner="sage", memory="much").fit(NODES, Y)


@pytest.mark.parametrize("n_draws", ["all", 1, 3])
def test_representations_of_many_nodes_become_classes_part_by_part(
    n_draws: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = classifier(learner="sage", n_draws=n_draws).fit(NODES, Y)
    before, most = model.predict_proba(NODES), 200
    sizes: list[int] = []
    classes = inference.Inference._classes

    def noted(self: inference.Inference, table: Any) -> Any:
        sizes.append(table.numel())
        return classes(self, table)

    monkeypatch.setattr(inference, "_CHUNK", most)
    monkeypatch.setattr(inference.Inference, "_classes", noted)
    np.testing.assert_allclose(model.predict_proba(NODES), before, rtol=1e-5)
    assert len(sizes) > 1
    assert max(sizes) <= 2 * most
