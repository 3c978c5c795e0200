from __future__ import annotations

import numpy as np
import pytest
from baseline_cases import network, nodes
from sklearn.metrics import roc_auc_score

from honlearn.baselines.majority import MajorityClassifier
from honlearn.baselines.popularity import PopularityPredictor
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork


def test_majority_is_the_frequency_of_each_class() -> None:
    names, _ = nodes()
    model = MajorityClassifier(network()).fit(names[:4], ["b", "a", "b", "b"])
    np.testing.assert_array_equal(
        model.predict_proba(names), np.tile(np.float32([0.25, 0.75]), (len(names), 1))
    )
    assert set(model.predict(names)) == {"b"}


def scale_free() -> HigherOrderNetwork:
    """Return links whose chance is the product of how much one sends and the other receives."""
    random = np.random.default_rng(0)
    send, receive = random.pareto(1.5, (2, 60))
    linked = random.random((60, 60)) < np.minimum(send[:, None] * receive * 0.05, 0.9)
    np.fill_diagonal(linked, False)
    u, v = np.nonzero(linked)
    return from_edges([f"n{i}" for i in u], [f"n{i}" for i in v], np.ones(len(u), int))


@pytest.mark.parametrize("directed", [True, False])
def test_popularity_grows_with_the_product_of_degrees(directed: bool) -> None:
    hon = scale_free()
    names = list(hon.vocabulary)
    model = PopularityPredictor(hon, directed=directed, random_state=0).fit()
    pairs = [(a, b) for a in names for b in names if a != b]
    linked = model.predict_proba(pairs)[:, 1]
    out = {name: len(hon.neighbors(name)) for name in names}
    into = {name: len(hon.neighbors(name, "in")) for name in names}
    if not directed:
        out = into = {name: len({*hon.neighbors(name), *hon.neighbors(name, "in")}) for name in names}
    product = np.array([out[a] * into[b] for a, b in pairs])
    order = np.argsort(product, kind="stable")
    assert (np.diff(linked[order]) >= -1e-6).all()
    assert linked[order[-1]] > 0.9 > 0.4 > linked[order[0]]
    if directed:
        truth = [b in hon.neighbors(a) for a, b in pairs]
        assert roc_auc_score(truth, linked) > 0.75


def test_popularity_does_not_count_the_pair_that_is_asked_about() -> None:
    # A chain: every linked pair has the degrees 1 and 1, without its own link 0 and 0.
    hon = from_edges(list("ACEG"), list("BDFH"), [1, 1, 1, 1])
    model = PopularityPredictor(hon, random_state=0).fit()
    assert float(model.state_["line"][0]) == 0.0
