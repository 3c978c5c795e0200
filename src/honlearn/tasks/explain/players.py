"""Who takes part in a prediction: the relatives of an entity, and its neighbours in groups.

In: the networks that the components of a bag read. Out: for each entity its relatives by component, which
groups of neighbours each of them reads, and the groups. Entities have the same codes in all these networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.copies import Players
from honlearn.hon.network import HigherOrderNetwork
from honlearn.tasks.explain.shapley import MOST

Gram = tuple[int, ...]
"""Entities of a node, newest first: (u, w) is u after w."""


class Family(NamedTuple):
    """The relatives of an entity that one component reads, base node first.

    nodes int32 [R], weights float64 [R] (Eq. 3), grams [R], and for each relative the entities next to it.
    """

    nodes: NDArray[np.int32]
    weights: NDArray[np.float64]
    grams: tuple[Gram, ...]
    near: tuple[NDArray[np.int32], ...]

    def kept(self, player: Mapping[Gram, int], coalitions: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the weights [B, R] where only relatives in a coalition are left, which sum to 1.

        `player` numbers the contexts; other relatives are always there. Where no weight is left, the base
        node has all of it.
        """
        number = np.array([player.get(gram, MOST) for gram in self.grams], np.uint64)
        read = (coalitions[:, None] >> number) & np.uint64(1)
        return normalised(np.where((number == MOST) | (read == 1), self.weights, 0.0))


def normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights [..., R] that sum to 1; where all are 0, the first has all of it.

    >>> normalised(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    total = weights.sum(-1, keepdims=True)
    first = np.zeros_like(weights)
    first[..., 0] = 1.0
    return np.asarray(np.where(total > 0, weights / np.where(total > 0, total, 1.0), first))


def family(network: HigherOrderNetwork, probabilities: NDArray[np.float64], entity: int) -> Family:
    """Return the relatives of an entity that may be drawn, and its base node in any case."""
    start, end = network.family_indptr[entity], network.family_indptr[entity + 1]
    members = network.family_indices[start:end]
    weights = probabilities[members]
    read = weights > 0
    read[0] = True
    members, weights = members[read], weights[read]
    offsets, grams = network.gram_offsets, network.grams
    return Family(
        members,
        weights,
        tuple(tuple(grams[offsets[node] : offsets[node + 1]].tolist()) for node in members),
        tuple(_near(network, int(node), entity) for node in members),
    )


def _near(network: HigherOrderNetwork, node: int, entity: int) -> NDArray[np.int32]:
    """Return the entities next to a node in either direction, but not its own, ascending."""
    out = network.indices[network.indptr[node] : network.indptr[node + 1]]
    into = network.in_indices[network.in_indptr[node] : network.in_indptr[node + 1]]
    found = np.unique(network.base[np.concatenate([out, into])])
    return np.asarray(found[found != entity], np.int32)


@dataclass(frozen=True)
class Groups:
    """Neighbours of an entity in groups: `members[g]` are the entities of group g, int32 each."""

    entity: int
    members: tuple[NDArray[np.int32], ...]

    @property
    def everyone(self) -> int:
        """The coalition of all groups."""
        return (1 << len(self.members)) - 1

    @cached_property
    def _bits(self) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """The entities of all groups, ascending, and the bit of the group that each is in."""
        entities = np.concatenate([np.zeros(0, np.int32), *self.members])
        number = np.repeat(np.arange(len(self.members), dtype=np.uint64), [len(m) for m in self.members])
        order = np.argsort(entities, kind="stable")
        return entities[order], np.uint64(1) << number[order]

    def touching(self, near: NDArray[np.int32]) -> np.uint64:
        """Return the groups, as bits, that have one of these entities, all of which are in some group."""
        entities, bits = self._bits
        return np.uint64(np.bitwise_or.reduce(bits[np.searchsorted(entities, near)], initial=0))


def candidates(entity: int, networks: Sequence[HigherOrderNetwork], families: Sequence[Family]) -> Groups:
    """Return the neighbours one by one, the heaviest first; those beyond 62 are the last group together."""
    found = np.unique(np.concatenate([near for one in families for near in one.near]))
    weight = np.zeros(len(found))
    for network, one in zip(networks, families, strict=True):
        weight += _weights(network, one, found)
    order = found[np.argsort(-weight, kind="stable")].astype(np.int32)
    alone = order if len(order) <= MOST else order[: MOST - 1]
    rest = (np.sort(order[len(alone) :]),) if len(alone) < len(order) else ()
    return Groups(entity, (*alone[:, None], *rest))


def _weights(network: HigherOrderNetwork, relatives: Family, found: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the weight of all edges between an entity's relatives and each neighbour that was found."""
    total = np.zeros(len(found))
    for node in relatives.nodes:
        for indptr, indices, weights in (
            (network.indptr, network.indices, network.weights),
            (network.in_indptr, network.in_indices, network.in_weights),
        ):
            row = slice(indptr[node], indptr[node + 1])
            base = network.base[indices[row]]
            place = np.minimum(np.searchsorted(found, base), len(found) - 1)
            there = found[place] == base if len(found) else np.zeros(len(base), np.bool_)
            total += np.bincount(place[there], weights[row][there].astype(np.float64), len(found))
    return total


def strongest(groups: Groups, effects: NDArray[np.float64], top: int) -> Groups:
    """Return the `top` neighbours with the largest effects, in this order, and all others as one group."""
    sizes = [len(member) for member in groups.members]
    # A group of several is none of the strongest, whatever its effect: it goes to the others.
    order = np.lexsort((-np.abs(effects), np.array(sizes) > 1))
    members = [groups.members[number] for number in order]
    if len(members) <= top + 1:
        return Groups(groups.entity, tuple(members))
    return Groups(groups.entity, (*members[:top], np.sort(np.concatenate(members[top:]))))


def as_players(groups: Sequence[Groups], n_entities: int) -> Players:
    """Return the groups of several entities as :class:`~honlearn.engine.copies.Players`."""
    keys, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    for one in groups:
        for number, member in enumerate(one.members):
            keys.append(one.entity * n_entities + member.astype(np.int64))
            numbers.append(np.full(len(member), number, np.uint8))
    key, group = np.concatenate(keys), np.concatenate(numbers)
    order = np.argsort(key, kind="stable")
    return Players(key[order], group[order], n_entities)
