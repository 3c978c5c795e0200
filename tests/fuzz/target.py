"""What a target is: a reader, and how valid documents for it are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import honlearn as hl

# Two hubs with memory: whoever came from A goes on to a, whoever came from B to b.
PATHS = [["A", "hub", "a"], ["B", "hub", "b"], ["C", "hüb 2", "c"], ["A", "hüb 2", "c", "hub", "a"]] * 3
PATHS += [["a", "A"], ["b", "B", "hub"], ["c", "C"], ["b", "A", "B"]]


@dataclass(frozen=True)
class Target:
    """A reader under test.

    Parameters
    ----------
    name : what ``--target`` calls it.
    make : writes valid documents into an empty folder; every file or folder directly in it is one document.
    use : reads one document and uses what comes out. It may raise a HonlearnError and nothing else.
    cases : how many damaged documents the tests read; ``make fuzz`` reads as many as it has time for.
    seconds : what one case may take; more is a hang.
    """

    name: str
    make: Callable[[Path], None]
    use: Callable[[Path], None]
    cases: int = 40
    seconds: int = 20


def small_network() -> hl.HigherOrderNetwork:
    """Return a network of nine entities, some with contexts."""
    return hl.grow(PATHS, order=2, tau=0.1, min_support=1)


def labels_of(network: hl.HigherOrderNetwork) -> dict[str, str]:
    """Return a class for every entity."""
    return {name: ("low" if name.islower() else "high") for name in network.vocabulary.names}
