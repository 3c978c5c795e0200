"""Sizes of memory as they are written: ``500MB`` → bytes. Every option that takes a size asks here.

In: a whole number of bytes, or a number with a unit. Out: bytes.
"""

from __future__ import annotations

import re
from typing import SupportsIndex

from honlearn.errors import ParameterError

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS |= {_letter: 1000**_power, f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(where: str, name: str, size: object, least: int = 1) -> int:
    """Return a size in bytes; raise unless it is one, of at least `least` bytes.

    >>> parse_size("grow", "memory", "500MB"), parse_size("grow", "memory", "1.5 GiB")
    (500000000, 1610612736)
    """
    found: float | None = None
    if isinstance(size, SupportsIndex) and not isinstance(size, bool):
        found = int(size)
    elif isinstance(size, str) and (match := _WRITTEN.fullmatch(size)) and match[2].lower() in _UNITS:
        found = float(match[1]) * _UNITS[match[2].lower()]
    if found is None or not least <= found < 2**62:
        raise ParameterError(
            f"The {name!r} parameter of {where} must be a size of at least {shown_size(least)}, such as "
            f"'500MB' or '2GiB'. Got {size!r} instead."
        )
    return int(found)


def shown_size(size: float) -> str:
    """Return a size in the largest unit that it fills.

    >>> shown_size(1_500_000_000), shown_size(999_999), shown_size(999)
    ('1.5 GB', '1 MB', '999 bytes')
    """
    for unit, letter in ((1000**4, "T"), (1000**3, "G"), (1000**2, "M"), (1000, "k")):
        # From here on three digits are those of the larger unit.
        if size >= 0.9995 * unit:
            return f"{size / unit:.3g} {letter}B"
    return f"{size:.0f} bytes"
