"""``honlearn report RUN|MODEL -o report.html``: one page to look at, of a run or of a model.

In: a folder that ``honlearn evaluate``, ``learn`` or ``train`` made. Out: one HTML file that opens offline.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|MODEL",
            help="Folder of a run ('honlearn evaluate -o RUN'), of 'honlearn learn', or of a model.",
        ),
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
    labels: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Of a model: known classes, shown beside the predictions."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page, if not the folder's name.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Write one self-contained page about a run or a model: scores, checks, network, predictions."""
    from honlearn.cli.inputs import check_labels
    from honlearn.pipeline.report import report as report_of
    from honlearn.progress import progress

    started = time.perf_counter()
    check_labels(labels, None, None)
    facts = None if nodes is None else read_facts(nodes)
    with progress("report", total=5) as advance:
        path = report_of(
            run, output, labels=labels, nodes=facts, title=title, step=lambda part: advance(1, part)
        )
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
