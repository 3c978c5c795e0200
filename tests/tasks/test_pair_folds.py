"""Folds of pairs: nothing of a fold is left in its network; bags grow; recommendations bring evidence."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from link_cases import make_predictor

import honlearn as hl
from honlearn.ensemble import growing_bag, pair_folds, pair_inference
from honlearn.ensemble.fold_training import FoldTrainer
from honlearn.ensemble.pair_folds import POOL, FoldedPairs
from honlearn.errors import FormatError, InputError, ParameterError
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.sampling.pairs import edge_keys, keyed_pairs, linked_keys, pair_keys
from honlearn.tasks.links import DGELinkPredictor

FAST: dict[str, Any] = {
    "n_learners": 2,
    "widths": (8, 8),
    "pair_width": 8,
    "pair_common": 3,
    "pair_folds": 4,
    "max_epochs": 2,
    "n_threads": 1,
    "random_state": 0,
}


@cache
def walks() -> Paths:
    """Return walks round a ring of 40 entities with memory of the step before."""
    random = np.random.default_rng(3)
    lists = []
    for _ in range(1500):
        walk = [int(random.integers(40))]
        turn = int(random.choice([1, 2, 5]))
        for _ in range(4):
            walk.append((walk[-1] + (turn if random.random() < 0.8 else int(random.choice([1, 2, 5])))) % 40)
        lists.append([f"n{i:02d}" for i in walk])
    return Paths.from_lists(lists)


@cache
def network() -> HigherOrderNetwork:
    return hl.grow(walks(), order=2, tau=0.5, min_support=3)


def predictor(**given: Any) -> DGELinkPredictor:
    return make_predictor(network(), **{**FAST, "paths": walks(), **given})


@cache
def fitted() -> DGELinkPredictor:
    return predictor(max_epochs=8).fit()


def test_no_batch_sees_a_trace_of_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[FoldedPairs, np.ndarray]] = []
    plain = FoldTrainer._roots

    def spy(self: FoldTrainer, positions: np.ndarray, *occasion: Any) -> Any:
        seen.append((self._folded, positions[0]))
        return plain(self, positions, *occasion)

    monkeypatch.setattr(FoldTrainer, "_roots", spy)
    predictor().fit()
    size = network().n_entities
    assert network().max_order == 2
    trained = set()
    for folded, positions in seen:
        (fold,) = set(folded.folds[positions].tolist())
        view = folded.views[fold].network
        own = pair_keys(folded.pairs[positions], size, directed=False)
        assert not np.isin(edge_keys(view, directed=False), own).any()
        steps = np.array([view.grams[o : o + 2] for o in view.gram_offsets[:-1][view.order == 2]], np.int32)
        assert not np.isin(pair_keys(steps.reshape(-1, 2), size, directed=False), own).any()
        trained |= set(pair_keys(folded.pairs[positions], size)[folded.labels[positions] == 1].tolist())
    assert trained == set(linked_keys(network()).tolist())
    folded = seen[0][0]
    assert len(folded.views) == 4
    # Both directions of a pair are in one fold.
    keys = pair_keys(folded.pairs, size, directed=False)
    assert all(len(set(folded.folds[keys == key].tolist())) == 1 for key in np.unique(keys)[:200])
    assert not np.isin(pair_keys(folded.pairs[folded.labels == 0], size), linked_keys(network())).any()
    assert (folded.labels == 0).sum() <= POOL * folded.labels.sum()


def test_counts_of_a_fold_do_not_depend_on_what_it_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[FoldedPairs] = []
    plain = FoldTrainer._start

    def spy(self: FoldTrainer) -> None:
        folded.append(self._folded)
        plain(self)

    monkeypatch.setattr(FoldTrainer, "_start", spy)
    predictor(max_epochs=1).fit()
    first = folded[0]
    rows = np.flatnonzero(first.folds == 0)
    hidden = pair_keys(first.pairs[rows], 40, directed=False)
    vocabulary = walks().vocabulary
    # Every step of the fold is made once more: what its pairs read stays the same.
    names = [tuple(network().vocabulary[int(code)] for code in pair) for pair in first.pairs[rows]]
    linked = [name for name, label in zip(names, first.labels[rows], strict=True) if label == 1]
    more = Paths.from_lists([*(tuple(path) for path in walks()), *linked])
    assert len(vocabulary) == len(more.vocabulary)
    from honlearn.sampling.lags import PathLags

    before, after = (
        PathLags(paths, network().vocabulary).count(first.pairs[rows]) for paths in (walks(), more)
    )
    for one, other in zip(before, after, strict=True):
        assert (one != other).nnz == 0
    assert len(hidden)


def test_a_bag_grows_until_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_bag, "_gains", lambda before, after: True)
    whole = predictor(n_learners=5).fit()
    assert whole.n_learners_ == 5
    monkeypatch.setattr(growing_bag, "_gains", lambda before, after: False)
    small = predictor(n_learners=5).fit()
    assert small.n_learners_ == 4
    pairs = [("n00", "n01"), ("n00", "n07")]
    # A bag that was grown is the first part of a larger one.
    assert np.array_equal(small.member_proba(pairs), whole.member_proba(pairs)[:4])
    assert len(small.best_epochs_) == 4
    mixed = predictor(n_learners=6, learner=["sage", "gin"]).fit()
    assert mixed.n_learners_ == 6
    assert mixed.member_proba(pairs).shape == (6, 2, 2)


def test_gains_are_compared_with_their_standard_error() -> None:
    before = np.array([1.0, 1.2, 0.8, 1.1])
    assert growing_bag._gains(before, before - 0.1)
    assert not growing_bag._gains(before, before)
    # A gain that is certain, and too small to be of use.
    assert not growing_bag._gains(before, before - 0.004)
    assert growing_bag._gains(before, before - 0.006)
    assert not growing_bag._gains(before, before - np.array([0.5, -0.5, 0.5, -0.4]))


def test_recommendations_bring_their_evidence() -> None:
    model = fitted()
    table = model.recommend(["n00", "n05"], top=4)
    assert table["node"].tolist() == ["n00"] * 4 + ["n05"] * 4
    assert ((table["probability"] >= 0) & (table["probability"] <= 1)).all()
    links = {
        (network().vocabulary[int(k // 40)], network().vocabulary[int(k % 40)])
        for k in linked_keys(network())
    }
    for row in table.itertuples():
        common = [
            z for z in walks().vocabulary.names if (row.node, z) in links and (z, row.neighbor) in links
        ]
        assert row.n_common == len(common)
        assert set(row.common_neighbors) <= set(common)
        pieces = [tuple(path)[i : i + 3] for path in walks() for i in range(3)]
        assert row.lag_2 == sum(piece[0] == row.node and piece[2] == row.neighbor for piece in pieces)
        assert all(text.startswith(f"{row.node} → ") for text in row.paths)
    alone = model.recommend("n00", top=4)
    some = table[table["node"] == "n00"].drop(columns="node").reset_index(drop=True)
    np.testing.assert_allclose(alone.pop("probability"), some.pop("probability"), rtol=1e-4)
    assert alone.equals(some)
    assert model.recommend([], top=3).empty


@pytest.mark.parametrize("block", [1, 100, 1 << 17])
def test_all_targets_of_a_source_at_once_are_the_pairs_one_by_one(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted()
    _, inference = model._inference([], "recommend")
    sources = (7, 3, 11)
    pairs = np.array([[u, v] for u in sources for v in range(40) if v not in (u, u + 1)], np.int32)
    monkeypatch.setattr(pair_inference, "_ROW", 1)
    monkeypatch.setattr(pair_inference, "_ROWS_BLOCK", block)
    monkeypatch.setattr(inference, "proba", None)
    found = inference.link_proba(pairs)
    np.testing.assert_allclose(found, model.predict_proba(named(pairs))[:, 1], rtol=1e-5, atol=1e-7)


def named(pairs: np.ndarray) -> list[tuple[str, str]]:
    names = network().vocabulary.names
    return [(names[u], names[v]) for u, v in pairs.tolist()]


def test_suggestions_have_the_false_discovery_rates_of_their_node() -> None:
    model = fitted()
    scores = model.unlinked_scores_
    assert len(scores)
    table = model.recommend(["n00", "n05"], top=6)
    for node, rows in table.groupby("node"):
        free = [name for name in network().vocabulary if name != node and (node, name) not in set(links())]
        own = np.sort(model.predict_proba([(node, name) for name in free])[:, 1])[::-1][:6].astype(float)
        p = np.array([(1 + (scores >= one - 1e-9).sum()) / (len(scores) + 1) for one in own])
        expected = [min(1.0, min(p[j] * len(free) / (j + 1) for j in range(i, 6))) for i in range(6)]
        np.testing.assert_allclose(rows["q_value"], expected, rtol=1e-6)
    rate = float(table["q_value"].median())
    kept = model.recommend(["n00", "n05"], top=6, max_fdr=rate)
    wanted = table[table["q_value"] <= rate]
    assert kept[["node", "neighbor"]].values.tolist() == wanted[["node", "neighbor"]].values.tolist()
    with pytest.raises(ParameterError, match=r"'max_fdr' parameter of DGELinkPredictor.recommend"):
        model.recommend("n00", max_fdr=1.5)


def links() -> list[tuple[str, str]]:
    return named(keyed_pairs(linked_keys(network()), 40))


def test_without_pairs_held_back_there_is_no_rate() -> None:
    model = predictor(validation_fraction=0.0).fit()
    assert model.recommend("n00", top=2)["q_value"].isna().all()
    with pytest.raises(InputError, match="max_fdr needs unlinked pairs that were held back"):
        model.recommend("n00", max_fdr=0.1)


def test_saved_models_keep_counts_and_calibration(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path / "model")
    loaded = hl.load_model(tmp_path / "model")
    pairs = [("n00", "n01"), ("n00", "n07"), ("n31", "n02")]
    assert loaded.predict_proba(pairs).tobytes() == model.predict_proba(pairs).tobytes()
    assert loaded.calibration_ == model.calibration_
    assert np.array_equal(loaded.unlinked_scores_, model.unlinked_scores_)
    ours, theirs = model.recommend("n03"), loaded.recommend("n03")
    # A model holds counts of its paths, but not the paths.
    assert theirs.equals(ours.drop(columns="paths"))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("pairs.mean", lambda t: t[:-6], "an older honlearn wrote the model: train it again"),
        ("pairs.scale", lambda t: t[:-1], "scale"),
        ("pairs.lag2.indices", lambda t: t + 100, "lag 2 is no matrix of counts"),
        ("pairs.lag3.data", lambda t: -t, "lag 3 is no matrix of counts"),
        ("pairs.lag4.indptr", lambda t: t.flip(0), "lag 4 is no matrix of counts"),
        ("pairs.unlinked", lambda t: t + 1, "scores of unlinked pairs must be probabilities"),
        ("pairs.unlinked", lambda t: t * float("nan"), "holds NaN or infinite numbers"),
        ("pairs.scale", None, "of what pairs read is not what a model holds"),
    ],
)
def test_hostile_tensors_are_refused(name: str, change: Any, message: str) -> None:
    from honlearn.stored import Fields
    from honlearn.tasks.pair_storage import pair_config, pair_tensors, restore_pairs

    model = fitted()
    tensors = pair_tensors(model)
    if change is None:
        del tensors[name]
    else:
        tensors[name] = change(tensors[name])
    fields = Fields(pair_config(model), "config.json")
    with pytest.raises(FormatError, match=message):
        restore_pairs(model, fields, tensors, "weights")


@pytest.mark.parametrize("given", [{"learners": 0}, {"calibration": {"intercept": 1.0}}])
def test_hostile_configs_are_refused(given: dict[str, Any]) -> None:
    from honlearn.stored import Fields
    from honlearn.tasks.pair_storage import pair_config, pair_tensors, restore_pairs

    model = fitted()
    fields, tensors = Fields({**pair_config(model), **given}, "config.json"), pair_tensors(model)
    with pytest.raises(FormatError, match=r"learners|slope"):
        restore_pairs(model, fields, tensors, "weights")


def test_models_of_one_split_share_their_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    pair_folds._known.clear()
    calls, folded = [], pair_folds._folded
    monkeypatch.setattr(pair_folds, "_folded", lambda *given: calls.append(1) or folded(*given))
    pairs = [("n00", "n01"), ("n00", "n20")]
    answers = [predictor(variant=variant).fit().predict_proba(pairs) for variant in ("bag", "pool", "bag")]
    assert len(calls) == 1
    np.testing.assert_array_equal(answers[0], answers[2])
    pair_folds._known.clear()
    np.testing.assert_array_equal(predictor(variant="pool").fit().predict_proba(pairs), answers[1])
    for other in ({"random_state": 1}, {"pair_common": 0}, {"pair_folds": 3}, {"directed": False}):
        predictor(**other).fit()
    assert len(calls) == 6
