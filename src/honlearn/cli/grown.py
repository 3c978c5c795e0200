"""``train`` and ``evaluate`` on paths: the network that they work on is grown from what was named.

In: a word of the command line, and how paths are read. Out: the network of a file, or, of paths, the network
of significant contexts (or by GrowHON's rule where tau or a least support is given), and a note on standard
error. Choosing a network for the task is ``--auto``, which :mod:`honlearn.cli.auto` has.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.paths.vocabulary import Vocabulary

DEFAULT_ORDER = 2


def holds_paths(source: Path) -> bool:
    """Return whether a word names paths rather than a network, by its extension or its first lines."""
    from honlearn.cli.kinds import is_network

    return not is_network([str(source)], {})


def counted(source: Path, order: int, reading: Mapping[str, Any]) -> GramCounts:
    """Return how often grams were seen in the paths of a file, a pattern of files, or a pipe."""
    from honlearn.errors import InputError
    from honlearn.hon.build import count_grams

    counts = count_grams(str(source), order, **reading)
    if not counts.grow(1).n_edges:
        raise InputError(f"{source}: no path has two entities, so {no_steps(counts.vocabulary, reading)}")
    return counts


def no_steps(vocabulary: Vocabulary, reading: Mapping[str, Any]) -> str:
    """Return what comes of paths of one entity, and what to look at."""
    from honlearn.paths.odd_fields import unsplit

    why = "" if "sequence" in reading else unsplit(vocabulary.names)
    why = why or "; is the delimiter right, and do the options keep whole paths?"
    return f"the network would be empty{why}"


def grown_from(
    source: Path,
    counts: GramCounts,
    order: int | None = None,
    tau: float | None = None,
    min_support: int | None = None,
) -> HigherOrderNetwork:
    """Return the network that `grow` makes of these paths, and tell of it on standard error."""
    network = counts.grow(order or min(DEFAULT_ORDER, counts.order), tau, min_support)
    assert network.parameters is not None  # it was grown just now
    typer.echo(
        f"note: {source} holds paths; the network of order {network.parameters.order} was grown from them "
        f"({network.parameters.rule}): {network.n_entities:,} entities, {network.n_conditional:,} contexts",
        err=True,
    )
    return network
