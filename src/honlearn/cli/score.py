"""``honlearn score NET|PATHS PATHS``: which paths are anomalous, and at which step?

In: what the model is made of (paths, or a network), and the paths to score. Out: one row per path with its
bits, p-value, q-value and hardest step, as CSV, and a line with the number of anomalous paths.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from honlearn.cli import reader_options as reader
from honlearn.cli.next import Order


@reader.reads_paths
def score(
    source: Annotated[
        str, typer.Argument(metavar="NET|PATHS", help="A network, or paths that the model is made of.")
    ],
    paths: Annotated[
        list[str], typer.Argument(metavar="PATHS", help="Files or patterns of the paths to score.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="CSV", help="File to write: .csv, .parquet or .json."),
    ] = None,
    order: Order = 3,
    alpha: Annotated[
        float, typer.Option(metavar="A", help="False discovery rate at which a path is anomalous.")
    ] = 0.05,
    walks: Annotated[
        int, typer.Option(min=1, help="How many paths are drawn from the model to compare with.")
    ] = 100_000,
    top: Annotated[int, typer.Option(min=0, help="How many of the most anomalous paths to show.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random choices.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Score paths by a model of steps: bits, p-values against drawn paths, and the hardest step of each."""
    from honlearn.cli.inputs import check_paths, check_there

    check_there(source)
    check_paths(paths, reading)
    from honlearn.cli.next import step_model
    from honlearn.cli.predict import check_output, emit, write
    from honlearn.errors import check_real
    from honlearn.hon.steps.path_anomalies import path_anomalies
    from honlearn.paths.source import read_paths

    check_real("score", "alpha", alpha, 0, 1, open_below=True)
    if output is not None:
        check_output(output)
    # A network is told by its name or its first lines, whatever options the paths need.
    model = step_model([source], {} if source.lower().endswith(".hon") else reading, order)
    asked = read_paths(paths[0] if len(paths) == 1 else paths, **reading)
    found = path_anomalies(model, asked, walks=walks, seed=seed)
    table = found.table()
    if output is None:
        emit(table, None, as_json)
        return
    write(table, output)
    anomalous = int((found.q <= alpha).sum())
    bits = float(found.scores.bits.sum() / max(len(found.scores.steps), 1))
    if as_json:
        import json

        facts = {"scores": str(output), "paths": len(found), "bits_per_step": round(bits, 4)}
        typer.echo(json.dumps({**facts, "alpha": alpha, "anomalous": anomalous, "walks": found.n_walks}))
        return
    typer.echo(
        f"{output}: {len(found):,} paths, {bits:.2f} bits per step; {anomalous:,} anomalous at a false "
        f"discovery rate of {alpha:g} ({found.n_walks:,} paths drawn)"
    )
    for row in found.table(top).to_dict("records"):
        path, before = " ".join(asked[row["path"]]), row["step_before"] or "the start"
        typer.echo(
            f"  path {row['path']}: p {row['p_value']:.2g}, q {row['q_value']:.2g}, hardest step "
            f"{row['step']}: {before} → {row['step_entity']} ({row['step_bits']:.1f} bits) in {path[:80]}"
        )
