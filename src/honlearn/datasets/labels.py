"""Labels: a CSV of nodes and classes → a dictionary.

In: a CSV whose first column is the node and whose column ``label`` (any case) is the class. Out: class by
node, both as the text that the file has: ``01`` stays ``01`` and a node called ``NA`` is a node.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

from honlearn.errors import FormatError, InputError, MissingFileError, did_you_mean, listed


def read_labels(file: str | os.PathLike[str], column: str | None = None) -> dict[str, str]:
    """Return the label of each node; nodes with an empty label are left out.

    `column` is the name of the class column; None takes the one called ``label`` in any case.
    """
    path = Path(file)
    rows = csv_rows(path)
    header = next(rows, (0, []))[1]
    if len(header) < 2:
        raise FormatError(f"{path}:1: labels need a header with at least two columns; got {header}")
    at = _label_column(path, header, column)
    labels: dict[str, str] = {}
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(
                f"{path}:{line}: {len(row)} columns where the header has {len(header)}; mend the line"
            )
        node, label = row[0], row[at]
        if not node:
            raise InputError(f"{path}:{line}: empty node id in column {header[0]!r}; remove the row")
        if labels.get(node, label) != label:
            raise InputError(
                f"{path}:{line}: node {node!r} is labelled {label!r} here and {labels[node]!r} before; "
                "keep one row"
            )
        if label:
            labels[node] = label
    if not labels:
        raise InputError(f"{path}: no label in column {header[at]!r}; fill it or name another with column=")
    return labels


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV, each with its line number; empty lines are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            for row in reader:
                if row:
                    yield reader.line_num, row
    except FileNotFoundError:
        raise MissingFileError(f"{path}: no such file; check the name") from None
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    except csv.Error as error:
        raise FormatError(f"{path}:{reader.line_num}: not a CSV ({error}); check its quotes") from None


def _label_column(path: Path, header: list[str], column: str | None) -> int:
    if column is not None and column in header:
        return header.index(column)
    # The first column is the node, so a label column of that name is looked for after it.
    folded = [name.strip().casefold() for name in header[1:]]
    wanted = (column or "label").casefold()
    if folded.count(wanted) == 1:
        return folded.index(wanted) + 1
    near = did_you_mean(column or "label", header[1:])
    raise InputError(
        f"{path}: no single column {column or 'label'!r} among {listed(map(repr, header))}{near}; "
        "name the class column (label_column, --label-column)"
    )
