"""Labels in any form: a CSV file, a dictionary, a table of pandas or Polars, a series, or two sequences.

In: what the user has. Out: names of nodes and their classes, as two lists of texts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from honlearn.errors import FormatError, InputError
from honlearn.labels import csv_rows, labelled_texts, read_labels


def as_labels(
    labels: Any, label_column: str | None = None, node_column: str | None = None
) -> tuple[list[str], list[str]]:
    """Return nodes and classes; what has no class (empty, None, NaN) is left out.

    >>> as_labels({"ATL": "south", "JFK": None})
    (['ATL'], ['south'])
    """
    if isinstance(labels, (str, os.PathLike)):
        return _read(Path(labels), label_column, node_column)
    if isinstance(labels, Mapping) or (type(labels).__name__ == "Series" and hasattr(labels, "items")):
        pairs = list(labels.items())
    elif hasattr(labels, "columns") and hasattr(labels, "to_dict"):
        pairs = _table_pairs(labels, label_column, node_column)
    elif isinstance(labels, (tuple, list)) and len(labels) == 2 and len(labels[0]) == len(labels[1]):
        pairs = list(zip(*labels, strict=True))
    else:
        raise InputError(
            "labels must be a CSV file, a dictionary, a table or series of pandas, a table of Polars, or "
            f"(nodes, classes). Got {type(labels).__name__} instead"
        )
    kept = list(labelled_texts(pairs))
    if not kept:
        raise InputError("labels: no node has a class; give at least two classes")
    known: dict[str, str] = {}
    # A node that is there twice could be trained on and tested at once.
    for node, label in kept:
        if known.setdefault(node, label) != label:
            raise InputError(f"labels: node {node!r} is {known[node]!r} and {label!r}; give it one class")
    return list(known), list(known.values())


def _read(path: Path, label_column: str | None, node_column: str | None) -> tuple[list[str], list[str]]:
    """Return the labels of a file: its separator, and the column of two that has the classes, are guessed."""
    _, header = next(csv_rows(path), (0, []))
    marks = ";\t|" if len(header) == 1 else ""
    separator = next((mark for mark in marks if mark in header[0]), None)
    if separator is not None:
        _, header = next(csv_rows(path, separator))
    others = [name for name in header if name != (node_column or header[0])]
    plain = any(name.strip().casefold() == "label" for name in others)
    if label_column is not None or len(others) != 1 or plain:
        return read_labels(path, label_column, node_column, separator)
    nodes, classes = read_labels(path, others[0], node_column, separator)
    if others[0].strip() in classes:
        raise FormatError(
            f"{path}:1: {others[0]!r} is a class, so a header is missing; put one above, such as node,label "
            "(or name the column of the classes with label_column, --label-column)"
        )
    return nodes, classes


def _table_pairs(table: Any, label_column: str | None, node_column: str | None) -> list[tuple[Any, Any]]:
    names = [str(name) for name in table.columns]
    node = node_column or names[0]
    others = [name for name in names if name != node]
    label = label_column or ("label" if "label" in others else others[0] if len(others) == 1 else None)
    for name in (node, label):
        if name not in names:
            raise InputError(
                f"labels: no column {name or 'label'!r}; there are {', '.join(names)}; name them with "
                "node_column and label_column"
            )
    return list(zip(list(table[node]), list(table[label]), strict=True))
