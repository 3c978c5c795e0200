"""GraphSAGE and GIN: a learner of ours on the base nodes, and nothing of an ensemble around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from baseline_cases import held_out, network, nodes

from honlearn.baselines.gin import GINClassifier, GINLinkPredictor
from honlearn.baselines.graphsage import GraphSAGEClassifier, GraphSAGELinkPredictor
from honlearn.baselines.one_learner import BasePairs
from honlearn.errors import ParameterError
from honlearn.experiments.predictions import Predictions
from honlearn.tasks import DGEClassifier, DGELinkPredictor

SMALL: dict[str, Any] = {"widths": (12, 12), "max_epochs": 3, "random_state": 0, "n_threads": 1}
ONE: dict[str, Any] = {"n_learners": 1, "n_draws": 1, **SMALL}


@pytest.mark.parametrize(("made", "aggregator"), [(GraphSAGEClassifier, "mean"), (GINClassifier, "gin")])
def test_on_a_first_order_network_it_is_an_ensemble_of_one(made: Any, aggregator: str) -> None:
    first = network().first_order()
    names, groups = nodes()
    model = made(first, **SMALL).fit(names[:20], groups[:20])
    same = {name: value for name, value in model.get_params().items() if name != "network"}
    # As published they know names alone, their own among them.
    published = {"echo": True, "path_features": 0, "kernel_share": 0}
    given = {**same, **ONE, "aggregator": aggregator, **published}
    ours = DGEClassifier(first, **given).fit(names[:20], groups[:20])
    assert model.predict_proba(names).tobytes() == ours.predict_proba(names).tobytes()


@pytest.mark.parametrize(
    ("made", "aggregator"), [(GraphSAGELinkPredictor, "mean"), (GINLinkPredictor, "gin")]
)
def test_for_links_too(made: Any, aggregator: str) -> None:
    first, pairs = held_out().network.first_order(), held_out().names
    model = made(first, **SMALL).fit()
    same = {name: value for name, value in model.get_params().items() if name != "network"}
    ours = DGELinkPredictor(first, **{**same, **ONE, "aggregator": aggregator}).fit()
    assert model.predict_proba(pairs).tobytes() == ours.predict_proba(pairs).tobytes()


def test_on_a_higher_order_network_no_relative_is_drawn() -> None:
    names, groups = nodes()
    model = GraphSAGEClassifier(network(), **SMALL).fit(names[:20], groups[:20])
    _, inference = model._inference(names, "predict_proba")
    codes = np.sort(network().vocabulary.codes(names.tolist()))
    assert inference._needed(codes, 1).tolist() == codes.tolist()
    pairs = np.array([[3, 1], [1, 2]], np.int32)
    sampler = BasePairs(network())
    np.testing.assert_array_equal(sampler.draw(pairs, 0, [0, 5], joint=True), [pairs, pairs])
    assert sampler.possible(pairs, joint=True).tolist() == [1, 2, 3]


def test_one_model_has_no_members() -> None:
    names, groups = nodes()
    model = GINClassifier(network(), **SMALL).fit(names[:20], groups[:20])
    for name in ("member_proba", "votes", "disagreement"):
        assert not hasattr(model, name)
        assert hasattr(DGEClassifier(network()), name)
    said = Predictions.of(model, names[:5])
    assert said.members is None
    assert said.scores(groups[:5])["disagreement"] is None
    links = GraphSAGELinkPredictor(network(), **SMALL).fit()
    assert not hasattr(links, "member_proba")
    assert links.recommend("elm01", top=3).columns.tolist() == ["neighbor", "probability"]
    settled = {"variant", "shared", "n_learners", "n_heads", "n_draws", "pair_draw"}
    assert not settled & set(links.get_params())


def test_what_it_refuses_is_said_in_its_name() -> None:
    with pytest.raises(ParameterError, match="'aggregator' parameter of GraphSAGEClassifier"):
        GraphSAGEClassifier(network(), aggregator="gin").fit(["ash01"], ["a"])
    with pytest.raises(ParameterError, match="'learning_rate' parameter of GINLinkPredictor"):
        GINLinkPredictor(network(), learning_rate=0).fit()
