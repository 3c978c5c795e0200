"""Are the inputs there? Asked before a command imports what it works with, so the answer takes an instant.

In: words of the command line. Out: nothing, or the error that the reader would raise, with a near match.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def check_paths(source: str | Sequence[str], options: Mapping[str, Any]) -> None:
    """Raise unless the files of paths exist, are of a known format, and are not all empty."""
    from honlearn.errors import FormatError
    from honlearn.paths.files import find_files, format_of, name_of

    files = find_files(source)
    form = format_of(files, options.get("format"))
    if any(not file.is_file() or file.stat().st_size for file in files):
        return  # a pipe has no size
    needed = "it needs one path per line" if form in ("text", "ngram") else "a table needs a header and rows"
    raise FormatError(f"{name_of(files)}: the file is empty; {needed}")


def check_there(source: str | os.PathLike[str] | Sequence[str]) -> None:
    """Raise unless the files of a network or of paths exist."""
    from honlearn.paths.files import find_files

    find_files(source)


def check_labels(
    source: Path | None, label_column: str | None, node_column: str | None, table: str | None = None
) -> None:
    """Raise unless the classes can be read; where `table` looks like them instead, that is the error."""
    if source is None:
        return
    import warnings

    from honlearn.errors import FormatError, InputError
    from honlearn.labels import read_labels

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd in it is told when it is read for good
            read_labels(source, label_column, node_column)
    except FormatError as error:
        if table is None or not _has_labels(Path(table)):
            raise
        raise InputError(f"{error}; {table} has one: paths come first, then labels") from error


def _has_labels(file: Path) -> bool:
    from honlearn.errors import HonlearnError
    from honlearn.labels import csv_rows

    try:
        _, header = next(csv_rows(file), (0, []))
    except HonlearnError:  # of another format
        return False
    return any(name.strip().casefold() == "label" for name in header)


def check_model(folder: str | os.PathLike[str]) -> None:
    """Raise unless the folder holds a model of this version."""
    from honlearn.tasks.model_folder import read_config

    read_config(folder)
