"""Paths as rows of numbers: how often each gram of the training paths stands in them.

In: paths. Out: a sparse matrix [n, F], one column per gram: entities, transitions, contexts with what follows
them, up to ``order + 1`` entities, and the same at the start and at the end of a path. A gram is a column by
itself, never a hash; one that training did not have is left out, and so is an entity.

A gram of m entities is numbered by the number of its first m − 1 and its last one, so numbers stay small for
any order, and a gram is kept only where what it begins with is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"

START, END = "(start)", "(end)"


@dataclass(frozen=True, eq=False)
class PathGrams:
    """The grams that training kept, and how rare each is.

    Parameters
    ----------
    vocabulary : the V entities, sorted by the bytes of their names. START has the code V, END V + 1.
    keys : the kept grams of 2, 3, … entities, ascending: (number of the first m − 1) · (V + 2) + last.
    rarity : log((1 + n) / (1 + paths with the gram)) + 1 of each column, float64 [F].
    """

    vocabulary: Vocabulary
    keys: tuple[NDArray[np.int64], ...]
    rarity: NDArray[np.float64]

    @classmethod
    def of(cls, paths: Paths, order: int, min_support: int, most: int) -> PathGrams:
        """Return the grams of training paths that are in at least `min_support` of them.

        All entities are kept; of the grams of each length at most the `most` that are in the most paths.
        """
        vocabulary = paths.vocabulary.take(paths.vocabulary.sorted_codes())
        empty = cls(vocabulary, (), np.zeros(len(vocabulary)))
        steps = _Steps(paths, empty.codes(paths), len(vocabulary))
        found = [np.bincount(_each_once(steps.row, steps.numbers, steps.inside), minlength=len(vocabulary))]
        keys: list[NDArray[np.int64]] = []
        for _ in range(order):
            key, good = steps.longer()
            there = _each_once(steps.row, key, good)
            distinct, support = np.unique(there, return_counts=True)
            enough = np.flatnonzero(support >= min_support)
            if len(enough) > most:
                enough = np.sort(enough[np.argsort(-support[enough], kind="stable")[:most]])
            keys.append(distinct[enough])
            found.append(support[enough])
            steps.take(key, good, keys[-1])
        rarity = np.log((1 + len(paths)) / (1 + np.concatenate(found))) + 1
        return cls(vocabulary, tuple(keys), rarity)

    @property
    def n_columns(self) -> int:
        """How many grams there are, F."""
        return len(self.rarity)

    def codes(self, paths: Paths) -> NDArray[np.int64]:
        """Return the entities of the paths by their codes here, −1 for those that training did not have."""
        known = self.vocabulary._codes
        place = np.array([known.get(name, -1) for name in paths.vocabulary.names], np.int64)
        return place[paths.codes] if len(place) else np.empty(0, np.int64)

    def matrix(self, paths: Paths) -> Matrix:
        """Return log(1 + count) · rarity of each gram in each path, rows at a length of 1, float64 [n, F]."""
        steps = _Steps(paths, self.codes(paths), len(self.vocabulary))
        n = len(paths)
        good = steps.inside & (steps.numbers >= 0)
        parts = [_counted(steps.row[good], steps.numbers[good], n, len(self.vocabulary))]
        for keys in self.keys:
            steps.take(*steps.longer(), keys)
            good = steps.numbers >= 0
            parts.append(_counted(steps.row[good], steps.numbers[good], n, len(keys)))
        matrix = sparse.hstack(parts, format="csr")
        matrix.data = np.log1p(matrix.data) * self.rarity[matrix.indices]
        return _unit_rows(matrix)

    def supported(self, train: Matrix, test: Matrix, min_support: int) -> tuple[Matrix, Matrix]:
        """Return both matrices as if only the rows of `train` had been there to keep grams.

        A gram of two entities or more that fewer than `min_support` of these rows have is left out, and rows
        have a length of 1 again; columns beside those of grams stay. Otherwise rows held out would share
        grams with training that a new path does not, those which they themselves gave the support.
        """
        width = train.shape[1]
        kept = np.bincount(train.indices, minlength=width) >= min_support
        kept[: len(self.vocabulary)] = kept[self.n_columns :] = True
        return self._without(train, kept), self._without(test, kept)

    def _without(self, matrix: Matrix, kept: NDArray[np.bool_]) -> Matrix:
        """Return the matrix without the columns that are not kept, the part of the grams at a length of 1."""
        data = np.where(kept[matrix.indices], matrix.data, 0.0)
        less: Matrix = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        grams, beside = less[:, : self.n_columns], less[:, self.n_columns :]
        joined: Matrix = sparse.hstack([_unit_rows(grams), beside], format="csr")
        joined.eliminate_zeros()
        return narrow(joined)

    def gram(self, column: int) -> tuple[str, ...]:
        """Return the entities of a column, oldest first; ``(start)`` and ``(end)`` stand for the ends."""
        size, base = len(self.vocabulary), len(self.vocabulary) + 2
        level, sizes = 0, [size, *map(len, self.keys)]
        while column >= sizes[level]:
            column -= sizes[level]
            level += 1
        names: list[str] = []
        while level:
            key = int(self.keys[level - 1][column])
            names.append(self._name(key % base))
            column, level = key // base, level - 1
        return (self._name(column), *reversed(names))

    def _name(self, code: int) -> str:
        ends = {len(self.vocabulary): START, len(self.vocabulary) + 1: END}
        return ends.get(code) or self.vocabulary[code]


class _Steps:
    """Paths with START and END around each, and the number of the gram that begins at each place.

    `row` is the path of each place, `inside` says where an entity is, `numbers` is −1 where the gram was not
    kept or would reach beyond its path.
    """

    def __init__(self, paths: Paths, codes: NDArray[np.int64], size: int) -> None:
        n, lengths = len(paths), paths.lengths + 2
        ends = np.cumsum(lengths)
        self.row = np.repeat(np.arange(n), lengths)
        self.inside = np.ones(int(ends[-1]) if n else 0, np.bool_)
        self.inside[ends - lengths] = self.inside[ends - 1] = False
        self.tokens = np.empty(len(self.inside), np.int64)
        self.tokens[ends - lengths], self.tokens[ends - 1] = size, size + 1
        self.tokens[self.inside] = codes
        self.numbers = self.tokens.copy()
        self.base = size + 2
        self.reach = 0

    def longer(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the key of the gram at each place with one more entity, and where there is such a gram."""
        self.reach += 1
        last, row = self.tokens[self.reach :], self.row[self.reach :]
        first = self.numbers[: len(last)]
        good = np.zeros(len(self.tokens), np.bool_)
        good[: len(last)] = (first >= 0) & (last >= 0) & (row == self.row[: len(last)])
        key = np.full(len(self.tokens), -1, np.int64)
        key[: len(last)] = first * self.base + last
        return key, good

    def take(self, key: NDArray[np.int64], good: NDArray[np.bool_], kept: NDArray[np.int64]) -> None:
        """Number the grams by their place among the kept ones."""
        place = np.searchsorted(kept, key)
        place[place == len(kept)] = 0
        there = good & (kept[place] == key) if len(kept) else np.zeros(len(key), np.bool_)
        self.numbers = np.where(there, place, -1)


def _each_once(
    row: NDArray[np.int64], values: NDArray[np.int64], good: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the values of the good places, each once per row."""
    row, values = row[good], values[good]
    order = np.lexsort((values, row))
    row, values = row[order], values[order]
    new = np.ones(len(values), np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (values[1:] != values[:-1])
    return values[new]


def _counted(row: NDArray[np.int64], column: NDArray[np.int64], n: int, width: int) -> Matrix:
    counts: Matrix = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(n, width))
    counts.sum_duplicates()
    return counts


def _unit_rows(matrix: Matrix) -> Matrix:
    squares = np.bincount(
        np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)),
        matrix.data**2,
        minlength=matrix.shape[0],
    )
    length = np.sqrt(squares)
    matrix.data /= np.repeat(np.where(length > 0, length, 1.0), np.diff(matrix.indptr))
    return matrix


def narrow(matrix: Matrix) -> Matrix:
    """Return the matrix with 32-bit indices, where these do: some solvers of scikit-learn take no others."""
    if max(matrix.nnz, *matrix.shape) < 2**31:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def pieces(paths: Paths, tokens: int) -> Iterator[Paths]:
    """Yield the paths in pieces of about so many entities, none where there are no paths."""
    for chunk in paths.chunks(tokens):
        yield Paths(chunk.codes, chunk.offsets, paths.vocabulary, chunk.counts)
