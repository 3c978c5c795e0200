"""``honlearn grow PATHS -o NET``: from path data to a higher-order network, streaming."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from honlearn.cli import reader_options as reader


def grow(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATHS",
            help="Files or glob patterns: text, CSV, Parquet, Arrow, JSONL, XES; - for text from a pipe.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Network to write: .hon .txt .parquet .net .graphml .gexf."),
    ],
    order: Annotated[int, typer.Option(help="Most entities a node may remember, itself included (k).")] = 2,
    tau: Annotated[
        float, typer.Option(help="How much a context must differ to be kept; higher keeps fewer.")
    ] = 1.0,
    min_support: Annotated[int, typer.Option(help="How often a context must occur to be kept.")] = 1,
    workers: Annotated[int, typer.Option(help="Threads that count while one reads.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was built as JSON.")] = False,
    format: reader.Format = None,
    delimiter: reader.Delimiter = None,
    skip_columns: reader.SkipColumns = 0,
    trailing_count: reader.TrailingCount = False,
    sequence: reader.Sequence = None,
    order_by: reader.OrderBy = None,
    entity: reader.Entity = None,
    path_column: reader.PathColumn = None,
    count_column: reader.CountColumn = None,
    source_column: reader.SourceColumn = None,
    target_column: reader.TargetColumn = None,
    max_gap: reader.MaxGap = None,
    drop_repeats: reader.DropRepeats = False,
    first_only: reader.FirstOnly = False,
    min_length: reader.MinLength = 1,
    on_empty: reader.OnEmpty = "error",
    max_line: reader.MaxLine = reader.MAX_LINE,
    max_name: reader.MaxName = reader.MAX_NAME,
    max_columns: reader.MaxColumns = reader.MAX_COLUMNS,
    max_unpacked: reader.MaxUnpacked = None,
    max_steps: reader.MaxSteps = reader.MAX_STEPS,
) -> None:
    """Build a higher-order network from paths and write it, whole or not at all."""
    import time

    from honlearn.errors import InputError, check_integer, check_real
    from honlearn.hon.build import grow as build
    from honlearn.hon.formats import check_target, save

    # What is known to fail raises before a long reading, not after it.
    check_integer("grow", "order", order, 1)
    check_real("grow", "tau", tau, 0)
    check_target(output)
    options = reader.gathered(
        format=format,
        delimiter=delimiter,
        skip_columns=skip_columns,
        trailing_count=trailing_count,
        sequence=sequence,
        order_by=order_by,
        entity=entity,
        path_column=path_column,
        count_column=count_column,
        source_column=source_column,
        target_column=target_column,
        max_gap=max_gap,
        drop_repeats=drop_repeats,
        first_only=first_only,
        min_length=min_length,
        on_empty=on_empty,
        max_line=max_line,
        max_name=max_name,
        max_columns=max_columns,
        max_unpacked=max_unpacked,
        max_steps=max_steps,
    )
    started = time.perf_counter()
    source = paths[0] if len(paths) == 1 else paths
    hon = build(source, order, tau, min_support, n_workers=workers, **options)
    if not hon.n_edges:
        raise InputError(
            f"{', '.join(paths)}: no path has two entities, so the network would be empty; is the delimiter "
            "right, and do the options keep whole paths?"
        )
    save(hon, output)
    seconds = time.perf_counter() - started
    if as_json:
        import json

        facts = {
            "network": str(output),
            "entities": hon.n_entities,
            "nodes": hon.n_nodes,
            "edges": hon.n_edges,
            "weight": int(hon.weights.sum()),
            "order": order,
            "tau": tau,
            "min_support": min_support,
            "seconds": round(seconds, 3),
        }
        typer.echo(json.dumps(facts))
        return
    typer.echo(
        f"{output}: {hon.n_entities:,} entities, {hon.n_nodes:,} nodes ({hon.n_conditional:,} remember), "
        f"{hon.n_edges:,} edges, in {seconds:.1f} s"
    )
