"""A progress bar on long work: on a terminal a bar on standard error, elsewhere nothing.

>>> with progress("reading", total=3) as advance:
...     for _ in range(3):
...         advance(1)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Moves a bar on by `step` and shows `note` at its end."""

    def __call__(self, step: float = 1, note: str = "") -> None:
        """Move on."""


def is_shown(show: bool | None) -> bool:
    """Return whether bars are drawn: as asked, else only when standard error is a terminal."""
    return sys.stderr.isatty() if show is None else show


def say(text: str, show: bool | None = None) -> None:
    """Write a line to standard error where bars are drawn."""
    if is_shown(show):
        print(text, file=sys.stderr)


@contextmanager
def progress(
    label: str, total: float | None = None, *, unit: str = "count", show: bool | None = None
) -> Iterator[Advance]:
    """Show a bar named `label` while the block runs; yields the function that advances it.

    `unit` is ``"count"`` or ``"bytes"``; `total` None draws a pulse. `show` None means: on a terminal.
    """
    if not is_shown(show):
        yield lambda step=1, note="": None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    bar = Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task(label, total=total, note="")

        def advance(step: float = 1, note: str = "") -> None:
            bar.update(task, advance=step, note=note)

        yield advance
