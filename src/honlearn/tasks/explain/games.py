"""What a bag of components predicts for entities with some neighbours or relatives left out.

In: components with their deletions (:mod:`honlearn.ensemble.deletion`), entities, groups of neighbours and
coalitions of groups. Out: rows for every relative and coalition, and class probabilities mixed from them. All
deletions of many entities are computed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.copies import Copies
from honlearn.ensemble.deletion import Deletions
from honlearn.tasks.explain.players import Family, Gram, Groups, as_players

Proba = NDArray[np.float64]


class Part(NamedTuple):
    """A component: its deletions, and its share of the prediction."""

    deletions: Deletions
    share: float


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of one entity: its family in each part, its groups, and coalitions of these."""

    families: tuple[Family, ...]
    groups: Groups
    coalitions: NDArray[np.uint64]

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """The copies of relatives that each part computes."""
        return tuple(_plan(one, self.groups, self.coalitions) for one in self.families)

    @property
    def n_copies(self) -> int:
        """How many copies of nodes it takes, in the part that takes most."""
        return max(len(plan.groups) for plan in self.plans)


class Plan(NamedTuple):
    """Copies of relatives: `nodes` and `groups` read [K]; where each relative's coalitions are, [R, S]."""

    nodes: NDArray[np.int32]
    groups: NDArray[np.uint64]
    places: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answered:
    """The rows of one entity: of each part [A, R, S, D], S as in the coalitions that were asked for."""

    parts: tuple[Part, ...]
    families: tuple[Family, ...]
    rows: tuple[NDArray[np.float32], ...]

    def coalition_proba(self) -> Proba:
        """Return the probabilities with each coalition of neighbours, all relatives by Eq. 3: [S, C]."""
        weights = [one.weights for one in self.families]
        mixed = [np.einsum("r,arsd->asd", w, rows) for w, rows in zip(weights, self.rows, strict=True)]
        return self._pooled(mixed)

    def relatives_proba(self, kept: Sequence[NDArray[np.float64]]) -> Proba:
        """Return the probabilities under other weights of the relatives, of each part [B, R]: [B, C].

        The relatives read the first coalition that was asked for.
        """
        mixed = [np.einsum("br,ard->abd", w, rows[:, :, 0]) for w, rows in zip(kept, self.rows, strict=True)]
        return self._pooled(mixed)

    def path_effects(self, part: int, relative: int) -> Proba:
        """Return how far probabilities fall where one relative alone reads a coalition: [S, C].

        The first coalition is the one to compare with.
        """
        weights, rows = self.families[part].weights, self.rows[part]
        whole = np.einsum("r,ard->ad", weights, rows[:, :, 0])
        moved = weights[relative] * (rows[:, relative] - rows[:, relative, :1])
        mixed = whole[:, None] + moved
        proba = self.parts[part].deletions.proba(mixed.astype(np.float32))
        return self.parts[part].share * (proba[:1] - proba)

    def _pooled(self, mixed: Sequence[NDArray[np.floating]]) -> Proba:
        probas = [
            part.share * part.deletions.proba(one.astype(np.float32))
            for part, one in zip(self.parts, mixed, strict=True)
        ]
        total = np.sum(probas, axis=0)
        return np.asarray(total / total.sum(1, keepdims=True))

    @property
    def contexts(self) -> tuple[Gram, ...]:
        """The relatives with memory that some part reads."""
        found = {gram: None for one in self.families for gram in one.grams if len(gram) > 1}
        return tuple(found)


def answered(parts: Sequence[Part], asked: Sequence[Asked]) -> list[Answered]:
    """Return the rows of every relative of every entity under the coalitions that were asked for."""
    n_entities = parts[0].deletions.network.n_entities
    players = as_players([one.groups for one in asked], n_entities)
    rows: list[list[NDArray[np.float32]]] = [[] for _ in asked]
    for number, part in enumerate(parts):
        plans = [one.plans[number] for one in asked]
        nodes, groups = (np.concatenate(arrays) for arrays in zip(*(p[:2] for p in plans), strict=True))
        table, start = part.deletions.rows(Copies(nodes, groups, players)), 0
        for found, plan in zip(rows, plans, strict=True):
            found.append(table[:, start : start + len(plan.nodes)][:, plan.places])
            start += len(plan.nodes)
    return [
        Answered(tuple(parts), one.families, tuple(found)) for one, found in zip(asked, rows, strict=True)
    ]


def _plan(relatives: Family, groups: Groups, coalitions: NDArray[np.uint64]) -> Plan:
    """Return the copies of relatives that coalitions need.

    A relative takes no notice of groups that are not next to it, so that coalitions fall together.
    """
    nodes, masks, start = [], [], 0
    places = np.empty((len(relatives.nodes), len(coalitions)), np.int64)
    for row, near in enumerate(relatives.near):
        distinct, where = np.unique(coalitions & groups.touching(near), return_inverse=True)
        nodes.append(np.full(len(distinct), relatives.nodes[row]))
        masks.append(distinct)
        places[row] = start + where.ravel()
        start += len(distinct)
    return Plan(np.concatenate(nodes), np.concatenate(masks), places)
