"""Tables whose paths lie in another way than one event or one path per row: how they are known.

In: the columns of a table that nobody has named. Out: the columns of steps, where there is one for each; or
an :class:`InputError` in one line that tells what to do about columns of the same name, or lists that are
written as text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

from honlearn.errors import InputError

_LIST = re.compile(r"\s*\[.*\]\s*", re.DOTALL)
_LEAST_STEPS = 3
# Columns of steps share at least this part of their values with the one before.
_SHARED = 0.2


def are_lists(values: Sequence[str]) -> bool:
    """Return whether texts are lists as JSON or Python write them.

    >>> are_lists(['["a", "b"]', "[]"]), are_lists(["a b"])
    (True, False)
    """
    return bool(values) and all(_LIST.fullmatch(value) for value in values)


def lists_as_text(table: str, column: str, value: str) -> InputError:
    """Return the error for a column of lists that are written as text."""
    shown = value if len(value) <= 30 else value[:29] + "…"
    return InputError(
        f"{table}: column {column!r} holds lists written as text, such as {shown}; save the table as Parquet "
        "or JSON lines, which have lists, or write each path with one mark between its names: a>b>c"
    )


def refuse_repeated(table: str, names: Sequence[str], matters: Iterable[str]) -> None:
    """Raise where two columns have a name that might be that of a path, an order or an entity."""
    for name in matters:
        if names.count(name) > 1:
            raise InputError(f"{table}: {names.count(name)} columns are called {name!r}; rename all but one")


def steps_across(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns that are the steps of one path per row, such as step1, step2, step3; [] if none.

    They have one name with numbers that go up by one, and share many of their values.

    >>> steps_across({"user": ["x", "y"], "step1": ["a", "b"], "step2": ["b", "a"], "step3": ["a", ""]})
    ['step1', 'step2', 'step3']
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in columns:
        numbered = re.fullmatch(r"(.*?)(\d+)", name)
        if numbered:
            groups.setdefault(numbered[1], []).append((int(numbered[2]), name))
    for group in groups.values():
        group.sort()
        numbers, names = zip(*group, strict=True)
        if len(names) < _LEAST_STEPS or list(numbers) != list(range(numbers[0], numbers[0] + len(names))):
            continue
        values = [{value for value in columns[name] if value} for name in names]
        if all(_overlap(one, two) for one, two in itertools.pairwise(values[:3])):
            return list(names)
    return []


def _overlap(one: set[str], two: set[str]) -> bool:
    return len(one & two) > _SHARED * max(min(len(one), len(two)), 1)


def pattern_of(names: Sequence[str]) -> str:
    """Return the pattern of names that differ in the number at their end.

    >>> pattern_of(["step1", "step2"])
    'step*'
    """
    return re.sub(r"\d+$", "", names[0]) + "*"
