"""What the commands that make a run have in common: the plan, the run itself, and the table of results.

In: jobs of a run. Out: records in its folder, their summaries, text on standard output and notes on standard
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from honlearn.cli.typed import command_line
from honlearn.results.networks import network_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from honlearn.cli.links import Execution


def show_plan(grid: Sequence[Any], output: Path, n_edges: Mapping[str, int], processes: int) -> None:
    """Print what would run, what has its record already, and an estimate; make no folder."""
    from honlearn.cli.watch import print_plan
    from honlearn.experiments.estimate import planned
    from honlearn.results.records import Records

    known = list(Records(output)) if output.is_dir() else []
    print_plan(planned(grid, known, n_edges), processes)


def tell_of_others(output: Path, jobs: Sequence[Any]) -> None:
    """Print a note where a run holds records of other commands, which explains why it starts anew."""
    from honlearn.results.records import Records

    asked = {job.digest for job in jobs}
    others = sum(record.digest not in asked for record in Records(output))
    if others:
        typer.echo(
            f"note: {output} holds {others:,} records with other models, data, settings or defaults; "
            "they stay and are not in this summary",
            err=True,
        )


def run_jobs(
    evaluate: Callable[..., Iterable[tuple[Any, Any, bool]]],
    data: Any,
    jobs: Sequence[Any],
    output: Path,
    how: Execution,
    scores: Sequence[str],
    shown: Mapping[str, str],
    part: str = "fold",
    **kept: bool,
) -> list[dict[str, Any]]:
    """Run the jobs of an evaluation and tell how far it is; return a summary for each model and input.

    `evaluate` is the function of the task, `shown` are the scores that a line has, `part` what one job tests,
    `kept` what is kept beside the records.
    """
    from honlearn.cli.watch import reporter
    from honlearn.results.summary import summarise

    with reporter(len(jobs), part, shown) as report:
        done = evaluate(data, jobs, output, processes=how.jobs, executor=how.executor, watch=report, **kept)
        records = {job.digest: record for job, record, _ in done}
    return summarise((records[job.digest] for job in jobs), scores)


def origin() -> dict[str, Any]:
    """Return what a run keeps of how it was made: the command and the machine."""
    from honlearn.experiments.machine import machine

    return {"command": command_line(), "machine": machine()}


def print_run(
    output: Path,
    about: Mapping[str, Any],
    rows: list[dict[str, Any]],
    columns: Mapping[str, tuple[str, int]],
    as_json: bool,
    more: str,
) -> None:
    """Print a run that is complete: a table, what p compares and which files there are; or all as JSON."""
    if as_json:
        import json

        typer.echo(json.dumps({"run": str(output), **about, "rows": rows}, indent=2, ensure_ascii=False))
        return
    print_rows(rows, columns)
    if len(rows) > 1:
        first = f"{rows[0]['model']} {network_name(rows[0]['input'])}"
        typer.echo(f"p: is the {next(iter(columns))} that of {first}? corrected resampled t-test")
    typer.echo(f"{output}: records.jsonl, summary.csv, summary.json; {more}")


def print_rows(rows: list[dict[str, Any]], columns: Mapping[str, tuple[str, int]]) -> None:
    """Print one line for each row: mean ± deviation of the columns, header → (key, digits)."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from honlearn.experiments.tables import p_text

    console = Console(highlight=False)
    # Mean over deviation where the terminal is narrow: numbers must never be cut off.
    gap = " " if console.width >= 120 else "\n"
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    for name in ("model", "input", *columns, *(["p"] if len(rows) > 1 else [])):
        header = name.replace(" ", gap) if name.endswith(("F1", "loss")) else name
        table.add_column(header, justify="left" if name in ("model", "input") else "right", no_wrap=True)
    for row in rows:
        means = [
            _cell(row[f"{key}_mean"], row[f"{key}_std"], digits, gap) for key, digits in columns.values()
        ]
        p = [] if len(rows) == 1 else [p_text(row["p_value"])]
        table.add_row(row["model"], network_name(row["input"]), *means, *p)
    print_whole(table, console)
    fits = rows[0]["records"]
    if fits == 1:
        typer.echo("one fit per model")
    else:
        alone = "; single: the mean learner alone" if any("single" in name for name in columns) else ""
        typer.echo(f"mean ± standard deviation over {fits} fits per model{alone}")


def print_whole(table: Table, console: Console | None = None) -> None:
    """Print a table; a terminal that is too narrow breaks its lines, and nothing is left out."""
    from rich.console import Console

    console = Console(highlight=False) if console is None else console
    needed = console.measure(table, options=console.options.update(width=1000)).maximum
    console.width = max(needed, console.width)
    console.print(table)


def _cell(mean: float | None, deviation: float | None, digits: int, gap: str) -> str:
    if mean is None:
        return "–"
    return f"{mean:.{digits}f}" + ("" if deviation is None else f"{gap}±{deviation:.{digits}f}")
