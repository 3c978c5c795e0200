"""No command replaces what it reads, nor what it has not written: such an output is refused beforehand.

In: a command and what it was given. Out: the same command, or an error. Two names are the same file where
the system says so, whatever links lead there. A folder stands for the files that the command reads or writes
in it, so that a run may lie beside its data, but a page may not take the place of the records. What may be
replaced is in :mod:`honlearn.cli.earlier_outputs`.
"""

from __future__ import annotations

import functools
import glob
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from honlearn.cli.earlier_outputs import check_replaceable
from honlearn.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])

_OUTPUTS = ("output", "out", "counts")
# Arguments that may name files among other things: patterns, NAME=FOLDER, NET+LABELS, features=FILE.
_WORDS = ("paths", "source", "nodes", "data", "set_")
_MODEL = ("config.json", "weights.safetensors", "network.hon", "paths.counts")
_RUN = ("records.jsonl", "summary.csv", "summary.json", "run.json", "predictions.parquet", "artefacts/*")
_DATA = ("paths.txt", "paths.txt.gz", "paths.txt.zst", "labels.csv", "nodes.csv", "about.json")
_READ = {"predict": _MODEL, "report": _RUN}
_WRITTEN = {"train": _MODEL, "evaluate": _RUN[:-1], "get_dataset": _DATA}


def keeping_inputs(command: Command) -> Command:
    """Return `command` with a check before it that its output is none of its inputs and may be replaced."""

    @functools.wraps(command)
    def checked(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(command).bind(*args, **kwargs).arguments
        _refuse_inputs(command.__name__, given)
        for output in _outputs(given):
            check_replaceable(command.__name__, output)
        return command(*args, **kwargs)

    return checked  # type: ignore[return-value]


def _refuse_inputs(command: str, given: Mapping[str, Any]) -> None:
    written = {
        file: output for output in _outputs(given) for file in _files_of(output, _WRITTEN.get(command, ()))
    }
    if not written:
        return
    named = [path for name, value in given.items() if name not in _OUTPUTS for path in _named(name, value)]
    if command == "get_dataset":
        named += _own_data(given["name"])
    for path in named:
        for file in _files_of(path, _READ.get(command, _DATA)):
            output = next((output for one, output in written.items() if os.path.samefile(file, one)), None)
            if output is not None:
                what = "standard input" if file == "/dev/stdin" else file
                raise InputError(
                    f"{output}: would replace {what}, which this command reads; name another output"
                )


def _outputs(given: Mapping[str, Any]) -> list[str]:
    return [str(given[name]) for name in _OUTPUTS if given.get(name) is not None]


def _named(name: str, value: object) -> Iterator[str]:
    """Yield the files, folders and patterns that an argument may name."""
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(one, Path) or (isinstance(one, str) and name in _WORDS):
            word = str(one)
            yield "/dev/stdin" if word == "-" else word
            for part in (word, word.partition("=")[2]):
                yield from (part, *part.split("+"))


def _own_data(name: str) -> list[str]:
    """Return the folder that ``data get`` reads, where the word is not the name of a data set."""
    from honlearn.datasets import available

    return [] if name in {entry.name for entry in available()} else [name]


def _files_of(name: str, parts: tuple[str, ...]) -> Iterator[str]:
    """Yield the regular files that a name stands for: itself, these parts of a folder, or what it matches."""
    path = os.path.expanduser(name)
    if os.path.isdir(path):
        patterns = [os.path.join(glob.escape(path), part) for part in parts]
    else:
        patterns = [glob.escape(path) if os.path.exists(path) else path]
    for pattern in patterns:
        yield from (file for file in glob.glob(pattern, recursive=True) if os.path.isfile(file))
