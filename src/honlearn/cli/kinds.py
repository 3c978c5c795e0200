"""Is a word a network, paths or a model? Commands that take several of them ask here, before a long reading.

In: words of the command line. Out: True or False. A model is a folder with a config. An extension that only
networks have decides; a text or Parquet file is a network where its first lines, or its columns, are those of
an edge list. Options of the reader tell that it is paths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

# Formats that hold networks alone; all but the first are written only, which the error of their reader tells.
NETWORKS_ALONE = (".hon", ".net", ".graphml", ".gexf")
_LINES = 100
_MARK = "# honlearn: white space and % in ids are percent-encoded\n"


def is_model(source: str) -> bool:
    """Return whether a word names the folder of a model."""
    return (Path(source).expanduser() / "config.json").is_file()


def with_model(source: str) -> str:
    """Return the folder of the model where a word names the folder around it, which ``learn`` has made."""
    inside = Path(source).expanduser() / "model"
    return source if is_model(source) or not is_model(str(inside)) else str(inside)


def is_network(source: Sequence[str], options: Mapping[str, Any]) -> bool:
    """Return whether the words name one network file, rather than paths."""
    if len(source) != 1 or options:
        return False
    file = Path(source[0]).expanduser()
    suffix = file.suffix.lower()
    if suffix in NETWORKS_ALONE:
        return True
    if not file.is_file():
        return False
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        try:
            return {"source", "target", "weight"} <= set(pq.read_schema(file).names)
        except (OSError, ValueError):  # the reader of paths tells what is wrong with it
            return False
    return suffix == ".txt" and bool(edges_at_start(file))


def edges_at_start(file: Path) -> list[list[str]]:
    """Return the first lines of a file as ``source target weight``; none where one is something else."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            start = list(islice(lines, _LINES))
    except (OSError, UnicodeDecodeError):
        return []
    # The mark of percent-encoded ids (honlearn.hon.formats.growhon), which is imported with Arrow.
    rows = [line.split() for line in start[start[:1] == [_MARK] :] if line.strip()]
    return rows if all(len(row) == 3 and _is_number(row[2]) for row in rows) else []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
