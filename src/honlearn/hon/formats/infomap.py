"""A state network for Infomap, ``.net``: which entities belong together, given how flow remembers its past?

In: a network. Out: the sections ``*Vertices`` (entities, the physical nodes), ``*States`` (the nodes, each
with its physical node) and ``*Links`` (source, target, weight, between states). Ids count from 1. A name
stands between quotes and may hold quotes itself, since Infomap reads to the last one; only line breaks, which
the format cannot hold, are written as %0A and %0D.
"""

from __future__ import annotations

from pathlib import Path

from honlearn.hon.formats.rows import edge_rows
from honlearn.hon.network import HigherOrderNetwork
from honlearn.writing.atomic import atomic_text

_BREAKS = str.maketrans({"\n": "%0A", "\r": "%0D"})


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the state network; run it as ``infomap --directed net.net out/``."""
    with atomic_text(path) as file:
        file.write(f"*Vertices {network.n_entities}\n")
        file.writelines(
            f'{code} "{name.translate(_BREAKS)}"\n' for code, name in enumerate(network.vocabulary.names, 1)
        )
        file.write("*States\n")
        states = zip(network.base.tolist(), network.nodes, strict=True)
        file.writelines(
            f'{state} {base + 1} "{label.translate(_BREAKS)}"\n'
            for state, (base, label) in enumerate(states, 1)
        )
        file.write("*Links\n")
        for rows in edge_rows(network):
            file.write("".join([f"{a + 1} {b + 1} {weight!r}\n" for a, b, weight in rows]))
