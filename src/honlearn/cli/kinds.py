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


def is_model(source: str) -> bool:
    """Return whether a word names the folder of a model."""
    return (Path(source).expanduser() / "config.json").is_file()


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
    return suffix == ".txt" and _is_edge_list(file)


def _is_edge_list(file: Path) -> bool:
    """Return whether the first lines are all ``source target weight``."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            rows = [line.split() for line in islice(lines, _LINES) if line.strip()]
    except (OSError, UnicodeDecodeError):
        return False
    return bool(rows) and all(len(row) == 3 and _is_number(row[2]) for row in rows)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
