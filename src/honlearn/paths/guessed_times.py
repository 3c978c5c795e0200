"""In which form are the times of a column? A guess, for text that is not ISO 8601.

In: the first values of a column. Out: the forms of strptime that fit all of them: none where they are ISO
already, several where day and month cannot be told apart.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence

_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})?([T ]?\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?\s*(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII
)
_DAYS = (
    *(form.replace(".", mark) for form in ("%d.%m.%Y", "%m.%d.%Y", "%Y.%m.%d", "%d.%m.%y") for mark in "./-"),
    *("%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
# As the logs of web servers have them.
_WHOLE = ("%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%H:%M:%S")
_CLOCKS = ("", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
_BETWEEN = (" ", "T", ", ")
# A day with dots has the day first wherever it is written so.
_UNUSUAL = frozenset({"%m.%d.%Y"})


def is_iso(values: Sequence[str]) -> bool:
    """Return whether the readers take the values as they are.

    >>> is_iso(["2024-05-31 08:00"]), is_iso(["31.05.2024"])
    (True, False)
    """
    return all(_ISO.fullmatch(value.strip()) for value in values)


def time_forms(values: Sequence[str]) -> list[str]:
    """Return the forms that fit all values.

    >>> time_forms(["31.05.2024 08:00", "01.06.2024 09:30"])
    ['%d.%m.%Y %H:%M']
    >>> time_forms(["01/02/2024", "03/02/2024"])
    ['%d/%m/%Y', '%m/%d/%Y']
    >>> time_forms(["31/May/2024:08:00:59 +0200"])
    ['%d/%b/%Y:%H:%M:%S %z']
    """
    texts = sorted(set(values))
    return [form for form in _forms() if texts and all(_fits(text, form) for text in texts)]


def _forms() -> Iterator[str]:
    yield from _WHOLE
    for day in _DAYS:
        if day in _UNUSUAL:
            continue
        for clock in _CLOCKS:
            yield from (day + between + clock for between in _BETWEEN) if clock else (day,)


def _fits(text: str, form: str) -> bool:
    try:
        datetime.datetime.strptime(text, form)
    except ValueError:
        return False
    return True
