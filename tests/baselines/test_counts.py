"""The regression on counts: lags of paths help, hidden steps are not read, and odd files are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from baseline_cases import network, paths
from sklearn.metrics import average_precision_score

import honlearn as hl
from honlearn.baselines.counts import CountsLinkPredictor, _lags_of
from honlearn.baselines.negatives import HalfByDegree
from honlearn.ensemble.pair_training import Unlinked
from honlearn.errors import FormatError, ParameterError
from honlearn.hon.without_pairs import without_pairs
from honlearn.paths.pairs import cut_paths
from honlearn.paths.paths import Paths
from honlearn.sampling.pair_counts import PairCounts
from honlearn.sampling.pairs import draw_unlinked, keyed_pairs, linked_keys, pair_keys


def ring_trips() -> Paths:
    """Return trips of one to four steps around a ring of 40 whose stops have express links three stops on.

    Every stop has the same degrees, so only where trips lead tells who is three stops apart.
    """
    random = np.random.default_rng(0)
    trips = []
    for _ in range(3000):
        at = int(random.integers(40))
        trip = [at]
        for _ in range(int(random.integers(1, 5))):
            at = (at + (3 if random.random() < 0.4 else 1)) % 40
            trip.append(at)
        trips.append([f"n{i:02d}" for i in trip])
    return Paths.from_lists(trips)


def test_links_of_a_ring_are_found_although_all_degrees_are_equal() -> None:
    whole = hl.grow(ring_trips(), order=2, tau=10, min_support=10)
    random, size = np.random.default_rng(1), whole.n_entities
    linked = linked_keys(whole)
    tested = np.concatenate(
        [keyed_pairs(random.permutation(linked)[:12], size), draw_unlinked(random, 12, size, linked)]
    )
    names = [(whole.vocabulary[u], whole.vocabulary[v]) for u, v in tested.tolist()]
    seen = without_pairs(whole, tested)
    model = CountsLinkPredictor(seen, paths=cut_paths(ring_trips(), names), random_state=0)
    score = model.fit(exclude=names).predict_proba(names)[:, 1]
    # At chance the average precision of 12 and 12 pairs is 0.56 ± 0.10 and above 0.8 in 1 %.
    assert average_precision_score(np.repeat([1, 0], 12), score) > 0.8
    assert set(model.coefficients_) == set(PairCounts.names)


def test_paths_are_cut_where_the_network_has_no_step() -> None:
    hon = network()
    pair = keyed_pairs(linked_keys(hon)[:1], hon.n_entities)
    seen = without_pairs(hon, pair)
    names = [(hon.vocabulary[u], hon.vocabulary[v]) for u, v in pair.tolist()]
    whole = Paths.from_lists(paths())
    models = [
        CountsLinkPredictor(seen, paths=given, random_state=0).fit(exclude=names)
        for given in (whole, cut_paths(whole, names), paths())
    ]
    for model in models[1:]:
        assert model.state_.keys() == models[0].state_.keys()
        assert all(torch.equal(model.state_[name], models[0].state_[name]) for name in model.state_)


def test_half_of_the_negatives_have_popular_ends() -> None:
    hon = network()
    linked = linked_keys(hon)
    mixed = HalfByDegree.of(Unlinked(hon.n_entities, linked, True), hon)
    held = draw_unlinked(np.random.default_rng(0), 50, hon.n_entities, linked)
    drawn = mixed.draw(np.random.default_rng(1), 400, held)
    keys = pair_keys(drawn, hon.n_entities)
    assert len(np.unique(keys)) == 400
    assert not np.isin(keys, np.union1d(linked, pair_keys(held, hon.n_entities))).any()
    out, into = mixed.degrees
    uniform = draw_unlinked(np.random.default_rng(1), 400, hon.n_entities, linked)
    product = [np.mean(out[some[:, 0]] * into[some[:, 1]]) for some in (drawn, uniform)]
    assert product[0] > product[1]


def _state(**changed: Any) -> dict[str, torch.Tensor]:
    state = {}
    for lag in (2, 3, 4):
        state[f"lag_{lag}.keys"] = torch.tensor([1, 5])
        state[f"lag_{lag}.counts"] = torch.tensor([1.0, 2.0], dtype=torch.float64)
    return {**state, **{name.replace("__", "."): value for name, value in changed.items()}}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lag_2__keys": torch.tensor([5, 1])}, r"lag_2\.keys must ascend from 0 to 8"),
        ({"lag_2__keys": torch.tensor([1, 9])}, r"lag_2\.keys must ascend from 0 to 8"),
        ({"lag_3__keys": torch.tensor([-1, 2])}, r"lag_3\.keys must ascend"),
        ({"lag_3__keys": torch.tensor([1.0, 2.0])}, "lag_3 must be int64 keys and as many float64 counts"),
        ({"lag_4__keys": torch.tensor([1])}, "lag_4 must be int64 keys and as many float64 counts"),
        ({"lag_4__counts": torch.tensor([0.0, 1.0]).double()}, r"lag_4\.counts must be at least 1"),
        ({"lag_4__counts": torch.tensor([1.0, np.nan]).double()}, r"lag_4\.counts must be at least 1"),
        ({"lag_5__keys": torch.tensor([1])}, r"lags of paths are in lag_2\.keys, .* Got .*lag_5\.keys"),
    ],
)
def test_lags_of_a_file_are_checked(changed: dict[str, torch.Tensor], message: str) -> None:
    lags = _lags_of(_state(), 3)
    assert lags is not None
    assert lags[0].toarray().tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert _lags_of({}, 3) is None
    with pytest.raises(FormatError, match=message):
        _lags_of(_state(**changed), 3)


def test_a_model_with_lags_is_saved(tmp_path: Any) -> None:
    model = CountsLinkPredictor(network(), paths=paths(), random_state=0, n_folds=3).fit()
    model.save(tmp_path / "model")
    asked = [("elm00", "elm05"), ("ash01", "oak02")]
    loaded = hl.load_model(tmp_path / "model")
    assert loaded.predict_proba(asked).tobytes() == model.predict_proba(asked).tobytes()
    assert loaded.paths is None


def test_folds_are_checked() -> None:
    with pytest.raises(ParameterError, match="'n_folds' parameter of CountsLinkPredictor must be"):
        CountsLinkPredictor(network(), n_folds=1).fit()
