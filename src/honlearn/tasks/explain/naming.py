"""Reasons with names: from codes and numbers to an :class:`~honlearn.tasks.explain.value.Explanation`.

In: :class:`~honlearn.tasks.explain.nodes.NodeReasons`, the network's names, and what supports a reason. Out:
explanations that can be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    def _memories(self, effects: Effects) -> list[Reason]:
        def reason(grams: Sequence[tuple[int, ...]]) -> tuple[str, Support]:
            if len(grams) > 1:
                return f"{len(grams):,} other memories", Support(None, "")
            names = [self.network.vocabulary[entity] for entity in grams[0]]
            counted = self.counts.memory(grams[0])
            if self.paths is None:
                return SEPARATOR.join(names), counted
            whole = self.paths.gram(names[::-1])
            return SEPARATOR.join(names), _joined(whole, counted)

        return _reasons("memory", effects, reason)

    def _neighbors(self, entity: int, effects: Effects) -> list[Reason]:
        def reason(others: Sequence[int]) -> tuple[str, Support]:
            if len(others) > 1:
                return f"{len(others):,} other neighbours", Support(None, "")
            own, other = (self.network.vocabulary[code] for code in (entity, others[0]))
            counted = self.counts.neighbor(entity, others[0])
            return other, counted if self.paths is None else _joined(self.paths.either(own, other), counted)

        return _reasons("neighbor", effects, reason)

    def _path(self, entities: Sequence[int], without: float) -> Reason:
        names = [self.network.vocabulary[entity] for entity in entities]
        support = self.counts.path(entities) if self.paths is None else self.paths.gram(names)
        return Reason("path", ARROW.join(names), None, without, *support)


def _reasons(kind: str, effects: Effects, reason: Any) -> list[Reason]:
    """Return the players as reasons, by the size of their values, what is left of them last."""
    found = []
    for members, value, without in zip(effects.members, effects.values, effects.without, strict=True):
        name, support = reason(members)
        found.append(Reason(kind, name, float(value), float(without), *support))
    last = found[len(found) - effects.is_rest :]
    head = found[: len(found) - effects.is_rest]
    return sorted(head, key=lambda one: -abs(one.value or 0.0)) + last


def _joined(whole: Support, counted: Support) -> Support:
    """Return what whole paths tell, and what the network does."""
    return Support(whole.count, f"{counted.text}; {whole.text}" if counted.text else whole.text)
