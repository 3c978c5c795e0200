"""Unlinked pairs whose ends are as popular as those of links: degree-corrected negatives.

In: how often each entity is a source and a target of links, and the keys of pairs that must not be drawn.
Out: distinct pairs. With uniform negatives the product of two degrees alone tells links from others; here
each entity is an end of as large a share of the unlinked pairs as it is of the links, so that degrees alone
tell little (Aiyappa et al. 2024, "Implicit degree bias in the link prediction task").
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.errors import InputError
from honlearn.paths.pairs import Keys, Pairs, among, keyed_pairs, pair_keys

Degrees = NDArray[np.int64]
Weights = NDArray[np.float64]
# Up to so many pairs of entities all are weighed; beyond, ends are drawn until enough pairs are found.
_ALL = 4_000_000
_ROUNDS = 500
# Rounds of proportional fitting. Who is linked to nearly all others has too few pairs left for its degree;
# its weight is at most so many times what its degree alone would give.
_FITTED = 100
_MOST = 50.0


def link_degrees(linked: Keys, n_entities: int, directed: bool = True) -> tuple[Degrees, Degrees]:
    """Return how many entities each entity is linked to, and from, int64 [V] each; undirected: partners.

    >>> [degree.tolist() for degree in link_degrees(np.array([1, 2, 5]), 3)]  # 0 → 1, 0 → 2, 1 → 2
    [[2, 1, 0], [0, 1, 2]]
    """
    sources, targets = keyed_pairs(linked, n_entities).T
    out, into = (np.bincount(ends, minlength=n_entities) for ends in (sources, targets))
    return (out, into) if directed else (out + into, out + into)


def end_weights(
    degrees: tuple[Degrees, Degrees], taken: Keys, directed: bool = True
) -> tuple[Weights, Weights]:
    """Return weights a and b of sources and targets, [V] each: (u, v) is drawn in proportion to a(u)·b(v).

    Over all pairs that may be drawn, a(u)·b(v) sums to 1, to out(u) / Σ out for each source u and to
    in(v) / Σ in for each target v. With degrees in place of the weights, popular entities would be drawn too
    rarely, since they are in most of the pairs that are `taken`. Iterative proportional fitting: of all
    distributions with these sums this is the one of maximum entropy.

    >>> degrees = np.array([2, 1, 1]), np.array([1, 2, 1])
    >>> a, b = end_weights(degrees, np.array([], np.int64))
    >>> pairs = np.outer(a, b) * (1 - np.eye(3))
    >>> pairs.sum(1).round(3).tolist(), pairs.sum(0).round(3).tolist()
    ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25])
    """
    size = len(degrees[0])
    wanted = [degree / max(int(degree.sum()), 1) for degree in degrees]
    ends = keyed_pairs(taken, size)
    ends = ends if directed else np.concatenate([ends, ends[:, ::-1]])
    ones = np.ones(len(ends))
    along = sparse.csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(size, size))
    back = along.T.tocsr()
    a, b = wanted
    for _ in range(_FITTED):
        if directed:
            a = _fitted(wanted[0], _partner_weight(b, along))
            b = _fitted(wanted[1], _partner_weight(a, back))
        else:
            a = b = np.sqrt(a * _fitted(wanted[0], _partner_weight(a, along)))
    total = float((a * _partner_weight(b, along)).sum()) / (1 if directed else 2)
    return a / max(total, 1e-300), b


def _partner_weight(weights: Weights, taken: sparse.csr_array[Any, Any]) -> Weights:
    """Return the weight of all partners that each entity may be drawn with, [V]."""
    left = weights.sum() - taken @ weights - weights
    # What rounding leaves is no partner.
    return np.where(left > 1e-9 * weights.sum(), left, 0.0)


def _fitted(wanted: Weights, partners: Weights) -> Weights:
    """Return the weights that give each entity its share of the pairs, 0 where it has no partners."""
    found = np.divide(wanted, partners, out=np.zeros(len(wanted)), where=partners > 0)
    return np.minimum(found, _MOST * wanted / max(float(partners.max(initial=0.0)), 1e-300))


def draw_by_degree(
    random: np.random.Generator,
    count: int,
    degrees: tuple[Degrees, Degrees],
    taken: Keys,
    directed: bool = True,
) -> Pairs:
    """Return distinct pairs of different entities, each entity in them in proportion to its degrees.

    Pairs whose keys are in `taken` (ascending), and those drawn before, are rejected: successive sampling
    with probabilities in proportion to the product of :func:`end_weights`. Fewer than `count` come back only
    where there are no more with both degrees above 0.

    >>> degrees = np.array([2, 1, 0]), np.array([0, 1, 2])
    >>> draw_by_degree(np.random.default_rng(0), 9, degrees, np.array([1, 2])).tolist()
    [[1, 2]]
    """
    size = len(degrees[0])
    weights = end_weights(degrees, taken, directed)
    if size * size <= _ALL:
        return _weighed(random, count, weights, taken, directed)
    ends = [np.cumsum(weight) for weight in weights]
    if not ends[0][-1] or not ends[1][-1]:
        return np.empty((0, 2), np.int32)
    found = np.empty(0, np.int64)
    for _ in range(_ROUNDS):
        if len(found) >= count:
            return keyed_pairs(found[:count], size)
        some = 2 * (count - len(found)) + 64
        drawn = [np.searchsorted(end, random.random(some) * end[-1], "right") for end in ends]
        pairs = np.minimum(np.stack(drawn, 1), size - 1).astype(np.int32)
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
    weights: tuple[Weights, Weights],
    taken: Keys,
    directed: bool,
) -> Pairs:
    """Draw from all pairs at once: the smallest of exponential times with these rates come first."""
    size = len(weights[0])
    rate = weights[0][:, None] * weights[1]
    np.fill_diagonal(rate, 0.0)
    rate = rate.ravel() if directed else np.triu(rate).ravel()
    rate[taken] = 0.0
    possible = np.flatnonzero(rate)
    times = random.exponential(size=len(possible)) / rate[possible]
    return keyed_pairs(possible[np.argsort(times, kind="stable")[:count]], size)
