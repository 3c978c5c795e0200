"""Saved models predict the same bytes; damaged, edited and foreign folders are refused in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from task_cases import FAST, communities, make_classifier

from honlearn import DGEClassifier, load_model
from honlearn.errors import FormatError, InputError, MissingFileError


def fitted(**given: Any) -> DGEClassifier:
    hon, nodes, y = communities()
    return make_classifier(hon, **{**FAST, "max_epochs": 3, **given}).fit(nodes[::2], y[::2])


@cache
def as_usual() -> DGEClassifier:
    """Return a fit that tests share, so do not change it."""
    return fitted()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    as_usual().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "given",
    # Every variant with every learner, saved and loaded: test_learners_in_ensembles.py.
    [
        {},
        {"variant": "pool"},
        {"variant": "attn", "shared": True},
        {"variant": "batch"},
        {"learner": "gin"},
        {"aggregator": "max", "n_draws": 2},
        {"fan_outs": (4, 2)},
        {"features": np.arange(120.0).reshape(60, 2) / 120},
        {"features": csr_array(np.eye(60)), "identity": False},
        {"class_weight": {"ash": 2.0}},
        {"widths": 7},
        {"kernel_share": 0.35},
        {"kernel_share": 1},
        {"path_features": 0},
    ],
    ids=str,
)
def test_a_saved_model_predicts_the_same_bytes(given: dict[str, Any], tmp_path: Path) -> None:
    nodes = communities()[1]
    model = fitted(**given)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict_proba(nodes).tobytes() == model.predict_proba(nodes).tobytes()
    assert again.member_proba(nodes).tobytes() == model.member_proba(nodes).tobytes()
    assert again.embed(nodes).tobytes() == model.embed(nodes).tobytes()
    assert again.predict(nodes).tolist() == model.predict(nodes).tolist()
    assert again.network == model.network
    assert again.history_.equals(model.history_)
    assert again.kernel_share_ == model.kernel_share_
    assert again.kernel_proba_.tobytes() == model.kernel_proba_.tobytes()
    assert again.kernel_proba_.dtype == np.float32
    again.save(tmp_path / "again")
    for name in ("weights.safetensors", "network.hon"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


def test_a_model_without_a_kernel_comes_back_without(tmp_path: Path) -> None:
    nodes = communities()[1]
    model = fitted(kernel_share=0)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert (again.kernel_proba_, again.kernel_share_, again.path_kernel.share) == (None, 0.0, 0)
    assert again.predict_proba(nodes).tobytes() == model.predict_proba(nodes).tobytes()


@pytest.mark.parametrize(
    "labels", [np.arange(60) % 3, np.arange(60) % 2 == 0, np.array(["ä", "b"] * 30, object)]
)
def test_classes_keep_their_type(labels: np.ndarray, tmp_path: Path) -> None:
    hon, nodes, _ = communities()
    model = make_classifier(hon, **{**FAST, "max_epochs": 1}).fit(nodes, labels)
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").predict(nodes).tolist() == model.predict(nodes).tolist()


def test_classes_in_a_column_of_objects_keep_their_type(tmp_path: Path) -> None:
    hon, nodes, y = communities()
    labels = np.array([len(name) + i % 2 for i, name in enumerate(y)], object)
    model = make_classifier(hon, **{**FAST, "max_epochs": 1}).fit(nodes, labels)
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").classes_.tolist() == model.classes_.tolist() == [3, 4]
    dates = np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")[labels.astype(int) - 3]
    model = make_classifier(hon, **{**FAST, "max_epochs": 1}).fit(nodes, dates)
    with pytest.raises(InputError, match="classes of type date cannot be saved; turn labels into text"):
        model.save(tmp_path / "dates")
    assert not (tmp_path / "dates").exists()
    pairs = pd.Series([(1, 2) if kind == 3 else (3,) for kind in labels])
    model = make_classifier(hon, **{**FAST, "max_epochs": 1}).fit(nodes, pairs)
    assert model.classes_.tolist() == [(1, 2), (3,)]


def test_saving_again_replaces_and_other_folders_are_left_alone(saved: Path, tmp_path: Path) -> None:
    fitted(random_state=9).save(saved)
    assert load_model(saved).seed_ == 9
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all I have")
    with pytest.raises(InputError, match="there is a folder with other files"):
        as_usual().save(tmp_path / "mine")
    with pytest.raises(InputError, match="there is a file of this name"):
        as_usual().save(tmp_path / "mine" / "thesis.txt")


def test_whoever_may_read_the_network_may_read_the_weights(saved: Path) -> None:
    modes = {name: (saved / name).stat().st_mode for name in ("weights.safetensors", "network.hon")}
    assert modes["weights.safetensors"] == modes["network.hon"]


def test_loading_an_ensemble_imports_no_baseline(saved: Path) -> None:
    code = (
        "import sys, honlearn; honlearn.load_model(sys.argv[1]); "
        "print([m for m in sys.modules if m.startswith(('torch_geometric', 'honlearn.baselines.g'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_no_pickle_is_in_the_folder(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == [
        "README.md",
        "config.json",
        "network.hon",
        "training.json",
        "weights.safetensors",
    ]


@pytest.mark.parametrize("name", ["weights.safetensors", "network.hon"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_damaged_files_are_named(saved: Path, name: str, damage: str) -> None:
    path = saved / name
    raw = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    else:
        raw[len(raw) // 2] ^= 1
        path.write_bytes(raw if damage == "flip" else raw[:-9])
    message = f"{name} is missing" if damage == "gone" else f"{name}: truncated or changed"
    with pytest.raises(FormatError, match=message) as caught:
        load_model(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text[: len(text) // 2], "not valid JSON"),
        (
            lambda text: text.replace('"variant": "bag"', '"variant": "pool"'),
            "was changed after it was written",
        ),
        (
            lambda text: text.replace('"version": 3', '"version": 99'),
            "model format 99, this honlearn reads 3",
        ),
        (lambda text: '{"model_type": "bert"}', "is of another program"),
        (lambda text: "[1, 2]", "is of another program"),
    ],
)
def test_edited_and_foreign_configs_are_refused(saved: Path, edit: Any, message: str) -> None:
    config = saved / "config.json"
    config.write_text(edit(config.read_text()))
    with pytest.raises(FormatError, match=message):
        load_model(saved)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such folder"):
        load_model(tmp_path / "nothing")
    with pytest.raises(FormatError, match=r"not a honlearn model: it has no config\.json"):
        load_model(tmp_path)


def test_weights_of_another_model_are_refused_even_with_a_good_digest(saved: Path, tmp_path: Path) -> None:
    from honlearn.tasks.model_folder import config_digest

    fitted(widths=(5, 4)).save(tmp_path / "other")
    config = json.loads((saved / "config.json").read_text())
    for name in ("weights.safetensors",):
        (saved / name).write_bytes((tmp_path / "other" / name).read_bytes())
        config["files"][name] = json.loads((tmp_path / "other" / "config.json").read_text())["files"][name]
    config["digest"] = config_digest(config)
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(FormatError, match="config and weights do not belong together"):
        load_model(saved)


def test_a_fit_removes_its_checkpoint_when_done(tmp_path: Path) -> None:
    path = tmp_path / "fit.ckpt"
    fitted(checkpoint=path, checkpoint_seconds=0.0)
    assert list(tmp_path.iterdir()) == []
