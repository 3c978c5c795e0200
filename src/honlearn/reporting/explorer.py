"""The network explorer's data: entities with their places, families, next steps and links.

In: a higher-order network, classes and facts of its entities. Out: packed arrays for the page. Of a network
that is too large for a page only the strongest part is shown, with a note on the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.reporting.layout import Map, place_nodes
from honlearn.reporting.naming import class_order
from honlearn.reporting.pack import pack, pack_integers, pack_shares, plain
from honlearn.results.artefacts import place_in_family

# Most of each that a page holds; with all of them it stays within 15 MB and a browser stays fluid.
ENTITIES, CONTEXTS, LINKS, DRAWN, CHANGES, STEPS = 5_000, 10_000, 120_000, 2_000, 8, 150_000


@dataclass(frozen=True)
class Changes:
    """How the next entity in a context differs from that at its base node.

    Targets [R, K] (−1: none), probability in the context and at the base [R, K], bits Σ p·log2(p / q) [R].
    """

    targets: NDArray[np.int64]
    inside: NDArray[np.float64]
    at_base: NDArray[np.float64]
    bits: NDArray[np.float64]


def explorer(
    network: HigherOrderNetwork, labels: Mapping[str, str], facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what the page shows of a network."""
    first = network.first_order()
    # An entity that is only ever part of a context is not in the first-order network.
    code = network.vocabulary.codes(first.vocabulary.names)
    traffic = first.out_weight.astype(np.float64) + first.in_weight.astype(np.float64)
    shown = np.sort(np.argsort(-traffic, kind="stable")[:ENTITIES])
    names = [first.vocabulary[int(i)] for i in shown]
    place = np.full(network.n_entities, -1, np.int64)
    place[code[shown]] = np.arange(len(shown))
    where = place_nodes(names, facts)
    classes = class_order(set(labels.values()))
    number = {name: i for i, name in enumerate(classes)}
    return {
        "names": names,
        "facts": [_facts(facts.get(name, {})) for name in names] if facts else None,
        "classes": classes,
        "label": pack(
            [number.get(labels.get(name, ""), -1) for name in names], "i2" if len(classes) < 1 << 15 else "i4"
        ),
        "map": None if where is None else _map(where),
        "out": pack(first.out_weight[shown], "f4"),
        "in": pack(first.in_weight[shown], "f4"),
        "links": _links(first, shown),
        "contexts": _contexts(network, place),
        "sizes": {
            "entities": network.n_entities,
            "nodes": network.n_nodes,
            "conditional": network.n_conditional,
            "edges": network.n_edges,
            "first_order_edges": first.n_edges,
            "order": network.max_order,
            "shown": len(shown),
        },
        "grown": _grown(network),
    }


def _map(where: Map) -> dict[str, Any]:
    return {
        "x": pack(np.nan_to_num(where.positions[:, 0]), "f4"),
        "y": pack(np.nan_to_num(where.positions[:, 1]), "f4"),
        "placed": pack(~np.isnan(where.positions).any(1), "u1"),
        "grid": [plain(line, 4) for line in where.grid],
        "land": where.land,
    }


def _facts(known: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): plain(value) for key, value in known.items()}


def _grown(network: HigherOrderNetwork) -> dict[str, Any] | None:
    grown = network.parameters
    if grown is None:
        return None
    return {
        "order": grown.order,
        "tau": grown.tau,
        "min_support": grown.min_support,
        "alpha": grown.alpha,
        "rule": grown.rule,
    }


def _links(first: HigherOrderNetwork, shown: NDArray[np.int64]) -> dict[str, Any]:
    """Return the links between the entities shown, heaviest first, and how many there are."""
    place = np.full(first.n_entities, -1, np.int64)
    place[shown] = np.arange(len(shown))
    source, target = place[first.sources], place[first.indices]
    inside = np.flatnonzero((source >= 0) & (target >= 0))
    heavy = inside[np.argsort(-first.weights[inside].astype(np.float64), kind="stable")][:LINKS]
    return {
        "source": pack_integers(source[heavy]),
        "target": pack_integers(target[heavy]),
        "weight": pack(first.weights[heavy], "f4"),
        "kept": len(heavy),
        "all": first.n_edges,
        "drawn": DRAWN,
    }


def _contexts(network: HigherOrderNetwork, place: NDArray[np.int64]) -> dict[str, Any]:
    """Return the conditional nodes of the entities shown, strongest first, with all that is known."""
    frame = network.dependencies(shifts=0)
    node = np.array([network.index(label) for label in frame["node"]], np.int64)
    often = seen_often(network, frame, node)
    kept = often & (place[network.base[node]] >= 0)
    frame, node = frame[kept][:CONTEXTS], node[kept][:CONTEXTS]
    chance = network.relative_probabilities()
    changes = next_step_changes(network, node, CHANGES)
    missing = changes.targets < 0
    outside = ~missing & (place[changes.targets] < 0)
    targets = np.where(missing | outside, 65535, place[changes.targets])
    tested = ("p_value", "q_value", "ln_bayes_factor")
    optional = ("frequency", "divergence", "threshold", "strength", *tested)
    return {
        "label": frame["node"].tolist(),
        "base": pack_integers(place[network.base[node]]),
        # Where the node stands in its family, the base node being 0: votes name relatives by it.
        "place": pack_integers(place_in_family(network)[node]),
        "order": pack_integers(frame["order"].to_numpy()),
        "weight": pack(frame["weight"].to_numpy(), "f4"),
        "chance": pack(chance[node], "f4"),
        "base_chance": pack(chance[np.flatnonzero(place >= 0)], "f4"),
        **{
            name: plain([None if value != value else float(value) for value in _floats(frame[name])], 5)
            for name in optional
        },
        "compared_with": frame["compared_with"].tolist() if network.max_order > 2 else None,
        "kept_by": None if frame["kept_by"].isna().all() else frame["kept_by"].tolist(),
        "bits": plain(changes.bits, 5),
        "targets": pack(targets, "u2"),
        "inside": pack_shares(changes.inside),
        "at_base": pack_shares(changes.at_base),
        "steps": _steps(network, node, place),
        "all": network.n_conditional,
        "seen_once": int((~often).sum()),
    }


def seen_often(network: HigherOrderNetwork, frame: Any, node: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which contexts were seen more than once: by counts, else by the weight that leaves them."""
    weight = network.out_weight[node].astype(np.float64)
    seen = np.array(_floats(frame["frequency"]), np.float64)
    return np.asarray(np.where(np.isnan(seen), weight, seen) > 1)


def _steps(network: HigherOrderNetwork, node: NDArray[np.int64], place: NDArray[np.int64]) -> dict[str, Any]:
    """Return where each context of two entities leads, by entity: targets and weights, row by row.

    The predecessor of a context is in `came`; one whose ends are not shown is 65535.
    """
    two = np.flatnonzero(network.order[node] == 2)
    came = np.full(len(node), -1, np.int64)
    came[two] = place[network.grams[network.gram_offsets[node[two]] + 1]]
    targets, weights, sizes, left = [], [], np.zeros(len(node), np.int64), STEPS
    for row in two.tolist():
        here = slice(network.indptr[node[row]], network.indptr[node[row] + 1])
        ends, sums = _by_entity(network.base[network.indices[here]], network.weights[here])
        left -= len(ends)
        if left < 0:
            break
        targets.append(place[ends])
        weights.append(sums)
        sizes[row] = len(ends)
    joined = np.concatenate([np.zeros(0, np.int64), *targets])
    return {
        "came": pack(np.where(came < 0, 65535, came), "u2"),
        "sizes": pack_integers(sizes),
        "target": pack(np.where(joined < 0, 65535, joined), "u2"),
        "weight": pack(np.concatenate([np.zeros(0), *weights]), "f4"),
    }


def _by_entity(ends: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each entity once, with the sum of its weights."""
    found, place = np.unique(ends, return_inverse=True)
    return found.astype(np.int64), np.bincount(place, weights, len(found)).astype(np.float64)


def _floats(column: Any) -> list[float]:
    return [float("nan") if value is None or value != value else float(value) for value in _no_na(column)]


def _no_na(column: Any) -> list[Any]:
    values: list[Any] = column.astype(object).where(column.notna(), None).tolist()
    return values


def next_step_changes(network: HigherOrderNetwork, nodes: NDArray[np.int64], most: int) -> Changes:
    """Compare where one goes next from each of these nodes with where one goes from its base node.

    The next entity counts, no matter how the network remembers it. `most` targets are kept, those with the
    largest |p − q|, ties by code.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["C|A", "C", "C", "A"], ["D", "D", "E", "C|A"], [2, 2, 6, 2])
    >>> found = next_step_changes(hon, np.array([hon.index("C|A")]), 2)
    >>> [hon.vocabulary[t] for t in found.targets[0]], found.inside[0].tolist(), found.at_base[0].tolist()
    (['D', 'E'], [1.0, 0.0], [0.25, 0.75])
    >>> found.bits.tolist()
    [2.0]
    """
    from scipy.sparse import csr_array, diags_array

    size = network.n_entities
    ends = (network.sources, network.base[network.indices])
    steps = csr_array((network.weights.astype(np.float64), ends), shape=(network.n_nodes, size))
    steps.sum_duplicates()
    total = np.asarray(network.out_weight, np.float64)
    steps = csr_array(diags_array(1.0 / np.where(total > 0, total, 1.0)) @ steps)
    found = Changes(
        np.full((len(nodes), most), -1, np.int64),
        np.zeros((len(nodes), most)),
        np.zeros((len(nodes), most)),
        np.full(len(nodes), np.nan),
    )
    at_base = np.zeros(size)
    inside = np.zeros(size)
    for row in np.argsort(network.base[nodes], kind="stable").tolist():
        here, base = int(nodes[row]), int(network.base[nodes[row]])
        a, b = (slice(steps.indptr[node], steps.indptr[node + 1]) for node in (here, base))
        inside[steps.indices[a]], at_base[steps.indices[b]] = steps.data[a], steps.data[b]
        targets = np.union1d(steps.indices[a], steps.indices[b])
        p, q = inside[targets], at_base[targets]
        best = np.lexsort((targets, -np.abs(p - q)))[:most]
        found.targets[row, : len(best)] = targets[best]
        found.inside[row, : len(best)], found.at_base[row, : len(best)] = p[best], q[best]
        if total[here] > 0:
            on = p > 0
            with np.errstate(divide="ignore"):
                found.bits[row] = float((p[on] * np.log2(p[on] / q[on])).sum())
        inside[targets] = at_base[targets] = 0.0
    return found
