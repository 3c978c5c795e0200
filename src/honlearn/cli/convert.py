"""``honlearn convert NET OUT``: a network in another format.

In: a network file. Out: the same network in the format that the extension of OUT names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def convert(
    network: Annotated[
        Path,
        typer.Argument(metavar="NET", help="Network to read: .hon, .txt (GrowHON's edge list) or .parquet."),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .hon, .txt, .parquet, .net (Infomap states), .graphml or .gexf.",
        ),
    ],
) -> None:
    """Write a network in another format, by the extension of the file."""
    from honlearn.cli.inputs import check_there

    check_there(network)
    from honlearn.hon.formats import check_target, load_network, save

    check_target(out)
    hon = load_network(network)
    save(hon, out)
    typer.echo(f"{out}: {hon.n_nodes:,} nodes, {hon.n_edges:,} edges", err=True)
