"""Filters on paths: drop consecutive repeats, keep first occurrences, drop short paths.

In: a :class:`PathChunk` of any reader. Out: the chunk without what the options drop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit
from honlearn.paths.options import ReaderOptions
from honlearn.paths.paths import PathChunk


class PathFilter:
    """Applies ``drop_repeats``, ``first_only`` and ``min_length`` to chunk after chunk; counts the dropped.

    Repeats go before lengths are measured, so a path of one entity seen five times has length 1 after
    ``drop_repeats``. Empty paths are always dropped.
    """

    def __init__(self, options: ReaderOptions) -> None:
        self.drop_repeats = options.drop_repeats
        self.first_only = options.first_only
        self.min_length = options.min_length
        self.dropped = 0
        self._seen_in = np.full(0, -1, np.int64)
        self._path = 0

    def __call__(self, chunk: PathChunk) -> PathChunk:
        """Return the chunk with the filters applied; the same arrays where nothing changes."""
        rewrite = self.drop_repeats or self.first_only
        if not rewrite and (len(chunk.offsets) < 2 or np.diff(chunk.offsets).min() >= self.min_length):
            return chunk
        if self.first_only and len(chunk.codes):
            new = int(chunk.codes.max()) + 1 - len(self._seen_in)
            if new > 0:
                room = np.full(max(new, len(self._seen_in)), -1, np.int64)
                self._seen_in = np.concatenate([self._seen_in, room])
        codes, offsets, rows = _filtered(
            chunk.codes,
            chunk.offsets,
            self.drop_repeats,
            self.first_only,
            self.min_length,
            self._seen_in,
            self._path,
        )
        before = len(chunk.offsets) - 1
        self._path += before
        self.dropped += before - len(rows)
        return PathChunk(codes, offsets, None if chunk.counts is None else chunk.counts[rows])


@njit
def _filtered(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    drop_repeats: bool,
    first_only: bool,
    min_length: int,
    seen_in: NDArray[np.int64],
    path: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return codes, offsets and rows of what is left; ``seen_in[code]`` is the last path with the entity."""
    n = len(offsets) - 1
    out = np.empty(len(codes), np.int32)
    ends = np.zeros(n + 1, np.int64)
    rows = np.empty(n, np.int64)
    kept = 0
    write = 0
    for i in range(n):
        end, last = write, np.int32(-1)
        for j in range(offsets[i], offsets[i + 1]):
            code = codes[j]
            if drop_repeats and code == last:
                continue
            last = code
            if first_only:
                if seen_in[code] == path + i:
                    continue
                seen_in[code] = path + i
            out[end] = code
            end += 1
        if end - write < min_length:
            continue
        write = end
        rows[kept] = i
        kept += 1
        ends[kept] = write
    return out[:write], ends[: kept + 1], rows[:kept]
