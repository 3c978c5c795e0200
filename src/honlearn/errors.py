"""Errors that honlearn raises on purpose: leftmost in the flow, imported by everything.

A message is one line that says where, what is wrong, what was got, what is allowed and what to do.
The command line prints it and exits with 2; a library user catches :class:`HonlearnError`.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from typing import Any


class HonlearnError(Exception):
    """Root of every error that honlearn raises on purpose."""


class ParameterError(HonlearnError, ValueError):
    """A parameter is out of range or unknown."""


class InputError(HonlearnError, ValueError):
    """Data that was handed in cannot be used as it is."""


class MissingFileError(InputError, FileNotFoundError):
    """A file or folder that was named does not exist."""


class FormatError(InputError):
    """A file is truncated, damaged, or not of the format that it claims."""


class DamageWarning(UserWarning):
    """Something in a file was damaged; it is left out, and the rest is used."""


class UnknownNodeError(InputError, KeyError):
    """A node was named that the network does not have."""

    # KeyError prints the repr of its argument; the message is a sentence.
    __str__ = Exception.__str__


def did_you_mean(name: object, choices: Iterable[object]) -> str:
    """Return ``; did you mean 'x'?`` for a near match of `name`, else an empty string.

    >>> did_you_mean("ORIGN", ["ORIGIN", "DEST"])
    "; did you mean 'ORIGIN'?"
    >>> did_you_mean("zzz", ["ORIGIN", "DEST"])
    ''
    """
    names = [str(choice) for choice in choices]
    near = difflib.get_close_matches(str(name), names, n=1)
    if not near:
        folded = {choice.casefold(): choice for choice in reversed(names)}
        near = [folded[m] for m in difflib.get_close_matches(str(name).casefold(), folded, n=1)]
    return f"; did you mean {near[0]!r}?" if near else ""


def other_spellings(missing: Iterable[str], known: Iterable[str]) -> str:
    """Return ``; 2 of them are there in another spelling: …`` for names that differ in little; else nothing.

    Spellings differ in case, in white space at the ends, in zeros before a number, in ``.0`` behind it, or in
    how a letter is composed.

    >>> other_spellings([" lga", "7", "zz"], ["LGA", "007"])
    "; 2 of them are there in another spelling: ' lga' is 'LGA'; spell them alike in both"
    >>> other_spellings(["LGA"], ["LGA"])  # left out for another reason
    ''
    """
    names = set(known)
    plain = {_plain_spelling(name): name for name in sorted(names)}
    near = ((name, plain.get(_plain_spelling(name))) for name in missing if name not in names)
    found = [(name, other) for name, other in near if other is not None]
    if not found:
        return ""
    verb = "is" if len(found) == 1 else "are"
    numbers = all(one.strip().replace(".", "").isdigit() for one in found[0])
    remedy = " (pandas keeps 007 where it reads with dtype=str)" if numbers else ""
    return (
        f"; {len(found):,} of them {verb} there in another spelling: {found[0][0]!r} is {found[0][1]!r}; "
        f"spell them alike in both{remedy}"
    )


def _plain_spelling(name: str) -> str:
    text = unicodedata.normalize("NFKC", name).strip().casefold()
    number = re.fullmatch(r"0*([0-9]+)(\.0*)?", text)
    return text if number is None else number[1]


def listed(items: Iterable[object], most: int = 10) -> str:
    """Return the items as ``a, b, c`` and how many were left out.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = [str(item) for item in items]
    head = ", ".join(names[:most])
    return head if len(names) <= most else f"{head} and {len(names) - most} more"


def there_are(names: Iterable[object], most: int = 10) -> str:
    """Return which names there are, in words.

    >>> there_are(["a", "b", "c"], most=2), there_are(["a"])
    ('there are a, b and 1 more', 'there is only a')
    """
    found = list(names)
    return f"there {'is only' if len(found) == 1 else 'are'} {listed(found, most)}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, not too long, or its name where it has none.

    >>> first_line(OSError("cut short\\nat byte 7")), first_line(KeyboardInterrupt())
    ('cut short', 'KeyboardInterrupt')
    """
    first = str(error).strip().partition("\n")[0].rstrip()
    return (first if len(first) <= 200 else first[:200] + "…") or type(error).__name__


def check_no_spreadsheet(file: object, extension: str) -> None:
    """Raise a :class:`FormatError` for a file whose extension is that of a spreadsheet."""
    if extension in (".xlsx", ".xls", ".xlsm", ".ods"):
        raise FormatError(f"{file}: is a spreadsheet; save the sheet as CSV (UTF-8), or read it with pandas")


def check_choice(owner: str, name: str, value: object, choices: Iterable[str]) -> None:
    """Raise a :class:`ParameterError` unless `value` is one of `choices`."""
    allowed = list(choices)
    if value not in allowed:
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be one of {listed(map(repr, allowed), 30)}. "
            f"Got {value!r} instead{did_you_mean(value, allowed)}"
        )


def check_integer(owner: str, name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return `value` as an ``int`` within bounds, or raise a :class:`ParameterError`."""
    whole = isinstance(value, int) or (hasattr(value, "__index__") and not isinstance(value, float))
    if isinstance(value, bool) or not whole or value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be a whole number, {bounds}. Got {value!r} instead."
        )
    return int(value)


def check_real(
    owner: str,
    name: str,
    value: Any,
    least: float,
    most: float = float("inf"),
    *,
    open_below: bool = False,
) -> float:
    """Return `value` as a finite ``float`` within bounds, or raise a :class:`ParameterError`."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # the last: an int beyond 1e308
        number = float("nan")
    below = number <= least if open_below else number < least
    if isinstance(value, (bool, str)) or number != number or below or number > most or number == float("inf"):
        bounds = f"{'greater than' if open_below else 'at least'} {least:g}"
        if most != float("inf"):
            bounds += f" and at most {most:g}"
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be a number {bounds}. Got {value!r} instead."
        )
    return number
