"""What is said when a command is stopped: whether the same command goes on, or starts anew.

In: from a command that keeps what it has done, a way to ask whether there is anything. Out: the one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from honlearn.interrupts import TERMINATED

INTERRUPTED = 130
_NAMES = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
_kept: list[Callable[[], bool]] = []


def forget() -> None:
    """Begin a command: it has kept nothing yet."""
    _kept.clear()


def goes_on_if(kept: Callable[[], bool]) -> None:
    """Let the line promise that the command goes on, if `kept` says so when it is stopped."""
    _kept.append(kept)


@contextmanager
def run_folder(folder: Path) -> Iterator[None]:
    """Keep a run folder to this process in the block; stopped, it goes on if there is a record in it."""
    from honlearn.results.records import FILE
    from honlearn.writing.locks import locked_folder

    goes_on_if(lambda: any(file.stat().st_size for file in folder.rglob(FILE)))
    with locked_folder(folder):
        yield


def line(code: object) -> str | None:
    """Return the line for an exit code; None if nobody has stopped the command."""
    if code not in _NAMES:
        return None
    name = _NAMES[int(str(code))]
    if not _kept:
        return name
    if any(kept() for kept in _kept):
        return f"{name}; the same command goes on with what was saved"
    return f"{name}; nothing was saved yet, so the same command starts anew"
