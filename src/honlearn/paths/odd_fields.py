"""Fields of a line of text that may be no entities: an id in front of the path, its count behind it.

In: the first bytes of a file of paths. Out: a warning that names the option, or nothing. The fields are read
as entities all the same, since some paths do end in numbers. And where no line was split: by what it might be
(:func:`unsplit`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

_LINES = 100
_MARKS = (",", ";", "\t", ">", "→", "-", "/")
# Fewer lines than these are alike by chance.
_FOR_COUNTS, _FOR_IDS = 10, 30


def warn_of_odd_fields(source: str, text: bytes, delimiter: bytes) -> None:
    """Warn where the first lines of a file seem to begin with an id or to end in a count."""
    lines = [line.split(delimiter) for line in text.split(b"\n", _LINES)[:_LINES] if line.strip()]
    hint = odd_fields([[field.strip() for field in line if field.strip()] for line in lines])
    if hint:
        warnings.warn(f"{source}: {hint}", UserWarning, stacklevel=2)


def odd_fields(lines: Sequence[Sequence[bytes]]) -> str:
    """Return what is odd about the first or the last field of lines, or nothing.

    >>> odd_fields([[b"a", b"b", b"3"]] * 10)[:42]
    'each of the first lines ends in a whole nu'
    """
    firsts = {line[0] for line in lines if line}
    inner = Counter(field for line in lines for field in line[1:])
    recurring = 2 * len(inner) <= inner.total()
    if len(lines) >= _FOR_IDS and len(firsts) == len(lines) and recurring and not firsts & inner.keys():
        return (
            "each of the first lines begins with a field of its own, which is read as an entity; if it is an "
            "id, pass skip_columns=1 (--skip-columns 1)"
        )
    others = {field for line in lines for field in line[:-1]}
    if (
        len(lines) >= _FOR_COUNTS
        and all(len(line) > 1 and line[-1].isdigit() for line in lines)
        and not any(field.isdigit() for field in others)
    ):
        return (
            "each of the first lines ends in a whole number, which is read as an entity; if it counts the "
            "path, pass trailing_count=True (--trailing-count)"
        )
    return ""


def unsplit(names: Sequence[str]) -> str:
    """Return what to do where each line is one entity: nothing, or to name what may stand between several.

    >>> unsplit(["a,b,c", "b,c"])
    "; entities such as 'a,b,c' hold ',': pass delimiter=',' (--delimiter ',') if it separates entities"
    >>> unsplit(["a", "b,c"])
    ''
    """
    for mark in _MARKS:
        if sum(mark in name for name in names) > 0.8 * len(names):
            shown = "tab" if mark == "\t" else f"'{mark}'"
            name = names[0] if len(names[0]) <= 60 else names[0][:59] + "…"
            return (
                f"; entities such as {name!r} hold {mark!r}: pass delimiter={mark!r} (--delimiter {shown}) "
                "if it separates entities"
            )
    return ""
