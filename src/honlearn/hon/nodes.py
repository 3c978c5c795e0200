"""Node labels such as ``C|B|A`` (newest entity first): made from codes on first use.

In: the vocabulary and the grams of a network. Out: a read-only sequence of strings. One label costs one
join; the whole list is made once, on the first use that needs all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from honlearn.paths.vocabulary import Vocabulary

SEPARATOR = "|"
# The most entities of a node. No path data has dependencies of such an order; the limit keeps a typing error,
# or a crafted file, from filling the memory.
MAX_ORDER = 1000


class NodeLabels(Sequence[str]):
    """The labels of a network's nodes, in node order, built on use.

    >>> names = Vocabulary.from_names(["A", "B"])
    >>> NodeLabels(names, np.array([0, 1, 2, 4]), np.array([0, 1, 1, 0]))
    NodeLabels(A, B, B|A)
    """

    def __init__(
        self, vocabulary: Vocabulary, gram_offsets: NDArray[np.int64], grams: NDArray[np.int32]
    ) -> None:
        self._vocabulary = vocabulary
        self._offsets = gram_offsets
        self._grams = grams

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Every label."""
        names, ends = self._vocabulary.names, self._offsets.tolist()
        parts = [names[code] for code in self._grams.tolist()]
        plain = len(names)
        rest = zip(ends[plain:-1], ends[plain + 1 :], strict=True)
        return (*names, *(SEPARATOR.join(parts[a:b]) for a, b in rest))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, node: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, node: slice) -> tuple[str, ...]: ...
    def __getitem__(self, node: int | np.integer[Any] | slice) -> str | tuple[str, ...]:
        if isinstance(node, slice):
            return tuple(self[i] for i in range(*node.indices(len(self))))
        if not -len(self) <= node < len(self):
            raise IndexError(f"node {node} of {len(self):,}")
        node = int(node) % len(self)
        codes = self._grams[self._offsets[node] : self._offsets[node + 1]]
        return SEPARATOR.join(self._vocabulary[code] for code in codes.tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self.all)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.all, dtype=dtype if dtype is not None else object)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (NodeLabels, tuple, list)):
            return NotImplemented
        return len(self) == len(other) and self.all == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        head = ", ".join(self[:4])
        return f"NodeLabels({head}{f', … {len(self):,} in all' if len(self) > 4 else ''})"
