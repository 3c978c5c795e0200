"""The first values of a table's column: what its name means, and what they look like.

In: the name of a column and an Arrow array. Out: :class:`ColumnSample`, which :mod:`honlearn.paths.guess`
asks how well the column would hold the ids of sequences, their order, or entities.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_WORDS = {
    "sequence": "session sessionid user userid visitor visit case caseid trace trip tripid itin itinerary "
    "patient patientid customer client journey vessel ship voyage mmsi imo sequence path pathid route run "
    "game subject person member device account besucher nutzer kunde fall sitzung fahrt reise schiff",
    "order_by": "time timestamp date datetime ts order seq sequence step position pos index start starttime "
    "begin created when event_time hop leg number num rank day minute second zeit zeitpunkt zeitstempel "
    "datum uhrzeit schritt",
    "entity": "page url entity node location place stop station port airport origin activity action item "
    "product state ward unit department city site article word concept name screen page_name event code "
    "diagnosis room zone cell gate symbol song track seite ort haltestelle hafen abteilung",
    "path_column": "path paths route itinerary trajectory sequence pages stops journey walk",
    "count_column": "count counts n freq frequency weight passengers times",
}
_WORDS_OF = {role: frozenset(text.split()) for role, text in _WORDS.items()}
_TIME = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """The first values of a column, as text; an empty one is missing."""

    name: str
    values: tuple[str, ...]
    is_list: bool = False

    @classmethod
    def of(cls, name: str, array: pa.Array) -> ColumnSample:
        """Return the sample of a column from its first values."""
        is_list = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
        return cls(name, tuple(_text(value) for value in array.to_pylist()), is_list)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return words_of(self.name)

    @cached_property
    def there(self) -> list[str]:
        """The values that are not missing."""
        return [value for value in self.values if value]

    @cached_property
    def n_distinct(self) -> int:
        """How many different values there are, a missing one not counted."""
        return len(set(self.there))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The number of each value by first appearance, a missing one counted."""
        number: dict[str, int] = {}
        return np.array([number.setdefault(value, len(number)) for value in self.values], np.int64)

    @cached_property
    def times(self) -> float:
        """The share of values that look like times."""
        return self._share(_TIME.search)

    @cached_property
    def numbers(self) -> float:
        """The share of values that are numbers."""
        return self._share(_NUMBER.fullmatch)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The different values that are no numbers."""
        return frozenset(value for value in self.there if not _NUMBER.fullmatch(value))

    def _share(self, match: Callable[[str], object]) -> float:
        return sum(match(value) is not None for value in self.there) / max(len(self.there), 1)

    def named(self, role: str) -> bool:
        """Return whether a word of the name is one that is used for a role."""
        whole = re.sub(r"\W|_", "", self.name).casefold()
        return bool(self.words & _WORDS_OF[role]) or whole in _WORDS_OF[role]

    @property
    def has_role(self) -> bool:
        """Whether its name is used for some role."""
        return any(self.named(role) for role in _WORDS_OF)


def together(column: ColumnSample, owner: ColumnSample) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of owners of each value, and the number of values of each owner."""
    size = int(owner.codes.max(initial=-1)) + 1
    pairs = np.unique(column.codes * size + owner.codes)
    return np.bincount(pairs // max(size, 1)), np.bincount(pairs % max(size, 1), minlength=size)


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def words_of(name: str) -> frozenset[str]:
    """Return the words of a column's name: ``userId``, ``user_id`` and ``User ID`` have the same.

    >>> sorted(words_of("ITIN_ID")), sorted(words_of("pageName"))
    (['id', 'itin'], ['name', 'page'])
    """
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return frozenset(word.casefold() for word in re.split(r"[\W_]+", spaced) if word)
