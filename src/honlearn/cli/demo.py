"""``honlearn demo``: the bundled US flights, from itineraries to predictions and a page, in a minute.

In: a folder. Out: data, predictions, a model and a page in it. It types the commands that a user would type
and runs them, so what it shows can be repeated on other data.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
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
    """Learn from the bundled US flights: itineraries and regions in, predictions and a page out."""
    started = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    flights, learned = output / "us_flights", output / "learned"
    _say("286,810 itineraries, and the federal region of each airport")
    _run("data", "get", "us_flights", "-o", flights, "--force")
    _say("One command: whether memory matters, and the region of every airport, with reasons")
    jobs = min(2, os.cpu_count() or 1)
    title = "US flights: which region is an airport in?"
    words = ("--quick", "--jobs", jobs, "--seed", seed, "--title", title)
    _run("learn", flights / "paths.txt", flights / "labels.csv", "-o", learned, *words)
    _say("The reasons for one prediction")
    _run("explain", learned / "model", "ORF", "--top", 2)
    seconds = time.perf_counter() - started
    typer.echo(f"\nDone in {seconds:.0f} s; everything is in {output}/. Activate the environment to go on:")
    typer.echo(f"  {_activation()}\n  honlearn learn TABLE LABELS -o OUT")


def _activation() -> str:
    """Return what puts the command on the path."""
    if sys.prefix == sys.base_prefix:
        return "honlearn --help"
    return f"source {os.path.relpath(Path(sys.prefix) / 'bin' / 'activate')}"


def _say(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _run(*words: object) -> None:
    """Show a command and run it."""
    from honlearn.cli import app
    from honlearn.cli.typed import spread_settings

    typed: Sequence[str] = [str(word) for word in words]
    typer.secho(f"$ honlearn {shlex.join(typed)}", fg="cyan")
    app(spread_settings(list(typed)), prog_name="honlearn", standalone_mode=False)
