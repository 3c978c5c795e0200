"""Saved temperatures and held-back predictions that were made to harm: refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from task_cases import FAST, communities, make_classifier
from test_hostile_models import put, repaired

from honlearn import load_model
from honlearn.errors import FormatError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrated") / "model"
    hon, nodes, y = communities()
    make_classifier(hon, **{**FAST, "max_epochs": 1}).fit(nodes[::2], y[::2]).save(folder)
    return folder


@pytest.mark.parametrize("temperature", [0, -1, 0.1, 5, "1", None, [1]], ids=str)
def test_a_temperature_out_of_range(model: Path, tmp_path: Path, temperature: Any) -> None:
    copy = repaired(model, tmp_path / "copy", put("uncertainty.temperature", temperature))
    with pytest.raises(FormatError, match="'temperature' must be a number"):
        load_model(copy)
    if temperature is not None:
        copy = repaired(model, tmp_path / "held", put("uncertainty.held_temperature", temperature))
        with pytest.raises(FormatError, match="'held_temperature' must be a number"):
            load_model(copy)


def test_a_model_with_one_temperature_has_it_for_both(model: Path, tmp_path: Path) -> None:
    copy = repaired(model, tmp_path / "copy", put("uncertainty.held_temperature", None))
    again = load_model(copy)
    assert again.held_temperature_ == again.temperature_ == load_model(model).temperature_


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("nodes", lambda t: t + 1000, "of other nodes or classes"),
        ("nodes", lambda t: t[:-1], "must be of kind"),
        ("nodes", lambda t: t.long(), "must be of kind i4"),
        ("labels", lambda t: t - 5, "of other nodes or classes"),
        ("is_known", lambda t: ~t, "of other nodes or classes"),
        ("proba", lambda t: t * 3, "holds no probabilities"),
        ("proba", lambda t: t[:, :-1], "must be of kind f4"),
        ("proba", lambda t: None, "held-back predictions are not whole"),
        ("fits", lambda t: t + 1000, "'fits' counts more examples than there are"),
        ("fits", lambda t: t - 1000, "'fits' counts more examples than there are"),
        ("fits", lambda t: t[:7], "must be of kind i4"),
        ("fits_of_class", lambda t: t + 1000, "'fits_of_class' counts more examples"),
        ("fits_of_class", lambda t: None, "counts of prediction sets are not whole"),
        ("n_by_class", lambda t: t - 1000, "'fits' counts more examples than there are"),
        ("n_by_class", lambda t: t * 2**40, "'fits' counts more examples than there are"),
        ("extra", lambda t: torch.zeros(1), "held-back predictions are not whole"),
    ],
)
def test_held_back_predictions_of_another_model(
    model: Path, tmp_path: Path, name: str, change: Any, told: str
) -> None:
    def edit(held: dict[str, torch.Tensor]) -> None:
        changed = change(held.pop(f"held_back.{name}", torch.zeros(1)))
        if changed is not None:
            held[f"held_back.{name}"] = changed.contiguous()

    with pytest.raises(FormatError, match=told):
        load_model(repaired(model, tmp_path / "copy", tensors=edit))
