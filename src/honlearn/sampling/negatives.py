"""Unlinked pairs whose ends are as popular as those of links: degree-corrected negatives.

In: how often each entity is a source and a target of links, and the keys of pairs that must not be drawn.
Out: distinct pairs. With uniform negatives the product of two degrees alone tells links from others; here
each end is drawn in proportion to its degree, so that degrees alone tell little (Aiyappa et al. 2024,
"Implicit degree bias in the link prediction task").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.paths.pairs import Keys, Pairs, among, keyed_pairs, pair_keys

Degrees = NDArray[np.int64]
# Up to so many pairs of entities all are weighed; beyond, ends are drawn until enough pairs are found.
_ALL = 4_000_000
_ROUNDS = 500


def link_degrees(linked: Keys, n_entities: int, directed: bool = True) -> tuple[Degrees, Degrees]:
    """Return how many entities each entity is linked to, and from, int64 [V] each; undirected: partners.

    >>> [degree.tolist() for degree in link_degrees(np.array([1, 2, 5]), 3)]  # 0 → 1, 0 → 2, 1 → 2
    [[2, 1, 0], [0, 1, 2]]
    """
    sources, targets = keyed_pairs(linked, n_entities).T
    out, into = (np.bincount(ends, minlength=n_entities) for ends in (sources, targets))
    return (out, into) if directed else (out + into, out + into)


def draw_by_degree(
    random: np.random.Generator,
    count: int,
    degrees: tuple[Degrees, Degrees],
    taken: Keys,
    directed: bool = True,
) -> Pairs:
    """Return distinct pairs (u, v) of different entities, u drawn by its out-degree and v by its in-degree.

    Pairs whose keys are in `taken` (ascending), and those drawn before, are rejected: successive sampling
    with probabilities in proportion to out(u)·in(v). Fewer than `count` come back only where there are no
    more with both degrees above 0.

    >>> degrees = np.array([2, 1, 0]), np.array([0, 1, 2])
    >>> draw_by_degree(np.random.default_rng(0), 9, degrees, np.array([1, 2])).tolist()
    [[1, 2]]
    """
    size = len(degrees[0])
    if size * size <= _ALL:
        return _weighed(random, count, degrees, taken, directed)
    ends = [np.cumsum(degree) for degree in degrees]
    if not ends[0][-1] or not ends[1][-1]:
        return np.empty((0, 2), np.int32)
    found = np.empty(0, np.int64)
    for _ in range(_ROUNDS):
        if len(found) >= count:
            return keyed_pairs(found[:count], size)
        some = 2 * (count - len(found)) + 64
        drawn = [np.searchsorted(end, random.integers(0, end[-1], some), "right") for end in ends]
        pairs = np.stack(drawn, 1).astype(np.int32)
        keys = pair_keys(pairs[pairs[:, 0] != pairs[:, 1]], size, directed)
        found = np.concatenate([found, keys[~among(keys, taken)]])
        _, first = np.unique(found, return_index=True)
        found = found[np.sort(first)]
    raise InputError(
        f"only {len(found):,} of {count:,} unlinked pairs were found by drawing ends by degree: entities "
        "with many links are linked to nearly all others; ask for a smaller share, or for uniform negatives"
    )


def _weighed(
    random: np.random.Generator,
    count: int,
    degrees: tuple[Degrees, Degrees],
    taken: Keys,
    directed: bool,
) -> Pairs:
    """Draw from all pairs at once: the smallest of exponential times with these rates come first."""
    size = len(degrees[0])
    rate = degrees[0][:, None].astype(np.float64) * degrees[1]
    np.fill_diagonal(rate, 0.0)
    rate = rate.ravel() if directed else np.triu(rate).ravel()
    rate[taken] = 0.0
    possible = np.flatnonzero(rate)
    times = random.exponential(size=len(possible)) / rate[possible]
    return keyed_pairs(possible[np.argsort(times, kind="stable")[:count]], size)
