"""Small random paths and networks, and the counts of a pair computed by loops over walks."""

from __future__ import annotations

from collections import Counter

import numpy as np

from honlearn.hon.build import grow
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.paths.paths import Paths

NAMES = "ABCDEFGH"


def random_paths(seed: int, count: int = 40) -> Paths:
    random = np.random.default_rng(seed)
    lists = [[NAMES[i] for i in random.integers(0, 8, random.integers(2, 7))] for _ in range(count)]
    return Paths.from_lists(lists, counts=random.integers(1, 5, count).tolist())


def random_network(seed: int, order: int = 2) -> HigherOrderNetwork:
    # Few paths, so that not every two entities are linked.
    return grow(random_paths(seed, 14), order=order, tau=1, min_support=1)


def links(hon: HigherOrderNetwork) -> set[tuple[int, int]]:
    ends = zip(hon.base[hon.sources].tolist(), hon.base[hon.indices].tolist(), strict=True)
    return {(u, v) for u, v in ends if u != v}


def lag_counts(paths: Paths, hidden: set[frozenset[str]], lag: int) -> Counter[tuple[str, str]]:
    """Count entities `lag` steps apart, path by path, none by way of a visit at an end of a hidden step."""
    found: Counter[tuple[str, str]] = Counter()
    counts = [1] * len(paths) if paths.counts is None else paths.counts.tolist()
    for path, count in zip(paths, counts, strict=True):
        steps = [i for i in range(len(path) - 1) if frozenset(path[i : i + 2]) in hidden]
        gone = {i for step in steps for i in (step, step + 1)}
        for i in range(len(path) - lag):
            window = path[i : i + lag + 1]
            if not gone & set(range(i, i + lag + 1)) and window[0] != window[-1]:
                found[window[0], window[-1]] += count
    return found


def reached(hon: HigherOrderNetwork, u: int, v: int, steps: int) -> float:
    """Return the probability to be at v after some steps from a relative of u, walk by walk."""
    names = hon.vocabulary.names
    here = hon.relatives(names[u])
    for _ in range(steps):
        there: dict[str, float] = {}
        for node, probability in here.items():
            for target, share in hon.transition(node).items():
                there[target] = there.get(target, 0.0) + probability * share
        here = there
    return sum(p for node, p in here.items() if node.split("|")[0] == names[v])


def pair_values(hon: HigherOrderNetwork, paths: Paths | None, u: int, v: int) -> dict[str, float]:
    """Return every count of a pair by its name, before any logarithm."""
    edges, everyone = links(hon), range(hon.n_entities)
    out = {i: sum((i, j) in edges for j in everyone) for i in everyone}
    into = {i: sum((j, i) in edges for j in everyone) for i in everyone}
    near = edges | {(j, i) for i, j in edges}
    degree = {i: sum((i, j) in near for j in everyone) for i in everyone}
    common = [z for z in everyone if (u, z) in near and (z, v) in near]

    def two(a: int, b: int) -> float:
        return sum(1 / out[z] for z in everyone if {(a, z), (z, b)} <= edges)

    def three(a: int, b: int) -> float:
        return sum(
            1 / (out[y] * out[z]) for y in everyone for z in everyone if {(a, y), (y, z), (z, b)} <= edges
        )

    values = {
        "degree_product": out[u] * into[v],
        "source_out": out[u],
        "target_in": into[v],
        "source_in": into[u],
        "target_out": out[v],
        "common_neighbors": len(common),
        "resource_allocation": sum(1 / degree[z] for z in common),
        "allocation_along": two(u, v),
        "three_steps": three(u, v),
        "allocation_back": two(v, u),
        "three_steps_back": three(v, u),
        "shared_targets": sum(
            1 / (into[z] * out[w]) for z in everyone for w in everyone if {(u, z), (w, z), (w, v)} <= edges
        ),
    }
    first = with_entities(hon.first_order(), hon.vocabulary)
    for steps in (2, 3, 4):
        for name, network in (("relatives", hon), ("entities", first)):
            values[f"{name}_{steps}"] = reached(network, u, v, steps)
            values[f"{name}_{steps}_back"] = reached(network, v, u, steps)
        lags = Counter() if paths is None else lag_counts(paths, set(), steps)
        for way, (a, b) in {"": (u, v), "_back": (v, u)}.items():
            source, target = hon.vocabulary[a], hon.vocabulary[b]
            begun = sum(n for (x, _), n in lags.items() if x == source)
            ended = sum(n for (_, x), n in lags.items() if x == target)
            values[f"lag_{steps}{way}"] = lags[source, target] / max(np.sqrt(begun * ended), 1e-9)
    return values
