"""Single models: one learner on the base nodes, and nothing of an ensemble around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from baseline_cases import held_out, network, nodes
from sklearn.base import clone

import honlearn as hl
from honlearn.baselines.catalogue import BASELINES
from honlearn.baselines.single import (
    BasePairs,
    GATClassifier,
    GCNClassifier,
    GCNIIClassifier,
    GINClassifier,
    GINLinkPredictor,
    GraphSAGEClassifier,
    GraphSAGELinkPredictor,
    Single,
)
from honlearn.engine.adjacency import matrix_of
from honlearn.errors import ParameterError
from honlearn.experiments.predictions import Predictions
from honlearn.learners import GAT, GCN, GCNII, KINDS, SAGE
from honlearn.tasks import DGEClassifier, DGELinkPredictor
from honlearn.tasks.nested import nested
from honlearn.tasks.settings import PathKernel, Training

SMALL: dict[str, Any] = {"widths": (16, 16), "max_epochs": 3, "random_state": 0, "n_threads": 1}
SINGLE = [one for one in BASELINES if issubclass(one.estimator(), Single)]


def small(made: Any, **settings: Any) -> Any:
    return nested(made, {**SMALL, **settings})


def made_for(task: str) -> Any:
    return pytest.mark.parametrize("made", [one.estimator() for one in SINGLE if one.task == task])


def test_every_learner_but_the_users_own_is_a_single_model() -> None:
    kinds = [one.estimator().default_learner for one in SINGLE]
    assert sorted(kinds) == sorted(2 * [kind for kind in KINDS if kind != "torch"])


@made_for("nodes")
def test_on_a_first_order_network_it_is_an_ensemble_of_one(made: Any) -> None:
    first = network().first_order()
    names, groups = nodes()
    model = made(first, **small(made)).fit(names[:20], groups[:20])
    # As published it knows the identities of nodes alone, that of the node that it classifies among them.
    given = small(DGEClassifier, learner=made.default_learner, mask_self=False, patience=model_patience(made))
    given |= {"n_learners": 1, "n_draws": 1, "path_kernel": PathKernel(vectors=0, share=0.0)}
    given["training"].set_params(refit=1.0, restart=True, validation_fraction=0.15)
    ours = DGEClassifier(first, **given).fit(names[:20], groups[:20])
    # Single models are as published: without a temperature.
    ours.temperature_ = 1.0
    assert model.predict_proba(names).tobytes() == ours.predict_proba(names).tobytes()


def model_patience(made: Any) -> int:
    return int(KINDS[made.default_learner].training_defaults["nodes"].get("patience", 10))


@made_for("links")
def test_for_links_too(made: Any) -> None:
    first, pairs = held_out().network.first_order(), held_out().names
    model = made(first, **small(made)).fit()
    kind = KINDS[made.default_learner]
    usual = kind().resolved("links").input_dropout
    plain = {"operator": "concat+hadamard", "pair_folds": 0, "pair_counts": False, "pair_common": 0}
    plain |= {"negatives": "uniform", "input_dropout": usual}
    given = small(DGELinkPredictor, learner=made.default_learner, **plain)
    ours = DGELinkPredictor(first, **given, n_learners=1, n_draws=1).fit()
    probabilities, expected = model.predict_proba(pairs), ours.predict_proba(pairs)
    assert probabilities[:, 1].tobytes() == expected[:, 1].tobytes()
    np.testing.assert_allclose(probabilities[:, 0], expected[:, 0], atol=1e-6)


def test_on_a_higher_order_network_no_relative_is_drawn() -> None:
    names, groups = nodes()
    model = GraphSAGEClassifier(network(), **small(GraphSAGEClassifier)).fit(names[:20], groups[:20])
    inference = model._model().inference(model.module_, model._runtime(), 1)
    codes = np.sort(network().vocabulary.codes(names.tolist()))
    assert inference._needed(codes, 1).tolist() == codes.tolist()
    pairs = np.array([[3, 1], [1, 2]], np.int32)
    sampler = BasePairs(network())
    np.testing.assert_array_equal(sampler.draw(pairs, 0, [0, 5], joint=True), [pairs, pairs])
    assert sampler.possible(pairs, joint=True).tolist() == [1, 2, 3]


def test_one_model_has_no_members() -> None:
    names, groups = nodes()
    model = GINClassifier(network(), **small(GINClassifier)).fit(names[:20], groups[:20])
    for name in ("member_proba", "votes", "disagreement"):
        assert not hasattr(model, name)
        assert hasattr(DGEClassifier(network()), name)
    predictions = Predictions.of(model, names[:5])
    assert predictions.members is None
    assert predictions.scores(groups[:5])["disagreement"] is None
    links = GraphSAGELinkPredictor(network(), **small(GraphSAGELinkPredictor)).fit()
    assert not hasattr(links, "member_proba")
    assert links.recommend("elm01", top=3).columns.tolist() == ["neighbor", "probability"]
    of_ensembles = {"variant", "shared", "n_learners", "n_heads", "n_draws", "path_kernel", "structure"}
    assert not of_ensembles & set(links.get_params())


def test_parameters_of_the_learner_and_of_training_are_reached_by_name() -> None:
    model = GCNClassifier(network()).set_params(learner__widths=(8,), training__max_epochs=2)
    assert (model.learner.widths, model.training.max_epochs) == ((8,), 2)
    assert clone(model).get_params()["learner__widths"] == (8,)
    names, groups = nodes()
    fitted = model.set_params(random_state=0).fit(names, groups)
    assert fitted.history_["epoch"].max() <= 2
    wider = clone(model).set_params(learner__widths=(16,)).fit(names, groups)
    assert fitted.n_parameters_ < wider.n_parameters_


def test_features_take_part_and_are_saved(tmp_path: Any) -> None:
    names, groups = nodes()
    order = network().vocabulary.codes(names.tolist())
    features = np.zeros((len(names), 3), np.float32)
    features[order] = groups[:, None] == np.unique(groups)
    settings = small(GCNClassifier, identity=False, max_epochs=60, edge_power=0.0)
    model = GCNClassifier(network(), features=features, **settings).fit(names[:20], groups[:20])
    assert (model.predict(names[20:]) == groups[20:]).mean() > 0.9
    model.save(tmp_path / "model")
    loaded = hl.load_model(tmp_path / "model")
    assert loaded.predict_proba(names).tobytes() == model.predict_proba(names).tobytes()


def test_the_identity_of_a_root_is_masked_only_where_it_is_asked_for() -> None:
    names, groups = nodes()

    def answer(**settings: Any) -> bytes:
        model = GCNClassifier(network(), **small(GCNClassifier, **settings)).fit(names[:20], groups[:20])
        return bytes(model.predict_proba(names).tobytes())

    assert answer() == answer(mask_self=False) != answer(mask_self=True)
    assert GraphSAGEClassifier(network())._kind().mask_self is False
    assert DGEClassifier(network())._kinds()[0].mask_self is True


@pytest.mark.parametrize("kind", [GCN(), GCNII()])
def test_dropout_of_neighbours_takes_each_context_by_itself(kind: Any) -> None:
    """Contexts of one entity are entries of their own: merged, they would all be dropped at once."""
    kind, hon = kind.resolved("nodes"), network()
    roots = np.arange(hon.n_nodes, dtype=np.int32)[None]
    hop = kind.neighborhood(hon, kind.mask(False)).hops(roots, np.zeros(1, np.uint64), 0)[0]
    adjacent = matrix_of(hon, 1.0, "both").toarray() > 0
    np.fill_diagonal(adjacent, False)
    entries = np.diff(hop.parts[0].indptr)[hop.rows[0]]
    assert entries.sum() == adjacent[: len(hop.rows[0])].sum()


@pytest.mark.parametrize("weight", ["balanced", {"ash": 5.0, "elm": 1.0, "oak": 1.0}])
def test_classes_and_examples_may_have_weights(weight: Any) -> None:
    names, groups = nodes()
    part, labels = names[:20], np.where(np.arange(20) < 12, "ash", groups[:20])
    plain, weighted = (
        GCNClassifier(network(), **small(GCNClassifier, class_weight=one)).fit(part, labels)
        for one in (None, weight)
    )
    assert plain.predict_proba(names).tobytes() != weighted.predict_proba(names).tobytes()
    each = np.array([dict(zip(*np.unique(labels, return_counts=True), strict=True))[one] for one in labels])
    of_class = len(labels) / (len(set(labels)) * each) if weight == "balanced" else None
    if of_class is not None:
        same = GCNClassifier(network(), **small(GCNClassifier)).fit(part, labels, sample_weight=of_class)
        np.testing.assert_allclose(same.predict_proba(names), weighted.predict_proba(names), atol=1e-5)


def test_a_checkpoint_is_found_by_what_decides_the_result_not_by_how_a_fit_runs() -> None:
    def mark(**given: Any) -> str:
        model = GCNClassifier(network(), training=Training(**given))
        model.seed_ = 1
        return model.fingerprint("search")

    assert mark() == mark(checkpoint="fit.ckpt") == mark(checkpoint="moved.ckpt", checkpoint_seconds=1.0)
    assert len({mark(), mark(learning_rate=0.1), mark(patience=3)}) == 3
    learners = [GCN(), GCN(widths=(8,)), GCN(direction="in")]
    models = [GCNClassifier(network(), learner=learner).set_params(verbose=False) for learner in learners]
    for model in models:
        model.seed_ = 1
    assert len({model.fingerprint("search") for model in models}) == 3


@pytest.mark.parametrize("learner", [GAT(), "gat", [GCN(), GCN()], SAGE()])
def test_a_model_is_its_own_learner_and_no_other(learner: Any) -> None:
    with pytest.raises(ParameterError, match=r"'learner' parameter of GCNClassifier must be .*GCN\(\.\.\.\)"):
        GCNClassifier(network(), learner=learner).fit(["ash01"], ["a"])


def test_a_learner_may_be_named_by_its_word() -> None:
    names, groups = nodes()
    given = {"training": Training(max_epochs=2), "random_state": 0, "n_threads": 1}
    one, other = (
        GCNClassifier(network(), learner=learner, **given).fit(names, groups).predict_proba(names)
        for learner in ("gcn", None)
    )
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("made", "settings", "message"),
    [
        (GINLinkPredictor, {"learning_rate": 0}, "'learning_rate' parameter of GINLinkPredictor"),
        (GraphSAGELinkPredictor, {"operator": "conct"}, "'operator' parameter of GraphSAGELinkPredictor"),
        (GraphSAGEClassifier, {"edge_power": "auto"}, "'edge_power' parameter of GraphSAGEClassifier"),
        (GraphSAGEClassifier, {"aggregator": "sum"}, "'aggregator' parameter of SAGE"),
        (GraphSAGELinkPredictor, {"mask_self": True}, "'mask_self' parameter of SAGE is for nodes"),
        (GATClassifier, {"heads": 3}, r"'widths' parameter of GAT must be multiples of 'heads' \(3\)"),
        (GATClassifier, {"heads": 0}, "'heads' parameter of GAT"),
        (GATClassifier, {"use_weights": 1}, "'use_weights' parameter of GAT must be True or False. Got 1"),
        (GCNIIClassifier, {"alpha": 1.5}, "'alpha' parameter of GCNII"),
        (GCNIIClassifier, {"theta": -1}, "'theta' parameter of GCNII"),
        (GCNIIClassifier, {"layer_decay": -0.1}, "'layer_decay' parameter of GCNII"),
        (GCNIIClassifier, {"widths": (16, 8)}, "'widths' parameter of GCNII must have the same number"),
        (GCNClassifier, {"direction": "up"}, "'direction' parameter of GCN must be one of 'in', 'out'"),
        (GCNClassifier, {"input_dropout": 1.0}, "'input_dropout' parameter of GCN"),
        (GCNClassifier, {"patience": 0}, "'patience' parameter of GCNClassifier"),
        (GCNClassifier, {"identity": False}, "GCNClassifier: identity=False needs features"),
    ],
)
def test_a_parameter_out_of_range_is_named_with_its_owner(
    made: Any, settings: dict[str, Any], message: str
) -> None:
    model = made(network(), **small(made, **settings))
    with pytest.raises(ParameterError, match=message):
        model.fit() if hasattr(model, "recommend") else model.fit(["ash01", "elm01"], ["a", "b"])


def test_a_learners_weights_follow_its_direction_and_edge_power() -> None:
    names, groups = nodes()
    given = [{"edge_power": power, "direction": way} for power in (1.0, 0.0) for way in ("both", "in", "out")]
    answers = [
        GCNClassifier(network(), **small(GCNClassifier, **one)).fit(names, groups).predict_proba(names)
        for one in given
    ]
    assert len({answer.tobytes() for answer in answers}) == 6
    assert all(np.isfinite(answer).all() for answer in answers)
