"""Paths that flow: chunks now, the vocabulary when they have all gone by.

In: a reader (a function that yields chunks and numbers names as it goes). Out: filtered chunks for a
consumer that counts them one by one, or, collected, one :class:`Paths` in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from honlearn.errors import HonlearnError, InputError
from honlearn.paths.files import File
from honlearn.paths.filters import PathFilter
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions
from honlearn.paths.paths import PathChunk, Paths, check_total
from honlearn.paths.vocabulary import Vocabulary
from honlearn.progress import Advance, progress

_TOKENS_AT_ONCE = 1 << 20
OpenChunks = Callable[[Interner, Advance], Iterator[PathChunk]]


class FilesOf(NamedTuple):
    """The files that a stream reads, and their format."""

    files: Sequence[File]
    kind: str


class PathStream:
    """Paths read piece by piece, so that a file larger than memory can be counted.

    :meth:`chunks` reads the source from its start each time it is called; `vocabulary` and `dropped` (how
    many paths were shorter than ``min_length``) belong to the last complete reading. `files` tells which
    files it reads, where it reads files; a part of a source `may_be_empty`.
    """

    def __init__(
        self,
        open_chunks: OpenChunks,
        options: ReaderOptions,
        name: str,
        total_bytes: int | None = None,
        show: bool | None = None,
        once: bool = False,
        files: FilesOf | None = None,
        may_be_empty: bool = False,
    ) -> None:
        self.options = options
        self.name = name
        self.dropped = 0
        self._open_chunks = open_chunks
        self._total_bytes = total_bytes
        self.show = show
        self._once = once
        self.files = files
        self._may_be_empty = may_be_empty
        self._begun = False
        self._vocabulary: Vocabulary | None = None

    def chunks(self) -> Iterator[PathChunk]:
        """Yield chunks of paths: codes, offsets from 0, counts or None."""
        if self._once and self._begun:
            raise InputError(f"{self.name} can be read only once; make a list of it to read it again")
        self._begun = True
        self._vocabulary = None
        interner, keep = Interner(self.options.max_name), PathFilter(self.options)
        seen = False
        # Lists have no bytes to measure; a bar without a total would only flicker.
        show = self.show if self._total_bytes is not None else False
        with progress(f"reading {self.name}", self._total_bytes, unit="bytes", show=show) as advance:
            for chunk in self._open_chunks(interner, advance):
                chunk = keep(chunk)
                if len(chunk.offsets) > 1:
                    seen = True
                    yield chunk
        self.dropped = keep.dropped
        if not seen and not self._may_be_empty:
            raise self.nothing(self.dropped)
        self._vocabulary = interner.freeze()

    def nothing(self, dropped: int) -> InputError:
        """Return the error of a source without a path, after so many were dropped."""
        if not dropped:
            return InputError(f"{self.name}: no path at all; the source is empty or all of it was skipped")
        least = self.options.min_length
        remedy = (
            "all were empty" if least == 1 else f"{dropped:,} were shorter than min_length={least}; lower it"
        )
        return InputError(f"{self.name}: no path at all; {remedy}")

    @property
    def once(self) -> bool:
        """Whether the source, such as a pipe or an iterator, can be read only once."""
        return self._once

    @property
    def vocabulary(self) -> Vocabulary:
        """The names by code; there once :meth:`chunks` is exhausted."""
        if self._vocabulary is None:
            raise HonlearnError(f"{self.name}: the vocabulary is complete only after chunks() is exhausted")
        return self._vocabulary

    def __repr__(self) -> str:
        return f"PathStream({self.name!r})"


def collect(stream: PathStream) -> Paths:
    """Return all paths of a stream in memory; the vocabulary holds the entities that occur in them."""
    chunks = list(stream.chunks())
    vocabulary = stream.vocabulary
    starts = np.cumsum([0, *(len(chunk.codes) for chunk in chunks)])
    offsets = np.concatenate(
        [np.zeros(1, np.int64), *(c.offsets[1:] + start for c, start in zip(chunks, starts, strict=False))]
    )
    counts = None
    if any(chunk.counts is not None for chunk in chunks):
        counts = np.concatenate(
            [np.ones(len(c.offsets) - 1, np.int64) if c.counts is None else c.counts for c in chunks]
        )
        check_total(counts, stream.name)
    codes = np.empty(int(starts[-1]), np.int32)
    for start in starts[-2::-1]:  # from the back, so that each chunk is freed once it is copied
        chunk = chunks.pop()
        codes[start : start + len(chunk.codes)] = chunk.codes
    return occurring(codes, offsets, vocabulary, counts)


def occurring(
    codes: np.ndarray[tuple[int], np.dtype[np.int32]],
    offsets: np.ndarray[tuple[int], np.dtype[np.int64]],
    vocabulary: Vocabulary,
    counts: np.ndarray[tuple[int], np.dtype[np.int64]] | None,
) -> Paths:
    """Return paths whose vocabulary is only the entities that occur, in their old order."""
    used = np.zeros(len(vocabulary), np.bool_)
    for start in range(0, len(codes), _TOKENS_AT_ONCE):
        used[codes[start : start + _TOKENS_AT_ONCE]] = True
    if not used.all():
        renumbered = (np.cumsum(used) - 1).astype(np.int32)
        codes, vocabulary = renumbered[codes], vocabulary.take(np.flatnonzero(used))
    return Paths(codes, offsets, vocabulary, counts)
