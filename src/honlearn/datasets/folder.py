"""A data set as a folder: ``paths.txt``, ``labels.csv``, optional ``nodes.csv`` and ``about.json``.

In: a folder, or a :class:`Dataset` to write. Out: a :class:`Dataset`, or the folder. One path per line, names
separated by one space; ``labels.csv`` has the header ``node,label``; ``about.json`` keeps name, description,
licence and source.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honlearn.datasets.dataset import Dataset
from honlearn.errors import FormatError, InputError, MissingFileError, listed
from honlearn.labels import csv_rows, read_labels
from honlearn.stored import Fields, read_json
from honlearn.writing.atomic import atomic_folder

if TYPE_CHECKING:
    import pandas as pd

    from honlearn.paths.paths import Paths

PATHS = ("paths.txt", "paths.txt.gz", "paths.txt.zst")
FILES = ("paths.txt", "labels.csv", "nodes.csv", "about.json")
_ABOUT = ("name", "description", "licence", "source")


def load_folder(folder: str | os.PathLike[str], label_column: str | None = None) -> Dataset:
    """Return the data set of a folder with ``paths.txt`` and, where they are there, the other files.

    `label_column` names the column of the classes in ``labels.csv``, if it is not called ``label``.

    Parameters
    ----------
    folder
        A folder with ``paths.txt`` and, to taste, ``labels.csv``, ``nodes.csv`` and the other files.
    label_column
        Column of the classes.
    """
    from honlearn.paths import read_paths

    root = Path(folder)
    if not root.is_dir():
        raise MissingFileError(f"{root}: no such folder; check the name")
    file = next((root / name for name in PATHS if (root / name).is_file()), None)
    if file is None:
        there = listed(sorted(path.name for path in root.iterdir())) or "nothing"
        raise MissingFileError(f"{root}: no {PATHS[0]} (nor .gz, .zst) in the folder, which holds {there}")
    classes = root / "labels.csv"
    labels = dict(zip(*read_labels(classes, label_column), strict=True)) if classes.is_file() else {}
    nodes = _read_nodes(root / "nodes.csv") if (root / "nodes.csv").is_file() else None
    about = {"name": root.resolve().name, "source": str(root), **_read_about(root / "about.json")}
    return Dataset(paths=read_paths(file), labels=labels, nodes=nodes, **about)


def save_folder(dataset: Dataset, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write the data set in the layout of :func:`load_folder` and return the files.

    Each path is written as often as it was counted. Nothing appears before all is written; files that are
    there already are replaced only with `force`.

    Parameters
    ----------
    dataset
        What is written.
    folder
        The folder that is made.
    force
        Whether files that are there are replaced.
    """
    root = Path(folder)
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: is a file, not a folder; choose another name")
    there = [name for name in (*FILES, *PATHS[1:]) if (root / name).exists()]
    if there and not force:
        raise InputError(
            f"{root}: already has {listed(there)}; choose another folder or pass force=True (--force)"
        )
    with atomic_folder(root) as draft:
        written = _write_files(dataset, draft)
    # What an earlier data set left would be read as part of this one.
    for name in set(there) - set(written):
        (root / name).unlink()
    return [root / name for name in written]


def _write_files(dataset: Dataset, folder: Path) -> list[str]:
    _write_paths(dataset.paths, folder / "paths.txt")
    written = ["paths.txt"]
    if dataset.labels:
        with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(("node", "label"))
            writer.writerows(sorted(dataset.labels.items()))
        written.append("labels.csv")
    if dataset.nodes is not None:
        dataset.nodes.to_csv(folder / "nodes.csv", index=False, lineterminator="\n")
        written.append("nodes.csv")
    about = {name: getattr(dataset, name) for name in _ABOUT}
    (folder / "about.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return [*written, "about.json"]


def _write_paths(paths: Paths, file: Path) -> None:
    bad = next((name for name in paths.vocabulary.names if name.split() != [name]), None)
    if bad is not None:
        raise InputError(f"the name {bad!r} has white space, which separates names in paths.txt; rename it")
    counts = [1] * len(paths) if paths.counts is None else paths.counts.tolist()
    stops = [*map(paths.vocabulary.names.__getitem__, paths.codes.tolist())]
    ends = paths.offsets.tolist()
    with file.open("w", encoding="utf-8", newline="\n") as out:
        for start, stop, count in zip(ends[:-1], ends[1:], counts, strict=True):
            out.write((" ".join(stops[start:stop]) + "\n") * count)


def _read_nodes(file: Path) -> pd.DataFrame:
    """Return the table with the first column as ``node``, text; columns of numbers become numbers."""
    import pandas as pd

    rows = csv_rows(file)
    header = next(rows, (0, []))[1]
    body = []
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(
                f"{file}:{line}: {len(row)} columns where the header has {len(header)}; mend the line"
            )
        body.append(row)
    if not header:
        raise FormatError(f"{file}: empty; it needs a header whose first column is the node")
    twice = [name for name in header[1:] if ["node", *header[1:]].count(name) > 1]
    if twice:
        raise FormatError(f"{file}: more than one column is called {twice[0]!r}; rename one of them")
    table = pd.DataFrame(body, columns=["node", *header[1:]], dtype=str)
    for column in table.columns[1:]:
        # An empty cell is missing in a column of numbers and empty text in any other.
        numbers = pd.to_numeric(table[column].where(table[column] != ""), errors="coerce")
        if numbers.notna().any() and numbers.notna().equals(table[column] != ""):
            table[column] = numbers
    return table


def _read_about(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    advice = "mend or delete it"
    about = Fields(read_json(file, advice=advice), str(file), advice=advice)
    return {name: str(about.any(name)) for name in _ABOUT if about.has(name)}
