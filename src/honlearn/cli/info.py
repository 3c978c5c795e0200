"""``honlearn info NET|PATHS|MODEL [LABELS]``: sizes, families, homophily, dependencies of a network.

In: a network file, or with a CSV of classes paths that one is grown from; or paths alone
(:mod:`honlearn.cli.memory`), or a model folder (:mod:`honlearn.cli.card`). Out: tables on
standard output, or the same as JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import reader_options as reader

if TYPE_CHECKING:
    from rich.table import Table

    from honlearn.hon.network import HigherOrderNetwork


@reader.reads_paths
def info(
    source: Annotated[
        str,
        typer.Argument(
            metavar="NET|PATHS|MODEL",
            help="Network: .hon, .txt (GrowHON's edge list) or .parquet; a file or pattern of paths; or the "
            "folder of a model.",
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Argument(metavar="LABELS", help="CSV: first column the node, column 'label' its class."),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="Column of the classes; default: 'label', or the only other one."),
    ] = None,
    node_column: Annotated[str | None, typer.Option(help="Column of the nodes, if not the first.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many of the strongest dependencies to show.")] = 10,
    order: Annotated[int, typer.Option(min=1, help="Paths: how far memory is tried, in entities.")] = 3,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random choices.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Show what a network is made of, how much memory helps to predict paths, or the card of a model."""
    from honlearn.cli.inputs import check_there
    from honlearn.cli.kinds import is_model, is_network, with_model
    from honlearn.errors import ParameterError

    source = with_model(source)
    if is_model(source):
        from honlearn.cli.card import show_card

        if labels is not None or reading:
            raise ParameterError(f"{source} is a model: its card needs neither LABELS nor options of reading")
        show_card(source, as_json)
        return
    check_there(source)
    from honlearn.cli.grown import DEFAULT_ORDER, counted, grown_from
    from honlearn.hon.formats import load_network
    from honlearn.labels import none_known, read_labels

    if labels is None and not is_network([source], reading):
        from honlearn.cli.memory import describe_paths

        describe_paths([source], reading, order, seed, as_json)
        return
    known = None if labels is None else read_labels(labels, label_column, node_column)
    if is_network([source], reading):
        network = load_network(source)
    else:
        network = grown_from(Path(source), counted(Path(source), DEFAULT_ORDER, reading))
    if known is not None and not any(node in network.vocabulary for node in known[0]):
        raise none_known(known[0], network.vocabulary.names, labels)
    facts = describe(network, known, top)
    if as_json:
        import json

        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False))
        return
    from rich.console import Console

    console = Console()
    for table in _tables(facts):
        console.print(table)


def describe(hon: HigherOrderNetwork, labels: tuple[list[str], list[str]] | None, top: int) -> dict[str, Any]:
    """Return what the command prints, as plain values; None where something is not known."""
    import numpy as np

    row = hon.summary(labels).iloc[0]
    nodes = np.bincount(hon.order, minlength=2)[1:]
    edges = np.bincount(hon.order[hon.sources], minlength=len(nodes) + 1)[1:]
    sizes, families = np.unique(np.diff(hon.family_indptr), return_counts=True)
    grown = hon.parameters
    facts: dict[str, Any] = {
        "sizes": {
            "order": int(row["k"]),
            "entities": hon.n_entities,
            "first_order_edges": int(row["|E1|"]),
            "nodes": hon.n_nodes,
            "edges": hon.n_edges,
            "weight": hon.weights.sum().item(),
        },
        "parameters": None
        if grown is None
        else {
            "rule": grown.rule,
            "order": grown.order,
            "alpha": grown.alpha,
            "tau": grown.tau,
            "min_support": grown.min_support,
        },
        "orders": [
            {"order": i + 1, "nodes": int(n), "out_edges": int(e)}
            for i, (n, e) in enumerate(zip(nodes, edges, strict=True))
        ],
        "families": [{"size": int(s), "families": int(n)} for s, n in zip(sizes, families, strict=True)],
        "dependencies": _records(hon, top),
    }
    if labels is not None:
        facts["labels"] = {
            "labelled": sum(name in hon.vocabulary for name in labels[0]),
            "classes": int(row["classes"]),
            "homophily_first_order": _plain(row["H(G1)"]),
            "homophily": _plain(row["H(Gk)"]),
        }
    return facts


def _records(hon: HigherOrderNetwork, top: int) -> list[dict[str, Any]]:
    records = hon.dependencies(top).to_dict("records")
    for record in records:
        record["shifts"] = [shift._asdict() for shift in record["shifts"]]
    return [{str(key): _plain(value) for key, value in record.items()} for record in records]


def _plain(value: object) -> Any:
    """Return a value that JSON can hold: None for what is missing or not finite."""
    import math

    if isinstance(value, (str, list)) or value is None:
        return value
    number = value.item() if hasattr(value, "item") else value
    return number if isinstance(number, (int, float)) and math.isfinite(number) else None


def _tables(facts: dict[str, Any]) -> list[Table]:
    """Return the tables, in the order in which they are printed."""
    sizes = [(name.replace("_", " "), f"{value:,}") for name, value in facts["sizes"].items()]
    sizes.append(("contexts kept by", (facts["parameters"] or {}).get("rule", "not known")))
    for name, value in facts.get("labels", {}).items():
        text = "–" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
        sizes.append((name.replace("_", " "), text))
    tables = [
        table_of("Network", ["", ""], sizes),
        table_of(
            "Nodes by order", ["order", "nodes", "out-edges"], [list(row.values()) for row in facts["orders"]]
        ),
        table_of("Family sizes", ["nodes", "families"], _condensed(facts["families"])),
    ]
    if facts["dependencies"]:
        seen = "weight" if facts["dependencies"][0]["frequency"] is None else "frequency"
        header = ["context", seen, "bits", "p", "q", "ln BF", "next step: without → with it"]
        rows = [
            [record["node"], *_evidence(record, seen), _changes(record)] for record in facts["dependencies"]
        ]
        table = table_of("Strongest dependencies", header, rows)
        table.caption = _missing(facts["dependencies"])
        table.caption_justify = "left"
        tables.append(table)
    return tables


def _missing(records: list[dict[str, Any]]) -> str | None:
    """Return what of the evidence is not known, and why."""
    if all(record["q_value"] is not None for record in records):
        return None
    if any(record["p_value"] is not None for record in records):
        return (
            "p and ln BF from the edges, where the context's suffix is a node. q takes all contexts, not "
            "only those kept: grow the network by evidence (without --tau and --min-support) to have it."
        )
    return "No evidence: it takes counts of paths (whole numbers) and the edges of each context's suffix."


def _condensed(families: list[dict[str, int]]) -> list[list[object]]:
    """Return sizes 1 to 3 alone and larger ones in ranges that double, so that the table stays short."""
    counts: dict[tuple[int, int], int] = {}
    for row in families:
        size = row["size"]
        low = size if size < 4 else 1 << (size.bit_length() - 1)
        high = size if size < 4 else 2 * low - 1
        counts[low, high] = counts.get((low, high), 0) + row["families"]
    return [[f"{a}" if a == b else f"{a}–{b}", number] for (a, b), number in counts.items()]


def _evidence(record: dict[str, Any], seen: str) -> list[str]:
    forms = {"divergence": ".3f", "p_value": ".2g", "q_value": ".2g", "ln_bayes_factor": ",.1f"}
    cells = [_cell(record[name], form) for name, form in forms.items()]
    return [f"{record[seen]:,}", *cells]


def _cell(value: float | None, form: str) -> str:
    if value is None:
        return "–"
    return "<1e-300" if value < 1e-300 and form == ".2g" else format(value, form)


def _changes(record: dict[str, Any]) -> str:
    shifts = record["shifts"]
    return "; ".join(f"{s['target']} {s['without']:.2f}→{s['probability']:.2f}" for s in shifts)


def shown_text(text: str) -> str:
    """Return `text` fit for a terminal: control characters as escapes, markup as it is."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


def table_of(title: str, header: list[str], rows: Any, *, last_left: bool = True) -> Table:
    """Return a table: names to the left, numbers to the right, the last of many columns text."""
    from rich import box
    from rich.table import Table

    width = len(title) + 2  # a title longer than its table would be broken
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_header=any(header), min_width=width)
    for number, name in enumerate(header):
        last = last_left and number == len(header) - 1 and len(header) > 3
        table.add_column(name, justify="left" if number == 0 or last else "right")
    for row in rows:
        table.add_row(*(shown_text(cell) if isinstance(cell, str) else f"{cell:,}" for cell in row))
    return table
