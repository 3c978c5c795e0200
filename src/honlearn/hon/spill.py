"""Sorted runs on disk, and their sum key range by key range.

In: sorted runs of (keys, counts) that together do not fit the memory they may take; the keys are one array of
words or two. Out: the sum of all runs, in pieces that ascend and fit. A count is a sum over runs, so the
pieces, one after another, are what merging all runs in memory gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import BLOCK, DiskArray

# Of one counter at a time.
MOST_RUNS = 32

Columns = tuple[NDArray[Any], ...]
Merge = Callable[[Any, Any], Any]


class SpilledRun:
    """One sorted run on disk: its columns, the first of them the (oldest part of the) keys."""

    def __init__(self, columns: Columns) -> None:
        self.columns = [DiskArray(column.dtype.type) for column in columns]
        self.append(columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def append(self, columns: Columns) -> None:
        """Write more rows, which follow those that are there."""
        for column, values in zip(self.columns, columns, strict=True):
            column.append(values)

    def read(self, start: int, stop: int) -> Columns:
        """Return rows in memory of their own."""
        return tuple(column.read(start, stop) for column in self.columns)

    def put_zeros_in_front(self) -> None:
        """Add a column of zeros, words of keys, before the others."""
        zeros = DiskArray(np.uint64)
        for start in range(0, len(self), BLOCK):
            zeros.append(np.zeros(min(BLOCK, len(self) - start), np.uint64))
        self.columns.insert(0, zeros)

    def rewritten(self, change: Callable[[Columns], None]) -> SpilledRun:
        """Return the run with its rows changed in place, block by block; this one is given up."""
        made = SpilledRun(self.read(0, 0))
        for start in range(0, len(self), BLOCK):
            rows = self.read(start, min(start + BLOCK, len(self)))
            change(rows)
            made.append(rows)
        self.close()
        return made

    def close(self) -> None:
        """Give the disk back."""
        for column in self.columns:
            column.close()


def merge_ranges(runs: list[SpilledRun], most: int, merge: Merge) -> Iterator[Columns]:
    """Yield the sum of the runs in ascending pieces, each of at most about `most` rows of all runs.

    Rows whose first words are equal stay together, so a piece is larger where very many are.
    """
    if not runs:
        return
    keys = [run.columns[0].mapped() for run in runs]
    starts = [0] * len(runs)
    for bound in [*_bounds(keys, most), None]:
        stops = [
            len(column) if bound is None else int(np.searchsorted(column, bound, "left")) for column in keys
        ]
        parts = [run.read(*span) for run, *span in zip(runs, starts, stops, strict=True)]
        starts = stops
        while len(parts) > 1:
            # Two of like size at a time.
            parts.sort(key=lambda part: -len(part[0]))
            parts.append(merge(parts.pop(), parts.pop()))
        yield parts[0]


def few_runs(runs: list[SpilledRun], most: int, merge: Merge) -> list[SpilledRun]:
    """Return runs of the same sum, at most :data:`MOST_RUNS`: of so many, the smaller half becomes one.

    Each run is some open files, of which a system allows a thousand or so. A row is written again once each
    time that its run has become sixteen times as long.
    """
    if len(runs) < MOST_RUNS:
        return runs
    by_size = sorted(runs, key=len)
    joined, others = by_size[: MOST_RUNS // 2], by_size[MOST_RUNS // 2 :]
    made = SpilledRun(joined[0].read(0, 0))
    for piece in merge_ranges(joined, most, merge):
        made.append(piece)
    for run in joined:
        run.close()
    return [*others, made]


def _bounds(keys: list[NDArray[Any]], most: int) -> NDArray[Any]:
    """Return first words that cut the runs into pieces of at most `most` rows together."""
    n = len(keys)
    step = max(1, most // (8 * n))
    # Between two of these lie at most `step` rows of each run.
    sample = np.sort(np.concatenate([column[step - 1 :: step] for column in keys]))
    take = max(1, most // step - n)
    return np.unique(sample[take::take])
