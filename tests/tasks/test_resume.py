"""A fit that was killed, in the search or when training anew, goes on to the bytes of one that was not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from task_cases import FAST, communities, make_classifier

from honlearn.ensemble.training import Trainer
from honlearn.errors import FormatError


class Killed(Exception):
    pass


def dying(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    """Let the next training die after some batches, each of them with a checkpoint."""
    left = iter(range(batches - 1, -1, -1))
    save = Trainer._maybe_save

    def save_or_die(self: Trainer) -> None:
        save(self)
        if next(left) == 0:
            raise Killed("killed on purpose")

    monkeypatch.setattr(Trainer, "_maybe_save", save_or_die)


@pytest.mark.parametrize("variant", ["bag", "pool"])
def test_killed_twice_and_none_the_worse(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hon, nodes, y = communities()
    path = tmp_path / "fit.ckpt"
    options = {**FAST, "variant": variant, "max_epochs": 4, "patience": 4, "batch_size": 8}
    straight = make_classifier(hon, **options).fit(nodes, y)
    # Six batches an epoch in the search, eight after it: the second death is where training goes on.
    for batches in (10, 20):
        model = make_classifier(hon, **options, checkpoint=path, checkpoint_seconds=0.0)
        with monkeypatch.context() as patch:
            dying(patch, batches)
            with pytest.raises(Killed, match="on purpose"):
                model.fit(nodes, y)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fit.ckpt", "fit.ckpt.refit"]
    resumed = make_classifier(hon, **options, checkpoint=path).fit(nodes, y)
    assert resumed.predict_proba(nodes).tobytes() == straight.predict_proba(nodes).tobytes()
    assert resumed.history_.equals(straight.history_)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_of_other_labels_or_features_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hon, nodes, y = communities()
    options = {**FAST, "checkpoint": tmp_path / "fit.ckpt", "checkpoint_seconds": 0.0}
    with monkeypatch.context() as patch:
        dying(patch, 3)
        with pytest.raises(Killed, match="on purpose"):
            make_classifier(hon, **options).fit(nodes, y)
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        make_classifier(hon, **options).fit(nodes[::-1], y)
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        make_classifier(hon, features=np.eye(hon.n_entities), **options).fit(nodes, y)
