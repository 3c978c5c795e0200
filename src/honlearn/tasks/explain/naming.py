"""Reasons with names: from codes and numbers to an :class:`~honlearn.tasks.explain.value.Explanation`.

In: :class:`~honlearn.tasks.explain.nodes.NodeReasons`, the network's names, and what supports a reason. Out:
explanations that can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import SEPARATOR
from honlearn.paths.paths import Paths
from honlearn.tasks.explain.nodes import Effects, NodeReasons
from honlearn.tasks.explain.support import ARROW, NetworkSupport, PathSupport, Support
from honlearn.tasks.explain.value import Explanation, Reason, Reference


class Naming:
    """Names of a network and the paths or counts behind a reason."""

    def __init__(self, network: HigherOrderNetwork, paths: Paths | None, classes: NDArray[Any]) -> None:
        self.network, self.classes = network, classes
        self.counts = NetworkSupport(network)
        self.paths = None if paths is None else PathSupport(paths)

    def explanation(
        self, found: NodeReasons, first_order: NDArray[np.float64] | None, examples: Sequence[Reason] = ()
    ) -> Explanation:
        """Return the explanation of a node."""
        label, entity = found.label, found.entity
        references = []
        if found.memory.members:
            references.append(Reference("without memory (base node alone)", float(found.base_alone[label])))
        if first_order is not None:
            references.append(Reference("on the first-order network", float(first_order[label])))
        references.append(Reference("without neighbours", float(found.no_neighbors[label])))
        if not np.array_equal(found.no_kernel, found.proba):
            references.append(Reference("without the path kernel", float(found.no_kernel[label])))
        reasons = [
            *self._memories(found.memory),
            *self._neighbors(entity, found.neighbors),
            *(self._path(path, without) for path, without in found.paths),
            *examples,
        ]
        name, of_class = self.network.vocabulary[entity], str(self.classes[label])
        return Explanation(name, of_class, float(found.proba[label]), tuple(references), tuple(reasons))

    def memory(self, gram: Sequence[int], without: float, value: float | None = None) -> Reason:
        """Return a context as a reason; a gram is newest first."""
        names = [self.network.vocabulary[entity] for entity in gram]
        support = self.counts.memory(gram)
        if self.paths is not None:
            support = _joined(self.paths.gram(names[::-1]), support)
        return Reason("memory", SEPARATOR.join(names), value, without, support.count, support.text)

    def edge(self, entity: int, other: int, without: float, value: float | None = None) -> Reason:
        """Return the edges between two entities as a reason."""
        name = " – ".join(self.network.vocabulary[code] for code in (entity, other))
        support = self._of_pair(entity, other)
        return Reason("neighbor", name, value, without, support.count, support.text)

    def _of_pair(self, entity: int, other: int) -> Support:
        own, name = (self.network.vocabulary[code] for code in (entity, other))
        counted = self.counts.neighbor(entity, other)
        return counted if self.paths is None else _joined(self.paths.either(own, name), counted)

    def _memories(self, effects: Effects) -> list[Reason]:
        def reason(grams: Sequence[tuple[int, ...]], without: float, value: float) -> Reason:
            if len(grams) > 1:
                return Reason("memory", f"{len(grams):,} other memories", value, without)
            return self.memory(grams[0], without, value)

        return _reasons(effects, reason)

    def _neighbors(self, entity: int, effects: Effects) -> list[Reason]:
        def reason(others: Sequence[int], without: float, value: float) -> Reason:
            if len(others) > 1:
                return Reason("neighbor", f"{len(others):,} other neighbours", value, without)
            name = self.network.vocabulary[others[0]]
            support = self._of_pair(entity, others[0])
            return Reason("neighbor", name, value, without, support.count, support.text)

        return _reasons(effects, reason)

    def _path(self, entities: Sequence[int], without: float) -> Reason:
        names = [self.network.vocabulary[entity] for entity in entities]
        support = self.counts.path(entities) if self.paths is None else self.paths.gram(names)
        return Reason("path", ARROW.join(names), None, without, support.count, support.text)


def _reasons(effects: Effects, reason: Callable[[Any, float, float], Reason]) -> list[Reason]:
    """Return the players as reasons, by the size of their values, what is left of them last."""
    players = zip(effects.members, effects.without.tolist(), effects.values.tolist(), strict=True)
    found = [reason(*player) for player in players]
    last = found[len(found) - effects.is_rest :]
    head = found[: len(found) - effects.is_rest]
    return sorted(head, key=lambda one: -abs(one.value or 0.0)) + last


def _joined(whole: Support, counted: Support) -> Support:
    """Return what whole paths tell, and what the network does."""
    return Support(whole.count, f"{counted.text}; {whole.text}" if counted.text else whole.text)
