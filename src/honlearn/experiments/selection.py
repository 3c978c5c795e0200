"""The paper's own protocol: of several settings the best on the test folds, and how far that flatters.

In: records of one model with several settings on the same test parts. Out: the setting with the best mean,
and its optimism: how much of that mean is owed to having looked. The honest counterpart uses the same
records: for each test part the setting is chosen on the other parts.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from honlearn.experiments.spaces import Space
from honlearn.results.record import Record
from honlearn.seeds import generator


@dataclass(frozen=True)
class Selected:
    """The records of the best setting, and its mean against the mean of the honest choice."""

    records: list[Record]
    best: float
    honest: float | None

    @property
    def optimism(self) -> float | None:
        """How much choosing on the test parts adds; None with fewer than two parts."""
        return None if self.honest is None else self.best - self.honest


def best_on_test(settings: Sequence[Sequence[Record]], score: str) -> Selected:
    """Return the best of several settings, each with its records on the same test parts, in one order."""
    table = [[record.score(score) for record in records] for records in settings]
    means = [statistics.fmean(row) for row in table]
    place = max(range(len(means)), key=means.__getitem__)
    parts = len(table[0])
    if parts < 2:
        return Selected(list(settings[place]), means[place], None)
    honest = []
    for part in range(parts):
        others = [statistics.fmean([*row[:part], *row[part + 1 :]]) for row in table]
        chosen = max(range(len(others)), key=others.__getitem__)
        honest.append(table[chosen][part])
    return Selected(list(settings[place]), means[place], statistics.fmean(honest))


def points(space: Space, seed: int) -> Iterator[dict[str, Any] | None]:
    """Yield the default (None), then every point of the grid in an order that belongs to the seed."""
    yield None
    if not space.size:
        return
    rows = list(space.dimensions.values())
    sizes = [len(row) for row in rows]
    for number in generator(seed, "grid").permutation(space.size).tolist():
        place, chosen = number, []
        for row, size in zip(rows, sizes, strict=True):
            place, at = divmod(place, size)
            chosen.append(row[at])
        yield dict(zip(space.dimensions, chosen, strict=True))
