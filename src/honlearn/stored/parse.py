"""JSON from a file: bytes in, plain values out, strict enough that what follows need not fear them.

In: bytes, text or a path. Out: values of finite numbers, valid text and little nesting.
"""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from honlearn.errors import FormatError, HonlearnError, InputError, MissingFileError, first_line

# Deeper than anything that is written, and far from where recursive code ends.
MAX_DEPTH = 64
# A longer whole number would not fit a float.
MAX_DIGITS = 300
MAX_JSON_BYTES = 2**28
ADVICE = "write or copy it again"

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Refused(ValueError):
    """A value that JSON as Python reads it may have, and ours may not."""


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to read its bytes inside the block; that it cannot be read is an error of ours."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise MissingFileError(f"{os.fspath(path)}: no such file") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    with file:
        try:
            yield file
        except OSError as error:
            if isinstance(error, HonlearnError):
                raise
            raise _unreadable(path, error) from None


def _unreadable(path: str | os.PathLike[str], error: Exception) -> InputError:
    return InputError(f"{os.fspath(path)!s}: cannot be read ({first_line(error)})")


def read_bytes(path: str | os.PathLike[str], *, most: int | None = None) -> bytes:
    """Return the content of a file of at most `most` bytes."""
    with opened(path) as file:
        content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise FormatError(f"{os.fspath(path)}: more than {most:,} bytes, which is not a file of honlearn")
    return content


def parse_json(data: bytes | str, where: str, *, finite: bool = True, advice: str = ADVICE) -> Any:
    """Return the value of a JSON text; `where` names it in errors, `advice` ends them.

    Strict: UTF-8, finite numbers, no key twice, text that is Unicode, nesting of at most :data:`MAX_DEPTH`.
    Without `finite`, NaN and Infinity are numbers, as Python writes them.

    >>> parse_json('{"k": [1, 2]}', "run.json")
    {'k': [1, 2]}
    >>> parse_json('{"k": NaN}', "run.json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    honlearn.errors.FormatError: run.json: not valid JSON (NaN is not a number of JSON)...
    """
    try:
        text = data if isinstance(data, str) else str(data, "utf-8-sig")
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant if finite else None,
            parse_float=_float if finite else None,
            parse_int=_int,
        )
        if text.count("[") + text.count("{") > MAX_DEPTH:
            _check_depth(value)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{where}: not UTF-8 at byte {error.start:,}; {advice}") from None
    except UnicodeEncodeError:
        raise FormatError(f"{where}: not valid JSON (half of a surrogate pair); {advice}") from None
    except RecursionError:
        raise FormatError(f"{where}: not valid JSON (nested too deep); {advice}") from None
    except ValueError as error:
        raise FormatError(f"{where}: not valid JSON ({first_line(error)}); {advice}") from None
    return value


def read_json(path: str | os.PathLike[str], *, advice: str = ADVICE) -> Any:
    """Return the value of a JSON file."""
    return parse_json(read_bytes(path, most=MAX_JSON_BYTES), os.fspath(path), advice=advice)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _Refused(f"the key {shown(twice)} stands there twice")
    return found


def _constant(text: str) -> float:
    raise _Refused(f"{text} is not a number of JSON")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _Refused(f"{shown(text)} is too large for a number")
    return number


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _Refused(f"a whole number of {len(text):,} digits")
    return int(text)


def _check_depth(value: object) -> None:
    """Raise where lists and mappings are nested too deep; level by level, so that nothing recurses."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _Refused(f"nested more than {MAX_DEPTH} deep")
        parts = [x.values() if isinstance(x, dict) else x for x in level if isinstance(x, (dict, list))]
        level = [x for part in parts for x in part if isinstance(x, (dict, list))]


def shown(value: object) -> str:
    """Return a value for an error: short, on one line, whatever its size."""
    return reprlib.repr(value)
