"""Classes of entities from a CSV file: the LABELS argument of info, train and evaluate.

In: a CSV whose first column (or another, by name) is the node and whose column ``label`` (any case), or the
only other one, is the class; a semicolon, tab or pipe between columns is seen in the header. Out: nodes and
classes, as two lists. A row without a class is an entity that nobody labelled and is left out. White space
around a class is no part of it; it is taken off with a warning, or ``a`` and ``a `` would be two classes.
"""

from __future__ import annotations

import csv
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

from honlearn.errors import (
    FormatError,
    InputError,
    MissingFileError,
    check_no_spreadsheet,
    did_you_mean,
    listed,
    other_spellings,
    there_are,
)

_LONGEST_LINE = 1 << 24
# How programs write that there is no value. NA is left out: it is a class, too (North America).
_MISSING = frozenset(("nan", "nat", "none", "null", "<na>", "n/a", "#n/a"))

# What may stand between several classes of one node.
_BETWEEN = (";", "|", ",")

# Formats of paths and networks: a table of labels in them is not read, and perhaps it is no such table.
_OTHER = frozenset((".parquet", ".pq", ".arrow", ".feather", ".jsonl", ".hon", ".counts", ".xes"))


def read_labels(
    path: str | PathLike[str],
    label_column: str | None = None,
    node_column: str | None = None,
) -> tuple[list[str], list[str]]:
    """Return the labelled nodes and their classes, in the order of the file.

    `label_column` names the column of the classes; None means the one called ``label``, in any case, or the
    only one beside the nodes. `node_column` names that of the nodes; None means the first.
    """
    source = Path(path)
    _check_extension(source)
    rows = csv_rows(source, _separator(source))
    _, header = next(rows, (0, []))
    if not header:
        raise FormatError(f"{source}: empty; expected a header such as: node,label")
    node = _node_column(source, header, node_column)
    column = _label_column(source, header, label_column, node)
    known: dict[str, str] = {}
    padded: dict[str, int] = {}
    for line, row in rows:
        other = partial(_perhaps_swapped, source, header, node, column)
        _take(known, row, node, column, len(header), f"{source}:{line}", other)
        if row[column] != row[column].strip() and row[column].strip():
            padded.setdefault(row[column], line)
    if padded:
        first, line = next(iter(padded.items()))
        warnings.warn(
            f"{source}:{line}: the class {first!r} is read as {first.strip()!r}, without the white space "
            f"around it (spellings like this in the file: {len(padded):,})",
            UserWarning,
            stacklevel=2,
        )
    _warn_of_classes(source, list(known.values()))
    name = header[column].strip()
    if label_column is None and name.casefold() != "label" and name in known.values():
        raise FormatError(
            f"{source}:1: {name!r} is a class, so a header is missing; put one above, such as "
            "node,label (or name the column of the classes with label_column, --label-column)"
        )
    if not known:
        raise FormatError(f"{source}: no node has a label; give at least one row with a node and a class")
    return list(known), list(known.values())


def _warn_of_classes(source: Path, classes: list[str]) -> None:
    """Warn of classes that look like a missing value, or like several classes in one field."""
    absent = [label for label in classes if label.casefold() in _MISSING]
    if absent:
        shown = " and ".join(map(repr, dict.fromkeys(absent)))
        warnings.warn(
            f"{source}: {shown} {'are' if len(set(absent)) > 1 else 'is'} taken as a class (nodes that have "
            f"it: {len(absent):,}); if it means that there is none, leave the field empty",
            UserWarning,
            stacklevel=3,
        )
    for mark in _BETWEEN:
        several = [label for label in classes if mark in label]
        parts = {part.strip() for label in several for part in label.split(mark)}
        if 2 * len(several) > len(classes) and len(parts) < len(set(several)):
            warnings.warn(
                f"{source}: each node has one class, so {several[0]!r} is a class of its own; if {mark!r} "
                "separates several, choose one of them",
                UserWarning,
                stacklevel=3,
            )
            return


def none_known(
    nodes: Iterable[str], entities: Sequence[str], file: str | PathLike[str] | None = None
) -> InputError:
    """Return the error for labels of which no node is an entity; `file` is looked through for the nodes."""
    named = list(nodes)
    hint = _column_of(entities, file) or other_spellings(named, entities)
    hint = hint or "; the first column must hold them"
    return InputError(
        f"none of the {len(named):,} labelled nodes is in the network: they are called "
        f"{listed(map(repr, named), 3)}, its entities {listed(map(repr, entities), 3)}{hint}"
    )


def _column_of(entities: Sequence[str], file: str | PathLike[str] | None) -> str:
    """Return which column of a file of labels holds entities, as the option that names it; or nothing."""
    if file is None:
        return ""
    source = Path(file)
    (_, header), *rows = csv_rows(source, _separator(source))
    known = set(entities)
    for place, name in enumerate(header):
        if name and 2 * sum(len(row) > place and row[place] in known for _, row in rows) > len(rows):
            return f"; column {name!r} holds them: pass --node-column {shlex.quote(name)} or node_column"
    return ""


def is_missing(value: object) -> bool:
    """Return whether a value of a table stands for none: None, NaN, NaT or NA.

    >>> [is_missing(value) for value in (None, float("nan"), "nan", 0)]
    [True, True, False, False]
    """
    try:
        return value is None or bool(value != value)
    except TypeError:  # neither true nor false, as pandas.NA
        return True


def plain_text(value: object) -> str:
    """Return a name or class as text: 7.0 is 7, as in tables, whose columns are floats where one is missing.

    >>> plain_text(7.0), plain_text("7.0")
    ('7', '7.0')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def labelled_texts(pairs: Iterable[tuple[object, object]]) -> Iterator[tuple[str, str]]:
    """Yield nodes and classes as texts, without white space around a class; nodes without one are left out.

    >>> list(labelled_texts([(7.0, " x"), ("b", None), ("c", "")]))
    [('7', 'x')]
    """
    for node, label in pairs:
        text = "" if is_missing(label) else plain_text(label).strip()
        if text:
            yield plain_text(node), text


def table_pairs(
    table: Any, label_column: str | None = None, node_column: str | None = None
) -> list[tuple[Any, Any]]:
    """Return nodes and classes of a table of pandas or Polars; the first column is the node unless named."""
    names = [str(name) for name in table.columns]
    node = node_column or names[0]
    others = [name for name in names if name != node]
    label = label_column or ("label" if "label" in others else others[0] if len(others) == 1 else None)
    for name in (node, label):
        if name not in names:
            raise InputError(
                f"labels: no column {name or 'label'!r}; {there_are(names)}; name them with "
                "node_column and label_column"
            )
    return list(zip(list(table[node]), list(table[label]), strict=True))


def csv_rows(source: Path, separator: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV (or TSV) file that are not empty, each with its line number."""
    if source.is_dir():
        raise InputError(f"{source}: is a folder; name a CSV file")
    if not source.exists():
        near = did_you_mean(source.name, (p.name for p in source.parent.glob("*"))) if source.name else ""
        raise MissingFileError(f"{source}: no such file{near}")
    line = 0
    try:
        with open(source, encoding="utf-8-sig", newline="") as file:
            mark = separator or ("\t" if source.suffix.lower() == ".tsv" else ",")
            rows = csv.reader(_lines(file, source), delimiter=mark, strict=True)
            for row in rows:
                line = rows.line_num
                if row:
                    yield line, row
    except UnicodeDecodeError:
        raise FormatError(f"{source}:{_not_unicode(source)}: not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise FormatError(f"{source}:{line + 1}: not CSV: {error}") from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from error


def _check_extension(source: Path) -> None:
    """Raise for a file that is something else by its name, and there."""
    if source.is_file():
        check_no_spreadsheet(source, source.suffix.lower())
    if source.is_file() and source.suffix.lower() in _OTHER:
        raise FormatError(
            f"{source}: labels are read from CSV, after the paths or the network; save them as CSV"
        )


def _separator(source: Path) -> str | None:
    """Return the mark between columns where the header has it and no comma (in a .tsv file no tab)."""
    _, header = next(csv_rows(source), (0, []))
    return next((mark for mark in ";\t|" if mark in header[0]), None) if len(header) == 1 else None


def _not_unicode(source: Path) -> int:
    """Return the number of the first line that is not UTF-8: files are decoded many lines at a time."""
    with open(source, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _lines(file: TextIO, source: Path) -> Iterator[str]:
    """Yield lines, none longer than in any table of classes: a file of another kind fills no memory."""
    number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise FormatError(
                f"{source}:{number}: a line of over {_LONGEST_LINE:,} characters; is it a CSV file?"
            )
        yield line


def _node_column(path: Path, header: list[str], wanted: str | None) -> int:
    """Return the position of the column of nodes."""
    if wanted is None:
        return 0
    if wanted in header:
        return header.index(wanted)
    raise FormatError(
        f"{path}: no column {wanted!r}; {there_are(map(repr, header))}{did_you_mean(wanted, header)}; "
        "set --node-column or node_column"
    )


def _label_column(path: Path, header: list[str], wanted: str | None, node: int) -> int:
    """Return the position of the column of classes; that of the nodes is never it."""
    places = [i for i in range(len(header)) if i != node]
    names = [header[i] for i in places]
    if wanted is not None and wanted in names:
        return places[names.index(wanted)]
    if wanted is None:
        found = [i for i in places if header[i].strip().casefold() == "label"]
        exact = [i for i in found if header[i] == "label"]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if found:
            raise FormatError(
                f"{path}: {len(found)} columns are called label; name one with --label-column or label_column"
            )
        if len(places) == 1 and header[node].strip().casefold() != "label":
            return places[0]
    name = wanted or "label"
    hint = f"{did_you_mean(name, names)}; set --label-column or label_column"
    another = f"set --node-column too, such as --node-column {shlex.quote(names[0])}" if names else ""
    if another and wanted == header[node]:
        hint = f"; {another.replace(' too', '')}"
    elif another and not header[node].strip():
        hint += f"; the first has no name, as the index that pandas saves: if it is that, {another}"
    raise FormatError(
        f"{path}: no column {name!r} {_beside(header, node)}; {there_are(map(repr, header))}{hint}"
    )


def _beside(header: list[str], node: int) -> str:
    return "after the first, which is the node" if node == 0 else f"beside {header[node]!r}, the node"


def _perhaps_swapped(source: Path, header: list[str], node: int, column: int) -> str:
    """Return a hint where classes differ from row to row, as names of nodes do; or nothing."""
    values = [row[column] for _, row in csv_rows(source, _separator(source)) if len(row) > column]
    if len(set(values)) < len(values) or not header[column]:
        return ""
    return f"; if {header[column]!r} is the column of nodes, pass " + _options(header, column, node)


def _options(header: list[str], node: int, label: int) -> str:
    return f"--node-column {shlex.quote(header[node])} --label-column {shlex.quote(header[label])}"


def _take(
    known: dict[str, str],
    row: list[str],
    nodes: int,
    column: int,
    width: int,
    place: str,
    hint: Callable[[], str],
) -> None:
    if len(row) != width:
        raise FormatError(
            f"{place}: {len(row)} fields, but the header has {width}; mend it, or quote what holds a comma"
        )
    node, label = row[nodes], row[column].strip()
    if not node:
        raise FormatError(f"{place}: empty node; give the id of an entity or remove the row")
    if not label:
        return
    if known.setdefault(node, label) != label:
        raise FormatError(
            f"{place}: node {node!r} is {label!r} here and {known[node]!r} above; give it one class{hint()}"
        )
