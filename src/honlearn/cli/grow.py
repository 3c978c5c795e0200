"""``honlearn grow PATHS -o NET``: from path data to a higher-order network, streaming."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import reader_options as reader

if TYPE_CHECKING:
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork


@reader.reads_paths
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
    order: Annotated[
        str | None,
        typer.Option(
            metavar="K|auto",
            help="Highest order: how many entities a node stands for at most; auto: as far back as evidence "
            "goes. "
            "Default: 2; with --update, what was counted.",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Keep contexts that are significant at this false discovery rate; 1: all. Default: 0.05.",
            show_default=False,
        ),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(
            help="Keep contexts by GrowHON's rule instead: how much one must differ; higher keeps fewer.",
            show_default=False,
        ),
    ] = None,
    min_support: Annotated[
        int | None,
        typer.Option(help="GrowHON's rule: how often a context must occur to be kept.", show_default=False),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(metavar="FILE.counts", help="Write the counts too, for a later --update."),
    ] = None,
    update: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.counts",
            help="Add PATHS to these counts: the same network as from all paths at once. The options of the "
            "rule (alpha, tau, min-support) are those given here.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Threads that count while one reads.")] = 1,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="About how much memory counting may take, such as 500MB; beyond it, counts go to temporary "
            "files (TMPDIR). The network is the same.",
            show_default=False,
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="E",
            help="Count parts of the files apart: a number of local processes, ray, ray://HOST:PORT, dask or "
            "the address of its scheduler; the network is the same.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was built as JSON.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Build a higher-order network from paths and write it, whole or not at all."""
    import time

    from honlearn.cli.inputs import check_paths

    check_paths(paths, reading)
    from honlearn.errors import InputError
    from honlearn.executors import read_spec
    from honlearn.hon.build import AUTO, LEAST_MEMORY, auto_alpha, count_for
    from honlearn.hon.counts_file import check_counts_target
    from honlearn.hon.formats import check_target, save
    from honlearn.hon.statistics import GrowParameters
    from honlearn.sizes import parse_size

    # What is known to fail raises before a long reading, not after it.
    read_spec(executor)
    longest = None if order is None else _order(order)
    GrowParameters.of("grow", 1, tau, min_support, alpha)
    most = None if memory is None else parse_size("grow", "memory", memory, LEAST_MEMORY)
    check_target(output)
    if counts is not None:
        check_counts_target(counts)
    started = time.perf_counter()
    source = paths[0] if len(paths) == 1 else paths
    if update is None:
        known = count_for(
            source,
            2 if longest is None else longest,
            tau,
            min_support,
            alpha=alpha,
            n_workers=workers,
            memory=most,
            executor=executor,
            **reading,
        )
    else:
        options = {"n_workers": workers, "memory": most, "executor": executor, **reading}
        known = _updated(update, longest, source, alpha, options)
    hon = known.grow(longest, tau, min_support, alpha=alpha)
    found: list[dict[str, int]] = []
    if longest == AUTO:
        found = _by_length(known, hon, auto_alpha(tau, min_support, alpha))
    if not hon.n_edges:
        raise InputError(
            f"{', '.join(paths)}: no path has two entities, so the network would be empty; is the delimiter "
            "right, and do the options keep whole paths?"
        )
    if counts is not None:
        known.save(counts)
    save(hon, output)
    assert hon.parameters is not None  # it was grown just now
    seconds = time.perf_counter() - started
    if as_json:
        import json

        facts = {
            "network": str(output),
            "entities": hon.n_entities,
            "nodes": hon.n_nodes,
            "edges": hon.n_edges,
            "weight": int(hon.weights.sum()),
            "order": hon.parameters.order,
            "alpha": hon.parameters.alpha,
            "tau": hon.parameters.tau,
            "min_support": hon.parameters.min_support,
            "seconds": round(seconds, 3),
            **({"contexts": found} if found else {}),
        }
        typer.echo(json.dumps(facts))
        return
    typer.echo(
        f"{output}: {hon.n_entities:,} entities, {hon.n_nodes:,} nodes ({hon.n_conditional:,} contexts), "
        f"{hon.n_edges:,} edges, in {seconds:.1f} s"
    )
    if found:
        _tell_why(hon.parameters.order, found, " ".join(paths))


def _by_length(counts: GramCounts, hon: HigherOrderNetwork, alpha: float) -> list[dict[str, int]]:
    """Return, for each length of context: how many there are, were tested, are significant, became nodes."""
    import numpy as np

    order = hon.parameters.order if hon.parameters else 1
    rows = counts.evidence(order if order > 1 else None).by_length(alpha)
    nodes = np.bincount(hon.order, minlength=counts.order + 1)
    return [{**row, "nodes": int(nodes[row["order"]])} for row in rows]


def _tell_why(order: int, found: list[dict[str, int]], paths: str) -> None:
    """Print why auto stopped where it did, and what each length of context adds."""
    if order == 1:
        typer.echo("auto: no context is significant, so the network is first-order")
        return
    typer.echo(f"auto: order {order}, that of the longest significant context")
    for row in found:
        typer.echo(
            f"  {row['order']} entities: {row['significant']:,} of {row['tested']:,} tested contexts are "
            f"significant; {row['nodes']:,} nodes"
        )
    typer.echo(
        f"for fewer nodes give a lower --order; 'honlearn info {paths} --order {order}' shows how much each "
        "order helps on held-out paths"
    )


def _updated(
    file: Path,
    order: int | str | None,
    source: Any,
    alpha: float | None,
    options: dict[str, Any],
) -> GramCounts:
    """Return the counts in a file and of more paths; raise where counting all at once would look further."""
    from honlearn.errors import InputError
    from honlearn.hon.build import AUTO, LOOKS
    from honlearn.hon.counts_file import load_counts
    from honlearn.hon.statistics import DEFAULT_ALPHA

    before = load_counts(file)
    if isinstance(order, int) and order > before.order:
        raise InputError(
            f"{file}: grams were counted for orders up to {before.order}, and --order is {order}; leave "
            "--order out, or grow from all paths"
        )
    known = before.update(source, **options)
    if order == AUTO:
        longest = known.evidence().longest(DEFAULT_ALPHA if alpha is None else alpha)
        if before.order not in LOOKS or (longest >= before.order < max(LOOKS)):
            raise InputError(
                f"{file}: grams were counted for order {before.order}, and evidence may reach further; grow "
                "with --order auto from all paths"
            )
    return known


def _order(text: str) -> int | str:
    """Return the order that was typed: a whole number, or auto."""
    from honlearn.errors import ParameterError, check_integer

    if text == "auto":
        return text
    try:
        return check_integer("grow", "order", int(text), 1)
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            "The 'order' parameter of grow must be a whole number, at least 1, or auto. "
            f"Got {text!r} instead."
        ) from None
