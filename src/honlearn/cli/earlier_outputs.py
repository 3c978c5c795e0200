"""Is a file what a command wrote before, so that it may be replaced? Everything else is somebody's work.

In: a command and the name of its output. Out: nothing, or an error that says what to do. A file is known by
its first lines, its columns, or its first bytes; an empty file holds nobody's work. Folders have their own
checks, but for a summary without the records that it sums up.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from honlearn.errors import InputError

_HEAD = 1 << 16
_NETWORKS = {
    ".hon": re.compile(rb"\x89HON"),
    ".graphml": re.compile(rb'<graphml .*<key id="base" for="node"', re.DOTALL),
    ".gexf": re.compile(rb'<gexf .*<attribute id="base" title="base"', re.DOTALL),
}
_COUNTS = re.compile(rb"\x89HOC")
_PAGE = re.compile(rb'<meta name="generator" content="honlearn ')
# First columns of our tables, and columns of which each has one.
_FIRST = frozenset(("node", "path", "source", "history"))
_ANY = frozenset(("confidence", "probability", "p_value", "set"))
_TABLES = "a table of this command"
_RECORDS = "records.jsonl"
_SUMMARIES = ("summary.csv", "summary.json", "predictions.parquet")


def check_replaceable(command: str, output: str) -> None:
    """Raise where `output` is there and is nothing that `command` has written."""
    path = Path(output).expanduser()
    if path.is_dir() and command in ("evaluate", "reproduce"):
        _check_run(path)
    if not path.is_file() or not path.stat().st_size:
        return
    found = _KINDS.get(command)
    if path.suffix.lower() == ".counts":
        found = "counts of honlearn", _is_counts
    if found is None:
        return
    kind, is_own = found
    if not is_own(path):
        raise InputError(
            f"{output}: there is a file of this name, which is not {kind}; choose another name, or remove it"
        )


def _check_run(folder: Path) -> None:
    """Raise where a folder has the summary of something else: no run is there that it would sum up."""
    there = [name for name in _SUMMARIES if (folder / name).is_file()]
    if there and not (folder / _RECORDS).exists():
        raise InputError(
            f"{folder}: there is a file {there[0]}, which is not of a run; name another folder, or remove it"
        )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _is_counts(path: Path) -> bool:
    return _COUNTS.match(_head(path)) is not None


def _is_page(path: Path) -> bool:
    return _PAGE.search(_head(path)) is not None


def _is_network(path: Path) -> bool:
    from honlearn.cli.kinds import edges_at_start

    suffix = path.suffix.lower()
    if suffix == ".txt":
        pairs = [(source, target) for source, target, _ in edges_at_start(path)]
        # Paths may end in a number, too; edges stand source by source, each once.
        sources = [pair[0] for i, pair in enumerate(pairs) if not i or pairs[i - 1][0] != pair[0]]
        return bool(pairs) and len(set(pairs)) == len(pairs) and len(set(sources)) == len(sources)
    if suffix == ".parquet":
        return _parquet_columns(path) == ["source", "target", "weight"]
    if suffix == ".net":
        return _is_state_network(path)
    known = _NETWORKS.get(suffix)
    return known is None or known.search(_head(path)) is not None  # a wrong extension is told by the writer


def _is_state_network(path: Path) -> bool:
    with path.open("rb") as lines:
        first = re.fullmatch(rb"\*Vertices (\d+)\s*", lines.readline(_HEAD))
        return first is not None and next(islice(lines, int(first[1]), None), b"").startswith(b"*States")


def _is_table(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        columns = _parquet_columns(path)
    elif suffix == ".json":
        text = _head(path).decode("utf-8", "replace")
        if text.strip() == "[]":
            return True
        columns = re.findall(r'[{,]"((?:[^"\\]|\\.)*)":', text.partition("}")[0])
    else:
        lines = _head(path).decode("utf-8", "replace").splitlines()
        columns = next(csv.reader(lines[:1]), [])
    return bool(columns) and columns[0] in _FIRST and not _ANY.isdisjoint(columns)


def _parquet_columns(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (OSError, ValueError):
        return []


_KINDS: dict[str, tuple[str, Callable[[Path], bool]]] = {
    "grow": ("a network of honlearn", _is_network),
    "convert": ("a network of honlearn", _is_network),
    "predict": (_TABLES, _is_table),
    "score": (_TABLES, _is_table),
    "next_steps": (_TABLES, _is_table),
    "report": ("a page of honlearn", _is_page),
}
