"""Estimators that choose their network: on planted memory, again and again, saved, killed, and for links."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from link_cases import make_predictor
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from task_cases import make_classifier

import honlearn as hl
from honlearn import DGEClassifier, DGELinkPredictor, Pairs, load_model
from honlearn.ensemble.training import Trainer
from honlearn.errors import FormatError, InputError, ParameterError, UnknownNodeError
from honlearn.hon.build import GramCounts
from honlearn.paths.paths import Paths
from honlearn.tasks import kernel_fit
from honlearn.tasks.choice import Choice
from honlearn.tasks.estimator import described
from honlearn.tasks.held import HeldOutScore, Ledger
from honlearn.tasks.settings import Structure
from honlearn.tasks.structure import PARAMETERS

FAST = {"n_learners": 3, "widths": (12, 12), "max_epochs": 25, "n_threads": 1, "random_state": 0}


class Killed(Exception):
    pass


@cache
def planted(order: int = 2, noise: float = 0.0) -> tuple[Paths, list[str], list[str]]:
    """Return paths that remember `order` entities, and the classes that only this memory tells."""
    data = hl.datasets.synthetic(2, order=order, n_nodes=48, n_hubs=2, n_destinations=3, noise=noise)
    return data.paths, list(data.labels), list(data.labels.values())


@cache
def counted(order: int = 2, noise: float = 0.0) -> GramCounts:
    return hl.count_grams(planted(order, noise)[0], order=3)


@cache
def chosen() -> DGEClassifier:
    return make_classifier(counted(), **FAST).fit(*planted()[1:])


def test_planted_memory_of_order_three_is_found() -> None:
    _, nodes, y = planted(3)
    deep = {**FAST, "widths": (12, 12, 12), "max_epochs": 60, "patience": 15, "validation_fraction": 0.25}
    model = make_classifier(counted(3), order="auto", **deep)
    model.fit(nodes[::2], y[::2])
    row = model.selection_results_[model.selection_results_["chosen"]].iloc[0]
    assert (row["order"], model.network_.max_order) == (3, 3)
    assert row["gain"] > 0.3 > row["standard_error"]
    assert model.score(nodes[1::2], y[1::2]) > 0.9


def test_without_memory_first_order_is_good_enough() -> None:
    model = make_classifier(counted(2, 1.0), **FAST).fit(*planted(2, 1.0)[1:])
    assert len(model.selection_results_) > 1  # chance keeps some contexts
    assert model.selection_results_.loc[model.selection_results_["chosen"], "order"].tolist() == [1]
    assert model.network_ == counted(2, 1.0).grow(1)


def test_the_network_chosen_is_the_one_in_the_table() -> None:
    table = chosen().selection_results_
    row = table[table["chosen"]].iloc[0]
    grown = counted().grow(int(row["order"]), row["tau"], int(row["min_support"]))
    assert chosen().network_ == grown
    assert (row["nodes"], row["edges"]) == (grown.n_nodes, grown.n_edges)
    assert chosen().network is counted()


def test_the_fit_is_that_on_the_chosen_network() -> None:
    _, nodes, y = planted()
    plain = make_classifier(chosen().network_, **FAST).fit(nodes, y)
    assert plain.predict_proba(nodes).tobytes() == chosen().predict_proba(nodes).tobytes()
    assert not hasattr(plain, "selection_results_")


def test_what_the_networks_had_in_common_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    choose = kernel_fit.choose_vectors

    def noted(*arguments: Any) -> Any:
        given.append(inspect.signature(choose).bind(*arguments).arguments["one_step"])
        return choose(*arguments)

    monkeypatch.setattr(kernel_fit, "choose_vectors", noted)
    model = make_classifier(counted(), **FAST).fit(*planted()[1:])
    # All candidates have the same vectors of one step; the fit itself reads what its candidate has read.
    assert len(given) == len(model.selection_results_)
    assert given[0]
    assert all(one is given[0] for one in given)
    assert not hasattr(model, "_one_step")
    assert not hasattr(model, "_known_vectors")
    assert not hasattr(model, "_choice")
    # Another fit has vectors of its own.
    make_classifier(model.network_, **FAST).fit(*planted()[1:])
    assert given[-1] is not given[0]


def test_the_same_seed_gives_the_same_bytes_from_counts_and_from_paths() -> None:
    paths, nodes, y = planted()
    again = make_classifier(paths, tau="auto", **FAST).fit(nodes, y)
    assert again.predict_proba(nodes).tobytes() == chosen().predict_proba(nodes).tobytes()
    timed = "cpu_seconds"
    assert again.selection_results_.drop(columns=timed).equals(
        chosen().selection_results_.drop(columns=timed)
    )


def test_numbers_are_kept_and_need_no_race() -> None:
    _, nodes, y = planted()
    model = make_classifier(counted(), order=2, tau=1.0, min_support=1, **{**FAST, "max_epochs": 2})
    assert model.fit(nodes, y).network_ == counted().grow(2, 1.0, 1)
    assert not hasattr(model, "selection_results_")
    # A table of an earlier fit would be of another network.
    again = clone(chosen()).fit(nodes, y)
    again.set_params(structure=Structure(2, 1.0, 1), training__max_epochs=2).fit(nodes, y)
    assert not hasattr(again, "selection_results_")


def test_too_few_examples_to_validate_on(tmp_path: Path) -> None:
    _, nodes, y = planted()
    pair = [nodes[y.index("c0")], nodes[y.index("c1")]]
    model = make_classifier(counted(), **{**FAST, "max_epochs": 2}).fit(pair, ["c0", "c1"])
    assert model.network_.n_conditional == 0
    table = model.selection_results_
    assert table[["loss", "standard_error"]].isna().all(axis=None)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model").selection_results_
    assert loaded.equals(table)
    assert loaded.dtypes.equals(table.dtypes)


def test_a_clone_shares_counts_and_paths() -> None:
    for source in (counted(), planted()[0]):
        model = make_classifier(source, order="auto", tau=3.0)
        twin = clone(model)
        assert twin.network is source
        assert described(twin) == described(model)


def test_cross_validation_chooses_inside_each_training_part() -> None:
    _, nodes, y = planted()
    scores = cross_val_score(make_classifier(counted(), **FAST), nodes, y, cv=2)
    assert scores.min() > 0.9


@pytest.mark.parametrize("variant", ["pool", "attn", "batch", "bag*"])
def test_every_variant_chooses(variant: str) -> None:
    _, nodes, y = planted()
    given = {**FAST, "variant": variant.rstrip("*"), "shared": variant.endswith("*")}
    model = make_classifier(counted(), **given).fit(nodes, y)
    # Learners are judged on their own, so the race is the same whatever pools them.
    columns = ["order", "tau", "min_support", "learners", "loss", "gain", "chosen"]
    assert model.selection_results_[columns].equals(chosen().selection_results_[columns])
    assert model.network_ == chosen().network_


def test_saved_and_loaded(tmp_path: Path) -> None:
    nodes = planted()[1]
    chosen().save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict_proba(nodes).tobytes() == chosen().predict_proba(nodes).tobytes()
    assert again.network_ == chosen().network_
    assert again.selection_results_.equals(chosen().selection_results_)
    assert again.selection_results_.dtypes.equals(chosen().selection_results_.dtypes)


@pytest.mark.parametrize("parameters", [{}, {"order": 2}], ids=str)
def test_errors_of_the_examples_are_those_of_any_fit(parameters: dict[str, Any]) -> None:
    model = make_classifier(counted(), **FAST, **parameters)
    with pytest.raises(UnknownNodeError, match="nowhere"):
        model.fit(["nowhere", *planted()[1]], ["c0", *planted()[2]])
    with pytest.raises(ParameterError, match="'n_learners' parameter of DGEClassifier must be a whole"):
        make_classifier(counted(), n_learners=0).fit(*planted()[1:])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"refit": "twice"}, "'refit' parameter of {} must be a number at least 0"),
        ({"validation_fraction": 2.0}, "'validation_fraction' parameter of {} must be a number at least 0"),
        ({"checkpoint_seconds": "often"}, "'checkpoint_seconds' parameter of {} must be a number"),
        ({"n_draws": 0}, "'n_draws' parameter of {} must be a whole number"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_named_before_the_race(
    parameters: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Choice, "train")
    given = {**FAST, "checkpoint": tmp_path / "fit", **parameters}
    with pytest.raises(ParameterError, match=message.format("DGEClassifier")):
        make_classifier(counted(), **given).fit(*planted()[1:])
    with pytest.raises(ParameterError, match=message.format("DGELinkPredictor")):
        make_predictor(counted(), **given).fit()


@pytest.mark.parametrize("names", [iter(["s0", "s1"]), 7], ids=["a generator", "a number"])
def test_what_has_no_length_is_no_list_of_nodes(names: Any) -> None:
    with pytest.raises(InputError, match=r"DGEClassifier.fit takes node names \[n\], got an array of shape"):
        make_classifier(counted(), **FAST).fit(names, ["c0", "c1"])


def test_lists_must_be_read_as_paths_first() -> None:
    message = r"'network' parameter of {} must be paths \(honlearn.read_paths\) .* to choose order, tau for"
    for made in (DGEClassifier, DGELinkPredictor):
        with pytest.raises(ParameterError, match=message.format(made.__name__)):
            made([["a", "b"]], structure=Structure(tau="auto", order=2)).fit(["a", "b"], [0, 1])


# --- killed ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_a_race_with_other_features_is_not_gone_on_with(
    sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, nodes, y = planted()
    rows = np.eye(len(counted().vocabulary), dtype=np.float32)
    features = [csr_array(rows), csr_array(2 * rows)] if sparse else [rows, 2 * rows]
    given = {**FAST, "checkpoint": tmp_path / "fit", "checkpoint_seconds": 0.0}

    def die(ledger: Ledger, scores: Any) -> None:
        ledger.save(scores)
        raise Killed("in the race")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "maybe_save", die)
        with pytest.raises(Killed, match="in the race"):
            make_classifier(counted(), features=features[0], **given).fit(nodes, y)
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        make_classifier(counted(), features=features[1], **given).fit(nodes, y)


def test_killed_in_the_race_and_in_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, nodes, y = planted()
    given = {**FAST, "checkpoint": tmp_path / "fit", "checkpoint_seconds": 0.0}

    save_race, save_training = Ledger.maybe_save, Trainer._maybe_save

    def die_in_the_race(ledger: Ledger, scores: Any) -> None:
        save_race(ledger, scores)
        raise Killed("in the race")

    def die_in_the_training(trainer: Trainer) -> None:
        save_training(trainer)
        if trainer.options.checkpoint is not None and trainer.at.step == 5:
            raise Killed("in the training")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "maybe_save", die_in_the_race)
        with pytest.raises(Killed, match="in the race"):
            make_classifier(counted(), **given).fit(nodes, y)
    assert [path.name for path in tmp_path.iterdir()] == ["fit.choice"]
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_maybe_save", die_in_the_training)
        with pytest.raises(Killed, match="in the training"):
            make_classifier(counted(), **given).fit(nodes, y)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit", "fit.choice"]

    with monkeypatch.context() as patch:
        patch.delattr(HeldOutScore, "update")  # the race is over: no network is validated again
        resumed = make_classifier(counted(), **given).fit(nodes, y)
    assert resumed.predict_proba(nodes).tobytes() == chosen().predict_proba(nodes).tobytes()
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_was_fitted_before_finds_the_same_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, nodes, y = planted()
    model = make_classifier(counted(), **FAST, checkpoint=tmp_path / "fit", checkpoint_seconds=0.0)
    model.fit(nodes, y)
    save = Ledger.save

    def save_and_die(ledger: Ledger, scores: Any) -> None:
        save(ledger, scores)
        raise Killed("on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "save", save_and_die)
        with pytest.raises(Killed, match="on purpose"):
            model.fit(nodes, y)
    fresh = clone(model).fit(nodes, y)
    assert fresh.predict_proba(nodes).tobytes() == chosen().predict_proba(nodes).tobytes()


# --- links -----------------------------------------------------------------------------------------------


def test_links_need_no_more_than_paths(tmp_path: Path) -> None:
    paths = planted()[0]
    given = {**FAST, "max_epochs": 3}
    model = make_predictor(paths, **given).fit()
    table = model.selection_results_
    assert table["chosen"].sum() == 1
    row = table[table["chosen"]].iloc[0]
    assert row["nodes"] == model.network_.n_nodes
    pairs = [("s0", "h0"), ("h0", "d0.0"), ("s0", "s1")]
    # Counts know no lags, and the network of a fold is not grown anew from them.
    again = make_predictor(counted(), tau="auto", pairs=Pairs(counts=False), **given).fit()
    assert again.n_linked_ == model.n_linked_
    alone = make_predictor(again.network_, pairs=Pairs(counts=False), **given).fit()
    assert again.predict_proba(pairs).tobytes() == alone.predict_proba(pairs).tobytes()
    assert len(model.recommend("s0", top=2)) == 2
    model.save(tmp_path / "links")
    loaded = load_model(tmp_path / "links")
    assert loaded.predict_proba(pairs).tobytes() == model.predict_proba(pairs).tobytes()
    assert loaded.selection_results_.equals(table)


def test_all_networks_of_links_are_judged_on_the_same_pairs() -> None:
    counts = counted()
    examples = []
    for grown in (counts.grow(1), counts.grow(2, 1.0), counts.grow(3, 0.0)):
        model = make_predictor(grown, **FAST)
        model.seed_, model.network_, model.path_vectors_ = 0, grown, None
        examples.append(model._prepare(None, None, None).balanced)
    assert examples[0].labels.sum() > 0
    for other in examples[1:]:
        assert np.array_equal(other.pairs, examples[0].pairs)
        assert np.array_equal(other.labels, examples[0].labels)


def test_links_from_named_pairs_with_some_excluded() -> None:
    pairs = [("s0", "h0"), ("s1", "h1"), ("h0", "d0.0"), ("s0", "s1"), ("s2", "d0.1"), ("s3", "s4")] * 2
    named = [*pairs[:6], *(("s5", "h0"), ("s6", "h1"), ("s5", "s6"), ("s7", "d0.0"))]
    labels = [1, 1, 1, 0, 0, 0, 1, 1, 0, 0]
    model = make_predictor(counted(), **{**FAST, "max_epochs": 2})
    assert model.fit(named, labels).selection_results_["chosen"].sum() == 1
    assert model.n_linked_ == 5
    from_iterator = clone(model).fit(iter(named), labels)
    assert from_iterator.predict_proba(named).tobytes() == model.predict_proba(named).tobytes()
    whole = clone(model).fit(exclude=[("s0", "h0")])
    assert whole.selection_results_["chosen"].sum() == 1


@pytest.mark.parametrize("name", PARAMETERS)
def test_links_of_a_grown_network_have_nothing_to_choose(name: str) -> None:
    with pytest.raises(ParameterError, match=f"DGELinkPredictor: {name} cannot be chosen for a network"):
        DGELinkPredictor(counted().grow(2), structure=Structure(**{name: "auto"})).fit()
