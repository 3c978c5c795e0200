"""Why nodes have their classes: Shapley values over memories and neighbours, and deletions of paths.

In: a fitted :class:`~honlearn.tasks.nodes.DGEClassifier`, codes of entities. Out: one :class:`NodeReasons`
for each, numbers and codes without names. Three questions are asked of every entity:

* memory: the prediction is a mean over relatives by Eq. 3, so a context is left out by weighing the others
  again. The players are contexts; with none of them the base node predicts alone.
* neighbours: the players are entities next to the node. One that is left out sends its relatives no messages;
  with none of them a node has its features alone.
* paths: of one context alone, an entity that follows is left out.

Which players are worth a value of their own is decided by deleting each alone; the others are one player. How
many are told does not change the game, and so not their values, unless more are asked for than it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.deletion import Deletions
from honlearn.tasks.explain.games import Answered, Asked, Part, answered
from honlearn.tasks.explain.players import Family, Gram, Groups, candidates, family, normalised, strongest
from honlearn.tasks.explain.shapley import MOST, from_values, planned
from honlearn.tasks.link_split import hide_pairs
from honlearn.tasks.temperature import tempered

# Copies of nodes whose rows are held at once.
_COPIES = 1 << 15
# Players of a question that have values of their own; more if more are told.
PLAYERS = 5

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Effects:
    """Players of one question, each a set of entities or contexts, with Shapley values and deletions.

    `members` [n], `values` [n] and `without` [n], in probability of the explained class; `is_rest` says that
    the last player stands for all that were not worth a value of their own.
    """

    members: tuple[tuple[Any, ...], ...]
    values: Numbers
    without: Numbers
    is_rest: bool


@dataclass(frozen=True)
class NodeReasons:
    """What moved the prediction for an entity.

    `proba` [C] is the prediction, `raw` [C] what it is before the temperature; `base_alone`, `no_neighbors`
    and `no_kernel` [C] are what it would be. `memory` and `neighbors` are players, `paths` the entities of a
    path, oldest first, with the probability without it.
    """

    entity: int
    label: int
    raw: Numbers
    proba: Numbers
    base_alone: Numbers
    no_neighbors: Numbers
    no_kernel: Numbers
    memory: Effects
    neighbors: Effects
    paths: tuple[tuple[tuple[int, ...], float], ...]


class NodeExplainer:
    """Explains predictions of a fitted classifier; `top` players of a question are told one by one."""

    def __init__(self, model: Any, top: int, seed: int = 0) -> None:
        self.model, self.top, self.seed, self.run = model, top, seed, model._runtime()
        self.valued = max(top, PLAYERS)
        self.parts = [
            Part(Deletions(one.model, one.ensemble, self.run, hide_pairs), one.share)
            for one in model.components_
        ]
        share = 0.0 if model.kernel_proba_ is None else float(model.kernel_share_)
        self.kernel_share, self.kernel = share, model.kernel_proba_
        self.temperature = float(model.temperature_)

    def explain(self, entities: Sequence[int], labels: Sequence[int | None]) -> Iterator[NodeReasons]:
        """Yield the reasons for each entity's probability of a class, None for the most probable one."""
        wanted = iter(labels)
        with self.run.threads():
            for block in _blocks(map(self._first, map(int, entities))):
                yield from self._explained(block, list(islice(wanted, len(block))))

    def _families(self, entity: int) -> tuple[Family, ...]:
        return tuple(
            family(part.deletions.network, part.deletions.probabilities, entity) for part in self.parts
        )

    def _first(self, entity: int) -> Asked:
        """Return the first question: the prediction, and the prediction without each neighbour alone."""
        families = self._families(entity)
        groups = candidates(entity, [part.deletions.network for part in self.parts], families)
        bits = np.uint64(1) << np.arange(len(groups.members), dtype=np.uint64)
        everyone = np.uint64(groups.everyone)
        return Asked(families, groups, np.concatenate([[everyone], everyone ^ bits]).astype(np.uint64))

    def without_neighbors(self, entity: int, sets: Sequence[Sequence[int]]) -> Numbers:
        """Return the class probabilities of an entity without each of these sets of neighbours, [B, C].

        All sets together may have 62 neighbours.
        """
        families = self._families(entity)
        every = np.unique(np.concatenate([near for one in families for near in one.near]))
        named = np.unique(np.concatenate([np.array(one, np.int32) for one in sets]))
        groups = Groups(entity, (*named[:, None], np.setdiff1d(every, named)))
        place = {int(other): number for number, other in enumerate(named)}
        left = [sum(1 << place[int(other)] for other in set(one)) for one in sets]
        coalitions = np.array([groups.everyone ^ bits for bits in left], np.uint64)
        with self.run.threads():
            found = answered(self.parts, [Asked(families, groups, coalitions)])[0]
            return self._mixed(entity, found.coalition_proba())

    def without_memories(self, entity: int, sets: Sequence[Sequence[Gram]]) -> Numbers:
        """Return the class probabilities of an entity without each of these sets of contexts, [B, C]."""
        with self.run.threads():
            first = answered(self.parts, [self._first(entity)])[0]
        found = []
        for left_out in sets:
            weights = [one.kept(dict.fromkeys(left_out, 0), np.zeros(1, np.uint64)) for one in first.families]
            found.append(first.relatives_proba(weights)[0])
        return self._mixed(entity, np.stack(found))

    def _explained(self, asked: list[Asked], labels: list[int | None]) -> Iterator[NodeReasons]:
        first = answered(self.parts, asked)
        deleted = [
            self._mixed(one.groups.entity, a.coalition_proba()) for one, a in zip(asked, first, strict=True)
        ]
        chosen = [
            int(p[0].argmax()) if label is None else label for p, label in zip(deleted, labels, strict=True)
        ]
        players = [
            strongest(one.groups, p[0, c] - p[1:, c], self.valued)
            for one, p, c in zip(asked, deleted, chosen, strict=True)
        ]
        seconds = [
            Asked(one.families, groups, planned(len(groups.members), self.seed))
            for one, groups in zip(asked, players, strict=True)
        ]
        values = (one for block in _blocks(seconds) for one in answered(self.parts, block))
        yield from map(self._reasons, asked, first, deleted, chosen, seconds, values)

    def _reasons(
        self,
        asked: Asked,
        first: Answered,
        deleted: Numbers,
        label: int,
        second: Asked,
        values: Answered,
    ) -> NodeReasons:
        entity = asked.groups.entity
        proba, learned = self._mixed(entity, values.coalition_proba()), first.coalition_proba()[0]
        raw = self._with_kernel(entity, learned)
        return NodeReasons(
            entity,
            label,
            raw,
            deleted[0],
            self._mixed(entity, first.relatives_proba([_only_base(one) for one in first.families]))[0],
            proba[0],
            tempered(learned[None], self.temperature)[0],
            self._memory(entity, first, label),
            _effects(_tuples(second.groups), second.coalitions, proba[:, label], self.seed, self.top),
            self._paths(asked, first, raw, label),
        )

    def _memory(self, entity: int, first: Answered, label: int) -> Effects:
        """Return Shapley values of contexts, those that change least together."""
        contexts = first.contexts[:MOST]
        each = {gram: number for number, gram in enumerate(contexts)}
        everyone = (1 << len(contexts)) - 1
        but_one = [everyone, *(everyone ^ (1 << number) for number in range(len(contexts)))]
        full, *alone = self._with_contexts(entity, first, each, but_one, label)
        order = np.argsort(-np.abs(full - np.array(alone)), kind="stable").tolist()
        sets: list[tuple[Gram, ...]] = [(contexts[number],) for number in order]
        if len(sets) > self.valued + 1 or len(first.contexts) > MOST:
            known = {gram for one in sets[: self.valued] for gram in one}
            sets = [*sets[: self.valued], tuple(gram for gram in first.contexts if gram not in known)]
        player = {gram: number for number, one in enumerate(sets) for gram in one}
        coalitions = planned(len(sets), self.seed)
        values = self._with_contexts(entity, first, player, coalitions, label)
        return _effects(sets, coalitions, values, self.seed, self.top)

    def _with_contexts(
        self,
        entity: int,
        first: Answered,
        player: Mapping[Gram, int],
        coalitions: Sequence[int] | NDArray[np.uint64],
        label: int,
    ) -> Numbers:
        """Return the probability of a class where only the contexts in each coalition are left."""
        bits = np.asarray(coalitions, np.uint64)
        weights = [one.kept(player, bits) for one in first.families]
        return self._mixed(entity, first.relatives_proba(weights))[:, label]

    def _paths(
        self, asked: Asked, first: Answered, raw: Numbers, label: int
    ) -> tuple[tuple[tuple[int, ...], float], ...]:
        """Return the paths through the contexts that move the prediction most, and it without each."""
        alone = {int(m[0]): g for g, m in enumerate(asked.groups.members) if len(m) == 1}
        found: dict[tuple[int, ...], Numbers] = {}
        for number, (part, one) in enumerate(zip(self.parts, first.families, strict=True)):
            network = part.deletions.network
            for place, gram in enumerate(one.grams):
                if len(gram) == 1:
                    continue
                node = int(one.nodes[place])
                follow = network.base[network.indices[network.indptr[node] : network.indptr[node + 1]]]
                effects = (1 - self.kernel_share) * first.path_effects(number, place)[1:]
                for entity in np.unique(follow).tolist():
                    if entity in alone:
                        path = (*reversed(gram), entity)
                        found[path] = found.get(path, 0.0) + effects[alone[entity]]
        best = sorted(found.items(), key=lambda item: (-abs(item[1][label]), item[0]))[: self.top]
        left = [np.maximum(raw - effect, 0.0) for _, effect in best]
        without = tempered(np.stack(left), self.temperature)[:, label].tolist() if left else []
        return tuple((path, p) for (path, _), p in zip(best, without, strict=True))

    def _mixed(self, entity: int, proba: Numbers) -> Numbers:
        """Return probabilities [B, C] of the learners with the path kernel's share, at the temperature."""
        return tempered(self._with_kernel(entity, proba), self.temperature)

    def _with_kernel(self, entity: int, proba: Numbers) -> Numbers:
        if self.kernel is None:
            return proba
        of_kernel = self.kernel[entity].astype(np.float64)
        return np.asarray((1 - self.kernel_share) * proba + self.kernel_share * of_kernel)


def _blocks(asked: Iterable[Asked]) -> Iterator[list[Asked]]:
    """Yield the questions in blocks whose answers take bounded memory."""
    block: list[Asked] = []
    size = 0
    for one in asked:
        block.append(one)
        size += one.n_copies
        if size >= _COPIES:
            yield block
            block, size = [], 0
    if block:
        yield block


def _only_base(one: Family) -> Numbers:
    return normalised(np.zeros((1, len(one.weights))))


def _tuples(groups: Groups) -> list[tuple[int, ...]]:
    return [tuple(member.tolist()) for member in groups.members]


def _effects(
    members: Sequence[tuple[Any, ...]], coalitions: NDArray[np.uint64], values: Numbers, seed: int, top: int
) -> Effects:
    """Return the players with their Shapley values, from the values of the planned coalitions.

    Of more than `top` and one, those with the largest values are told; the others are told together, with
    the sum of their values.
    """
    n, found = len(members), from_values(len(members), coalitions, values, seed)
    sets = [[number] for number in range(n)]
    if n > top + 1:
        # A player that stands for several is none of those that are told alone.
        several = np.array([len(one) > 1 for one in members])
        order = np.lexsort((-np.abs(found), several)).tolist()
        sets = [*([number] for number in order[:top]), sorted(order[top:])]
    everyone = (1 << n) - 1
    but_one = [everyone ^ sum(1 << number for number in one) for one in sets]
    without = values[np.searchsorted(coalitions, np.array(but_one, np.uint64))]
    told = tuple(tuple(each for number in one for each in members[number]) for one in sets)
    sums = np.array([found[one].sum() for one in sets], np.float64)
    return Effects(told, sums, without, bool(told) and len(told[-1]) > 1)
