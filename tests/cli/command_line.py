"""What the tests of train, predict and evaluate share: quick settings, and what goes in and comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


class Files(NamedTuple):
    """Paths of a network and of its labels."""

    net: str
    labels: str


QUICK = ("--set", "n_learners=2", "widths=6,6", "max_epochs=3", "patience=2", "n_threads=1")

Run = Callable[..., Outcome]
