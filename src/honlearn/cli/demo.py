"""``honlearn demo``: the bundled US flights, from itineraries to predictions with doubts, in a minute.

It types the commands that a user would type and runs them, so what it shows can be repeated on other data.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for everything that is made.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and models.")] = 0,
) -> None:
    """Build, inspect, compare and predict on the bundled US flights."""
    output.mkdir(parents=True, exist_ok=True)
    flights, network, model = output / "us_flights", output / "air.hon", output / "model"
    labels = flights / "labels.csv"
    _say("1. 286,810 itineraries, and the federal region of each airport")
    _run("data", "get", "us_flights", "-o", flights, "--force")
    _say("2. A network whose nodes remember where passengers came from")
    _run("grow", flights / "paths.txt", "-o", network, "--order", 2, "--tau", 10, "--min-support", 10)
    _run("info", network, labels, "--top", 8)
    _say("3. Which region? Ensembles on the first-order (g1) and on the higher-order network (gk)")
    run = ("-o", output / "run", "--model", "dge-bag", "--input", "both", "--seed", seed, "--predictions")
    _run("evaluate", network, labels, *run)
    _say("4. Every airport: its region, and how sure the ensemble is")
    _run("train", network, labels, "-o", model, "--seed", seed)
    _run("predict", model, "-o", output / "predictions.csv")
    _show_doubts(output / "run" / "predictions.parquet", flights / "nodes.csv")
    typer.echo(f"\nEverything is in {output}/. On your own paths: honlearn grow PATHS -o NET --help")


def _say(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _run(*words: object) -> None:
    """Show a command and run it."""
    from honlearn.cli import app

    typed: Sequence[str] = [str(word) for word in words]
    typer.secho(f"$ honlearn {shlex.join(typed)}", fg="cyan")
    app(list(typed), prog_name="honlearn", standalone_mode=False)


def _show_doubts(predictions: Path, airports: Path, top: int = 8) -> None:
    """Print the airports, each tested on a fold it was not trained on, about which learners disagree most."""
    import pandas as pd
    from rich import box
    from rich.console import Console
    from rich.table import Table

    tested = pd.read_parquet(predictions).query("input == 'gk'")
    names = pd.read_csv(airports, dtype=str).set_index("node")
    table = Table(title="Where the learners disagree most (airports held out)", box=box.SIMPLE)
    for column in ("airport", "place", "region", "predicted", "confidence", "disagreement"):
        table.add_column(column, justify="right" if column in ("confidence", "disagreement") else "left")
    for row in tested.nlargest(top, "disagreement").to_dict("records"):
        place = ", ".join(str(names.at[row["node"], key]) for key in ("city", "state"))
        numbers = [f"{row[key]:.2f}" for key in ("confidence", "disagreement")]
        table.add_row(row["node"], place, str(row["label"]), str(row["predicted"]), *numbers)
    Console(highlight=False).print(table)
