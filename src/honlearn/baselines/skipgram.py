"""Skip-gram with negative sampling over paths of entities (Mikolov et al., NeurIPS 2013), compiled.

In: flat codes with offsets, and a seed. Out: two vectors for each entity, float32 [V, d] each. One thread and
counted random bits, so the same seed gives the same bytes. For an entity c with a neighbour o on its path and
entities n drawn at random the loss is

    −log σ(v_c · u_o) − Σ_n log σ(−v_c · u_n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit
from honlearn.mixing import GOLDEN, mix64

Vectors = NDArray[np.float32]

_TABLE = 1 << 20
_POWER = 0.75


def noise_table(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return entities, each in proportion to its count to the power 0.75; a random place is a negative."""
    share = np.cumsum(counts.astype(np.float64) ** _POWER)
    places = (np.arange(_TABLE) + 0.5) / _TABLE * share[-1]
    return np.asarray(np.searchsorted(share, places, "right"), np.int32)


def start(n_entities: int, dimensions: int, random: np.random.Generator) -> tuple[Vectors, Vectors]:
    """Return the vectors v, small and random, and u, all 0."""
    inner = (random.random((n_entities, dimensions), np.float32) - np.float32(0.5)) / np.float32(dimensions)
    return inner, np.zeros((n_entities, dimensions), np.float32)


@njit(fastmath={"reassoc", "contract", "nsz"})
def step(
    inner: Vectors,
    outer: Vectors,
    center: int,
    targets: NDArray[np.int32],
    n_targets: int,
    rate: float,
    moved: Vectors,
) -> float:
    """Go one step down the gradient for `center` and its targets, the first of them observed; give the loss.

    `moved` [d] is room to work in.
    """
    size, loss = inner.shape[1], 0.0
    moved[:] = np.float32(0)
    for place in range(n_targets):
        target = targets[place]
        dot = np.float32(0)
        for k in range(size):
            dot += inner[center, k] * outer[target, k]
        probability = 1.0 / (1.0 + np.exp(-np.float64(dot)))
        truth = 1.0 if place == 0 else 0.0
        loss -= np.log(max(probability if place == 0 else 1.0 - probability, 1e-12))
        slope = np.float32((truth - probability) * rate)
        for k in range(size):
            moved[k] += slope * outer[target, k]
            outer[target, k] += slope * inner[center, k]
    for k in range(size):
        inner[center, k] += moved[k]
    return loss


@njit
def epoch(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    vectors: tuple[Vectors, Vectors],
    table: NDArray[np.int32],
    window: int,
    n_negatives: int,
    rates: tuple[float, float],
    stream: int,
) -> float:
    """Pass over the paths `rows` in this order, the learning rate falling from one to the other; mean loss.

    An entity's neighbours are those at most b steps away, b drawn from 1 … `window` at each place.
    """
    inner, outer = vectors
    targets = np.empty(n_negatives + 1, np.int32)
    moved = np.empty(inner.shape[1], np.float32)
    state = np.uint64(stream)
    total, count = 0.0, 0
    for visit in range(len(rows)):
        rate = rates[0] + (rates[1] - rates[0]) * visit / len(rows)
        first, last = offsets[rows[visit]], offsets[rows[visit] + 1]
        for at in range(first, last):
            state += GOLDEN
            reach = 1 + np.int64(mix64(state) % np.uint64(window))
            for other in range(max(first, at - reach), min(last, at + reach + 1)):
                if other == at:
                    continue
                targets[0], n_targets = codes[other], 1
                for _ in range(n_negatives):
                    state += GOLDEN
                    drawn = table[np.int64(mix64(state) & np.uint64(_TABLE - 1))]
                    if drawn != codes[other]:
                        targets[n_targets] = drawn
                        n_targets += 1
                total += step(inner, outer, codes[at], targets, n_targets, rate, moved)
                count += 1
    return total / max(count, 1)
