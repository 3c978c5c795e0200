"""Generated networks on which rules of calibration are chosen, so that no real node has a part in the choice.

In: a number. Out: a :class:`Case`. Four kinds take turns; sizes, the number of classes, how much paths
stay within a class and the share of wrong labels are drawn anew for each number:

- *walks*: entities have acquaintances, more of them in their own class; walkers go to one or turn back;
- *map*: entities lie on a square, journeys go to near and large ones, classes are the nearest of some points;
- *planted*: ``hl.datasets.synthetic``, in which only memory tells classes apart, with noise;
- *rail*: ``hl.datasets.rail_grid`` with zones as classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import honlearn as hl

KINDS = ("walks", "map", "planted", "rail")


class Case(NamedTuple):
    """A network and its labelled nodes."""

    network: hl.HigherOrderNetwork
    nodes: np.ndarray
    labels: np.ndarray


def generated_case(number: int) -> Case:
    """Return the network of this number."""
    random = np.random.default_rng([7, number])
    kind = KINDS[number % len(KINDS)]
    if kind == "planted":
        return _planted(random)
    if kind == "rail":
        return _rail(random)
    size, n_classes = int(random.integers(120, 400)), int(random.integers(3, 11))
    weights = (np.arange(size) + 5.0) ** -random.uniform(0.3, 1.0)
    near, classes = (_acquaintances if kind == "walks" else _gravity)(random, size, n_classes, weights)
    paths = _journeys(random, near, weights, int(random.integers(3_000, 9_000)))
    network = hl.grow(paths, order=2, tau=3, min_support=5)
    return _case(network, {_name(i): f"c{c:02d}" for i, c in enumerate(classes)}, random)


def _name(code: int) -> str:
    return f"n{code:03d}"


def _case(network: hl.HigherOrderNetwork, labels: dict[str, str], random: np.random.Generator) -> Case:
    """Return the case, with a share of the labels drawn from those of others."""
    names = sorted(name for name in labels if name in network.vocabulary)
    given = np.array([labels[name] for name in names])
    wrong = random.random(len(given)) < random.uniform(0.0, 0.12)
    given[wrong] = random.permutation(given)[wrong]
    return Case(network, np.array(names), given)


def _acquaintances(
    random: np.random.Generator, size: int, n_classes: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return transition probabilities [n, n] and classes: some partners each, many of the own class."""
    classes = random.choice(n_classes, size, p=random.dirichlet(np.full(n_classes, 4.0)))
    homophily, near = random.uniform(0.3, 0.85), np.zeros((size, size))
    for code in range(size):
        own = classes == classes[code]
        drawn = weights * np.where(own, homophily / max(weights[own].sum(), 1e-9), 0.0)
        drawn += weights * (1 - homophily) / weights.sum()
        drawn[code] = 0.0
        some = random.choice(size, int(random.integers(4, 14)), replace=False, p=drawn / drawn.sum())
        near[code, some] = random.random(len(some)) + 0.2
    return near, classes


def _gravity(
    random: np.random.Generator, size: int, n_classes: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return transition probabilities [n, n] and classes of places on a square."""
    places, centres = random.random((size, 2)), random.random((n_classes, 2))
    classes = ((places[:, None] - centres) ** 2).sum(2).argmin(1)
    distance = np.sqrt(((places[:, None] - places) ** 2).sum(2))
    near = weights * np.exp(-distance / random.uniform(0.08, 0.3))
    near[near < np.quantile(near, 0.9, axis=1, keepdims=True)] = 0.0
    np.fill_diagonal(near, 0.0)
    return near, classes


def _journeys(
    random: np.random.Generator, near: np.ndarray, weights: np.ndarray, count: int
) -> list[list[str]]:
    """Return walks of three to six entities, some of which turn back."""
    back, steps = random.uniform(0.0, 0.6), np.cumsum(near, 1)
    starts = random.choice(len(near), count, p=weights / weights.sum())
    paths = []
    for start in starts.tolist():
        walk = [start]
        while len(walk) < 3 or (len(walk) < 6 and random.random() < 0.5):
            if len(walk) > 1 and random.random() < back:
                walk.append(walk[-2])
            else:
                row = steps[walk[-1]]
                walk.append(int(np.searchsorted(row, random.random() * row[-1], side="right")))
        paths.append([_name(code) for code in walk])
    return paths


def _planted(random: np.random.Generator) -> Case:
    made = hl.datasets.synthetic(
        int(random.integers(3, 9)),
        order=2,
        n_nodes=int(random.integers(120, 400)),
        n_hubs=int(random.integers(3, 8)),
        noise=float(random.uniform(0.75, 0.95)),
        seed=int(random.integers(2**31)),
    )
    network = hl.grow(made.paths, order=2, tau=1, min_support=1)
    return _case(network, dict(made.labels), random)


def _rail(random: np.random.Generator) -> Case:
    rows, columns = int(random.integers(8, 16)), int(random.integers(14, 26))
    made = hl.datasets.rail_grid(
        rows,
        columns,
        n_paths=int(random.integers(2_000, 12_000)),
        missing=float(random.uniform(0.05, 0.3)),
        reach=float(random.uniform(2, 8)),
        seed=int(random.integers(2**31)),
    )
    high, wide = int(random.integers(2, 5)), int(random.integers(2, 5))
    zones = {
        name: f"{int(name[1:3]) * high // rows}{int(name[4:6]) * wide // columns}" for name in made.labels
    }
    return _case(hl.grow(made.paths, order=2, tau=3, min_support=5), zones, random)
