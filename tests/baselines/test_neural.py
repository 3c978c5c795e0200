"""Neural baselines: the look-up, the two phases of a fit, and the parameters of a model."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from baseline_cases import entry, label, network, nodes
from torch.nn import functional as F

from honlearn.baselines.catalogue import BASELINES, Listed
from honlearn.baselines.ho_gnn import HOGNNClassifier, HOGNNLinkPredictor
from honlearn.baselines.neural import Identity, Neural
from honlearn.errors import ParameterError

NEURAL = [one for one in BASELINES if issubclass(one.estimator(), Neural)]
FAST = {"width": 8, "max_epochs": 9, "patience": 9, "random_state": 0, "n_threads": 1}


def test_a_look_up_is_a_one_hot_times_the_weights() -> None:
    identity = Identity(5, 3, 0.5).eval()
    base = torch.tensor([4, 0, 0, 2])
    torch.testing.assert_close(identity(base), F.one_hot(base, 5).float() @ identity.weight)


def test_dropout_takes_whole_rows_and_keeps_the_mean() -> None:
    identity = Identity(1, 3, 0.6).train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        rows = identity(torch.zeros(20_000, dtype=torch.long))
    dropped = (rows == 0).all(1)
    torch.testing.assert_close(rows[~dropped][0], identity.weight[0] / 0.4)
    assert (rows[~dropped] == rows[~dropped][0]).all()
    assert dropped.float().mean().item() == pytest.approx(0.6, abs=0.015)


@pytest.mark.parametrize("listed", NEURAL, ids=label)
def test_the_default_of_the_nearest_class_counts(listed: Listed) -> None:
    """A dataclass with two bases takes a field's default from the first, even if that only inherits it."""
    made = listed.estimator()
    for field in dataclasses.fields(made):
        if field.default is not dataclasses.MISSING:
            assert field.default == getattr(made, field.name), field.name


@pytest.mark.parametrize("listed", NEURAL, ids=label)
def test_layers_and_width_are_what_was_asked_for(listed: Listed) -> None:
    given = {name: value for name, value in FAST.items() if name != "width"} | {"max_epochs": 1}
    models = [entry(listed).make(network(), width=16, n_layers=n, **given) for n in (1, 2)]
    fits = [model.fit(*nodes()) if listed.task == "nodes" else model.fit() for model in models]
    assert fits[0].n_parameters_ < fits[1].n_parameters_


def history(**given: Any) -> Any:
    model = HOGNNClassifier(network(), **{**FAST, **given}).fit(*nodes())
    return model.history_, model


def test_a_refit_trains_as_long_as_was_best() -> None:
    rows, model = history(refit=2.0)
    search, refit = (rows[rows.phase == phase] for phase in ("search", "refit"))
    best = int(search.validation_loss.argmin()) + 1
    assert len(refit) == model.best_epoch_ == 2 * best
    assert refit.validation_loss.isna().all()


def test_without_a_refit_the_best_epoch_is_restored() -> None:
    fast = {"refit": 0.0, "learning_rate": 2.0}
    rows, model = history(**fast, max_epochs=30)
    assert set(rows.phase) == {"search"}
    assert model.best_epoch_ == int(rows.validation_loss.argmin()) + 1 < len(rows)
    shorter = history(**fast, max_epochs=model.best_epoch_)[1]
    assert shorter.predict_proba(nodes()[0]).tobytes() == model.predict_proba(nodes()[0]).tobytes()


def test_without_validation_all_epochs_are_trained_on_everything() -> None:
    rows, model = history(validation_fraction=0.0)
    assert len(rows) == model.best_epoch_ == 9
    assert "validation_loss" not in rows


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_layers": 0}, "'n_layers' parameter of HOGNNClassifier"),
        ({"width": 1.5}, "'width' parameter of HOGNNClassifier"),
        ({"dropout": 1.0}, "'dropout' parameter of HOGNNClassifier"),
        ({"learning_rate": 0}, "'learning_rate' parameter of HOGNNClassifier"),
        ({"patience": 0}, "'patience' parameter of HOGNNClassifier"),
        ({"edge_power": -1}, "'edge_power' parameter of HOGNNClassifier"),
        ({"direction": "up"}, "'direction' parameter of .* must be one of 'in', 'out', 'both'"),
    ],
)
def test_a_parameter_out_of_range_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        HOGNNClassifier(network(), **{**FAST, **given}).fit(*nodes())


def test_a_link_predictor_names_its_own_parameters() -> None:
    with pytest.raises(ParameterError, match="'n_batches' parameter of HOGNNLinkPredictor"):
        HOGNNLinkPredictor(network(), n_batches=0).fit()
    with pytest.raises(ParameterError, match=r"'operator' parameter of HOGNNLinkPredictor.*'concat'"):
        HOGNNLinkPredictor(network(), operator="conct").fit()


def test_edge_power_and_direction_change_what_is_learnt() -> None:
    given = [{"edge_power": power, "direction": way} for power in (1.0, 0.0) for way in ("both", "in", "out")]
    answers = [history(**one)[1].predict_proba(nodes()[0]) for one in given]
    assert len({answer.tobytes() for answer in answers}) == 6
    assert all(np.isfinite(answer).all() for answer in answers)
