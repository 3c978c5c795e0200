"""The count model of a link predictor: fitted on hidden counts, with a share that held-back pairs give."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from link_cases import linked_communities, make_predictor
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from honlearn.ensemble.pair_folds import FoldedPairs
from honlearn.ensemble.training import Held
from honlearn.errors import FormatError, ParameterError
from honlearn.sampling.pair_counts import PairCounts
from honlearn.stored import Fields
from honlearn.tasks import count_share
from honlearn.tasks.count_share import count_part
from honlearn.tasks.link_split import split_links
from honlearn.tasks.links import DGELinkPredictor
from honlearn.tasks.pair_storage import pair_config, pair_tensors, restore_pairs

FAST: dict[str, Any] = {
    "n_learners": 2,
    "widths": (8, 8),
    "pair_width": 8,
    "max_epochs": 3,
    "n_threads": 1,
    "random_state": 0,
}
HELD = split_links(linked_communities(), 0.1, seed=0)


def predictor(**given: Any) -> DGELinkPredictor:
    return make_predictor(HELD.network, **{**FAST, **given})


@cache
def fitted() -> DGELinkPredictor:
    return predictor().fit(exclude=HELD.names)


@cache
def folded() -> FoldedPairs:
    model = predictor()
    model.seed_, model.network_ = 0, HELD.network
    examples = model._prepare(None, None, HELD.names).trained(model._source(), model._reads, 0).examples
    assert isinstance(examples, FoldedPairs)
    return examples


def held_back(linked: Any) -> Held:
    """Return what two learners held back of the first fold; `linked` gives the probability by label."""
    examples = folded()
    positions = np.flatnonzero(examples.folds == 0)
    p = np.asarray(linked(examples.labels[positions]), np.float32)
    proba = np.stack([1 - p, p], 1)
    return Held(*(np.stack([one, one]) for one in (positions, proba, examples.labels[positions])))


def all_counts() -> np.ndarray:
    examples = folded()
    out = np.empty((len(examples), len(PairCounts.names)))
    for position, (fold, place) in enumerate(zip(examples.folds, examples.places, strict=True)):
        features = examples.extras[fold].features
        assert features is not None
        out[position] = features[place, : out.shape[1]]
    return out


def test_the_model_is_a_logistic_regression_on_hidden_counts() -> None:
    examples = folded()
    found = count_part(examples, held_back(lambda y: 0.2 + 0.6 * y), 0.3, 0).model
    assert found is not None
    assert found.share == 0.3
    linked = examples.labels == 1
    weights = np.where(linked, 1.0, examples.weights * linked.sum() / (~linked).sum())
    expected = [
        LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(all_counts(), examples.labels, weights)
        for C in count_share.STRENGTHS
    ]
    apart = [np.abs(one.coef_[0] - found.coefficients).max() for one in expected]
    assert min(apart) < 5e-3
    assert found.intercept == pytest.approx(expected[int(np.argmin(apart))].intercept_[0], abs=5e-3)


def test_what_is_judged_did_not_see_the_held_back_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    rows = count_share._rows
    monkeypatch.setattr(count_share, "_rows", lambda e, at, seed: seen.append(at) or rows(e, at, seed))
    held = held_back(lambda y: np.full(len(y), 0.5))
    count_part(folded(), held, "auto", 0)
    judged, final = seen
    assert not np.isin(judged, held.positions[0]).any()
    assert len(final) == len(folded())


@pytest.mark.parametrize(
    ("linked", "least", "most"),
    [
        (lambda y: 0.01 + 0.98 * y, 0.0, 0.05),  # learners that are right
        (lambda y: np.full(len(y), 0.5), 0.9, 1.0),  # learners that know nothing
    ],
)
def test_the_share_goes_to_who_predicts_better(linked: Any, least: float, most: float) -> None:
    found = count_part(folded(), held_back(linked), "auto", 0).model
    assert found is not None
    assert least <= found.share <= most


def test_predictions_are_mixed_by_the_share() -> None:
    model, pairs = fitted(), HELD.names
    counts, scaling = model.count_model_, model._scaling
    assert counts is not None
    assert scaling is not None
    assert 0 < counts.share < 1
    features = model._source().whole.extras(HELD.pairs, scaling).features  # type: ignore[union-attr]
    own = expit(features[:, : len(counts.coefficients)] @ counts.coefficients + counts.intercept)
    learned = model.member_proba(pairs)[:, :, 1].mean(0)
    expected = (1 - counts.share) * learned + counts.share * own
    np.testing.assert_allclose(model.predict_proba(pairs)[:, 1], expected, rtol=1e-5)
    np.testing.assert_allclose(model._codes_proba(HELD.pairs), expected, rtol=1e-4)
    table = model.members_
    assert table["learner"].tolist() == ["sage", "sage", "counts"]
    assert table["weight"].sum() == pytest.approx(1)
    assert table["weight"].iloc[-1] == counts.share


def test_the_share_can_be_given() -> None:
    pairs = HELD.names[:20]
    learners, counts = (predictor(count_share=share).fit(exclude=HELD.names) for share in (0, 1.0))
    assert learners.count_model_ is None
    np.testing.assert_allclose(
        learners.predict_proba(pairs), learners.member_proba(pairs).mean(0), rtol=1e-5, atol=1e-7
    )
    assert counts.members_["weight"].tolist() == [0, 0, 1]
    assert not np.allclose(counts.predict_proba(pairs), counts.member_proba(pairs).mean(0), atol=1e-3)
    # Nothing is held back to choose by.
    half = predictor(validation_fraction=0.0, max_epochs=1).fit(exclude=HELD.names)
    assert half.count_model_ is not None
    assert half.count_model_.share == 0.5
    for share in (1.5, "most"):
        with pytest.raises(ParameterError, match=r"'pairs.count_share' parameter of DGELinkPredictor"):
            predictor(count_share=share).fit()
    assert predictor(pair_counts=False).fit().count_model_ is None


def test_held_back_predictions_mix_a_model_that_did_not_see_them() -> None:
    held, examples = held_back(lambda y: 0.3 + 0.4 * y), folded()
    found = count_part(examples, held, 0.25, 0)
    assert found.model is not None
    positions, seen = held.positions[0], examples.folds != 0
    counts, labels = all_counts(), examples.labels
    fewer = (labels[seen] == 1).sum() / (labels[seen] == 0).sum()
    weights = np.where(labels == 1, 1.0, examples.weights * fewer)
    apart = []
    for C in count_share.STRENGTHS:
        inner = LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(
            counts[seen], labels[seen], weights[seen]
        )
        own = inner.predict_proba(counts[positions])[:, 1]
        apart.append(np.abs(found.held - (0.75 * held.proba[0, :, 1] + 0.25 * own)).max())
    assert min(apart) < 2e-3
    # The model that predicts has seen them, and differs.
    whole = expit(counts[positions] @ found.model.coefficients + found.model.intercept)
    assert np.abs(found.held - (0.75 * held.proba[0, :, 1] + 0.25 * whole)).max() > 2e-3
    np.testing.assert_allclose(count_part(examples, held, 0, 0).held, held.proba[0, :, 1])


@pytest.mark.parametrize("directed", [True, False])
def test_learners_score_the_candidates_that_counts_rank_first(directed: bool) -> None:
    model = predictor(directed=directed, max_epochs=1).fit(exclude=HELD.names)
    counts, node, names = model.count_model_, "elm03", list(HELD.network.vocabulary.names)
    assert counts is not None
    assert model._scaling is not None
    every = model.recommend(node, top=100, candidates=None)
    pairs = np.array([[names.index(node), names.index(one)] for one in every["neighbor"]], np.int32)
    features = model._source().whole.extras(pairs, model._scaling).features  # type: ignore[union-attr]
    first = np.argsort(-counts.logits(features))[:8]
    expected = [one for place, one in enumerate(every["neighbor"]) if place in first]
    short = model.recommend(node, top=8, candidates=8)
    assert set(short["neighbor"]) == set(expected)
    assert model.recommend(node, top=3, candidates=8)["neighbor"].tolist() == expected[:3]
    # There are always as many as are asked for, and small networks are scored whole.
    assert len(model.recommend(node, top=8, candidates=2)) == 8
    columns = ["neighbor", "probability", "disagreement"]
    assert model.recommend(node, top=5)[columns].equals(every[columns][:5])
    several = model.recommend([node, "oak01"], top=8, candidates=8)
    assert several[several["node"] == node]["neighbor"].tolist() == short["neighbor"].tolist()
    with pytest.raises(ParameterError, match=r"'candidates' parameter of DGELinkPredictor.recommend"):
        model.recommend(node, candidates=0)


def test_parts_of_an_explanation_add_up_to_the_logit() -> None:
    model = fitted()
    counts = model.count_model_
    assert counts is not None
    found = model.explain("ash00", "ash07", top=len(PairCounts.names))
    parts = [one.logit for one in found.of_kind("count")]
    assert len(parts) == len(PairCounts.names)
    alone = {one.name: one.probability for one in found.references}
    by_counts = alone[f"by counts alone (share {counts.share:.2f})"]
    assert expit(sum(parts) + counts.intercept) == pytest.approx(by_counts, abs=1e-6)
    mixed = counts.share * by_counts + (1 - counts.share) * alone["by the learners alone"]
    assert mixed == pytest.approx(found.probability, abs=1e-6)
    assert model.member_proba([("ash00", "ash07")])[:, 0, 1].mean() == pytest.approx(
        alone["by the learners alone"], abs=1e-5
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config, tensors: tensors.pop("pairs.coefficients"), "count model does not belong"),
        (lambda config, tensors: config.pop("counts"), "count model does not belong"),
        (lambda config, tensors: tensors["pairs.coefficients"].mul_(1e9), "coefficients of counts of more"),
        (lambda config, tensors: config["counts"].update(share=2.0), "share"),
        (lambda config, tensors: config["counts"].update(more=1), "more"),
    ],
)
def test_hostile_count_models_are_refused(change: Any, message: str) -> None:
    model = predictor(max_epochs=1).fit(exclude=HELD.names)
    config = pair_config(model)
    tensors = {name: tensor.clone() for name, tensor in pair_tensors(model).items()}
    change(config, tensors)
    with pytest.raises(FormatError, match=message):
        restore_pairs(model, Fields(config, "config.json"), tensors, "weights")
