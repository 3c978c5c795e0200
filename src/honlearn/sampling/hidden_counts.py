"""Counts of training pairs as they are for a tested pair: each computed without the pair itself.

In: a network, its paths where there are any, and training pairs, linked or not. Out: the features of
:class:`~honlearn.sampling.pair_counts.PairCounts`, one row for each pair. A tested pair has no edge, no
context and no step in a path, so a training pair must have none either. Pairs are divided into folds; a fold
is hidden as a test is, and its features are computed on what is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.mixing import splitmix64_array
from honlearn.paths.paths import Paths
from honlearn.sampling.hidden_networks import HiddenNetworks
from honlearn.sampling.lags import PathLags
from honlearn.sampling.pair_counts import Features, PairCounts
from honlearn.sampling.pairs import Pairs, pair_keys
from honlearn.sampling.shared import Shared, input_digest
from honlearn.seeds import derive_seed

N_FOLDS = 10
_known = Shared[Features]()


def cross_hidden_counts(
    network: HigherOrderNetwork,
    paths: Paths | None,
    pairs: Pairs,
    n_folds: int = N_FOLDS,
    seed: int = 0,
    directed: bool = True,
) -> Features:
    """Return the features of pairs int32 [B, 2], each computed with its fold hidden, float32 [B, F].

    A pair's fold is a hash of the seed and its two entities, so neither the order nor the direction of pairs
    matters. Models that ask for the same pairs of the same network share one result; do not write to it.

    Parameters
    ----------
    network, paths : what a training may see; `paths` None takes lags from the network.
    n_folds : the more, the less is hidden beside a pair; a tenth is what a test hides.
    directed : without it (u, v) and (v, u) have the same features.
    """
    check_integer("cross_hidden_counts", "n_folds", n_folds, 2)
    pairs = np.ascontiguousarray(pairs, np.int32).reshape(-1, 2)
    key = input_digest(network, paths, [pairs], n_folds, seed, directed)
    fold = pair_folds(network, pairs, n_folds, seed)
    return _known.get(key, lambda: _computed(network, paths, pairs, fold, directed))


def pair_folds(network: HigherOrderNetwork, pairs: Pairs, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each pair [B, 2], the same for (u, v) and (v, u), int64 [B]."""
    keys = pair_keys(pairs, network.n_entities, directed=False).astype(np.uint64)
    mixed = splitmix64_array(np.uint64(derive_seed(seed, "hidden folds")), keys)
    return np.asarray(mixed % np.uint64(n_folds), np.int64)


def _computed(
    network: HigherOrderNetwork,
    paths: Paths | None,
    pairs: Pairs,
    fold: NDArray[np.int64],
    directed: bool,
) -> Features:
    found = np.zeros((len(pairs), len(PairCounts.names)), np.float32)
    lags = None if paths is None else PathLags(paths, network.vocabulary)
    networks = HiddenNetworks(network, paths)
    for k in np.unique(fold).tolist():
        rows = np.flatnonzero(fold == k)
        hidden = pairs[rows]
        counted = None if lags is None else lags.count(hidden)
        found[rows] = PairCounts(networks.without(hidden), counted, directed).at(hidden)
    found.flags.writeable = False
    return found
