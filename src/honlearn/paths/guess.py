"""Which columns hold the paths? A guess from names and content, with the reason for each.

In: a table (files, or an object in memory) whose columns nobody has named. Out: :class:`Guess`, the reader
options to try, why, and whether another choice would fit about as well. Only the first rows are looked at.

A column is judged for each role by its name (the words that the fields use for it) and by its values: ids of
sequences recur, orders are numbers or times that differ within a sequence, entities recur in several
sequences. The roles are given together, to different columns, so that their scores add up to most.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa

from honlearn.errors import InputError, there_are
from honlearn.paths import other_layouts
from honlearn.paths.column_sample import ColumnSample, together
from honlearn.paths.delimited import DelimitedPart
from honlearn.paths.files import find_files, format_of
from honlearn.paths.guessed_times import is_iso, time_forms
from honlearn.paths.jsonl import JsonLinesPart
from honlearn.paths.options import NAME_COLUMNS, TABLE_FORMATS, ReaderOptions
from honlearn.paths.parts import MemoryPart, Part
from honlearn.paths.source import is_table
from honlearn.paths.tables import open_part

_ROWS = 2000
_SEPARATORS = ("->", "→", ">", "|", ";")
# Marks that stand in ordinary text, too: only a column that is called a path is split at them.
_COMMON = (",", " ")
_SOURCES = frozenset(("origin", "source", "src", "from"))
_TARGETS = frozenset(("dest", "destination", "target", "dst", "to", "end", "arrival", "next"))
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
        typed = {**self.options, **({"delimiter": "tab"} if self.options.get("delimiter") == "\t" else {})}
        words = (f"--{name.replace('_', '-')} {_quoted(value)}" for name, value in typed.items())
        return " ".join(words)

    def keywords(self) -> str:
        """Return the options as one writes them in Python."""
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


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
    if options.is_table:
        return None
    part = _first_part(source, options)
    return None if part is None else guess_part(part)


def guess_part(part: Part) -> Guess | None:
    """Return what the columns of one table may be; None where its lines are paths."""
    with part.guarded():
        separated = _separator(part)
    if separated is not None:
        assert isinstance(part, DelimitedPart)
        guess = guess_part(part.separated_by(separated))
        if guess is None or "path_column" in guess.options:  # where the delimiter splits the path
            return guess
        return replace(guess, options={**guess.options, "delimiter": separated})
    with part.guarded():
        names = part.columns
        columns = _columns(part, names)
    if len(columns) == 1 and columns[0].name == "(line)":
        return None
    other_layouts.refuse_repeated(
        part.name, names, (name for name in names if ColumnSample(name, ()).has_role)
    )
    steps = other_layouts.steps_across({one.name: one.values for one in columns if not one.is_list})
    found = _path_per_row(part.name, columns)
    if found is None:
        found = _event_per_row(part.name, columns)
        if steps and (found is None or set(found.options.values()) & set(steps)):
            return _step_per_column(columns, steps)
    if found is None:
        hint = _edge_per_row(columns) + _of_labels(names) + _without_header(columns, names)
        nothing = " None looks like the id of a sequence beside one of entities."
        raise InputError(
            f"{part.name}: which columns hold the paths?{hint or nothing} {NAME_COLUMNS}; "
            f"{there_are(names, 20)}"
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


def _separator(part: Part) -> str | None:
    """Return what separates the columns of a CSV file where it is not what they are read with."""
    if not isinstance(part, DelimitedPart) or part.options.delimiter is not None:
        return None
    return part.other_separator()


def _columns(part: Part, names: Sequence[str]) -> list[ColumnSample]:
    wanted = [name for name in names if names.count(name) == 1]
    if isinstance(part, JsonLinesPart) and not part.holds_arrays:
        return [ColumnSample.of(name, pa.array(values)) for name, values in part.sample(wanted).items()]
    batch = next(part.batches(wanted, {}, lambda step=1, note="": None), None)
    if batch is None:
        raise InputError(f"{part.name}: a header without rows; is this the whole table?")
    return [ColumnSample.of(name, batch.column(i).slice(0, _ROWS)) for i, name in enumerate(wanted)]


def _path_per_row(table: str, columns: Sequence[ColumnSample]) -> Guess | None:
    """Return the guess for a table with one path per row, where a column holds lists or separated names."""
    scored = []
    for column in columns:
        if not column.is_list and other_layouts.are_lists(column.there):
            raise other_layouts.lists_as_text(table, column.name, column.there[0])
        mark = None if column.is_list else _mark(column)
        if column.is_list or (mark is not None and (column.named("path_column") or _splits(column, mark))):
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


def _splits(column: ColumnSample, mark: str) -> bool:
    """Return whether a mark makes paths of a column with any name: titles such as 'Home | Shop' are none."""
    return mark.strip() not in ("", ",") and max(value.count(mark) for value in column.there) > 1


def _mark(column: ColumnSample) -> str | None:
    """Return what splits the values of a column into names, where nearly all hold it."""
    values = column.there
    for mark in (*_SEPARATORS, *_COMMON):
        if values and sum(mark in value for value in values) >= 0.8 * len(values):
            holding = [value for value in values if mark in value]
            around = (f" {mark} ", f"{mark} ") if mark != " " else ()
            return next((wide for wide in around if all(_is_between(wide, v) for v in holding)), mark)
    return None


def _is_between(mark: str, value: str) -> bool:
    """Return whether a mark stands with its blanks wherever it stands in a value."""
    return value.count(mark) == value.count(mark.strip())


def _step_per_column(columns: Sequence[ColumnSample], steps: Sequence[str]) -> Guess:
    """Return the guess for a table with one path per row, a column for each step."""
    pattern = other_layouts.pattern_of(steps)
    beside = [one for one in columns if one.name not in steps]
    matched = [one.name for one in columns if fnmatchcase(one.name, pattern)]
    options = {"step_columns": pattern if matched == list(steps) else ",".join(steps)}
    reasons = [f"{steps[0]!r} to {steps[-1]!r} hold the steps of a path in each row"]
    counts = [one for one in beside if one.named("count_column") and one.numbers == 1]
    if len(counts) == 1:
        options["count_column"] = counts[0].name
        reasons.append(f"{counts[0].name!r} counts how often it was seen")
    # Answers to numbered questions have no ends of their own.
    ends = any(not value for one in columns if one.name in steps for value in one.values)
    stem = ColumnSample(pattern.removesuffix("*"), ())
    named = any(stem.named(role) for role in ("order_by", "entity", "path_column"))
    return Guess(options, tuple(reasons), ends or named)


def _event_per_row(table: str, columns: Sequence[ColumnSample]) -> Guess | None:
    """Return the guess for a table with one event per row."""
    usable = [column for column in columns if column.there and not column.is_list]
    ranked = []
    movements = all(any(one.words & words for one in usable) for words in (_SOURCES, _TARGETS))
    for sequence in usable:
        base = _as_sequence(sequence)
        if base < 0 or (movements and _is_of_step(sequence)):
            continue
        orders = [(_as_order(one, sequence), one) for one in usable if one is not sequence]
        orders.sort(key=lambda one: -one[0])
        for entity in usable:
            score = -1.0 if entity is sequence else _as_entity(entity, sequence)
            if score < 0 or _are_ends(sequence, entity):
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
    forms: list[str] = []
    if order is not None:
        options["order_by"] = order.name
        kind = "times" if order.times > 0.8 else "numbers"
        forms = [] if kind == "numbers" or is_iso(order.there) else time_forms(order.there)
        if forms:
            options["time_format"] = forms[0]
            kind += f" of the form {forms[0]}"
        reasons.append(f"{order.name!r} is the order within a path ({kind})")
    else:
        reasons.append("the rows of a path are in order already: no column of times or numbers was found")
    options["entity"] = entity.name
    last = _last_of_steps(entity, usable)
    reasons.append(
        f"{entity.name!r} is the entity that is visited"
        + ("" if last is None else f"; {last.name!r} is not read, nor what only it holds: where paths end")
    )
    clear = len(ranked) == 1 or best - ranked[1][0] >= _CLEAR
    guess = Guess(options, tuple(reasons), clear)
    if order is not None and len(forms) > 1:
        choice = " or ".join(repr(form) for form in forms)
        raise InputError(
            f"{table}: are the times in {order.name!r}, such as {order.there[0]!r}, of the form {choice}? "
            f"Name it beside the columns: {guess.flags()}"
        )
    return guess


def _are_ends(one: ColumnSample, two: ColumnSample) -> bool:
    """Return whether two columns hold where a step leads from and where to, so that neither is a sequence."""
    if one.words & (_SOURCES | _TARGETS) and two.words & (_SOURCES | _TARGETS):
        return True
    return len(one.texts & two.texts) > 0.5 * max(min(len(one.texts), len(two.texts)), 1)


def _is_of_step(column: ColumnSample) -> bool:
    """Return whether a column beside both ends of a step is one of them, or its weight or its time."""
    if column.words & (_SOURCES | _TARGETS):
        return True
    return column.numbers > 0.95 and not column.named("sequence") and "id" not in column.words


def _edge_per_row(columns: Sequence[ColumnSample]) -> str:
    """Return the options for a table of movements from one entity to another, or nothing."""
    sources, targets = ([c for c in columns if c.words & words] for words in (_SOURCES, _TARGETS))
    times = [c for c in columns if c.times + c.numbers >= 0.95]
    times = [c for c in times if c.named("order_by") or c.times > 0.8]
    if len(sources) != 1 or len(targets) != 1:
        return ""
    if not times:
        return (
            " It looks like the edges of a network, which hold no paths: hl.from_edges makes a network of "
            "them, and train and evaluate take a file.txt of lines such as 'source target 1'."
        )
    options = {"source_column": sources[0], "target_column": targets[0], "order_by": times[0]}
    flags = Guess({name: column.name for name, column in options.items()}, (), False).flags()
    return f" It looks like one step per row: {flags} --max-gap, the longest wait within a path (6h)."


def _of_labels(names: Sequence[str]) -> str:
    """Return a hint where a table has the columns of labels, or nothing."""
    named = next((name for name in names if name.strip().casefold() == "label"), None)
    return "" if named is None else f" Column {named!r} is of labels, which come after the table of paths."


def _without_header(columns: Sequence[ColumnSample], names: Sequence[str]) -> str:
    """Return a hint where the names of columns are values, too: the header may be a row; or nothing."""
    values = {value for column in columns for value in column.there}
    if 2 * sum(name in values for name in names) <= len(names):
        return ""
    return " Its header looks like a row; is a line with the names of the columns missing above it?"


def _last_of_steps(entity: ColumnSample, columns: Sequence[ColumnSample]) -> ColumnSample | None:
    """Return the column of where a row's step leads, which holds entities as `entity` does; None without."""
    visited = set(entity.there)
    for column in columns:
        led = set(column.there)
        if column is not entity and column.words & _TARGETS and len(led & visited) > 0.5 * len(led):
            return column
    return None


def _as_sequence(column: ColumnSample) -> float:
    """Return how well a column may hold ids of sequences: negative where it cannot."""
    size, distinct = len(column.there), column.n_distinct
    if distinct == size and size > 1:
        return -1.0
    score = 3.0 * column.named("sequence") + 1.0 * ("id" in column.words)
    score += 1.0 if distinct > 1 and size / distinct <= 100 else 0.0
    return score - 2.0 * (column.times > 0.8)


def _as_entity(column: ColumnSample, sequence: ColumnSample) -> float:
    """Return how well a column may hold entities: they recur, and in more than one sequence."""
    if column.n_distinct < 2 or column.n_distinct == len(column.there) or column.times > 0.8:
        return -1.0
    owners, values = together(column, sequence)
    shared = int((owners > 1).sum()) / column.n_distinct
    varied = int((values > 1).sum()) / max(len(values), 1)
    score = 3.0 * column.named("entity") + shared + 2.0 * varied
    return score - 1.5 * (column.numbers > 0.95) - 1.0 * ("id" in column.words)


def _as_order(column: ColumnSample, sequence: ColumnSample) -> float:
    """Return how well a column may order the rows of a sequence: numbers or times that differ within it."""
    # A column with both may be one, too: reading it tells where they mix.
    if column.times + column.numbers < 0.95:
        return 0.0
    _, values = together(column, sequence)
    rows = np.bincount(sequence.codes)
    several = rows > 1
    distinct = float(sum((values[several] / rows[several]).tolist())) / max(int(several.sum()), 1)
    return 2.0 * column.named("order_by") + 1.0 * (column.times > 0.8) + distinct


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w:./-]+", value) else f"'{value}'"
