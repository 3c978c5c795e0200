"""``honlearn grow PATHS -o NET``: from path data to a higher-order network.

In: files of paths, which are streamed, or counts of earlier ones with more paths. Out: a network file, or a
folder of parts that workers write, and perhaps the counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import reader_options as reader
from honlearn.cli.importing import importing
from honlearn.cli.typed import parse_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from honlearn.hon.build import GramCounts
    from honlearn.hon.grow_parts import GrownParts
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.hon.statistics import GrowParameters


@reader.reads_paths
def grow(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATHS",
            help="Files, glob patterns or addresses (s3://…): text, CSV, Parquet, Arrow, JSONL, XES; - for "
            "text from a pipe.",
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
            "goes. Default: 2; with --update, what was counted.",
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
            metavar="FILE.counts|NET",
            help="Add PATHS to these counts: the same network as from all paths at once. The options of the "
            "rule (alpha, tau, min-support) are those given here; beside a network NET.hon its NET.counts "
            "are read, and its rule is used unless one is given.",
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
            help="Where parts of the files are worked on: a number of local processes, ray, ray://HOST:PORT, "
            "dask or the address of its scheduler; the network is the same.",
            show_default=False,
        ),
    ] = None,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts",
            help="With --executor: let the workers write the network, as a folder NET.parquet of one file of "
            "edges each; no process holds all of it.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was built as JSON.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Build a higher-order network from paths and write it, whole or not at all."""
    import time

    from honlearn.cli.inputs import check_paths

    check_paths(paths, reading)
    from honlearn.cli.grown import no_steps
    from honlearn.errors import InputError
    from honlearn.executors import read_spec
    from honlearn.sizes import parse_size

    with importing():
        from honlearn.hon.build import AUTO, LEAST_MEMORY, auto_alpha, count_for
        from honlearn.hon.counts_file import check_counts_target
        from honlearn.hon.formats import check_target, save
        from honlearn.hon.statistics import GrowParameters

    # What is known to fail raises before a long reading, not after it.
    read_spec(executor)
    longest = None if order is None else parse_order("grow", order, 1)
    GrowParameters.of("grow", 1, tau, min_support, alpha)
    most = None if memory is None else parse_size("grow", "memory", memory, LEAST_MEMORY)
    started = time.perf_counter()
    source = paths[0] if len(paths) == 1 else paths
    if parts:
        _check_parts(longest, {"--counts": counts, "--update": update, "--memory": memory}, executor)
        from honlearn.hon.grow_parts import grow_parts

        rule = 2 if longest is None else int(longest), tau, min_support
        _tell_parts(
            grow_parts(source, output, *rule, alpha=alpha, executor=executor, **reading), started, as_json
        )
        return
    check_target(output)
    if counts is not None:
        check_counts_target(counts)
    known = its_rule = None
    options = {"n_workers": workers, "memory": most, "executor": executor, **reading}
    if executor is not None and counts is None and update is None and longest != AUTO:
        from honlearn.hon.build import grow as grow_network

        hon = grow_network(
            source, 2 if longest is None else longest, tau, min_support, alpha=alpha, **options
        )
    elif update is None:
        known = count_for(source, 2 if longest is None else longest, tau, min_support, alpha=alpha, **options)
    else:
        file = update
        if update.suffix.lower() == ".hon":
            file, its_rule = _beside(update)
        known = _updated(file, longest, source, alpha, options)
    if known is not None:
        given = (longest, tau, min_support, alpha) != (None,) * 4
        hon = (
            known.grow(longest, tau, min_support, alpha=alpha)
            if given or its_rule is None
            else known.grow_by(its_rule)
        )
    found: list[dict[str, int]] = []
    if longest == AUTO and known is not None:
        found = _by_length(known, hon, auto_alpha(tau, min_support, alpha))
    if not hon.n_edges:
        raise InputError(
            f"{', '.join(paths)}: no path has two entities, so {no_steps((known or hon).vocabulary, reading)}"
        )
    if counts is not None and known is not None:
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


def _check_parts(order: int | str | None, other: Mapping[str, Any], executor: str | None) -> None:
    """Raise for options that do not go with parts."""
    from honlearn.errors import ParameterError

    given = [name for name, value in other.items() if value is not None]
    if given or executor is None or isinstance(order, str):
        reason = (
            f"leave out {given[0]}" if given else "give --executor" if executor is None else "give a number"
        )
        raise ParameterError(f"--parts has workers write a network of a given order; {reason}")


def _tell_parts(made: GrownParts, started: float, as_json: bool) -> None:
    """Print what workers have written."""
    import time

    seconds = time.perf_counter() - started
    if as_json:
        import json

        facts = {
            "network": str(made.folder),
            "files": made.n_files,
            "entities": made.n_entities,
            "nodes": made.n_nodes,
            "edges": made.n_edges,
            "weight": made.weight,
            "order": made.parameters.order,
            "alpha": made.parameters.alpha,
            "tau": made.parameters.tau,
            "min_support": made.parameters.min_support,
            "seconds": round(seconds, 3),
        }
        typer.echo(json.dumps(facts))
        return
    typer.echo(
        f"{made.folder}: {made.n_entities:,} entities, {made.n_nodes:,} nodes "
        f"({made.n_nodes - made.n_entities:,} contexts), {made.n_edges:,} edges in {made.n_files} files, in "
        f"{seconds:.1f} s"
    )


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


def _beside(network: Path) -> tuple[Path, GrowParameters]:
    """Return the counts beside a network, and its rule; raise where they are not those it was grown from."""
    from honlearn.errors import InputError
    from honlearn.hon.counts_file import SUFFIX, load_counts
    from honlearn.hon.formats import load_network

    file = network.with_suffix(SUFFIX)
    before = load_network(network)
    if not file.is_file():
        raise InputError(
            f"{network}: a network holds the contexts that were kept, not the counts of all; write these "
            f"beside it with 'honlearn grow … -o {network.name} --counts {file.name}'"
        )
    if before.parameters is None or load_counts(file).grow_by(before.parameters) != before:
        raise InputError(
            f"{file}: these are not the counts that {network.name} was grown from; name the counts that the "
            "paths are to be added to"
        )
    return file, before.parameters


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
