"""``learner="auto"`` in real fits: what comes out, what it depends on, saved, killed, refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensemble_cases import tiny, tiny_paths
from sklearn.base import clone

import honlearn as hl
from honlearn import DGEClassifier, DGELinkPredictor, PathKernel, Training, load_model
from honlearn.ensemble.training import Trainer
from honlearn.errors import FormatError, ParameterError
from honlearn.experiments.evaluate import _components
from honlearn.hon.edgelist import from_edges
from honlearn.tasks.choice import Choice
from honlearn.tasks.held import Ledger
from honlearn.tasks.settings import Structure
from honlearn.tasks.temperature import tempered

# One epoch, and labels that are often wrong: nobody is right, so that many kinds of learner have a share.
QUICK = {"max_epochs": 1, "patience": 1}


class Killed(Exception):
    pass


def make(network: Any = None, n_learners: int = 6, training: Any = None, **given: Any) -> DGEClassifier:
    """Return a classifier that selects its learners, on the tiny network of two groups."""
    settings = {"n_threads": 1, "random_state": 0, "path_kernel": PathKernel(vectors=4), **given}
    network = tiny()[0] if network is None else network
    return DGEClassifier(
        network, n_learners=n_learners, training=Training(**{**QUICK, **(training or {})}), **settings
    )


def examples() -> tuple[list[str], list[str]]:
    _, nodes, y = tiny()
    wrong = (2, 5, 8)
    labels = ["ab"[name == "a"] if place in wrong else name for place, name in enumerate(y)]
    return nodes[1:-1], labels[1:-1]


@cache
def fitted() -> DGEClassifier:
    """Return a fit with several components, one of them of first order."""
    model = make().fit(*examples())
    networks = {one.model.network.n_conditional > 0 for one in model.components_}
    assert len(model.components_) > 1
    assert networks == {False, True}
    return model


def check_same(model: DGEClassifier, other: DGEClassifier) -> None:
    nodes = tiny()[1]
    for what in ("predict_proba", "member_proba"):
        assert getattr(model, what)(nodes).tobytes() == getattr(other, what)(nodes).tobytes()
    assert model.members_.equals(other.members_)


# --- what comes out ----------------------------------------------------------------------------------


def test_auto_is_the_default() -> None:
    assert DGEClassifier(tiny()[0]).learner == "auto"
    assert make().learner == "auto"


def test_weights_of_members_and_kernel_sum_to_one() -> None:
    model = fitted()
    members = model.members_
    assert len(members) == model.n_learners == len(model.best_epochs_)
    assert members["weight"].sum() + model.kernel_share_ == pytest.approx(1)
    assert (members["weight"] > 0).all()
    assert 0 <= model.kernel_share_ < 1
    assert members["network"].isin(["first order", "order 2"]).all()
    assert members["nodes"].tolist() == [
        one.model.network.n_nodes for one in model.components_ for _ in range(one.n_members)
    ]
    # A search of one epoch, and at least one more.
    assert members["epochs"].tolist() == [2] * model.n_learners


@pytest.mark.parametrize("share", ["auto", 0.3, 0.0, 1.0])
def test_the_prediction_is_the_weighted_mean_of_members_and_kernel(share: Any) -> None:
    model = fitted() if share == "auto" else make(path_kernel=PathKernel(4, share)).fit(*examples())
    nodes = tiny()[1]
    mean = np.einsum("l,lbc->bc", model.members_["weight"].to_numpy(), model.member_proba(nodes))
    if model.kernel_proba_ is not None:
        mean = mean + model.kernel_share_ * model.kernel_proba_[model.network_.vocabulary.codes(nodes)]
    np.testing.assert_allclose(model.predict_proba(nodes), tempered(mean, model.temperature_), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(nodes).sum(1), 1, atol=1e-5)
    if share != "auto":
        assert model.kernel_share_ == pytest.approx(share)


def test_the_table_tells_what_the_members_are() -> None:
    model = fitted()
    table, members = model.selection_results_, model.members_
    chosen = table[table["chosen"]]
    told = {(row.learner, row.edge_power, row.nodes): (row.members, row.share) for row in chosen.itertuples()}
    found = {
        key: (len(own), own["weight"].sum())
        for key, own in members.groupby(["learner", "edge_power", "nodes"])
    }
    assert len(told) == len(model.components_)
    assert {key: (count, pytest.approx(share)) for key, (count, share) in told.items()} == found
    assert chosen["share"].is_monotonic_decreasing
    assert chosen["share"].sum() + model.kernel_share_ == pytest.approx(1)
    # Every kind was tried on both networks, by as many learners as hold back every example once.
    tried = {(row.learner, row.order) for row in table.itertuples()}
    assert tried >= {(kind, order) for kind in ("sage", "gcn", "gat") for order in (1, 2)}
    assert (table["learners"] >= 4).all()
    assert table["loss"].notna().all()
    shape = (model.n_learners, len(tiny()[1]))
    assert model.votes(tiny()[1])[0].shape == (*shape, 2)
    assert model.votes(tiny()[1])[1].shape == shape
    assert model.n_parameters_ == sum(one.n_parameters for one in model.components_)
    assert len(model.history_["component"].unique()) == len(model.components_)


def test_a_record_has_the_components() -> None:
    found, members = _components(fitted()), fitted().members_
    assert sum(one.members for one in found) == fitted().n_learners
    assert sum(one.share for one in found) + fitted().kernel_share_ == pytest.approx(1)
    assert {(one.learner, one.order) for one in found} == {
        (row.learner, 1 if row.network == "first order" else 2) for row in members.itertuples()
    }


def test_a_notebook_shows_the_components() -> None:
    shown, members = fitted()._repr_html_(), fitted().members_
    for kind, part in members.groupby("learner"):
        assert kind in shown
        assert len(part) <= fitted().n_learners
    assert shown.count("first order") == len(
        members[members["network"] == "first order"].groupby("component")
    )


def test_an_empty_list_has_empty_predictions() -> None:
    assert fitted().predict_proba([]).shape == (0, 2)
    assert fitted().member_proba([]).shape == (6, 0, 2)


# --- what it depends on ------------------------------------------------------------------------------


def test_neither_threads_nor_what_was_fitted_before_change_a_byte() -> None:
    check_same(make(n_threads=2).fit(*examples()), fitted())
    again = clone(fitted())
    assert again.learner == "auto"
    check_same(again.fit(*examples()).fit(*examples()), fitted())


def test_a_seed_decides() -> None:
    other = make(random_state=1).fit(*examples())
    assert not np.array_equal(other.predict_proba(tiny()[1]), fitted().predict_proba(tiny()[1]))


def test_weights_of_examples_reach_the_choice_and_the_learners() -> None:
    nodes, y = examples()
    plain, heavy = np.ones(len(nodes)), np.where(np.array(y) == "b", 20.0, 1.0)
    check_same(make().fit(nodes, y, sample_weight=plain), fitted())
    weighted = make().fit(nodes, y, sample_weight=heavy)
    assert weighted.predict_proba(nodes)[:, 1].mean() > fitted().predict_proba(nodes)[:, 1].mean() + 0.1
    balanced = make(training={"class_weight": {"a": 1.0, "b": 20.0}}).fit(nodes, y)
    check_same(balanced, weighted)


def test_features_reach_every_component(tmp_path: Path) -> None:
    nodes = tiny()[1]
    rows = np.random.default_rng(0).normal(size=(14, 3))
    model = make(features=rows).fit(*examples())
    for one in model.components_:
        assert one.model.features is not None
    assert not np.array_equal(model.predict_proba(nodes), fitted().predict_proba(nodes))
    model.save(tmp_path / "model")
    check_same(load_model(tmp_path / "model"), model)


def test_counts_and_paths_are_grown(tmp_path: Path) -> None:
    nodes, y = examples()
    counts = hl.count_grams(tiny_paths(), order=2)
    given = {"structure": Structure(min_support=2), "n_learners": 4}
    model = make(counts, **given).fit(nodes, y)
    table = model.selection_results_
    assert set(table["order"]) == {1, 2}
    assert len(model.members_) == 4
    used = {one.model.network.n_nodes for one in model.components_}
    assert used <= set(table.loc[table["chosen"], "nodes"])
    again = make(hl.Paths.from_lists(tiny_paths()), **{**given, "structure": Structure(2, None, 2)}).fit(
        nodes, y
    )
    check_same(again, model)
    model.save(tmp_path / "model")
    check_same(load_model(tmp_path / "model"), model)


def test_a_first_order_network_is_all_there_is() -> None:
    first = tiny()[0].first_order()
    model = make(first).fit(*examples())
    assert set(model.members_["network"]) == {"first order"}
    assert set(model.selection_results_["order"]) == {1}


# --- where there is nothing to choose by -------------------------------------------------------------


def test_without_a_validation_part_it_is_sage() -> None:
    model = make(training={"validation_fraction": 0.0, "max_epochs": 2}).fit(*examples())
    plain = make(learner="sage", training={"validation_fraction": 0.0, "max_epochs": 2}).fit(*examples())
    assert not hasattr(model, "selection_results_")
    assert set(model.members_["learner"]) == {"sage"}
    check_same(model, plain)


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"], ["a", "a", "b"], ["a", "a", "a"]])
def test_two_or_three_examples_are_enough(labels: list[str], tmp_path: Path) -> None:
    hon = from_edges(["x", "y", "z", "x"], ["y", "z", "x", "z"])
    names = ["x", "y", "z"][: len(labels)]
    model = make(hon, n_learners=3).fit(names, labels)
    assert model.predict_proba(["x", "y", "z"]).shape == (3, len(set(labels)))
    assert model.members_["weight"].sum() + model.kernel_share_ == pytest.approx(1)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict_proba(["z"]).tobytes() == model.predict_proba(["z"]).tobytes()


@pytest.mark.parametrize("variant", ["pool", "bag*"])
def test_other_variants_take_sage(variant: str) -> None:
    given = {"variant": variant.rstrip("*"), "shared": variant.endswith("*")}
    model = make(**given).fit(*examples())
    plain = make(learner="sage", **given).fit(*examples())
    assert model.predict_proba(tiny()[1]).tobytes() == plain.predict_proba(tiny()[1]).tobytes()
    assert not hasattr(model, "selection_results_")


def test_links_have_nothing_to_select() -> None:
    with pytest.raises(ParameterError, match=r"'learner' parameter of DGELinkPredictor .*'auto'"):
        DGELinkPredictor(tiny()[0], learner="auto", n_learners=2).fit()


def test_auto_is_not_one_of_several() -> None:
    with pytest.raises(ParameterError, match="'learner' parameter of DGEClassifier"):
        make(learner=["auto", "gcn"]).fit(*examples())


def test_what_is_wrong_is_named_before_anything_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Choice, "train")
    for given, message in (
        ({"n_learners": 0}, "'n_learners' parameter of DGEClassifier must be a whole number"),
        ({"training": {"patience": 0}}, "'patience' parameter of DGEClassifier"),
        ({"n_draws": 0}, "'n_draws' parameter"),
        ({"path_kernel": PathKernel(4, 2.0)}, r"'path_kernel\.share' parameter"),
    ):
        with pytest.raises(ParameterError, match=message):
            make(**given).fit(*examples())


# --- saved -------------------------------------------------------------------------------------------


def test_saved_and_loaded(tmp_path: Path) -> None:
    fitted().save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    check_same(again, fitted())
    assert again.learner == "auto"
    assert again.network_ == fitted().network_
    assert again.kernel_share_ == fitted().kernel_share_
    assert again.selection_results_.equals(fitted().selection_results_)
    assert again.n_parameters_ == fitted().n_parameters_
    again.save(tmp_path / "again")
    for file in (tmp_path / "model").iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


# --- killed ------------------------------------------------------------------------------------------


def in_the_choice(patch: pytest.MonkeyPatch) -> None:
    """Die when the third candidate is known."""
    save, left = Ledger.maybe_save, iter([1, 1, 0])

    def save_and_die(ledger: Ledger, scores: Any) -> None:
        save(ledger, scores)
        if not next(left):
            raise Killed("on purpose")

    patch.setattr(Ledger, "maybe_save", save_and_die)


def in_a_search(patch: pytest.MonkeyPatch) -> None:
    """Die in the search of the fifth candidate."""
    fit, left = Trainer.fit, iter([1, 1, 1, 1, 0])

    def fit_or_die(trainer: Trainer) -> Any:
        if not next(left):
            raise Killed("on purpose")
        return fit(trainer)

    patch.setattr(Trainer, "fit", fit_or_die)


def in_a_refit(patch: pytest.MonkeyPatch) -> None:
    """Die in the training of the second component, in its first step."""
    save = Trainer._maybe_save

    def save_and_die(trainer: Trainer) -> None:
        save(trainer)
        path = trainer.options.checkpoint
        if path is not None and "component1" in path.name:
            raise Killed("on purpose")

    patch.setattr(Trainer, "_maybe_save", save_and_die)


@pytest.mark.parametrize(
    ("death", "left"),
    [
        (in_the_choice, ["fit.choice"]),
        (in_a_search, ["fit.choice"]),
        (in_a_refit, ["fit.choice", "fit.component1.refit"]),
    ],
    ids=["in the choice", "in a search", "in a refit"],
)
def test_a_killed_fit_goes_on_to_the_same_bytes(
    death: Callable[[pytest.MonkeyPatch], None],
    left: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = {"checkpoint": tmp_path / "fit", "checkpoint_seconds": 0.0}
    with monkeypatch.context() as patch:
        death(patch)
        with pytest.raises(Killed, match="on purpose"):
            make(training=kept).fit(*examples())
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    resumed = make(training=kept).fit(*examples())
    check_same(resumed, fitted())
    assert resumed.selection_results_.drop(columns="cpu_seconds").equals(
        fitted().selection_results_.drop(columns="cpu_seconds")
    )
    assert list(tmp_path.iterdir()) == []


def test_the_choice_of_other_data_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"checkpoint": tmp_path / "fit", "checkpoint_seconds": 0.0}
    with monkeypatch.context() as patch:
        in_the_choice(patch)
        with pytest.raises(Killed, match="on purpose"):
            make(training=kept).fit(*examples())
    nodes, y = examples()
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        make(training=kept).fit(nodes, y[::-1])


# --- honest ------------------------------------------------------------------------------------------


def smooth() -> tuple[Any, list[str], np.ndarray]:
    """Return a sparse network of two groups of 60: all that tells a node's group is who is around it."""
    random = np.random.default_rng(0)
    group = np.repeat([0, 1], 60)
    edges = set()
    for node in range(120):
        for _ in range(3):
            inside = random.random() < 0.9
            same = np.flatnonzero((group == group[node]) == inside)
            other = int(random.choice(same[same != node]))
            edges |= {(f"n{node:03d}", f"n{other:03d}"), (f"n{other:03d}", f"n{node:03d}")}
    hon = from_edges(*zip(*sorted(edges), strict=True))
    names = list(hon.vocabulary)
    return hon, names, np.array([int(name[1:]) // 60 for name in names])


def test_where_neighbours_are_alike_auto_is_as_good_as_any_learner() -> None:
    hon, names, y = smooth()
    nodes, known = np.array(names), np.arange(len(names)) % 6 == 0
    given = {
        "n_learners": 8,
        "path_kernel": PathKernel(0, 0.0),
        "training": {"max_epochs": 40, "patience": 5},
    }
    score = {
        learner: make(hon, learner=learner, **given)
        .fit(nodes[known], y[known])
        .score(nodes[~known], y[~known])
        for learner in ("auto", "sage", "gcn", "gat")
    }
    assert score["auto"] >= max(0.9, max(score.values()) - 0.03)


def test_where_only_memory_tells_auto_remembers() -> None:
    data = hl.datasets.synthetic(2, order=2, n_nodes=48, n_hubs=2, n_destinations=3, noise=0.0)
    nodes, y = list(data.labels), list(data.labels.values())
    hon = hl.grow(data.paths, order=2, tau=1.0, min_support=1)
    model = make(hon, n_learners=4, training={"max_epochs": 40, "patience": 5}).fit(nodes[::2], y[::2])
    assert model.score(nodes[1::2], y[1::2]) > 0.9
    members = model.members_
    assert members.loc[members["network"] != "first order", "weight"].sum() + model.kernel_share_ > 0.8
    # Without memory nobody can tell the classes apart.
    blind = make(hon.first_order(), n_learners=4, training={"max_epochs": 20}).fit(nodes[::2], y[::2])
    assert blind.score(nodes[1::2], y[1::2]) < 0.8
