"""The first-order network inside a higher-order one.

In: a network of any order. Out: G_1. Contexts only copy flow, they never take it from the base nodes, so
the base rows still hold every observed transition; their targets only have to forget their context.
"""

from __future__ import annotations

import numpy as np

from honlearn.hon.network import HigherOrderNetwork


def first_order(network: HigherOrderNetwork) -> HigherOrderNetwork:
    """Return the network of the base nodes: each target collapsed to its entity, weights added up.

    Exact for a network that was grown from paths. An entity that is only ever part of a context (possible
    in an edge list from elsewhere) is left out.
    """
    if network.n_conditional == 0:
        return network
    size = network.n_entities
    edges = int(network.indptr[size])
    pair = network.sources[:edges].astype(np.int64) * size + network.base[network.indices[:edges]]
    order = np.argsort(pair, kind="stable")
    ordered = pair[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    distinct = ordered[first]
    weights = np.add.reduceat(network.weights[:edges][order], first) if edges else network.weights[:0].copy()
    source, target = distinct // size, distinct % size
    used = np.zeros(size, bool)
    used[source] = used[target] = True
    code = np.cumsum(used) - 1
    indptr = np.concatenate([[0], np.cumsum(np.bincount(code[source], minlength=int(used.sum())))])
    kept = np.flatnonzero(used)
    return HigherOrderNetwork(
        network.vocabulary.take(kept),
        np.arange(len(kept) + 1, dtype=np.int64),
        np.arange(len(kept), dtype=np.int32),
        indptr.astype(np.int64),
        code[target].astype(np.int32),
        weights,
    )
