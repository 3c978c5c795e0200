"""The evidence that edges hold: for networks that were grown without it, or read from an edge list.

In: a network with whole-number weights. Out: p and ln Bayes factor of each conditional node, as far as they
can be computed. The next steps of a context are its edges, those of its suffix are the edges of the suffix,
if that is a node. The q-values cannot be computed: they take all contexts that were tested, and the network
has those it kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.bayes_factor import bayes_factors
from honlearn.hon.g_test import g_tests
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.next_rows import Rows
from honlearn.jit import njit
from honlearn.paths.arrange import sort_each


def edge_evidence(
    network: HigherOrderNetwork, suffix: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return p, q and ln Bayes factor of the conditional nodes, NaN where edges do not hold them.

    q is always NaN. ``suffix[i]`` is the longest suffix of conditional node i that is a node. The
    concentration of the Bayes factors is chosen among the contexts that were kept, of each order by itself.
    """
    p, q, ln_bf = (np.full(len(suffix), np.nan) for _ in range(3))
    if network.weights.dtype != np.int64:
        return p, q, ln_bf
    rows = _collapsed(network)
    mine = slice(network.n_entities, None)
    order, total = network.order[mine], rows.total[mine]
    told = (network.order[suffix] == order - 1) & _within(rows, network.n_entities, suffix)
    for length in np.unique(order).tolist():
        here = told & (order == length)
        # A total of 0 is never tested.
        contexts = Rows(rows.first[mine], rows.entity, rows.seen, np.where(here, total, 0))
        tests = g_tests(contexts, rows, suffix, length)
        p[here] = tests.p[here]
        ln_bf[here] = bayes_factors(contexts, rows, suffix, tests.tested).ln_bf[here]
    return p, q, ln_bf


def _collapsed(network: HigherOrderNetwork) -> Rows:
    """Return the next entities of every node; several edges to one entity, in foreign lists, are added up."""
    entity, count = network.base[network.indices], network.weights.astype(np.int64)
    sort_each(count, entity, network.indptr)
    first = _add_up(network.indptr, entity, count)
    return Rows(first, entity, count, np.asarray(network.out_weight, np.int64))


@njit
def _add_up(
    indptr: NDArray[np.int64], entity: NDArray[np.int32], count: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add up neighbours of the same entity in place; return where the rows start then."""
    first = np.zeros_like(indptr)
    n = 0
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            if n > first[row] and entity[n - 1] == entity[i]:
                count[n - 1] += count[i]
            else:
                entity[n], count[n] = entity[i], count[i]
                n += 1
        first[row + 1] = n
    return first


@njit
def _within(rows: Rows, entities: int, suffix: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each context's next steps are among those of its suffix, as counts of paths are."""
    out = np.ones(len(suffix), np.bool_)
    for g in range(len(suffix)):
        at, high = rows.first[suffix[g]], rows.first[suffix[g] + 1]
        for i in range(rows.first[entities + g], rows.first[entities + g + 1]):
            while at < high and rows.entity[at] < rows.entity[i]:
                at += 1
            if at == high or rows.entity[at] != rows.entity[i] or rows.seen[at] < rows.seen[i]:
                out[g] = False
                break
    return out
