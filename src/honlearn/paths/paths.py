"""Paths in memory: what every reader returns and what the network builder takes.

In: flat entity codes with offsets, an optional count per path, and the vocabulary. Out: the same, as
one immutable value. Names became integers in the reader; from here on there are only codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from honlearn.errors import InputError
from honlearn.paths.vocabulary import Vocabulary

Whole = TypeVar("Whole", np.int32, np.int64)


class PathChunk(NamedTuple):
    """Some paths: codes int32 [T], offsets int64 [n + 1], counts int64 [n] or None (each counts once)."""

    codes: NDArray[np.int32]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64] | None


class Paths:
    """Observed paths, immutable: path i is ``codes[offsets[i]:offsets[i + 1]]``, seen ``counts[i]`` times.

    Parameters
    ----------
    codes : array of int32
        The entities of all paths, one path after another, as codes in `vocabulary`.
    offsets : array of int64 [n + 1]
        Where each path starts in `codes`; the last is where all end.
    vocabulary : Vocabulary
        The names of the entities.
    counts : array of int64 [n], optional
        How often each path was seen; None is once each.

    Examples
    --------
    >>> paths = Paths.from_lists([["A", "C", "D"], ["B", "C", "E"]], counts=[2, 1])
    >>> len(paths), paths.total, paths.vocabulary.names
    (2, 3, ('A', 'C', 'D', 'B', 'E'))
    >>> paths[1]
    ('B', 'C', 'E')
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        offsets: NDArray[np.int64],
        vocabulary: Vocabulary,
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        self.codes = as_whole("codes of entities", codes, np.int32)
        self.offsets = as_whole("offsets of paths", offsets, np.int64)
        self.counts = None if counts is None else as_whole("counts of paths", counts, np.int64)
        self.vocabulary = vocabulary
        # Compiled loops trust these numbers.
        check_offsets(self.offsets, len(self.codes))
        if self.counts is not None:
            check_counts(self.counts, len(self.offsets) - 1)
        if self.codes.size and (self.codes.min() < 0 or self.codes.max() >= len(vocabulary)):
            raise InputError(
                f"codes of entities must be 0 to {len(vocabulary) - 1:,}, places in the vocabulary"
            )
        for array in (self.codes, self.offsets, self.counts):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_lists(cls, paths: Iterable[Sequence[object]], counts: Iterable[int] | None = None) -> Paths:
        """Return paths from Python sequences of names; :func:`honlearn.read_paths` takes files and tables.

        Parameters
        ----------
        paths : iterable of sequences
            The names of the entities of each path, oldest first.
        counts : iterable of int, optional
            How often each path was seen; None is once each.
        """
        from honlearn.paths.lists import paths_from_lists

        return paths_from_lists(paths, counts)

    def __len__(self) -> int:
        """Return the number of rows: distinct paths where the input had counts."""
        return len(self.offsets) - 1

    def __deepcopy__(self, memo: dict[int, object]) -> Paths:
        """Return these paths themselves: nothing can change them, so scikit-learn's clone shares them."""
        return self

    @property
    def total(self) -> int:
        """Number of observed paths, each row by its count."""
        return len(self) if self.counts is None else int(self.counts.sum())

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Entities in each path [n]."""
        return np.diff(self.offsets)

    def __getitem__(self, row: int) -> tuple[str, ...]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self):,} paths")
        row %= len(self)
        names = self.vocabulary.names
        return tuple(names[code] for code in self.codes[self.offsets[row] : self.offsets[row + 1]])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (self[row] for row in range(len(self)))

    def split(
        self,
        parts: float | int | Sequence[float] = 0.8,
        *,
        seed: int | None = 0,
        times: Iterable[Any] | None = None,
    ) -> list[Paths]:
        """Return the paths in parts, such as those to learn from and those to test on.

        Each observed path is in one part. A row with a count is a bunch of paths and is shared out at random,
        but not by time.

        Parameters
        ----------
        parts
            A fraction (two parts: it and the rest), a number of equal parts, or a list of
            fractions.
        seed
            Decides which path goes where; None draws one. Within a part, paths keep their order.
        times
            One number or time per row. Then nothing is random: the earliest paths go to the first
            part. Paths of one time stay together, in the earlier part.

        Examples
        --------
        >>> train, test = Paths.from_lists([["A", "B"], ["B", "C"], ["C", "A"], ["A", "C"]]).split(0.75)
        >>> len(train), len(test)
        (3, 1)
        """
        from honlearn.paths.split import split

        return split(self, parts, seed, times)

    def take(self, rows: Iterable[int]) -> Paths:
        """Return some rows, in this order, with their counts and the entities that occur in them.

        Parameters
        ----------
        rows : iterable of int
            Numbers of the paths, from 0.
        """
        from honlearn.paths.split import take

        chosen = np.asarray(rows if hasattr(rows, "__len__") else list(rows))
        if chosen.dtype == bool and chosen.shape == (len(self),):
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.int64) if not chosen.size else chosen
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or (chosen >= len(self)).any():
            raise InputError(f"rows of paths are whole numbers from 0 to {len(self) - 1:,}; got {rows!r:.80}")
        if (chosen < 0).any():
            raise InputError(
                f"rows of paths are whole numbers from 0 to {len(self) - 1:,}; got {chosen.min()}"
            )
        return take(self, chosen.astype(np.int64))

    def chunks(self, tokens: int = 1 << 20) -> Iterator[PathChunk]:
        """Yield the paths in pieces, offsets from 0 in each.

        Parameters
        ----------
        tokens : int
            About how many entities a piece has.
        """
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + tokens, "right")) - 1
            stop = min(max(stop, start + 1), len(self))
            a, b = self.offsets[start], self.offsets[stop]
            counts = None if self.counts is None else self.counts[start:stop]
            yield PathChunk(self.codes[a:b], self.offsets[start : stop + 1] - a, counts)
            start = stop

    @property
    def n_steps(self) -> int:
        """How many moves from one entity to the next there are, each as often as its path was seen."""
        moves = np.maximum(self.lengths - 1, 0)
        if self.counts is None:
            return int(moves.sum())
        # In Python's integers, since counts go up to 2**62.
        return sum(map(mul, moves.tolist(), self.counts.tolist()))

    def __repr__(self) -> str:
        rows = "" if self.counts is None else f" in {len(self):,} rows with counts"
        return f"Paths({self.total:,} paths{rows}, {self.n_steps:,} steps, {len(self.vocabulary):,} entities)"

    def _repr_html_(self) -> str:
        from honlearn.paths.html import paths_html

        return paths_html(self)


def as_whole(name: str, values: ArrayLike, kind: type[Whole]) -> NDArray[Whole]:
    """Return whole numbers in the type of compiled loops; raise for fractions, and for what would wrap.

    >>> as_whole("codes", [0, 2.0], np.int32).tolist()
    [0, 2]
    """
    given, bounds = np.asarray(values), np.iinfo(kind)
    if given.size and given.dtype != kind:
        # An array without a row, put behind a 0, is one of floats.
        near = given.dtype.kind == "f" and bool((given == np.floor(given)).all())
        whole = given.dtype.kind in "iu" or (near and bool(np.isfinite(given).all()))
        if not whole:
            raise InputError(f"{name} must be whole numbers. Got values of type {given.dtype} instead.")
        if given.min() < bounds.min or given.max() > bounds.max:
            raise InputError(
                f"{name} must fit {bounds.bits} bits. Got {given.min()} to {given.max()} instead."
            )
    return np.ascontiguousarray(given, kind)


def check_offsets(offsets: NDArray[np.int64], size: int) -> None:
    """Raise an :class:`InputError` unless the offsets divide `size` codes into paths."""
    whole = offsets.ndim == 1 and len(offsets) and offsets[0] == 0 and offsets[-1] == size
    if not whole or (offsets[:-1] > offsets[1:]).any():
        raise InputError(f"offsets of paths must ascend from 0 to {size:,}, the number of codes")


def check_counts(counts: NDArray[np.int64], rows: int) -> None:
    """Raise unless there is one count, at least 1, for each of `rows` paths, and their sum is no overflow."""
    if counts.shape != (rows,):
        raise InputError(f"{rows:,} paths but {counts.size:,} counts; give one count per path")
    if counts.size and counts.min() < 1:
        row = int(np.argmax(counts < 1))
        raise InputError(f"path {row}: count {counts[row]}; a count is a whole number, at least 1")
    check_total(counts, "paths")


def check_total(counts: NDArray[np.int64], where: str) -> None:
    """Raise where the counts of what is called `where` are more together than sums of 64 bits hold."""
    if counts.sum(dtype=np.float64) > 2.0**62:
        raise InputError(f"{where}: the counts add up to more than 2**62 paths; divide them all")
