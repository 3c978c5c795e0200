"""Checkpoints that were damaged, or made to harm with a digest that is right: refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from task_cases import FAST, communities

from honlearn import DGEClassifier
from honlearn.ensemble.checkpoint import save_checkpoint
from honlearn.ensemble.training import Trainer
from honlearn.errors import FormatError
from honlearn.stored import read_safetensors
from honlearn.tasks.nested import nested

OPTIONS = {**FAST, "max_epochs": 4, "patience": 4}


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the checkpoint of a fit that was killed after ten batches."""
    path = tmp_path_factory.mktemp("fit") / "fit.ckpt"
    left, save = iter(range(9, -1, -1)), Trainer._maybe_save

    def save_or_die(self: Trainer) -> None:
        save(self)
        if next(left) == 0:
            raise Killed("killed on purpose")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_maybe_save", save_or_die)
        with pytest.raises(Killed, match="on purpose"):
            go_on(path)
    return path.read_bytes()


def go_on(path: Path) -> DGEClassifier:
    hon, nodes, y = communities()
    flat = {**OPTIONS, "checkpoint": path, "checkpoint_seconds": 0.0}
    return DGEClassifier(hon, **nested(DGEClassifier, flat)).fit(nodes, y)


def edited(
    path: Path, content: bytes, edit: Callable[[dict[str, Any], dict[str, torch.Tensor]], Any]
) -> Path:
    """Write a checkpoint with another record or other tensors, as a fit would."""
    path.write_bytes(content)
    metadata, _ = read_safetensors(content, "it", finite=False)
    record, tensors = json.loads(metadata["record"]), load_file(path)
    edit(record, tensors)
    save_checkpoint(path, metadata["fingerprint"], record, tensors)
    return path


def test_an_edit_of_nothing_goes_on(checkpoint: bytes, tmp_path: Path) -> None:
    nodes = communities()[1]
    straight = DGEClassifier(communities()[0], **nested(DGEClassifier, OPTIONS)).fit(*communities()[1:])
    resumed = go_on(edited(tmp_path / "fit.ckpt", checkpoint, lambda record, tensors: None))
    assert resumed.predict_proba(nodes).tobytes() == straight.predict_proba(nodes).tobytes()
    assert resumed.history_.equals(straight.history_)


def test_a_flipped_bit_in_the_weights_is_told(checkpoint: bytes, tmp_path: Path) -> None:
    content = bytearray(checkpoint)
    content[-7] ^= 1
    (tmp_path / "fit.ckpt").write_bytes(content)
    with pytest.raises(
        FormatError, match=r"fit\.ckpt: changed after it was written; remove it to start anew"
    ):
        go_on(tmp_path / "fit.ckpt")


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_a_checkpoint_that_was_cut_is_told(checkpoint: bytes, tmp_path: Path, cut: int) -> None:
    (tmp_path / "fit.ckpt").write_bytes(checkpoint[:cut])
    with pytest.raises(FormatError, match=r"fit\.ckpt: damaged .*; remove it to start anew"):
        go_on(tmp_path / "fit.ckpt")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda r, t: r.update(epoch="x"), "'epoch' must be a whole number of at least 0"),
        (lambda r, t: r.update(stage=5), "no position in a training of 1 stages"),
        (lambda r, t: r.update(active=[99]), "'active' must be a list of whole numbers from 0 to"),
        (lambda r, t: r.update(loss=[0.5]), "no position in a training"),
        (lambda r, t: r.update(best=[0.5]), "'active' must be a list"),
        (lambda r, t: r.update(best_epoch=[0]), "'best_epoch' must be a list of"),
        (lambda r, t: r.update(history=[[]]), "'history' must be a list of JSON objects"),
        (lambda r, t: r.update(history=[{"loss": "x"}]), "'loss' must be a number"),
        (lambda r, t: r.update(best_epochs=[3]), "'epochs' must be a list of whole numbers"),
        (lambda r, t: r.update(more=1), "'more' is not known"),
        (lambda r, t: r.clear(), "is not there"),
        (lambda r, t: t.clear(), "does not fit this training"),
        (lambda r, t: t.pop("adam.mean.0"), "does not fit this training .*mean.0"),
        (lambda r, t: t.update({"adam.mean.0": torch.zeros(1, 2, 3)}), "does not fit this training"),
    ],
)
def test_records_and_tensors_that_do_not_fit_are_told(
    checkpoint: bytes, tmp_path: Path, edit: Any, told: str
) -> None:
    path = edited(tmp_path / "fit.ckpt", checkpoint, edit)
    with pytest.raises(FormatError, match=told) as caught:
        go_on(path)
    assert "\n" not in str(caught.value)
