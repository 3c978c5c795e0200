"""A fitted classifier on an updated network: new entities are predicted, old predictions stay."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from update_cases import HIDDEN, KNOWN, NAMES, counts, fitted, paths

import honlearn as hl
from honlearn import DGEClassifier, load_model
from honlearn.errors import FormatError, InputError, MissingFileError, ParameterError
from honlearn.hon.network_updates import add_paths
from honlearn.tasks.storage import COUNTS
from honlearn.tasks.update import extended, with_isolated

TRUTH = [name[:3] for name in HIDDEN]
GROWN = {"order": 2, "tau": 0.5, "min_support": 2}


@pytest.fixture(scope="module")
def on_network() -> DGEClassifier:
    return fitted(kernel_share=0.4)


@pytest.fixture(scope="module")
def on_counts() -> DGEClassifier:
    """Several components, kernels on several networks, and counts."""
    return fitted(counts(), learner="auto", n_learners=4, max_epochs=2)


def same(one: DGEClassifier, other: DGEClassifier, names: list[str]) -> bool:
    return one.predict_proba(names).tobytes() == other.predict_proba(names).tobytes()


def test_new_entities_are_predicted_from_new_paths(on_network: DGEClassifier) -> None:
    updated = on_network.update(paths()[1])
    assert set(updated.network_.vocabulary) == set(NAMES)
    assert np.mean(updated.predict(HIDDEN) == TRUTH) > 0.9
    # What is known of labelled entities moves with them.
    before, after = on_network.predict_set(KNOWN), updated.predict_set(KNOWN)
    assert after.table()["in_training"].tolist() == before.table()["in_training"].tolist()
    assert updated.in_fit_.tolist() == [name not in HIDDEN for name in updated.network_.vocabulary]
    assert updated.network_ == add_paths(on_network.network_, paths()[1])
    # The one that was updated does not change.
    assert set(on_network.network_.vocabulary) == set(KNOWN)


@pytest.mark.parametrize(
    "given",
    [{"learner": kind} for kind in ("gcn", "gin", "gat", "gcnii")]
    + [{"variant": "attn"}, {"variant": "batch"}, {"variant": "bag", "shared": True}]
    + [{"fan_outs": (4, 2)}, {"path_features": 0, "kernel_share": 0}, {"mask_self": False}, {"n_draws": 2}],
    ids=str,
)
def test_every_kind_takes_updates(given: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(**{"max_epochs": 2, "n_learners": 2, **given})
    assert same(model.update(model.network_), model, KNOWN)
    updated = model.update(paths()[1])
    proba = updated.predict_proba(NAMES)
    assert np.isfinite(proba).all()
    assert np.allclose(proba.sum(1), 1, atol=1e-5)
    updated.save(tmp_path / "model")
    assert same(load_model(tmp_path / "model"), updated, NAMES)


def test_where_nothing_changed_predictions_are_the_same_bytes(on_counts: DGEClassifier) -> None:
    for model in (on_counts, fitted()):
        assert same(model.update(model.network_ if model.counts_ is None else counts()), model, KNOWN)


def test_parts_one_after_another_are_everything_at_once(
    on_network: DGEClassifier, on_counts: DGEClassifier
) -> None:
    new = paths()[1]
    for model in (on_network, on_counts):
        assert same(model.update(new[:90]).update(new[90:]), model.update(new), NAMES)


def test_networks_are_grown_again_by_their_rules(on_counts: DGEClassifier) -> None:
    updated = on_counts.update(paths()[1])
    everything = counts().update(paths()[1])
    rule = on_counts.network_.parameters
    again = everything.grow(
        1 if rule is None else rule.order, *(() if rule is None else (rule.tau, rule.min_support))
    )
    assert updated.network_ == again
    assert same(on_counts.update(everything), updated, NAMES)
    assert np.mean(updated.predict(HIDDEN) == TRUTH) > 0.9
    fixed = fitted(counts(), **GROWN)
    assert fixed.update(paths()[1]).network_ == everything.grow(2, 0.5, 2)


def test_a_saved_model_is_updated_to_the_same_bytes(
    on_network: DGEClassifier, on_counts: DGEClassifier, tmp_path: Path
) -> None:
    for name, model in (("network", on_network), ("counts", on_counts)):
        model.save(tmp_path / name)
        updated = model.update(paths()[1])
        loaded = load_model(tmp_path / name).update(paths()[1])
        assert same(loaded, updated, NAMES)
        loaded.save(tmp_path / "again")
        again = load_model(tmp_path / "again")
        assert same(again, updated, NAMES)
        assert same(again.update(paths()[1]), updated.update(paths()[1]), NAMES)


def test_an_updated_network_can_be_given(on_network: DGEClassifier) -> None:
    more = counts().update(paths()[1]).grow(tau=0.5, min_support=2)
    updated = on_network.update(more)
    assert updated.network_ is more
    assert np.mean(updated.predict(HIDDEN) == TRUTH) > 0.9
    # Entities that are gone are not missed.
    fewer = hl.grow([path for path in paths()[0] if "ash00" not in path], tau=0.5)
    assert "ash00" not in on_network.update(fewer).network_.vocabulary


def test_unknown_entities_read_the_mask_or_nothing() -> None:
    import torch

    state = {"a.identity": torch.arange(6.0).reshape(1, 3, 2), "a.mask": torch.full((1, 1, 2), 9.0)}
    state |= {"b.identity": torch.ones(1, 3, 2), "head": torch.zeros(3)}
    out = extended(state, np.array([2, -1, 0]))
    assert out["a.identity"].tolist() == [[[4.0, 5.0], [9.0, 9.0], [0.0, 1.0]]]
    assert out["b.identity"].tolist() == [[[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]]
    assert out["head"] is state["head"]


def test_names_without_paths_get_one_prediction(on_network: DGEClassifier, on_counts: DGEClassifier) -> None:
    for model in (on_network, on_counts):
        wider = with_isolated(model, ["new", "other"])
        proba = wider.predict_proba(["new", "other"])
        assert proba[0].tobytes() == proba[1].tobytes()
        # Tables of another size may be multiplied in another order.
        assert np.allclose(wider.predict_proba(KNOWN), model.predict_proba(KNOWN), atol=1e-5)


def test_features_of_new_entities_are_needed() -> None:
    import pandas as pd

    features = pd.DataFrame({"a": np.arange(36.0), "b": 1.0}, index=NAMES)
    whole = features.loc[sorted(NAMES)]
    for given in (features, whole.loc[sorted(KNOWN)].to_numpy()):
        model = fitted(features=given, max_epochs=1)
        updated = model.update(paths()[1], features=None if given is features else whole.to_numpy())
        assert np.isfinite(updated.predict_proba(NAMES)).all()
        assert same(model.update(model.network_), model, KNOWN)
    listed = fitted(features=whole.loc[sorted(KNOWN)].to_numpy().tolist(), max_epochs=1)
    assert np.asarray(listed.update(listed.network_).features).shape == (30, 2)
    with pytest.raises(InputError, match="6 entities are new and have no features: ash03, ash07"):
        model.update(paths()[1])


def test_what_cannot_be_updated_is_told(on_network: DGEClassifier, on_counts: DGEClassifier) -> None:
    with pytest.raises(ParameterError, match="delimiter say how paths are read; this is a GramCounts"):
        on_network.update(counts(), delimiter=",")
    with pytest.raises(ParameterError, match="fitted without features"):
        on_network.update(paths()[1], features=np.ones((36, 1)))
    edges = fitted(
        hl.from_edges(
            *zip(*[(a, b) for a in KNOWN for b in KNOWN if a[:3] == b[:3] and a != b], strict=True)
        ),
        max_epochs=1,
    )
    with pytest.raises(InputError, match="not grown by a rule that counts could follow"):
        edges.update(counts())
    with pytest.raises(InputError, match="grams were counted for orders up to 1"):
        on_network.update(hl.count_grams(paths()[0], 1))


def test_counts_that_are_missing_or_changed(on_counts: DGEClassifier, tmp_path: Path) -> None:
    on_counts.save(tmp_path / "model")
    shutil.copytree(tmp_path / "model", tmp_path / "other")
    (tmp_path / "model" / COUNTS).unlink()
    loaded = load_model(tmp_path / "model")
    assert same(loaded, on_counts, KNOWN)
    with pytest.raises(MissingFileError, match="counts of this model's paths are missing; copy the whole"):
        loaded.update(paths()[1])
    counts().update([["ash00", "ash01"]]).save(tmp_path / "other" / COUNTS)
    with pytest.raises(FormatError, match="changed after it was written"):
        load_model(tmp_path / "other").update(paths()[1])
