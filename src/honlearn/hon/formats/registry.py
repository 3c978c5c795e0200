"""Which extension means which format, and the two functions that look it up.

In: a path, and a network to write. Out: the network that was read, or the file. A format is a module with
``write(network, path)`` and, where it can be read, ``read(path, ...)``; it is imported on first use.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from honlearn.errors import HonlearnError, InputError, MissingFileError, did_you_mean, listed
from honlearn.hon.network import HigherOrderNetwork
from honlearn.writing.atomic import check_writable


@dataclass(frozen=True)
class Format:
    """A file format: its extension, what it is, its module, and whether honlearn reads it back."""

    suffix: str
    title: str
    module: str
    readable: bool

    def load(self) -> Any:
        """Return the module that reads and writes it."""
        return importlib.import_module(f"honlearn.hon.formats.{self.module}")


FORMATS = {
    f.suffix: f
    for f in (
        Format(".hon", "native, keeps the statistics of the builder", "native", True),
        Format(".txt", "the edge list that GrowHON writes: source target weight", "growhon", True),
        Format(".parquet", "edge table: source, target, weight", "parquet", True),
        Format(".net", "Infomap states", "infomap", False),
        Format(".graphml", "GraphML", "graphml", False),
        Format(".gexf", "GEXF, for Gephi", "gexf", False),
    )
}


def check_target(path: str | os.PathLike[str]) -> Format:
    """Return the format in which `path` would be written; raise where it cannot be."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: is a folder; name a file")
    form = _format_of(target)
    if not target.parent.is_dir():
        raise MissingFileError(f"{target}: the folder {target.parent} does not exist; make it first")
    check_writable(target)
    return form


def save(network: HigherOrderNetwork, path: str | os.PathLike[str]) -> None:
    """Write `network` to `path` in the format that its extension names, whole or not at all."""
    if not isinstance(network, HigherOrderNetwork):
        raise InputError(
            f"save needs a HigherOrderNetwork, got {type(network).__name__}; "
            "make one with honlearn.grow(paths) or honlearn.load_network(file)"
        )
    check_target(path).load().write(network, Path(path))


def load_network(path: str | os.PathLike[str]) -> HigherOrderNetwork:
    """Return the network of a file.

    The file is read into memory and checked: whatever happens to it later, the network stays what it is.

    Parameters
    ----------
    path : str or path
        A file that ends in ``.hon``, ``.txt`` (GrowHON's edge list) or ``.parquet``, or a folder of Parquet
        parts whose name ends so.
    """
    source = Path(path)
    try:
        return _load(source)
    except OSError as error:
        if isinstance(error, HonlearnError):
            raise
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from error


def _load(source: Path) -> HigherOrderNetwork:
    if source.is_dir() and source.suffix.lower() != ".parquet":
        raise InputError(f"{source}: is a folder; name a file")
    form = _format_of(source)
    if not form.readable:
        readable = listed(f.suffix for f in FORMATS.values() if f.readable)
        raise InputError(f"{source}: {form.title} is written only; networks are read from {readable}")
    if not source.exists():
        near = did_you_mean(source.name, sorted(os.listdir(source.parent))) if source.parent.is_dir() else ""
        raise MissingFileError(f"{source}: no such file{near}")
    network = form.load().read(source)
    assert isinstance(network, HigherOrderNetwork)
    return network


def _format_of(path: Path) -> Format:
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        got = f"the extension {path.suffix!r}" if path.suffix else "no extension"
        hint = did_you_mean(path.suffix, FORMATS) if path.suffix else ""
        raise InputError(f"{path}: {got} names no network format; use one of {listed(FORMATS)}{hint}")
    return form
