"""The names of parts, numbered as one process would: by first appearance, part after part.

In: parts that were counted with codes of their own, whose names are with the workers. Out: the vocabulary of
the whole, and for each part the codes of its entities in it. Names of many parts are joined on the workers in
groups first, so that this process reads each name once per group, not once per part, and never has the codes
of all parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.executors import Executor
from honlearn.hon.partial import Summary
from honlearn.paths.interner import Interner
from honlearn.paths.vocabulary import Vocabulary

_MOST_ALONE = 16
"""Parts up to this number are not grouped."""


@dataclass
class Part:
    """A part that was counted: its summary, and handles of its names and windows."""

    summary: Summary
    names: Any
    windows: Any


@dataclass
class Group:
    """Parts in a row whose names were joined: the names of the first come first.

    `codes` are those of all names of the group in the whole, None where parts have the codes of the whole;
    `places` are handles that tell where the names of the second part and of the others stand in the group.
    """

    parts: Sequence[Part]
    codes: NDArray[np.int64] | None = None
    places: list[Any] = field(default_factory=list)

    def spread(self, values: NDArray[np.int64] | None, pool: Executor, held: list[Any]) -> list[Any]:
        """Return, for each part, the values of its entities, or a handle of them; None are the codes."""
        if self.codes is None:
            return [values] * len(self.parts)
        mine = self.codes if values is None else values[self.codes]
        if len(self.parts) == 1:
            return [mine]
        first = self.parts[0].summary.entities
        handles = pool.submit(taken, mine, first, *self.places, pieces=len(self.parts))
        held += handles
        return list(handles)


def number_parts(
    parts: Sequence[Part], pool: Executor, held: list[Any]
) -> tuple[Vocabulary | None, list[Group]]:
    """Return all names by first appearance, None where parts have the codes of the whole, and groups."""
    if not parts or not parts[0].summary.named:
        return None, [Group(parts)] if parts else []
    size = 1 if len(parts) <= _MOST_ALONE else math.isqrt(len(parts) - 1) + 1
    groups = [Group(parts[start : start + size]) for start in range(0, len(parts), size)]
    unions = []
    for group in groups:
        names = [part.names for part in group.parts]
        if len(names) > 1:
            names = pool.submit(join_names, *names, pieces=len(names))
            held += names
        unions.append(names[0])
        group.places = names[1:]
    interner = Interner(None)
    for group, union in zip(groups, unions, strict=True):
        group.codes = _interned(interner, pool.get(union))
        pool.release([union, *(part.names for part in group.parts)])
    return interner.freeze(), groups


def join_names(*parts: Vocabulary) -> list[Any]:
    """Return the names of parts by first appearance, and where those of each but the first stand there."""
    interner = Interner(None)
    places = [_interned(interner, names) for names in parts]
    return [interner.freeze(), *(place.astype(np.int32) for place in places[1:])]


def _interned(interner: Interner, names: Vocabulary) -> NDArray[np.int64]:
    data, offsets = np.frombuffer(names.data.tobytes(), np.uint8), names.offsets.copy()
    return interner.intern(data, offsets[:-1], offsets[1:]).astype(np.int64)


def taken(values: NDArray[np.int64], first: int, *places: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Return the values of the names of each part of a group."""
    return [values[:first], *(values[place] for place in places)]
