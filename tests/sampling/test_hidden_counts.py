"""Training pairs have counts as a tested pair has: without itself, and at chance where links are random."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from count_cases import random_network, random_paths
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from honlearn.errors import ParameterError
from honlearn.hon.build import grow
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.paths.pairs import cut_paths
from honlearn.paths.paths import Paths
from honlearn.sampling import hidden_counts
from honlearn.sampling.hidden_counts import cross_hidden_counts, pair_folds
from honlearn.sampling.hidden_networks import HiddenNetworks
from honlearn.sampling.lags import PathLags
from honlearn.sampling.pair_counts import Features, PairCounts
from honlearn.sampling.pairs import Pairs, draw_unlinked, keyed_pairs, linked_keys, pair_keys


def all_pairs(size: int) -> Pairs:
    u, v = np.divmod(np.arange(size * size), size)
    return np.stack([u, v], 1)[u != v].astype(np.int32)


def test_a_fold_has_the_counts_of_paths_cut_at_its_steps() -> None:
    hon, paths = random_network(0), random_paths(0, 14)
    pairs = all_pairs(hon.n_entities)
    found = cross_hidden_counts(hon, paths, pairs, n_folds=3, seed=1)
    fold = pair_folds(hon, pairs, 3, 1)
    assert set(fold) == {0, 1, 2}
    for k in range(3):
        hidden = pairs[fold == k]
        names = [(hon.vocabulary[u], hon.vocabulary[v]) for u, v in hidden.tolist()]
        cut = cut_paths(paths, names, visits=True)
        lags = PathLags(cut, hon.vocabulary).count()
        grown = with_entities(grow(cut, order=2, tau=1, min_support=1), hon.vocabulary)
        wanted = PairCounts(grown, lags).at(hidden)
        np.testing.assert_array_equal(found[fold == k], wanted)


@pytest.mark.parametrize("with_paths", [True, False])
def test_neither_order_nor_links_of_the_pairs_themselves_matter(with_paths: bool) -> None:
    """Permuting which of the hidden steps went where changes nothing that is seen."""
    hon = random_network(1)
    paths = random_paths(1, 14) if with_paths else None
    pairs = all_pairs(hon.n_entities)
    found = cross_hidden_counts(hon, paths, pairs, 4, 0)
    order = np.random.default_rng(0).permutation(len(pairs))
    np.testing.assert_array_equal(cross_hidden_counts(hon, paths, pairs[order], 4, 0), found[order])
    first = pairs[pair_folds(hon, pairs, 4, 0) == 0]
    visible = HiddenNetworks(hon, paths).without(first)
    names = [(hon.vocabulary[u], hon.vocabulary[v]) for u, v in first.tolist()]
    cut = None if paths is None else cut_paths(paths, names, visits=True)
    np.testing.assert_array_equal(
        cross_hidden_counts(visible, cut, first, 4, 0), cross_hidden_counts(hon, paths, first, 4, 0)
    )


def test_the_fold_of_a_pair_is_that_of_the_way_back() -> None:
    hon = random_network(2)
    pairs = all_pairs(hon.n_entities)
    np.testing.assert_array_equal(pair_folds(hon, pairs, 5, 3), pair_folds(hon, pairs[:, ::-1], 5, 3))
    assert (pair_folds(hon, pairs, 5, 3) != pair_folds(hon, pairs, 5, 4)).any()


def test_the_same_pairs_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden_counts._known.clear()
    calls = []
    computed = hidden_counts._computed
    monkeypatch.setattr(hidden_counts, "_computed", lambda *given: calls.append(1) or computed(*given))
    hon, paths = random_network(3), random_paths(3, 14)
    pairs = all_pairs(hon.n_entities)
    first = cross_hidden_counts(hon, paths, pairs, 3, 0)
    again = cross_hidden_counts(random_network(3), random_paths(3, 14), pairs.copy(), 3, 0)
    assert again is first
    assert len(calls) == 1
    for changed in ((hon, None, pairs), (hon, random_paths(4, 14), pairs), (hon, paths, pairs[1:])):
        cross_hidden_counts(*changed, 3, 0)
    cross_hidden_counts(hon, paths, pairs, 3, 1)
    cross_hidden_counts(hon, paths, pairs, 3, 0, directed=False)
    assert len(calls) == 6
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1


def test_too_few_folds_are_refused() -> None:
    hon = random_network(3)
    with pytest.raises(ParameterError, match=r"'n_folds' parameter of cross_hidden_counts .* at least 2"):
        cross_hidden_counts(hon, None, np.array([[0, 1]]), 1)


def _independent(seed: int, count: int, length: int) -> Paths:
    """Return paths through entities drawn uniformly: no step depends on any other."""
    rows = np.random.default_rng(seed).integers(0, 60, (count, length))
    rows = rows[(rows[:, 1:] != rows[:, :-1]).all(1)]
    return Paths.from_lists([[f"n{i:02}" for i in row] for row in rows.tolist()])


def _score(train: Features, labels: np.ndarray, test: Features, truth: np.ndarray) -> float:
    center, scale = train.mean(0), train.std(0) + 1e-9
    model = LogisticRegression(C=0.1).fit((train - center) / scale, labels)
    return float(roc_auc_score(truth, model.decision_function((test - center) / scale)))


class _Tested(NamedTuple):
    """Random links and unlinked pairs that are tested, and what is left of the paths and the network."""

    whole: HigherOrderNetwork
    pairs: Pairs
    truth: np.ndarray
    paths: Paths
    visible: HigherOrderNetwork


def _tested(paths: Paths, seed: int, visits: bool) -> _Tested:
    hon = grow(paths, order=1)
    random, size = np.random.default_rng(seed), hon.n_entities
    linked = linked_keys(hon)
    some = keyed_pairs(random.permutation(linked)[:80], size)
    pairs = np.concatenate([some, draw_unlinked(random, 80, size, linked)])
    names = [(hon.vocabulary[u], hon.vocabulary[v]) for u, v in pairs.tolist()]
    cut = cut_paths(paths, names, visits)
    return _Tested(hon, pairs, np.repeat([1, 0], 80), cut, with_entities(grow(cut, order=1), hon.vocabulary))


def _random_links(seed: int, count: int, length: int) -> tuple[float, float]:
    """Return the area under the ROC curve of counts that see nothing of the tested pairs, and of all."""
    paths = _independent(seed, count, length)
    hon, tested, truth, cut, visible = _tested(paths, seed, visits=True)
    random, size = np.random.default_rng(seed + 100), hon.n_entities
    taken = pair_keys(np.concatenate([tested, tested[:, ::-1]]), size)
    known = np.setdiff1d(linked_keys(visible), taken)
    free = draw_unlinked(random, len(known), size, np.union1d(linked_keys(visible), taken))
    pairs, labels = np.concatenate([keyed_pairs(known, size), free]), np.repeat([1, 0], len(known))
    at_test = PairCounts(visible, PathLags(cut, hon.vocabulary).count()).at(tested)
    hidden = cross_hidden_counts(visible, cut, pairs, 5, seed)
    whole = PairCounts(hon, PathLags(paths, hon.vocabulary).count())
    leaking = _score(whole.at(pairs), labels, whole.at(tested), truth)
    return _score(hidden, labels, at_test, truth), leaking


@pytest.mark.parametrize(("count", "length"), [(600, 2), (200, 5)])
def test_random_links_are_predicted_at_chance_and_a_leak_is_not(count: int, length: int) -> None:
    """Links that nothing tells: counts that see the tested pairs find them, hidden ones do not."""
    found = np.array([_random_links(seed, count, length) for seed in range(8)])
    hidden, leaking = found.mean(0)
    assert abs(hidden - 0.5) < 0.048  # 8 × 160 pairs: three standard errors of .016
    assert leaking > 0.6


@pytest.mark.parametrize("visits", [False, True])
def test_cutting_a_path_at_a_hidden_step_is_not_enough(visits: bool) -> None:
    """What leads to the one end of a step and from the other is there because of the step."""
    found = []
    for seed in range(16):
        tested = _tested(_independent(seed, 200, 5), seed, visits)
        into, out = tested.visible.in_weight, tested.visible.out_weight
        arrivals, departures = into[tested.pairs[:, 0]], out[tested.pairs[:, 1]]
        found.append(roc_auc_score(tested.truth, arrivals + departures))
    # 16 × 160 pairs: three standard errors of .011
    assert (np.mean(found) > 0.5 + 0.033) is not visits
