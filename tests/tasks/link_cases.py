"""A network whose links can be learnt: walks on a sparse graph of three communities, with memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import honlearn as hl
from honlearn import DGELinkPredictor
from honlearn.hon.network import HigherOrderNetwork
from honlearn.tasks.nested import nested


def make_predictor(network: Any, **flat: Any) -> DGELinkPredictor:
    """Return a link predictor from flat settings, each put into the object that it belongs to."""
    return DGELinkPredictor(network, **nested(DGELinkPredictor, flat))


@cache
def linked_communities() -> HigherOrderNetwork:
    """Return a higher-order network of 60 entities; links within a community are common, others rare."""
    random = np.random.default_rng(0)
    names = [f"{word}{i:02d}" for word in ("ash", "elm", "oak") for i in range(20)]
    same = np.arange(60)[:, None] // 20 == np.arange(60) // 20
    linked = random.random((60, 60)) < np.where(same, 0.5, 0.01)
    np.fill_diagonal(linked, False)
    weight = linked * random.exponential(1.0, linked.shape)
    paths = []
    for _ in range(4000):
        walk = [int(random.integers(60))]
        for _ in range(3):
            probability = weight[walk[-1]].copy()
            if len(walk) > 1:
                # The next step depends on the one before.
                probability[(np.arange(60) + walk[-2]) % 3 == 0] *= 4
            walk.append(int(random.choice(60, p=probability / probability.sum())))
        paths.append([names[i] for i in walk])
    return hl.grow(paths, order=2, tau=0.5, min_support=3)
