"""The vocabulary: the one place where entity names and integer codes meet.

In: names, as a reader numbered them. Out: codes of names, names of codes, and the canonical order of names.
Names are kept as one run of UTF-8 bytes with offsets, so millions of names stay compact and are stored as
they are; Python strings are made on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, UnknownNodeError, did_you_mean, listed

# Names of up to so many words of eight bytes are sorted as numbers, longer ones as Python's bytes.
_WORDS = 4
_SLICE = 1 << 16

NULL_TEXTS = ("None", "nan", "NaT", "<NA>")
"""What str() makes of the missing values of Python, NumPy and pandas; a name may be such a text, too."""


def is_null(item: object) -> bool:
    """Return whether a value is a missing one of Python, NumPy or pandas, and no name.

    >>> is_null(None), is_null(float("nan")), is_null("nan")
    (True, True, False)
    """
    return not isinstance(item, str) and str(item) in NULL_TEXTS


class Vocabulary:
    """Entity names by code: an immutable sequence of distinct strings that also maps a name to its code.

    >>> names = Vocabulary.from_names(["ATL", "ORD"])
    >>> names[1], names.index("ATL"), len(names)
    ('ORD', 0, 2)
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets
        for array in (self.data, self.offsets):
            array.flags.writeable = False

    @classmethod
    def from_names(cls, names: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of these names, in this order."""
        try:
            encoded = [name.encode() for name in names]
        except UnicodeEncodeError as error:
            raise InputError(f"the name {error.object!r} is not valid Unicode ({error.reason})") from None
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(name) for name in encoded], out=offsets[1:])
        vocabulary = cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)
        if len(vocabulary._codes) != len(encoded):
            raise InputError("a vocabulary holds each name once; a name was given twice")
        return vocabulary

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, by code."""
        raw, ends = self.data.tobytes(), self.offsets.tolist()
        return tuple(raw[a:b].decode() for a, b in pairwise(ends))

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.names)}

    def _code(self, name: object) -> int:
        """Return the code of `name`, -1 where there is none; 7.0 is also ``7``, as it is in a table."""
        code = self._codes.get(str(name), -1)
        if code < 0 and isinstance(name, (float, np.floating)) and float(name).is_integer():
            code = self._codes.get(str(int(name)), -1)
        return code

    def index(self, name: object) -> int:
        """Return the code of `name`; a name of another type is looked up by its text."""
        code = self._code(name)
        if code < 0:
            raise UnknownNodeError(
                f"no entity {str(name)!r} among {len(self):,}{did_you_mean(name, self.names)}"
            )
        return code

    def codes(self, names: Iterable[object]) -> NDArray[np.int32]:
        """Return the codes of many names, or raise one error that lists those that are unknown."""
        wanted = list(names)
        codes = np.fromiter(map(self._code, wanted), np.int32, len(wanted))
        missing = np.flatnonzero(codes < 0)
        if missing.size:
            unknown = [str(wanted[i]) for i in missing]
            verb = "is" if missing.size == 1 else "are"
            raise UnknownNodeError(
                f"{missing.size:,} of {len(wanted):,} names {verb} not among the {len(self):,} entities: "
                f"{listed(map(repr, unknown), 5)}{did_you_mean(unknown[0], self.names)}"
            )
        return codes

    def codes_in(self, other: Vocabulary) -> NDArray[np.int32]:
        """Return the code that each of these names has in another vocabulary, -1 where it has none.

        >>> Vocabulary.from_names("ABC").codes_in(Vocabulary.from_names("CA")).tolist()
        [1, -1, 0]
        """
        known = other._codes
        return np.fromiter((known.get(name, -1) for name in self.names), np.int32, len(self))

    def take(self, order: NDArray[Any]) -> Vocabulary:
        """Return the names of the codes in `order`, as a vocabulary of their own."""
        lengths = np.diff(self.offsets)[order]
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        data = np.empty(offsets[-1], np.uint8)
        # Every byte of a slice has its place in int64, eight times its size.
        for start in range(0, len(order), _SLICE):
            some = slice(start, min(start + _SLICE, len(order)))
            to = slice(offsets[some.start], offsets[some.stop])
            shift = self.offsets[:-1][order[some]] - offsets[some]
            data[to] = self.data[np.arange(to.start, to.stop) + np.repeat(shift, lengths[some])]
        return Vocabulary(data, offsets)

    def sorted_codes(self) -> NDArray[np.int64]:
        """Return the codes in the order of their names' UTF-8 bytes (the canonical order of a network)."""
        lengths = np.diff(self.offsets)
        longest = int(lengths.max(initial=0))
        if longest > 8 * _WORDS:
            raw, ends = self.data.tobytes(), self.offsets.tolist()
            encoded = [raw[a:b] for a, b in pairwise(ends)]
            return np.array(sorted(range(len(encoded)), key=encoded.__getitem__), np.int64)
        # Eight bytes are one big-endian word, filled up with 0; of names that differ in nothing else the
        # shorter one is first.
        words = [self._words(8 * i, lengths) for i in range(-(-longest // 8))]
        return np.lexsort([lengths, *words[::-1]]).astype(np.int64)

    def _words(self, start: int, lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the bytes ``start:start + 8`` of every name as one number."""
        words = np.zeros(len(self), np.uint64)
        for at in range(start, start + 8):
            words <<= np.uint64(8)
            there = np.flatnonzero(lengths > at)
            words[there] |= self.data[self.offsets[there] + at]
        return words

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, code: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, code: slice) -> tuple[str, ...]: ...
    def __getitem__(self, code: int | np.integer[Any] | slice) -> str | tuple[str, ...]:
        names: str | tuple[str, ...] = self.names[code]
        return names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return self._code(name) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (np.array(self.data), np.array(self.offsets))

    def __repr__(self) -> str:
        return (
            f"Vocabulary({listed(self.names[:4], 3)})"
            if len(self) < 5
            else f"Vocabulary({len(self):,} names)"
        )
