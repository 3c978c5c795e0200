"""``honlearn report RUN -o report.html``: one page to look at, from the records of a run.

In: a run folder that ``honlearn evaluate`` made. Out: one HTML file that opens offline.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run, as 'honlearn evaluate -o RUN' made it.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="HTML", help="The page.")] = Path(
        "report.html"
    ),
    nodes: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="More about nodes: first column the node; latitude and longitude put them on a map.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page, if not the folder's name.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Write one self-contained page about a run: scores, checks, network explorer, predictions."""
    from honlearn.progress import progress
    from honlearn.report.build import write_report

    started = time.perf_counter()
    facts = None if nodes is None else read_facts(nodes)
    with progress("report", total=5) as advance:
        path = write_report(run, output, facts=facts, title=title, step=lambda part: advance(1, part))
    size, seconds = path.stat().st_size / 1e6, time.perf_counter() - started
    if as_json:
        import json

        typer.echo(
            json.dumps({"report": str(path), "bytes": path.stat().st_size, "seconds": round(seconds, 2)})
        )
    else:
        typer.echo(f"{path}: {size:.1f} MB, in {seconds:.1f} s; open it in a browser")


def read_facts(path: Path) -> dict[str, dict[str, str]]:
    """Return the facts of nodes in a CSV: the first column is the node, the header names the others."""
    from honlearn.errors import FormatError
    from honlearn.labels import csv_rows

    rows = csv_rows(path)
    _, header = next(rows, (0, []))
    if len(header) < 2:
        raise FormatError(f"{path}: expected a header with the node and at least one more column")
    facts = {}
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(f"{path}:{line}: {len(row)} fields, but the header has {len(header)}")
        facts[row[0]] = {
            name: value for name, value in zip(header[1:], row[1:], strict=True) if value.strip()
        }
    return facts
