"""The observed paths behind a reason: counts in the network, or whole paths where these are given.

In: a network, and perhaps paths. Out: how often something was observed, and a line of words, such as
"ORF → LGA 192 times, then ORF 79 %, ATL 6 %". A context's edges hold how often each step followed it, so that
a saved model can tell without its paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths

ARROW = " → "
# Steps or whole paths that are told, and entities of a whole path.
_SHOWN, _LONGEST = 3, 8


@dataclass(frozen=True)
class Support:
    """How often something was observed, and what is told of it."""

    count: float | None
    text: str


@dataclass(frozen=True, eq=False)
class NetworkSupport:
    """Counts of a network's edges."""

    network: HigherOrderNetwork

    def path(self, entities: Sequence[int]) -> Support:
        """Return how often the entities followed each other, the last after the others."""
        *before, last = entities
        node = self.network._find(list(reversed(before)))
        count = 0.0 if node < 0 else float(self._next(node).get(last, 0.0))
        if node < 0 or not count:
            return Support(None, "")
        return Support(count, f"{self._named(entities)} {_times(count)}")

    def memory(self, gram: Sequence[int]) -> Support:
        """Return how often a context occurred, and what followed it; a gram is newest first."""
        node = self.network._find(list(gram))
        if node < 0:
            return Support(None, "")
        arrived = self.path(tuple(reversed(gram))).count
        steps = sorted(self._next(node).items(), key=lambda item: (-item[1], item[0]))
        left = sum(weight for _, weight in steps)
        # Paths that begin with a longer memory, or networks from elsewhere, may have no count of arrivals.
        count = max(arrived or 0.0, left)
        shown = ", ".join(
            f"{self._name(entity)} {weight / count:.0%}{' (back)' if entity == gram[1] else ''}"
            for entity, weight in steps[:_SHOWN]
        )
        return Support(count, f"{self._named(tuple(reversed(gram)))} {_times(count)}, then {shown}")

    def neighbor(self, entity: int, other: int) -> Support:
        """Return how often a step led from one to the other, and back."""
        there, back = self._next(entity).get(other, 0.0), self._next(other).get(entity, 0.0)
        parts = [
            f"{self._named(ends)} {_times(count)}"
            for ends, count in (((entity, other), there), ((other, entity), back))
            if count
        ]
        return Support(there + back, ", ".join(parts))

    def _next(self, node: int) -> dict[int, float]:
        """Return how often each entity came next after a node."""
        network = self.network
        row = slice(int(network.indptr[node]), int(network.indptr[node + 1]))
        found: dict[int, float] = {}
        targets = network.base[network.indices[row]].tolist()
        for entity, weight in zip(targets, network.weights[row].tolist(), strict=True):
            found[entity] = found.get(entity, 0.0) + weight
        return found

    def _name(self, entity: int) -> str:
        return self.network.vocabulary[entity]

    def _named(self, entities: Sequence[int]) -> str:
        return ARROW.join(map(self._name, entities))


class PathSupport:
    """Whole paths: how many contain a gram, and which of them are most frequent."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._row = np.repeat(np.arange(len(paths)), paths.lengths)
        # Where each entity occurs, ascending: a sort once in place of a look at all steps for each gram.
        self._places = np.argsort(paths.codes, kind="stable")
        self._first = np.searchsorted(paths.codes[self._places], np.arange(len(paths.vocabulary) + 1))

    def gram(self, names: Sequence[str]) -> Support:
        """Return how many paths pass these entities in a row, and the most frequent of them."""
        known = self.paths.vocabulary
        if any(name not in known for name in names):
            return Support(0.0, "in no path")
        return self._told(self._rows([known.index(name) for name in names]))

    def either(self, first: str, second: str) -> Support:
        """Return how many paths step from one to the other, in either direction."""
        known = self.paths.vocabulary
        if first not in known or second not in known:
            return Support(0.0, "in no path")
        a, b = known.index(first), known.index(second)
        return self._told(np.union1d(self._rows([a, b]), self._rows([b, a])))

    def _rows(self, codes: Sequence[int]) -> NDArray[np.int64]:
        """Return the paths, by row, that have these codes one after the other."""
        all_codes, last = self.paths.codes, len(codes) - 1
        place = self._places[self._first[codes[0]] : self._first[codes[0] + 1]]
        place = place[place + last < len(all_codes)]
        for step, code in enumerate(codes[1:], 1):
            place = place[all_codes[place + step] == code]
        place = place[self._row[place] == self._row[place + last]]
        return np.unique(self._row[place])

    def _told(self, rows: NDArray[np.int64]) -> Support:
        if not len(rows):
            return Support(0.0, "in no path")
        counts = np.ones(len(rows), np.int64) if self.paths.counts is None else self.paths.counts[rows]
        codes, starts, ends = self.paths.codes, self.paths.offsets[rows], self.paths.offsets[rows + 1]
        # Paths are compared by their codes; only those that may be shown are named.
        distinct: dict[bytes, list[int]] = {}
        for row, a, b, count in zip(
            rows.tolist(), starts.tolist(), ends.tolist(), counts.tolist(), strict=True
        ):
            distinct.setdefault(codes[a:b].tobytes(), [row, 0])[1] += count
        least = sorted((count for _, count in distinct.values()), reverse=True)[:_SHOWN][-1]
        named = [(self.paths[row], count) for row, count in distinct.values() if count >= least]
        best = sorted(named, key=lambda item: (-item[1], item[0]))[:_SHOWN]
        total = int(counts.sum())
        shown = "; ".join(f"{_brief(names)} {_times(count)}" for names, count in best)
        return Support(float(total), f"in {total:,} path{'s' if total != 1 else ''}: {shown}")


def _brief(names: Sequence[str]) -> str:
    return ARROW.join(names[:_LONGEST]) + (ARROW + "…" if len(names) > _LONGEST else "")


def _times(count: float) -> str:
    """Return a count in words.

    >>> _times(1.0), _times(1234.0), _times(0.25)
    ('once', '1,234 times', '0.25 times')
    """
    if count == 1:
        return "once"
    return f"{count:,.0f} times" if float(count).is_integer() else f"{count:.3g} times"
