"""Examples, vectors and networks for the tests of kernel ridge regression and of the choice of vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.examples import Examples
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.path_kernel.calibration import Rows

Codes = NDArray[np.int64]


def example(labels: Codes, nodes: Codes | None = None, weights: Rows | None = None) -> Examples:
    nodes = np.arange(len(labels)) if nodes is None else nodes
    weights = np.ones(len(labels)) if weights is None else weights
    return Examples(nodes.astype(np.int32), np.asarray(labels, np.int64), weights.astype(np.float32))


def clouds(size: int = 60, classes: int = 3, seed: int = 0, spread: float = 0.6) -> tuple[Rows, Codes]:
    """Return vectors [V, 4] around a centre for each class, and the classes."""
    random = np.random.default_rng(seed)
    labels = np.arange(size) % classes
    return random.normal(size=(classes, 4))[labels] + spread * random.normal(size=(size, 4)), labels


def ring(size: int = 60) -> tuple[HigherOrderNetwork, Codes]:
    """Return a ring where neighbours are near, and its three arcs."""
    ends = [(f"n{i:03d}", f"n{(i + step) % size:03d}") for i in range(size) for step in (1, 2, 3)]
    return from_edges(*zip(*ends, strict=True)), np.arange(size) * 3 // size
