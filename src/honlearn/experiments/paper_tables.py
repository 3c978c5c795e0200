"""The paper's tables by name, on any data: which rows they have, and how they are laid out.

In: benches (a data set, a run folder and a way to measure), and which models to keep. Out: a :class:`Table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan

from honlearn.errors import ParameterError
from honlearn.experiments.budgets import BUDGETS, settings_for
from honlearn.experiments.comparison import (
    Compared,
    Measurements,
    compare_rows,
    comparison_table,
    optimism_notes,
    printed_fact,
)
from honlearn.experiments.measure import Bench, Measured, TableRow
from honlearn.experiments.published import DATA, find, model_label, published
from honlearn.experiments.registry import find_model
from honlearn.experiments.tables import Table, as_printed, p_text, signed, spread
from honlearn.hon.summary import summary

# Models that read contexts besides ensembles; any other is fed with G1 unless a table has both.
_READ_CONTEXTS = ("honem", "ho-gnn", "dbgnn", "path2vec", "path-kernel")
_TITLES = {
    "table-1": "Table 1. The networks",
    "table-2": "Table 2. Node classification, micro F1",
    "table-3": "Table 3. Link prediction, AUPRC",
    "table-5": "Table 5. Node classification under parameter budgets, micro F1",
    "table-6": "Table 6. Node classification on the first-order and the higher-order network, micro F1",
    "table-7": "Table 7. Link prediction on the first-order and the higher-order network, AUPRC",
    "table-8": "Table 8. Node classification under parameter budgets, micro F1",
}
TASKS = {"table-3": "links", "table-7": "links"}
PUBLISHED_LINKS = (
    "links by the paper's protocol: uniform negatives, and the edges between the families of a tested pair "
    "are hidden but not the contexts that tell of them, so all values are optimistic; 'honlearn evaluate "
    "--task links' hides both"
)
TABLES = tuple(_TITLES)
# Tables of nodes that can have rows on networks that are chosen for the task.
CHOOSING = ("table-2", "table-6")


def rows_of(name: str, models: Sequence[str] | None = None, auto: bool = False) -> list[TableRow]:
    """Return the rows of a table in printed order, of these models only; others of theirs come last.

    With `auto` each ensemble has one row more in the tables that have room for it (`CHOOSING`).

    >>> [row.input for row in rows_of("table-6", ["gcn"])]
    ['g1', 'gk']
    """
    # The best baseline of Table 3 is one of Table 7.
    printed = published("table-7" if name == "table-3" else name)
    budgets = name in ("table-5", "table-8")
    found = [TableRow(*cell.row[:2], cell.layers, cell.column if budgets else "") for cell in printed]
    rows = list(dict.fromkeys(found))
    if models is not None:
        rows = _of_models(name, rows, models)
    return _with_choices(rows) if auto and name in CHOOSING else rows


def _of_models(name: str, rows: Sequence[TableRow], models: Sequence[str]) -> list[TableRow]:
    there = {row.model for row in rows}
    kept = [row for row in rows if row.model in models]
    for model in models:
        if model not in there:
            kept += _new_rows(name, model)
    return kept


def _with_choices(rows: Sequence[TableRow]) -> list[TableRow]:
    """Return the rows with one more behind the last of each ensemble, on a network that it chooses."""
    last = {row.model: place for place, row in enumerate(rows)}
    found = []
    for place, row in enumerate(rows):
        found.append(row)
        if row.model.startswith("dge-") and last[row.model] == place:
            found.append(TableRow(row.model, "auto"))
    return found


def natural_input(model: str) -> str:
    """Return the network that a model is made for: ``"gk"`` if it reads contexts, else ``"g1"``.

    >>> natural_input("dge-bag"), natural_input("gcn")
    ('gk', 'g1')
    """
    return "gk" if model.startswith("dge-") or model in _READ_CONTEXTS else "g1"


def _new_rows(name: str, model: str) -> list[TableRow]:
    """Return the rows of a model that the paper's table does not have."""
    natural = natural_input(model)
    if name in ("table-6", "table-7"):
        return [TableRow(model, "g1"), TableRow(model, "gk")]
    if name in ("table-5", "table-8"):
        budgets = list(dict.fromkeys(cell.column for cell in published(name)))
        return [TableRow(model, natural, 2, budget) for budget in budgets]
    return [TableRow(model, natural)]


@dataclass(frozen=True)
class Ready:
    """Rows with what they set, and the rows that cannot be had on a data set, with the reason."""

    rows: list[TableRow]
    refused: dict[TableRow, Measured]


def ready(bench: Bench, rows: Iterable[TableRow]) -> Ready:
    """Solve the widths of rows that have a budget; leave others as they are."""
    kept, refused = [], dict[TableRow, Measured]()
    for row in rows:
        if row.column not in BUDGETS or bench.reason(row):
            kept.append(row)
            continue
        entry = find_model(row.model, bench.task)
        given = {k: v for k, v in bench.how.given(entry).items() if k not in ("widths", "width", "n_layers")}
        try:
            fitting = settings_for(
                entry, bench.source, row.input, row.layers or 2, BUDGETS[row.column], given
            )
        except ParameterError as error:
            refused[row] = Measured(reason=str(error))
            continue
        kept.append(replace(row, settings=dict(fitting.settings)))
    return Ready(kept, refused)


def make_table(
    name: str, benches: Sequence[Bench], models: Sequence[str] | None, notes: Sequence[str]
) -> Table:
    """Measure what a table needs on every bench, and return it."""
    if name == "table-1":
        return sizes_table(benches, notes)
    rows = rows_of(name, models, any(bench.how.auto for bench in benches))
    everything = []
    for bench in benches:
        prepared = ready(bench, rows)
        found = bench.measure(prepared.rows)
        # Rows in their order: those that cannot be had keep their place.
        known = {**found, **prepared.refused}
        everything.append(Measurements(bench.source, {row: known[row] for row in rows}))
    if TASKS.get(name) == "links":
        notes = [*notes, PUBLISHED_LINKS]
    if name in ("table-5", "table-8"):
        return budget_table(name, rows, everything, notes)
    task = TASKS.get(name, "nodes")
    if name == "table-3":
        return _links_in_short(rows, everything, notes)
    return comparison_table(name, _TITLES[name], task, rows, everything, notes)


def _links_in_short(
    rows: Sequence[TableRow], everything: Sequence[Measurements], notes: Sequence[str]
) -> Table:
    """Return Table 3: the ensembles, and on top the best baseline of each data set."""
    own = [row for row in rows if row.model.startswith("dge-") and row.input == "gk"]
    table = comparison_table("table-3", _TITLES["table-3"], "links", own, everything, notes)
    cells = ["best baseline", ""]
    for m in everything:
        compared = [c for c in compare_rows("table-7", m, "links") if not c.row.model.startswith("dge-")]
        known = [c for c in compared if c.spread[0] is not None]
        best = max(known, key=lambda c: c.spread[0] or 0.0, default=None)
        cells.append(f"{spread(*best.spread)} ({model_label(best.row.model)})" if best else "–")
        if m.source.published:
            cells += [_best_printed(m.source.published), "–"]
        test = best.test if best else None
        cells.append("–" if test is None else f"{p_text(test.p_value)}, {p_text(test.p_wilcoxon)}")
    measured_names = {m.source.published for m in everything}
    cells += [_best_printed(key) for key in DATA if key not in measured_names and published("table-3", key)]
    return replace(table, rows=[cells, *table.rows])


def _best_printed(data: str) -> str:
    baselines = [c for c in published("table-7", data) if not c.model.startswith("dge-")]
    best = max(baselines, key=lambda cell: cell.value)
    return f"{as_printed(best.value, best.deviation)} ({model_label(best.model)})"


def budget_table(
    name: str, rows: Sequence[TableRow], everything: Sequence[Measurements], notes: Sequence[str]
) -> Table:
    """Return Table 5 or 8: models and depths down, budgets across, ours with the published in brackets.

    What is published of data that were not measured has columns of its own.
    """
    budgets = list(dict.fromkeys(row.column for row in rows))
    lines = list(dict.fromkeys((row.model, row.input, row.layers) for row in rows))
    columns, facts = ["model", "layers"], []
    cells = {line: [model_label(line[0]), str(line[2])] for line in lines}
    for m in everything:
        compared = {c.row: c for c in compare_rows(name, m, "nodes")}
        columns += [f"{m.source.title} {budget}" for budget in budgets]
        for model, input, layers in lines:
            for budget in budgets:
                found = compared.get(TableRow(model, input, layers, budget))
                cells[model, input, layers].append(_budget_cell(found))
                facts += [found.fact()] if found else []
    measured_names = {m.source.published for m in everything}
    for key in [key for key in DATA if key not in measured_names and published(name, key)]:
        columns += [f"{DATA[key]} {budget} published" for budget in budgets]
        for model, input, layers in lines:
            printed = [find(name, key, budget, model, input, layers) for budget in budgets]
            cells[model, input, layers] += [f"{cell.value:.2f}" if cell else "–" for cell in printed]
            facts += [printed_fact(cell) for cell in printed if cell]
    lines_below = [
        *notes,
        "widths are solved for the budget; a bag whose learners would be narrower than 3 has fewer of them",
    ]
    if any(m.source.published and published(name, m.source.published) for m in everything):
        lines_below.append("in brackets: the published value")
    lines_below += [note for m in everything for note in optimism_notes(m)]
    lines_below += sorted({found.reason for m in everything for found in m.rows.values() if found.reason})
    return Table(name, _TITLES[name], columns, [cells[line] for line in lines], lines_below, facts)


def _budget_cell(found: Compared | None) -> str:
    if found is None or found.spread[0] is None:
        return f"– ({found.printed.value:.2f})" if found and found.printed else "–"
    ours = spread(*found.spread)
    return ours if found.printed is None else f"{ours} ({found.printed.value:.2f})"


def sizes_table(benches: Sequence[Bench], notes: Sequence[str]) -> Table:
    """Return Table 1: what each network has, ours beside the published."""
    names = ["|S|", "|V1|", "|E1|", "|V2|", "|E2|", "classes", "H(G1)", "H(G2)"]
    rows, facts = [], []
    for bench in benches:
        source = bench.source
        found = summary(source.network, dict(zip(source.nodes, source.labels, strict=True))).iloc[0]
        paths = None if source.paths is None else int(source.paths.total)
        ours = dict(zip(names, [paths, *(_known(key, found[key]) for key in _SUMMARY)], strict=True))
        if not source.has_memory:
            ours |= {"|V2|": None, "|E2|": None, "H(G2)": None}
        rows.append([source.title, "ours", *(_size(key, value) for key, value in ours.items())])
        printed = {cell.column: cell.value for cell in published("table-1", source.published)}
        printed = printed if source.published else {}
        if printed:
            rows.append([source.title, "published", *(_size(key, printed[key]) for key in names)])
            gaps = [None if (own := ours[key]) is None else own - printed[key] for key in names]
            rows.append(["", "difference", *(_difference(k, g) for k, g in zip(names, gaps, strict=True))])
        facts += [
            {"data": source.name, "column": key, "ours": ours[key], "published": printed.get(key)}
            for key in names
        ]
    measured_names = {bench.source.published for bench in benches}
    for key in [key for key in DATA if key not in measured_names]:
        printed = {cell.column: cell.value for cell in published("table-1", key)}
        rows.append([DATA[key], "published", *(_size(name, printed[name]) for name in names)])
        facts += [{"data": key, "column": name, "ours": None, "published": printed[name]} for name in names]
    return Table("table-1", _TITLES["table-1"], ["data", "", *names], rows, notes, facts)


_SUMMARY = ("|V1|", "|E1|", "|Vk|", "|Ek|", "classes", "H(G1)", "H(Gk)")


def _known(name: str, value: float) -> float | None:
    """Return a number of a network as it is, whole if it counts; None where nothing is to be measured."""
    if name.startswith("H"):
        return None if isnan(value) else float(value)
    return int(value)


def _size(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if name.startswith("H") else f"{int(value):,}"


def _difference(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return signed(value) if name.startswith("H") else "0" if value == 0 else signed(value, 0)
