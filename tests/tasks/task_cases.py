"""A small labelled network for the tests of the estimators: three communities with memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import honlearn as hl
from honlearn import DGEClassifier
from honlearn.hon.network import HigherOrderNetwork
from honlearn.tasks.nested import nested

FAST = {
    "n_learners": 3,
    "widths": (16, 16),
    "max_epochs": 12,
    "patience": 4,
    "n_threads": 1,
    "random_state": 0,
}


def make_classifier(network: Any, **flat: Any) -> DGEClassifier:
    """Return a classifier from flat settings, each put into the object that it belongs to."""
    return DGEClassifier(network, **nested(DGEClassifier, flat))


@cache
def communities() -> tuple[HigherOrderNetwork, np.ndarray, np.ndarray]:
    """Return a higher-order network, the names of its nodes, and the community of each as a word."""
    random = np.random.default_rng(0)
    names = [f"{word}{i:02d}" for word in ("ash", "elm", "oak") for i in range(20)]
    paths = []
    for _ in range(2500):
        group = random.integers(3)
        walk = [int(random.integers(20)) + 20 * group]
        for _ in range(3):
            stay = random.random() < 0.85
            walk.append(int(random.integers(20)) + 20 * group if stay else int(random.integers(60)))
        if random.random() < 0.3:
            walk.append(walk[-2])
        paths.append([names[i] for i in walk])
    hon = hl.grow(paths, order=2, tau=0.5, min_support=3)
    nodes = np.array(list(hon.vocabulary))
    return hon, nodes, np.array([name[:3] for name in nodes])
