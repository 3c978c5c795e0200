"""``honlearn demo``: the bundled US flights, from itineraries to a page to look at, in a minute.

It types the commands that a user would type and runs them, so what it shows can be repeated on other data.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

# A single learner, an embedding and the ensemble, each on both networks; eight narrow learners are enough.
MODELS = ("graphsage", "honem", "dge-bag")
SMALL = ("n_learners=8", "widths=64,64")


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for everything that is made.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and models.")] = 0,
) -> None:
    """Build, inspect, compare and predict on the bundled US flights, and write a page about it."""
    started = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    flights, network, run = output / "us_flights", output / "air.hon", output / "run"
    labels, model, page = flights / "labels.csv", output / "model", output / "report.html"
    _say(1, "286,810 itineraries, and the federal region of each airport")
    _run("data", "get", "us_flights", "-o", flights, "--force")
    _say(2, "A network whose nodes remember where passengers came from")
    _run("grow", flights / "paths.txt", "-o", network, "--order", 2, "--tau", 10, "--min-support", 10)
    _run("info", network, labels, "--top", 5)
    _say(3, "Which region? First-order (g1) against higher-order (gk)")
    named = [word for name in MODELS for word in ("--model", name)]
    small = [f"dge-bag:{setting}" for setting in SMALL]
    jobs = min(2, os.cpu_count() or 1)
    words = (*named, "--input", "both", "--jobs", jobs, "--set", *small, "--seed", seed)
    _run("evaluate", network, labels, "-o", run, *words)
    _say(4, "Every airport: its region, and how sure the ensemble is")
    _run("train", network, labels, "-o", model, "--force", "--set", *SMALL, "--seed", seed)
    _run("predict", model, "-o", output / "predictions.csv")
    _say(5, "A page to look at")
    _run("report", run, "-o", page, "--title", "US flights: which region?")
    seconds = time.perf_counter() - started
    typer.echo(f"Done in {seconds:.0f} s. Open {page} in a browser; everything is in {output}/.")
    typer.echo("On your own paths: honlearn grow PATHS -o NET --help")


def _say(number: int, text: str) -> None:
    typer.secho(f"\n{number}/5  {text}", bold=True)


def _run(*words: object) -> None:
    """Show a command and run it."""
    from honlearn.cli import app
    from honlearn.cli.settings import spread_settings

    typed: Sequence[str] = [str(word) for word in words]
    typer.secho(f"$ honlearn {shlex.join(typed)}", fg="cyan")
    app(spread_settings(list(typed)), prog_name="honlearn", standalone_mode=False)
