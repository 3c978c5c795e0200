"""Pairs of relatives: for each learner, one relative of either end of a pair, drawn by Eq. 4 or Eq. 3.

In: a network, pairs of entities and a seed. Out: node indices ``[L, B, 2]``. A pair's draw is a hash of
(seed, learner, occasion, pair), so it depends neither on the other learners nor on the other pairs. Pairs
that nothing links, for training and for tests, are drawn here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.hon.network import HigherOrderNetwork
from honlearn.mixing import splitmix64_array
from honlearn.paths.pairs import Keys, Pairs, among, keyed_pairs, pair_keys
from honlearn.sampling.relatives import FamilyDraws
from honlearn.seeds import Label, derive_seed

# Keys of pairs are made in `paths`; modules that draw pairs import them from here.
__all__ = [
    "Keys",
    "PairSampler",
    "Pairs",
    "count_unlinked",
    "draw_unlinked",
    "edge_keys",
    "keyed_pairs",
    "linked_keys",
    "pair_keys",
]


def edge_keys(network: HigherOrderNetwork, directed: bool = True) -> Keys:
    """Return the key of the entities at the two ends of each edge, int64 [E]."""
    ends = np.stack([network.base[network.sources], network.base[network.indices]], 1)
    return pair_keys(ends, network.n_entities, directed)


def linked_keys(network: HigherOrderNetwork, directed: bool = True) -> Keys:
    """Return the keys of all pairs of different entities with an edge between relatives, ascending.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "C|A", "C"], ["C|A", "D", "C"], [2, 2, 6])
    >>> keyed_pairs(linked_keys(hon), hon.n_entities).tolist()
    [[0, 1], [1, 2]]
    """
    keys = np.unique(edge_keys(network, directed))
    return np.asarray(keys[keys // network.n_entities != keys % network.n_entities])


class PairSampler:
    """Draws relatives (u', v') of pairs (u, v).

    Jointly, P(u', v') = w(u', v') / Σ w over all edges between relatives of u and v (Eq. 4); a pair without
    such an edge, or where `joint` is off, draws each end by Eq. 3, independently. Without direction, edges
    of both directions count.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "C|A", "C"], ["C|A", "D", "D"], [2, 2, 6])
    >>> drawn = PairSampler(hon).draw(np.array([[0, 1], [2, 0]]), 0, learners=[0, 1], joint=True)
    >>> drawn.tolist()  # A → C is observed as A → C|A only; D → A never
    [[[0, 3], [2, 0]], [[0, 3], [2, 0]]]
    """

    def __init__(self, network: HigherOrderNetwork, directed: bool = True) -> None:
        self.network, self.directed = network, directed
        self._families = FamilyDraws(network)

    @cached_property
    def _links(self) -> tuple[Keys, NDArray[np.float64], Pairs, NDArray[np.float64]]:
        """Edges by the pair of their entities: distinct keys [K], the weight before each pair [K + 1], the
        ends of the edges [E, 2] and the weight up to each of them [E].
        """
        network = self.network
        ends = np.stack([network.sources, network.indices], 1)
        weights = network.weights.astype(np.float64)
        if not self.directed:
            ends, weights = np.concatenate([ends, ends[:, ::-1]]), np.concatenate([weights, weights])
        keys = pair_keys(network.base[ends], network.n_entities)
        order = np.argsort(keys, kind="stable")
        distinct, first = np.unique(keys[order], return_index=True)
        upto = np.cumsum(weights[order])
        before = np.concatenate([[0.0], upto])[np.append(first, len(order))]
        return distinct, before, ends[order], upto

    @cached_property
    def is_fixed(self) -> bool:
        """Whether every family has one node only, so that all draws are the same."""
        return self.network.n_conditional == 0

    def draw(
        self, pairs: Pairs, seed: int, learners: Sequence[int], *labels: Label, joint: bool
    ) -> NDArray[np.int32]:
        """Return one relative of either end of each pair [B, 2] for each learner, int32 [L, B, 2]."""
        pairs = np.asarray(pairs, np.int32)
        if self.is_fixed:
            return np.repeat(pairs[None], len(learners), 0)
        out = np.empty((len(learners), *pairs.shape), np.int32)
        keys = pair_keys(pairs, self.network.n_entities).astype(np.uint64)
        for row, learner in enumerate(learners):
            stream = derive_seed(seed, "pair relatives", learner, *labels)
            for side in (0, 1):
                out[row, :, side] = self._families.draw(pairs[:, side], _uniform(keys, stream, side))
            if joint:
                linked, drawn = self._both_ends(keys.astype(np.int64), _uniform(keys, stream, 2))
                out[row, linked] = drawn
        return out

    def possible(self, pairs: Pairs, joint: bool) -> NDArray[np.int32]:
        """Return every node that :meth:`draw` may draw for these pairs, ascending; or some more."""
        within = np.zeros(self.network.n_entities, bool)
        within[pairs] = True
        # Eq. 4 also draws relatives that have in-edges only.
        drawn = within[self.network.base] & (self._drawable | joint)
        return np.flatnonzero(drawn).astype(np.int32)

    @cached_property
    def _drawable(self) -> NDArray[np.bool_]:
        """Whether Eq. 3 may draw each node, [N]."""
        return self.network.relative_probabilities() > 0

    def _both_ends(self, keys: Keys, uniform: NDArray[np.float64]) -> tuple[NDArray[np.intp], Pairs]:
        """Return which pairs have an edge, and relatives of both their ends by Eq. 4."""
        distinct, before, ends, upto = self._links
        group = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
        linked = np.flatnonzero(distinct[group] == keys) if len(distinct) else np.empty(0, np.intp)
        group = group[linked]
        start, end = before[group], before[group + 1]
        place = np.searchsorted(upto, start + uniform[linked] * (end - start), "right")
        limit = np.searchsorted(upto, end, "left")
        return linked, ends[np.minimum(place, limit)]


def _uniform(keys: NDArray[np.uint64], stream: int, side: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each key, by a hash that belongs to the stream and the side."""
    bits = splitmix64_array(np.uint64(stream), keys * np.uint64(3) + np.uint64(side + 1))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def count_unlinked(n_entities: int, taken: Keys, directed: bool = True) -> int:
    """Return how many pairs of different entities are not among the distinct keys `taken`."""
    space = n_entities * (n_entities - 1)
    return (space if directed else space // 2) - len(taken)


def draw_unlinked(
    random: np.random.Generator, count: int, n_entities: int, taken: Keys, directed: bool = True
) -> Pairs:
    """Return distinct pairs of different entities, uniformly, none of whose keys is in `taken` (ascending).

    >>> draw_unlinked(np.random.default_rng(0), 1, 2, np.array([1])).tolist()
    [[1, 0]]
    """
    free = count_unlinked(n_entities, taken, directed)
    if count > free:
        raise InputError(
            f"{count:,} pairs without a link are needed, but among {n_entities:,} entities there are only "
            f"{free:,}; ask for a smaller share or fewer negatives"
        )
    if free < 4 * count:
        u, v = np.divmod(np.arange(n_entities**2), n_entities)
        every = np.flatnonzero(u != v if directed else u < v)
        left = every[~among(every, taken)]
        return keyed_pairs(random.permutation(left)[:count], n_entities)
    found = np.empty(0, np.int64)
    while len(found) < count:
        some = random.integers(0, n_entities, (2 * (count - len(found)) + 16, 2), dtype=np.int32)
        keys = pair_keys(some[some[:, 0] != some[:, 1]], n_entities, directed)
        found = np.concatenate([found, keys[~among(keys, taken)]])
        _, first = np.unique(found, return_index=True)
        found = found[np.sort(first)]
    return keyed_pairs(found[:count], n_entities)
