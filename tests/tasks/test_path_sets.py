"""Prediction sets of whole paths: coverage on exchangeable paths, sets that nest, files made to harm."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_hostile_models import repaired

import honlearn as hl
from honlearn.errors import FormatError, InputError, ParameterError
from honlearn.tasks.path_sets import PathCalibration


def noisy(n: int, seed: int) -> tuple[list[list[str]], list[str]]:
    """Return walks on six entities, up in one class and down in two others, that differ in how often."""
    random = np.random.default_rng(seed)
    paths, labels = [], []
    for _ in range(n):
        kind = int(random.integers(3))
        steps = np.where(random.random(4) < (0.85, 0.5, 0.2)[kind], 1, -1)
        paths.append([f"n{x % 6}" for x in random.integers(6) + np.cumsum(steps)])
        labels.append("abc"[kind])
    return paths, labels


@pytest.fixture(scope="module")
def fitted() -> hl.PathClassifier:
    return hl.PathClassifier(order=1, vectors=4, C=1.0, random_state=0).fit(*noisy(900, 0))


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_sets_cover_new_paths(fitted: hl.PathClassifier, alpha: float) -> None:
    paths, labels = noisy(4000, 1)
    for apart in (False, True):
        sets = fitted.predict_set(paths, alpha, class_conditional=apart)
        right = sets.mask[np.arange(len(paths)), np.searchsorted(fitted.classes_, labels)]
        # Calibrated on 900 paths: 1 − alpha within 4 standard deviations of both samples.
        n = 300 if apart else 900
        assert abs(right.mean() - (1 - alpha)) < 4 * np.sqrt(alpha * (1 - alpha) * (1 / n + 1 / 4000))


def test_p_values_are_counts_of_held_out_paths() -> None:
    proba = np.array([[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    calibration = PathCalibration.of(proba, np.array([0, 0, 1]))
    assert calibration.scores.round(9).tolist() == [0.3, 0.6, 0.2]
    new = np.array([[0.5, 0.5], [0.75, 0.25]])
    assert calibration.p_values(new, False).tolist() == [[0.5, 0.5], [0.75, 0.25]]
    assert calibration.p_values(new, True) == pytest.approx(np.array([[2 / 3, 1 / 2], [1, 1 / 2]]))


def test_every_path_is_held_out_once(fitted: hl.PathClassifier) -> None:
    assert fitted.calibration_ is not None
    _, labels = noisy(900, 0)
    held = np.bincount(fitted.calibration_.labels)
    assert held.tolist() == [labels.count(name) for name in "abc"]
    # Scores of paths that were trained on would be smaller.
    own = fitted.predict_proba(noisy(900, 0)[0])
    seen = 1 - own[np.arange(900), np.searchsorted(fitted.classes_, labels)]
    assert fitted.calibration_.scores.mean() > seen.mean()


def test_sets_nest_and_tell_their_paths(fitted: hl.PathClassifier) -> None:
    paths, _ = noisy(200, 2)
    masks = [fitted.predict_set(paths, alpha).mask for alpha in (0.0, 0.05, 0.2, 0.5, 1.0)]
    assert all((larger | ~smaller).all() for larger, smaller in pairwise(masks))
    assert masks[0].all()
    table = fitted.predict_set(paths[:3]).table()
    assert list(table.columns) == ["path", "set", "set_size", "abstain"]
    assert table["path"].tolist() == [0, 1, 2]
    assert len(fitted.predict_set([])) == 0


def test_sets_refused(fitted: hl.PathClassifier) -> None:
    with pytest.raises(ParameterError, match=r"'alpha' parameter of PathClassifier\.predict_set"):
        fitted.predict_set([["n0"]], alpha=2)
    single = hl.PathClassifier(random_state=0).fit([["A", "B"], ["B", "C"], ["C", "A"]], ["x", "x", "y"])
    assert not single.has_sets
    with pytest.raises(InputError, match=r"no path was held out in this fit.*two paths in every class"):
        single.predict_set([["A"]])


def test_saved_and_loaded(fitted: hl.PathClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    back = hl.load_model(tmp_path / "model")
    paths, _ = noisy(50, 3)
    for apart in (False, True):
        assert np.array_equal(
            back.predict_set(paths, 0.1, apart).p_values, fitted.predict_set(paths, 0.1, apart).p_values
        )

    def without(tensors: dict[str, torch.Tensor]) -> None:
        del tensors["held_out.scores"], tensors["held_out.labels"]

    # As an earlier version wrote it.
    old = hl.load_model(repaired(tmp_path / "model", tmp_path / "old", tensors=without))
    assert np.array_equal(old.predict_proba(paths), fitted.predict_proba(paths))
    with pytest.raises(InputError, match="fit again"):
        old.predict_set(paths)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("scores", lambda t: t - 2, "must hold numbers from 0 to 1"),
        ("scores", lambda t: t * torch.nan, "NaN or infinite"),
        ("scores", lambda t: t.float(), "must be of kind f8"),
        ("scores", lambda t: t[:-1], "must be of kind"),
        ("scores", lambda t: None, "held-out scores are not whole"),
        ("labels", lambda t: t + 3, "must hold places of 3 classes"),
        ("labels", lambda t: t - 1, "must hold places of 3 classes"),
        ("labels", lambda t: t[:, None], "must be of kind i8"),
        ("more", lambda t: torch.zeros(1), "does not belong there"),
    ],
)
def test_calibrations_made_to_harm(
    fitted: hl.PathClassifier, tmp_path: Path, name: str, change: Any, told: str
) -> None:
    fitted.save(tmp_path / "model")

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        changed = change(tensors.pop(f"held_out.{name}", torch.zeros(1)))
        if changed is not None:
            tensors[f"held_out.{name}"] = changed.contiguous()

    with pytest.raises(FormatError, match=told):
        hl.load_model(repaired(tmp_path / "model", tmp_path / "copy", tensors=edit))


def test_an_empty_calibration(fitted: hl.PathClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        for name in ("held_out.scores", "held_out.labels"):
            tensors[name] = tensors[name][:0]

    with pytest.raises(FormatError, match="must hold numbers from 0 to 1"):
        hl.load_model(repaired(tmp_path / "model", tmp_path / "copy", tensors=edit))
