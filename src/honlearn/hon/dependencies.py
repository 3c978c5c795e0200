"""Which memories matter? The contexts that a network keeps, as a table, strongest first.

In: a network, with the builder's statistics or without. Out: a pandas table, one row per conditional node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import check_integer
from honlearn.hon.edge_evidence import edge_evidence
from honlearn.hon.g_test import LEAST
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import SEPARATOR
from honlearn.jit import njit

if TYPE_CHECKING:
    import pandas


# Columns in the order of their weight for sorting, the last first, and what a missing value counts as.
_SORTED_BY = {"strength": -1.0, "ln_bayes_factor": 0.0}


class Shift(NamedTuple):
    """How a context changes one next step: its probability in the context, and without the oldest entity."""

    target: str
    probability: float
    without: float


def dependencies(network: HigherOrderNetwork, top: int | None = None, shifts: int = 3) -> pandas.DataFrame:
    """Return each kept context with the evidence for it and the next steps that it changes most.

    node, base, context: the label ``C|B|A``, its entity ``C`` and what came before, ``B|A``.
    order: entities in the node. weight: its weighted out-degree, occurrences that go on.
    frequency: f(g), all occurrences. divergence: D(g) in bits. threshold: τ·(m − 1) / log2(1 + f(g)).
    strength: D(g)·log2(1 + f(g)) / (m − 1), the τ up to which GrowHON's test keeps the context.
    p_value, q_value, ln_bayes_factor: the evidence that it differs from its suffix without it
    (:mod:`honlearn.hon.evidence`). Rows are sorted by the Bayes factor, then by strength; contexts that were
    followed fewer than two times come last.
    kept_by: ``test`` or ``extension`` (a longer context needs it). shifts: the `shifts` largest changes |p −
    q| of the next entity, as :class:`Shift` tuples. compared_with: the node that q belongs to, the longest
    suffix of the context that is a node.

    Where evidence did not decide (a `tau` was given, or the network was read from an edge list), p and the
    Bayes factor are computed from the edges, where the immediate suffix is a node and weights are whole
    numbers; q is missing, since it takes all contexts, not only those kept. A network from an edge list has
    no frequency, threshold and kept_by either; strength takes weight for f(g), and divergence is that of the
    edges.
    """
    shifts = check_integer("dependencies", "shifts", shifts, 0)
    conditional = np.arange(network.n_entities, network.n_nodes)
    suffix = longest_suffixes(network)
    frame, seen = _evidence(network, conditional, suffix)
    keys = (-np.nan_to_num(frame[name].to_numpy(), nan=worst) for name, worst in _SORTED_BY.items())
    rank = np.lexsort((conditional, -seen, *keys, network.out_weight[conditional] < LEAST))
    rank = rank if top is None else rank[: check_integer("dependencies", "top", top, 0)]
    frame = frame.iloc[rank].reset_index(drop=True)
    labels = [network.nodes[node] for node in conditional[rank].tolist()]
    parts = [label.split(SEPARATOR, 1) for label in labels]
    frame.insert(0, "node", labels)
    frame.insert(1, "base", [base for base, _ in parts])
    frame.insert(2, "context", [context for _, context in parts])
    frame["compared_with"] = [network.nodes[node] for node in suffix[rank].tolist()]
    changes = np.empty(len(rank), object)
    changes[:] = _shifts(network, conditional[rank], suffix[rank], shifts)
    frame["shifts"] = changes
    return frame


def _evidence(
    network: HigherOrderNetwork, conditional: NDArray[np.int64], suffix: NDArray[np.int64]
) -> tuple[pandas.DataFrame, NDArray[np.float64]]:
    """Return the columns of numbers in node order, and how often each context was seen."""
    import pandas as pd

    order, weight = network.order[conditional], network.out_weight[conditional]
    known = network.statistics
    if known is None:
        seen = weight.astype(np.float64)
        divergence = _from_edges(network, conditional, suffix)
        threshold = np.full(len(conditional), np.nan)
        frequency = pd.array(np.full(len(conditional), pd.NA), "Int64")
        kept = np.full(len(conditional), None, object)
    else:
        seen = known.frequency.astype(np.float64)
        divergence, threshold = known.divergence, known.threshold
        frequency = pd.array(known.frequency, "Int64")
        kept = np.where(known.by_extension, "extension", "test").astype(object)
    columns = {"order": order, "frequency": frequency, "weight": weight, "divergence": divergence}
    strength = divergence * np.log2(1 + seen) / (order - 1)
    found = known if known is not None and known.p_value is not None else None
    p, q, ln_bf = (
        edge_evidence(network, suffix)
        if found is None
        else (found.p_value, found.q_value, found.ln_bayes_factor)
    )
    tested = {"p_value": p, "q_value": q, "ln_bayes_factor": ln_bf}
    rest = {"threshold": threshold, "strength": strength, **tested, "kept_by": kept}
    return pd.DataFrame({**columns, **rest}), seen


def longest_suffixes(network: HigherOrderNetwork) -> NDArray[np.int64]:
    """Return the longest proper suffix of each conditional node's context that is a node [N − V]."""
    known = {}
    suffix = np.empty(network.n_conditional, np.int64)
    ends, grams = network.gram_offsets.tolist(), network.grams.tolist()
    for node in range(network.n_entities, network.n_nodes):
        known[tuple(grams[ends[node] : ends[node + 1]])] = node
    for row, gram in enumerate(known):
        shorter = gram[:-1]
        while len(shorter) > 1 and shorter not in known:
            shorter = shorter[:-1]
        suffix[row] = known[shorter] if len(shorter) > 1 else shorter[0]
    return suffix


def _from_edges(
    network: HigherOrderNetwork, conditional: NDArray[np.int64], suffix: NDArray[np.int64]
) -> NDArray[np.float64]:
    divergence = _compare(*_arrays(network), conditional, suffix, 0)[3]
    immediate = network.order[suffix] == network.order[conditional] - 1
    return np.where(immediate, divergence, np.nan)


def _shifts(
    network: HigherOrderNetwork, nodes: NDArray[np.int64], suffix: NDArray[np.int64], most: int
) -> list[tuple[Shift, ...]]:
    target, inside, without, _ = _compare(*_arrays(network), nodes, suffix, most)
    names = network.vocabulary.names
    rows = zip(target.tolist(), inside.tolist(), without.tolist(), strict=True)
    return [
        tuple(Shift(names[t], p, q) for t, p, q in zip(*row, strict=True) if t >= 0)  # −1: fewer than asked
        for row in rows
    ]


def _arrays(
    network: HigherOrderNetwork,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], int]:
    weights = network.weights.astype(np.float64)
    return network.indptr, network.indices, weights, network.base, network.n_entities


@njit
def _compare(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float64],
    base: NDArray[np.int32],
    entities: int,
    nodes: NDArray[np.int64],
    suffix: NDArray[np.int64],
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Compare the next entity of each node (p) with that of its suffix (q).

    Returns the `most` targets with the largest |p − q| (ties: the smaller code), their p and q, each
    [n, most], and D = Σ p·log2(p / q) [n]; D is NaN for a sink and infinite where q lacks a target of p.
    """
    target = np.full((len(nodes), most), -1, np.int64)
    inside, without = np.zeros((len(nodes), most)), np.zeros((len(nodes), most))
    divergence = np.full(len(nodes), np.nan)
    p, q = np.zeros(entities), np.zeros(entities)
    for row in range(len(nodes)):
        for node, share in ((nodes[row], p), (suffix[row], q)):
            total = weights[indptr[node] : indptr[node + 1]].sum()
            for edge in range(indptr[node], indptr[node + 1]):
                share[base[indices[edge]]] += weights[edge] / total
        bits = 0.0
        for node in (nodes[row], suffix[row]):
            for edge in range(indptr[node], indptr[node + 1]):
                x = base[indices[edge]]
                if p[x] == 0.0 and q[x] == 0.0:
                    continue  # this target was taken already
                if p[x] > 0.0:
                    bits += p[x] * np.log2(p[x] / q[x]) if q[x] > 0.0 else np.inf
                change = abs(p[x] - q[x])
                slot = most
                while slot > 0 and _before(change, x, inside, without, target, row, slot - 1):
                    slot -= 1
                for place in range(most - 1, slot, -1):
                    target[row, place] = target[row, place - 1]
                    inside[row, place], without[row, place] = inside[row, place - 1], without[row, place - 1]
                if slot < most:
                    target[row, slot], inside[row, slot], without[row, slot] = x, p[x], q[x]
                p[x] = q[x] = 0.0
        if indptr[nodes[row] + 1] > indptr[nodes[row]]:
            divergence[row] = bits
    return target, inside, without, divergence


@njit
def _before(
    change: float,
    x: int,
    inside: NDArray[np.float64],
    without: NDArray[np.float64],
    target: NDArray[np.int64],
    row: int,
    slot: int,
) -> bool:
    """Return whether target `x` with this change ranks before the one in `slot`."""
    if target[row, slot] < 0:
        return True
    there = abs(inside[row, slot] - without[row, slot])
    return bool(change > there or (change == there and x < target[row, slot]))
