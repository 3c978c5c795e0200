"""DGELinkPredictor: every variant learns links, sees nothing that is hidden, and names what is wrong."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from link_cases import linked_communities, make_predictor
from sklearn.metrics import average_precision_score

import honlearn as hl
from honlearn.engine.runtime import Runtime
from honlearn.ensemble import pair_training
from honlearn.ensemble.fitting import fit_ensemble
from honlearn.ensemble.groups import Groups
from honlearn.ensemble.pairs import OPERATORS
from honlearn.errors import FormatError, InputError, ParameterError, UnknownNodeError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import draw_unlinked, keyed_pairs, linked_keys, pair_keys
from honlearn.tasks.estimator import described
from honlearn.tasks.link_parameters import training_pairs
from honlearn.tasks.link_split import LinkSplit, hide_pairs, split_links
from honlearn.tasks.links import DGELinkPredictor

FAST: dict[str, Any] = {
    "n_learners": 3,
    "widths": (16, 16),
    "pair_width": 16,
    "input_dropout": 0.2,
    "max_epochs": 6,
    "patience": 10,
    "batch_size": 192,
    "n_threads": 1,
    "random_state": 0,
}
# Pairs as a single model reads them: their ends alone, and each batch's edges hidden.
PLAIN: dict[str, Any] = {
    "operator": "concat+hadamard",
    "pair_folds": 0,
    "pair_counts": False,
    "pair_common": 0,
    "negatives": "uniform",
}
VARIANTS = [(v, s) for v in ("bag", "pool", "concat", "attn") for s in (False, True)] + [("batch", True)]


@cache
def split(directed: bool = True) -> LinkSplit:
    return split_links(linked_communities(), 0.1, seed=0, directed=directed)


def fitted(held: LinkSplit | None = None, **settings: Any) -> DGELinkPredictor:
    held = held or split()
    return make_predictor(held.network, **{**FAST, **settings}).fit(exclude=held.names)


def auprc(model: DGELinkPredictor, held: LinkSplit | None = None) -> float:
    held = held or split()
    return float(average_precision_score(held.labels, model.predict_proba(held.names)[:, 1]))


@pytest.mark.parametrize(("variant", "shared"), VARIANTS)
def test_every_variant_learns(variant: str, shared: bool) -> None:
    model = fitted(variant=variant, shared=shared, max_epochs=10)
    held = split()
    proba, members = model.predict_proba(held.names), model.member_proba(held.names)
    assert proba.shape == (len(held.labels), 2)
    assert members.shape == (model.n_learners_, len(held.labels), 2)
    np.testing.assert_allclose(proba.sum(1), 1, rtol=1e-5)
    assert auprc(model) > 0.6  # 0.5 expected by chance
    if variant == "bag":
        model.count_model_ = None
        model._restore(model.ensemble_.state_dict())
        np.testing.assert_allclose(members.mean(0), model.predict_proba(held.names), rtol=1e-4, atol=1e-6)
    assert set(model.predict(held.names).tolist()) <= {0, 1}
    assert ((model.disagreement(held.names) >= 0) & (model.disagreement(held.names) <= 1)).all()


@pytest.mark.parametrize("operator", [*OPERATORS, "concat+hadamard", "concat+product"])
@pytest.mark.parametrize("pair_width", [0, 8])
def test_operators(operator: str, pair_width: int) -> None:
    model = fitted(**PLAIN | {"operator": operator, "pair_width": pair_width, "max_epochs": 2})
    there, back = [("ash00", "oak01")], [("oak01", "ash00")]
    same = np.allclose(model.predict_proba(there), model.predict_proba(back), atol=1e-6)
    assert same is not ("concat" in operator or "product" in operator)


@pytest.mark.parametrize("operator", ["concat", "product"])
def test_without_direction_the_order_does_not_count(operator: str) -> None:
    held = split(directed=False)
    model = fitted(held, directed=False, operator=operator, n_draws=2, max_epochs=10)
    backwards = [(v, u) for u, v in held.names]
    assert np.array_equal(model.predict_proba(held.names), model.predict_proba(backwards))
    assert auprc(model, held) > 0.6


@pytest.mark.parametrize("settings", [{"aggregator": "max"}, {"learner": "gin"}, {"fan_outs": (5, 2)}])
def test_other_learners(settings: dict[str, Any]) -> None:
    assert auprc(fitted(**settings, max_epochs=10)) > 0.6


# --- what is hidden stays hidden --------------------------------------------------------------------


def with_other_hidden_weights(hon: HigherOrderNetwork, held: LinkSplit) -> HigherOrderNetwork:
    """Return the network with the weights of the edges between test pairs permuted."""
    keys = pair_keys(np.stack([hon.base[hon.sources], hon.base[hon.indices]], 1), hon.n_entities, False)
    hidden = np.isin(keys, pair_keys(held.pairs, hon.n_entities, False))
    weights = np.array(hon.weights)
    weights[hidden] = np.random.default_rng(9).permutation(weights[hidden])
    assert not np.array_equal(weights, hon.weights)
    return HigherOrderNetwork(
        hon.vocabulary, hon.gram_offsets, hon.grams, hon.indptr, hon.indices, weights, hon.statistics
    )


@pytest.mark.parametrize("pair_draw", ["joint", "independent"])
@pytest.mark.parametrize("variant", ["bag", "pool"])
def test_permuting_hidden_weights_changes_no_prediction(variant: str, pair_draw: str) -> None:
    hon = linked_communities()
    ours = split()
    other = split_links(with_other_hidden_weights(hon, ours), 0.1, seed=0)
    assert np.array_equal(ours.pairs, other.pairs)
    settings = {"variant": variant, "pair_draw": pair_draw, "max_epochs": 3, "n_draws": 2}
    first, second = fitted(ours, **settings), fitted(other, **settings)
    assert first.predict_proba(ours.names).tobytes() == second.predict_proba(ours.names).tobytes()
    assert first.member_proba(ours.names).tobytes() == second.member_proba(ours.names).tobytes()


def test_training_pairs_never_meet_test_pairs_or_links(monkeypatch: pytest.MonkeyPatch) -> None:
    held, hon = split(), linked_communities()
    seen: list[np.ndarray] = []
    plain = pair_training.PairTrainer._epoch_pairs

    def spy(self: pair_training.PairTrainer) -> np.ndarray:
        pairs = plain(self)
        seen.append(pairs.copy())
        return pairs

    monkeypatch.setattr(pair_training.PairTrainer, "_epoch_pairs", spy)
    fitted(**PLAIN)
    tested = pair_keys(held.pairs, hon.n_entities)
    linked, visible = linked_keys(hon), linked_keys(held.network)
    epochs = {pairs.tobytes(): pairs for pairs in seen}
    assert len(epochs) > 3  # new negatives every epoch
    for pairs in epochs.values():
        keys = pair_keys(pairs, hon.n_entities)
        assert not np.isin(keys, tested).any()
        positives, negatives = keys[: len(visible)], keys[len(visible) :]
        assert np.array_equal(positives, visible)
        assert not np.isin(negatives, linked).any()


def test_own_links_are_hidden_from_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden: list[int] = []
    monkeypatch.setattr(
        "honlearn.tasks.links.hide_pairs",
        lambda network, pairs: hidden.append(len(pairs)) or hide_pairs(network, pairs),
    )
    fitted(**PLAIN, max_epochs=2)
    positives = len(linked_keys(split().network))
    batches, held = [n for n in hidden if n > min(hidden)], min(hidden)
    assert abs(held - 0.1 * positives) < 1
    # Every training link is hidden once an epoch, beside those of the validation part.
    assert sum(n - held for n in batches) == 2 * (positives - held)
    hidden.clear()
    fitted(**PLAIN, max_epochs=2, hide_own=False)
    assert hidden == [held]


# --- fit with pairs, recommend, seeds ---------------------------------------------------------------


def test_fit_on_given_pairs() -> None:
    held = split()
    linked = keyed_pairs(linked_keys(held.network), held.network.n_entities)
    random = np.random.default_rng(0)
    others = draw_unlinked(random, len(linked), 60, linked_keys(linked_communities()))
    names = np.array(held.network.vocabulary.names, dtype=object)
    pairs = np.concatenate([names[linked], names[others]])
    y = np.repeat([1, 0], len(linked))
    model = make_predictor(held.network, **{**FAST, "max_epochs": 10}).fit(pairs, y)
    assert auprc(model) > 0.6
    repeated = make_predictor(held.network, **{**FAST, "max_epochs": 10}).fit(
        np.concatenate([pairs, pairs[:5]]), np.concatenate([y, y[:5]])
    )
    assert np.array_equal(model.predict_proba(held.names), repeated.predict_proba(held.names))


def test_recommendations_are_the_best_new_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    model, hon = fitted(), split().network
    monkeypatch.setattr("honlearn.ensemble.pair_inference.BLOCK", 7)
    table = model.recommend("elm03", top=5)
    known = {hon.vocabulary[v] for u, v in keyed_pairs(linked_keys(hon), 60) if hon.vocabulary[u] == "elm03"}
    others = [name for name in hon.vocabulary if name != "elm03" and name not in known]
    pairs = [("elm03", name) for name in others]
    proba = model.predict_proba(pairs)[:, 1]
    best = np.argsort(-proba, kind="stable")[:5]
    assert table["neighbor"].tolist() == [others[i] for i in best]
    np.testing.assert_allclose(table["probability"], model.calibration_(proba[best]), rtol=1e-5)
    np.testing.assert_allclose(table["disagreement"], model.disagreement(pairs)[best])
    assert len(model.recommend("elm03", top=1000)) == len(others)


@pytest.mark.parametrize("sampled", [False, True])
def test_a_learner_alone_is_that_learner_in_company(monkeypatch: pytest.MonkeyPatch, sampled: bool) -> None:
    held, validation = split(), {"validation_fraction": 0.0, "max_epochs": 2}
    if sampled:  # held-back pairs are computed in small chunks, each of which draws neighbours of its own
        monkeypatch.setattr("honlearn.ensemble.inference._CHUNK", 1 << 17)
        validation = {"fan_outs": (4, 2), "validation_fraction": 0.3, "max_epochs": 6}
    for_all = fitted(**PLAIN, **validation, widths=(24, 24))
    given = ("Owner", held.network, None, None, held.names, True, for_all.seed_)
    examples, unlinked = training_pairs(*given)
    shape, run = for_all.architecture_, Runtime("cpu", 1)
    options = for_all._options(shape, len(examples))
    make = for_all._model(shape)._maker(run, examples, unlinked, lambda phase: "")
    with run.threads():
        together = fit_ensemble(shape, range(2), options, Groups(make))
        alone = [fit_ensemble(shape, [learner], options, Groups(make)) for learner in range(2)]
    for learner, fit in enumerate(alone):
        assert fit.state.keys() == together.state.keys()
        for name, tensor in fit.state.items():
            assert tensor[0].numpy().tobytes() == together.state[name][learner].numpy().tobytes()
    if sampled:
        first = [fit.history[0]["validation_loss"] for fit in (together, *alone)]
        assert first[0] == pytest.approx(np.mean(first[1:]), abs=1e-7)


def test_the_seed_and_nothing_else_decides() -> None:
    names = split().names
    first, again = fitted().predict_proba(names), fitted(n_threads=2).predict_proba(names)
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != fitted(random_state=1).predict_proba(names).tobytes()


def test_relatives_decide_joint_draws_for_known_links() -> None:
    held = split()
    known = [
        tuple(held.network.vocabulary[int(code)] for code in pair)
        for pair in keyed_pairs(linked_keys(held.network), 60)[:200]
    ]
    one, other = fitted(pair_draw="joint", n_draws=3), fitted(pair_draw="joint", n_draws=3)
    other.set_params(pairs__draw="independent")
    assert not np.allclose(one.predict_proba(known), other.predict_proba(known), atol=1e-3)
    np.testing.assert_allclose(one.predict_proba(held.names), other.predict_proba(held.names), atol=1e-5)


# --- save, load, resume -----------------------------------------------------------------------------


# Every variant with every learner, saved and resumed: test_learners_in_ensembles.py.
@pytest.mark.parametrize(("variant", "shared"), [("bag", False), ("pool", True)])
def test_saved_models_predict_the_same_bytes(variant: str, shared: bool, tmp_path: Path) -> None:
    model = fitted(variant=variant, shared=shared, max_epochs=2)
    model.save(tmp_path / "model")
    loaded = hl.load_model(tmp_path / "model")
    names = split().names
    assert isinstance(loaded, DGELinkPredictor)
    assert loaded.predict_proba(names).tobytes() == model.predict_proba(names).tobytes()
    assert loaded.member_proba(names).tobytes() == model.member_proba(names).tobytes()
    assert loaded.recommend("ash01").equals(model.recommend("ash01"))


def test_a_killed_fit_goes_on_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "fit.safetensors"
    settings = {"max_epochs": 3, "refit": 1.0}
    whole = fitted(**settings).predict_proba(split().names)
    steps = itertools.count()
    plain = pair_training.PairTrainer._losses

    def killed(self: Any, *arguments: Any) -> Any:
        if next(steps) == 11:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(pair_training.PairTrainer, "_losses", killed)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        fitted(**settings, checkpoint=file, checkpoint_seconds=0)
    assert file.exists()
    with pytest.raises(FormatError, match="belongs to a fit with other data, parameters or seed"):
        fitted(**settings, operator="l1", checkpoint=file)
    resumed = fitted(**settings, checkpoint=file, checkpoint_seconds=0)
    assert resumed.predict_proba(split().names).tobytes() == whole.tobytes()
    assert not list(tmp_path.iterdir())


# --- bad input --------------------------------------------------------------------------------------

GOOD = [("ash00", "ash01"), ("ash02", "elm03")]


@pytest.mark.parametrize(
    ("pairs", "y", "error", "message"),
    [
        ([("ash00", "ash0l")], [1], UnknownNodeError, r"1 of 2 names .* 'ash0l'; did you mean 'ash\d+'\?"),
        ([("ash00", "ash00")], [1], InputError, r"1 pairs have equal ends \('ash00'\); a pair is two"),
        ([*GOOD, GOOD[0]], [1, 0, 0], InputError, r"labelled 1 and 0 at once: \('ash00', 'ash01'\)"),
        ([("ash00", "ash01", "x")], [1], InputError, r"pairs of node names \[n, 2\]; row 0 is .* not a pair"),
        (["ab"], [1], InputError, "row 0 is 'ab', not a pair"),
        ([7], [1], InputError, "row 0 is 7, not a pair"),
        (GOOD, [1], InputError, r"2 pairs but labels of shape \(1,\)"),
        (GOOD, [1, 2], InputError, r"labels of pairs are 1 \(linked\) and 0 \(not\), got 2"),
        (GOOD, ["a", "b"], InputError, r"got 'a', 'b'"),
        (GOOD, [1, None], InputError, "got None"),
        (GOOD, np.array([1, 1], object), InputError, "only one kind was given"),
        (GOOD, [1, 1], InputError, "only one kind was given"),
    ],
)
def test_bad_pairs(pairs: Any, y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_predictor(linked_communities(), **FAST).fit(pairs, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operator": "hadamrd"}, r"'operator' parameter of DGELinkPredictor .* did you mean 'hadamard'\?"),
        ({"operator": "l1+l1"}, "names one twice"),
        ({"pair_draw": "both"}, "'pairs.draw' parameter of DGELinkPredictor"),
        (
            {"pair_width": -1},
            "'pairs.width' parameter of DGELinkPredictor must be a whole number, at least 0",
        ),
        ({"directed": "yes"}, "'pairs.directed' parameter of DGELinkPredictor must be True or False"),
        ({"pair_folds": 1}, "'pairs.folds' parameter of DGELinkPredictor must be 0 or at least 2"),
        ({"pair_folds": 0}, r"pairs.counts, common, negatives='mixed' needs folds of pairs"),
        ({"pair_counts": 1}, "'pairs.counts' parameter of DGELinkPredictor must be True or False"),
        ({"negatives": "hard"}, "'pairs.negatives' parameter of DGELinkPredictor"),
        ({"variant": "bog"}, "'variant' parameter of DGELinkPredictor"),
        ({"n_threads": 0}, "'n_threads' parameter of DGELinkPredictor"),
        ({"network": 3}, "'network' parameter of DGELinkPredictor"),
    ],
)
def test_bad_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_predictor(**{"network": linked_communities(), **FAST, **settings}).fit()


def test_bad_questions() -> None:
    model = fitted(max_epochs=1)
    with pytest.raises(UnknownNodeError, match="no entity 'ash99'"):
        model.recommend("ash99")
    with pytest.raises(ParameterError, match=r"'top' parameter of DGELinkPredictor.recommend"):
        model.recommend("ash00", top=0)
    with pytest.raises(InputError, match="equal ends"):
        model.predict_proba([("ash00", "ash00")])
    assert model.predict_proba([]).shape == (0, 2)
    assert model.member_proba([]).shape == (model.n_learners_, 0, 2)


def test_networks_without_anything_to_learn() -> None:
    loops = from_edges(["a", "b"], ["a", "b"], [1, 1])
    with pytest.raises(InputError, match="no two entities are linked"):
        make_predictor(loops, **FAST).fit()
    every = [(u, v) for u in "abc" for v in "abc" if u != v]
    full = from_edges(*zip(*every, strict=True), [1] * 6)
    with pytest.raises(InputError, match="every two entities are linked"):
        make_predictor(full, **FAST).fit()


def test_a_dense_network_has_fewer_examples_of_what_is_not_linked() -> None:
    names = [f"n{i}" for i in range(8)]
    most = [(u, v) for u in names for v in names if u != v][:-6]
    model = make_predictor(from_edges(*zip(*most, strict=True)), **FAST).fit()
    assert model.n_linked_ == 50


def test_the_estimators_contract() -> None:
    model = make_predictor(linked_communities(), **FAST)
    copy = sklearn.clone(model)
    assert copy.network is model.network
    assert described(copy) == described(model)
    with pytest.raises(sklearn.exceptions.NotFittedError, match="not fitted"):
        model.predict_proba(GOOD)
