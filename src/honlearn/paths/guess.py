"""Which columns hold the paths? A guess from names and content, with the reason for each.

In: a table (files, or an object in memory) whose columns nobody has named. Out: :class:`Guess`, the reader
options to try, why, and whether another choice would fit about as well. Only the first rows are looked at.

A column is judged for each role by its name (the words that the fields use for it) and by its values: ids of
sequences recur, orders are numbers or times that differ within a sequence, entities recur in several
sequences. The roles are given together, to different columns, so that their scores add up to most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from honlearn.errors import InputError, listed
from honlearn.paths.files import find_files, format_of
from honlearn.paths.options import COLUMN_OPTIONS, TABLE_FORMATS, ReaderOptions
from honlearn.paths.parts import MemoryPart, Part
from honlearn.paths.source import is_table
from honlearn.paths.tables import open_part

_ROWS = 2000
_WORDS = {
    "sequence": "session sessionid user userid visitor visit case caseid trace trip tripid itin itinerary "
    "patient patientid customer client journey vessel ship voyage mmsi imo sequence path pathid route run "
    "game subject person member device account",
    "order_by": "time timestamp date datetime ts order seq sequence step position pos index start starttime "
    "begin created when event_time hop leg number num rank day minute second",
    "entity": "page url entity node location place stop station port airport origin activity action item "
    "product state ward unit department city site article word concept name screen page_name event code "
    "diagnosis room zone cell gate symbol song track",
    "path_column": "path paths route itinerary trajectory sequence pages stops journey walk",
    "count_column": "count counts n freq frequency weight passengers times",
}
_WORDS_OF = {role: frozenset(text.split()) for role, text in _WORDS.items()}
_SEPARATORS = ("->", "→", ">", "|", ";")
_TIME = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
# By how much the chosen columns must beat any others to be taken without asking.
_CLEAR = 1.0
_LEAST = 2.0


@dataclass(frozen=True)
class Guess:
    """Columns that may hold the paths.

    Parameters
    ----------
    options : reader options, by the names of :func:`honlearn.read_paths`.
    reasons : a line for each, in words.
    is_clear : whether nothing else fits about as well.
    """

    options: Mapping[str, str]
    reasons: tuple[str, ...]
    is_clear: bool

    def flags(self) -> str:
        """Return the options as one types them."""
        words = (f"--{name.replace('_', '-')} {_quoted(value)}" for name, value in self.options.items())
        return " ".join(words)


@dataclass(frozen=True, eq=False)
class _Column:
    """The first values of a column, as text; an empty one is missing."""

    name: str
    values: tuple[str, ...]
    is_list: bool = False
    words: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, name: str, array: pa.Array) -> _Column:
        is_list = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
        return cls(name, tuple(_text(value) for value in array.to_pylist()), is_list, _words(name))

    @cached_property
    def there(self) -> list[str]:
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

    def _share(self, match: Callable[[str], object]) -> float:
        return sum(match(value) is not None for value in self.there) / max(len(self.there), 1)

    def named(self, role: str) -> bool:
        """Return whether a word of the name is one that is used for a role."""
        whole = re.sub(r"\W|_", "", self.name).casefold()
        return bool(self.words & _WORDS_OF[role]) or whole in _WORDS_OF[role]


def _together(column: _Column, owner: _Column) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of owners of each value, and the number of values of each owner."""
    size = int(owner.codes.max(initial=-1)) + 1
    pairs = np.unique(column.codes * size + owner.codes)
    return np.bincount(pairs // max(size, 1)), np.bincount(pairs % max(size, 1), minlength=size)


def guess_columns(source: Any, **given: Any) -> Guess | None:
    """Return what the columns of a table may be; None where the source needs no columns or some were named.

    `given` are the other options of :func:`honlearn.read_paths`. Raises an :class:`InputError` with the
    columns where nothing fits.

    >>> import pandas as pd
    >>> clicks = pd.DataFrame({"user": [1, 1, 2, 2], "time": [3, 4, 1, 9], "page": ["a", "b", "a", "c"]})
    >>> guess_columns(clicks).options
    {'sequence': 'user', 'order_by': 'time', 'entity': 'page'}
    """
    options = ReaderOptions.of(**given)
    if any(getattr(options, role) is not None for role in COLUMN_OPTIONS):
        return None
    part = _first_part(source, options)
    if part is None:
        return None
    with part.guarded():
        names = part.columns
        separated = _separator(names, options)
        if separated is not None:
            guess = guess_columns(source, **{**given, "delimiter": separated})
            assert guess is not None
            return Guess({**guess.options, "delimiter": separated}, guess.reasons, guess.is_clear)
        columns = _columns(part, names)
    if len(columns) == 1 and columns[0].name == "(line)":
        return None
    found = _path_per_row(columns) or _event_per_row(columns)
    if found is None:
        raise InputError(
            f"{part.name}: which columns hold the paths? None looks like the id of a sequence beside one of "
            "entities. Give sequence, order_by and entity (one event per row), path_column (one path per "
            "row), or source_column, target_column, order_by and max_gap (one temporal edge per row); there "
            f"are {listed(names, 20)}"
        )
    return found


def _first_part(source: Any, options: ReaderOptions) -> Part | None:
    """Return the first table of a source; None where it holds paths without columns."""
    if is_table(source):
        return None if type(source).__name__ == "RecordBatchReader" else MemoryPart(source)
    if not isinstance(source, (str, bytes)) and not hasattr(source, "__fspath__"):
        if not isinstance(source, (list, tuple)) or not source:
            return None
        if not (isinstance(source[0], str) or hasattr(source[0], "__fspath__")):
            return None
    files = find_files(source)
    kind = format_of(files, options.format)
    return open_part(files[0], kind, options) if kind in TABLE_FORMATS else None


def _separator(names: Sequence[str], options: ReaderOptions) -> str | None:
    """Return what separates the columns of a CSV file whose only column holds such a mark."""
    if len(names) != 1 or options.delimiter is not None:
        return None
    return next((mark for mark in (";", "\t", "|") if mark in names[0]), None)


def _columns(part: Part, names: Sequence[str]) -> list[_Column]:
    wanted = [name for name in names if names.count(name) == 1]
    batch = next(part.batches(wanted, {}, lambda step=1, note="": None), None)
    if batch is None:
        raise InputError(f"{part.name}: a header without rows; is this the whole table?")
    return [_Column.of(name, batch.column(i).slice(0, _ROWS)) for i, name in enumerate(wanted)]


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def _words(name: str) -> frozenset[str]:
    """Return the words of a column's name: ``userId``, ``user_id`` and ``User ID`` have the same.

    >>> sorted(_words("ITIN_ID")), sorted(_words("pageName"))
    (['id', 'itin'], ['name', 'page'])
    """
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return frozenset(word.casefold() for word in re.split(r"[\W_]+", spaced) if word)


def _path_per_row(columns: Sequence[_Column]) -> Guess | None:
    """Return the guess for a table with one path per row, where a column holds lists or separated names."""
    scored = []
    for column in columns:
        mark = None if column.is_list else _mark(column)
        if column.is_list or (mark is not None and (mark != " " or column.named("path_column"))):
            scored.append((column.is_list + 2.0 * column.named("path_column"), column, mark))
    if not scored:
        return None
    scored.sort(key=lambda one: -one[0])
    best, column, mark = scored[0]
    options = {"path_column": column.name}
    reasons = [f"{column.name!r} holds a path in each row" + ("" if mark is None else f", split at {mark!r}")]
    if mark not in (None, " "):
        options["delimiter"] = str(mark)
    counts = [one for one in columns if one.named("count_column") and one.numbers == 1]
    if len(counts) == 1:
        options["count_column"] = counts[0].name
        reasons.append(f"{counts[0].name!r} counts how often it was seen")
    clear = len(scored) == 1 or best - scored[1][0] >= _CLEAR
    return Guess(options, tuple(reasons), clear)


def _mark(column: _Column) -> str | None:
    """Return what splits the values of a column into names, where nearly all hold it."""
    values = column.there
    for mark in (*_SEPARATORS, " "):
        if values and sum(mark in value for value in values) >= 0.8 * len(values):
            around = f" {mark} "
            return around if mark != " " and all(around in v for v in values if mark in v) else mark
    return None


def _event_per_row(columns: Sequence[_Column]) -> Guess | None:
    """Return the guess for a table with one event per row."""
    usable = [column for column in columns if column.there and not column.is_list]
    ranked = []
    for sequence in usable:
        base = _as_sequence(sequence)
        if base < 0:
            continue
        orders = [(_as_order(one, sequence), one) for one in usable if one is not sequence]
        orders.sort(key=lambda one: -one[0])
        for entity in usable:
            score = -1.0 if entity is sequence else _as_entity(entity, sequence)
            if score < 0:
                continue
            best, order = next((one for one in orders if one[1] is not entity), (0.0, None))
            if best < 1:
                best, order = 0.0, None
            ranked.append((base + score + best, sequence, order, entity))
    ranked.sort(key=lambda one: -one[0])
    if not ranked or ranked[0][0] < _LEAST:
        return None
    best, sequence, order, entity = ranked[0]
    options, reasons = {"sequence": sequence.name}, [f"{sequence.name!r} is the path that a row belongs to"]
    if order is not None:
        options["order_by"] = order.name
        kind = "times" if order.times > 0.8 else "numbers"
        reasons.append(f"{order.name!r} is the order within a path ({kind})")
    else:
        reasons.append("the rows of a path are in order already: no column of times or numbers was found")
    options["entity"] = entity.name
    reasons.append(f"{entity.name!r} is the entity that is visited")
    clear = len(ranked) == 1 or best - ranked[1][0] >= _CLEAR
    return Guess(options, tuple(reasons), clear)


def _as_sequence(column: _Column) -> float:
    """Return how well a column may hold ids of sequences: negative where it cannot."""
    size, distinct = len(column.there), column.n_distinct
    if distinct == size and size > 1:
        return -1.0
    score = 3.0 * column.named("sequence") + 1.0 * ("id" in column.words)
    score += 1.0 if distinct > 1 and size / distinct <= 100 else 0.0
    return score - 2.0 * (column.times > 0.8)


def _as_entity(column: _Column, sequence: _Column) -> float:
    """Return how well a column may hold entities: they recur, and in more than one sequence."""
    if column.n_distinct < 2 or column.times > 0.8:
        return -1.0
    owners, values = _together(column, sequence)
    shared = int((owners > 1).sum()) / column.n_distinct
    varied = int((values > 1).sum()) / max(len(values), 1)
    score = 3.0 * column.named("entity") + shared + 2.0 * varied
    return score - 1.5 * (column.numbers > 0.95) - 1.0 * ("id" in column.words)


def _as_order(column: _Column, sequence: _Column) -> float:
    """Return how well a column may order the rows of a sequence: numbers or times that differ within it."""
    if max(column.times, column.numbers) < 0.95:
        return 0.0
    _, values = _together(column, sequence)
    rows = np.bincount(sequence.codes)
    several = rows > 1
    distinct: float = sum((values[several] / rows[several]).tolist()) / max(int(several.sum()), 1)
    return 2.0 * column.named("order_by") + 1.0 * (column.times > 0.8) + distinct


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w:./-]+", value) else f"'{value}'"
