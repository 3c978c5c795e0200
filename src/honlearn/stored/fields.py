"""Fields of a JSON object from a file, asked for by key and type.

In: a mapping as :func:`~honlearn.stored.parse.parse_json` gives it. Out: values of the types that were asked
for, or an error that names the file, the key, what was got and what is expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

from honlearn.errors import FormatError, did_you_mean, listed
from honlearn.stored.parse import ADVICE, shown

MAX_INT64 = 2**63 - 1


class Fields:
    """A mapping from a file whose values are asked for by key and type; everything else is a FormatError.

    >>> fields = Fields({"name": "flights", "order": 2}, "flights.hon")
    >>> fields.text("name"), fields.integer("order", least=1)
    ('flights', 2)
    >>> fields.integer("tau") if fields.has("tau") else None
    >>> fields.number("name")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    honlearn.errors.FormatError: flights.hon: 'name' must be a number. Got 'flights' instead...
    """

    def __init__(self, value: object, where: str, *, finite: bool = True, advice: str = ADVICE) -> None:
        self.where, self.finite, self.advice = where, finite, advice
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise FormatError(f"{where}: a JSON object was expected. Got {shown(value)} instead; {advice}")
        self.values: Mapping[str, Any] = value

    def has(self, key: str) -> bool:
        """Return whether the key is there with a value other than null."""
        return self.values.get(key) is not None

    def only(self, *known: str) -> None:
        """Raise where there is a key that is none of these."""
        for key in self.values:
            if key not in known:
                raise FormatError(
                    f"{self.where}: {shown(key)} is not known{did_you_mean(key, known)}; there are "
                    f"{listed(known, 40)}; {self.advice}"
                )

    def any(self, key: str) -> Any:
        """Return the value of a key that must be there, whatever it is."""
        if key not in self.values:
            raise FormatError(f"{self.where}: {key!r} is not there; {self.advice}")
        return self.values[key]

    def text(self, key: str, choices: Collection[str] | None = None) -> str:
        """Return a text, one of `choices` if these are given."""
        value = self.any(key)
        if not isinstance(value, str) or (choices is not None and value not in choices):
            self._refuse(key, "text" if choices is None else f"one of {listed(choices, 30)}", value)
        return value

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self.any(key)
        if not isinstance(value, bool):
            self._refuse(key, "true or false", value)
        return bool(value)

    def integer(self, key: str, least: int = -MAX_INT64 - 1, most: int | None = MAX_INT64) -> int:
        """Return a whole number within bounds, by default those of 64 bits."""
        value = self.any(key)
        if not _is_integer(value, least, most):
            self._refuse(key, f"a whole number{_bounds(least, most)}", value)
        return int(value)

    def number(self, key: str, least: float = -math.inf, most: float = math.inf) -> float:
        """Return a number within bounds; NaN and infinity only of a mapping that was not read as finite."""
        value = self.any(key)
        if not _is_number(value, least, most, self.finite):
            self._refuse(key, f"a number{_bounds(least, most)}", value)
        return float(value)

    def mapping(self, key: str) -> Fields:
        """Return a JSON object, to be asked in the same way."""
        value = self.any(key)
        if not isinstance(value, Mapping):
            self._refuse(key, "a JSON object", value)
        return Fields(value, f"{self.where}: {key!r}", finite=self.finite, advice=self.advice)

    def mappings(self, key: str) -> list[Fields]:
        """Return a list of JSON objects."""
        rows = self._list(key, "JSON objects", lambda value: isinstance(value, Mapping))
        return [Fields(row, f"{self.where}: {key!r}", finite=self.finite, advice=self.advice) for row in rows]

    def rows(self, key: str) -> list[dict[str, Any]]:
        """Return a list of JSON objects of numbers, each as it is: whole numbers stay whole."""
        for row in (found := self.mappings(key)):
            for name in row.values:
                row.number(name)
        return [dict(row.values) for row in found]

    def items(self, key: str, length: int | None = None) -> list[Any]:
        """Return a list of whatever it holds, of `length` items if that is given."""
        return self._list(key, "values", lambda value: True, length)

    def texts(self, key: str, length: int | None = None) -> list[str]:
        """Return a list of texts."""
        return self._list(key, "texts", lambda value: isinstance(value, str), length)

    def integers(
        self, key: str, least: int = -MAX_INT64 - 1, most: int | None = MAX_INT64, length: int | None = None
    ) -> list[int]:
        """Return a list of whole numbers within bounds."""
        what = f"whole numbers{_bounds(least, most)}"
        return self._list(key, what, lambda value: _is_integer(value, least, most), length)

    def numbers(
        self, key: str, least: float = -math.inf, most: float = math.inf, length: int | None = None
    ) -> list[float]:
        """Return a list of such numbers."""
        what = f"numbers{_bounds(least, most)}"
        return [
            float(x) for x in self._list(key, what, lambda v: _is_number(v, least, most, self.finite), length)
        ]

    def _list(self, key: str, what: str, good: Callable[[Any], bool], length: int | None = None) -> list[Any]:
        value = self.any(key)
        wanted = f"a list of {what}" if length is None else f"a list of {length:,} {what}"
        if not isinstance(value, list) or (length is not None and len(value) != length):
            self._refuse(key, wanted, value)
        for item in value:
            if not good(item):
                self._refuse(key, wanted, item)
        return list(value)

    def _refuse(self, key: str, wanted: str, got: object) -> NoReturn:
        raise FormatError(f"{self.where}: {key!r} must be {wanted}. Got {shown(got)} instead; {self.advice}")


def _is_integer(value: object, least: int, most: int | None) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return value >= least and (most is None or value <= most)


def _is_number(value: object, least: float, most: float, finite: bool) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return least <= value <= most and math.isfinite(value) if finite else not (value < least or value > most)


def _bounds(least: float, most: float | None) -> str:
    low = None if least in (-math.inf, -MAX_INT64 - 1) else least
    high = None if most in (None, math.inf, MAX_INT64) else most
    if low is None:
        return "" if high is None else f" of at most {high:,}"
    return f" of at least {low:,}" if high is None else f" from {low:,} to {high:,}"
