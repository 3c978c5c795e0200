"""What the tests of the next step share: small paths, and a model asked one state at a time, in Python."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from honlearn.hon.steps.model import StepModel

PATHS = st.lists(st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=6), min_size=1, max_size=30)


def planted(order: int, n: int, seed: int = 0) -> list[list[str]]:
    """Return paths in which the entity `order` − 1 steps before a crossing decides what comes after it."""
    random = np.random.default_rng(seed)
    paths = []
    for _ in range(n):
        origin = int(random.integers(4))
        goal = origin if random.random() < 0.9 else int(random.integers(4))
        before = [f"x{random.integers(5)}" for _ in range(random.geometric(0.4))]
        after = [f"x{random.integers(5)}" for _ in range(random.geometric(0.4))]
        paths.append([*before, f"from{origin}", *["crossing"] * (order - 1), f"to{goal}", *after])
    return paths


def distribution(model: StepModel, state: int) -> NDArray[np.float64]:
    """Return the probabilities of all entities and END from a state, by following its backoffs in Python."""
    a = model.automaton
    out = np.empty(a.n_entities + 1)
    for code in range(a.n_entities):
        spent, now = 0.0, state
        while code not in (edges := a.symbol[a.first[now] : a.first[now + 1]].tolist()):
            spent, now = spent + a.backoff[now], int(a.shorter[now])
        out[code] = 2.0 ** -(spent + a.bits[a.first[now] + edges.index(code)])
    out[-1] = 2.0 ** -a.end[state]
    return out


def unknown(model: StepModel, state: int) -> float:
    """Return the probability of an entity that the model never saw."""
    a, spent = model.automaton, model.automaton.base
    while state:
        spent, state = spent + a.backoff[state], int(a.shorter[state])
    return float(2.0 ** -(spent + a.backoff[0]))
