"""A table or figure of the paper by its name: what to measure, where it is kept, and the files that come out.

In: a name, data sets and a way to measure. Out: in the run folder one folder of records for each data set,
``run.json`` in each with the commands, the machine and the sizes, and the table or figure itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from honlearn.errors import HonlearnError, InputError, ParameterError, did_you_mean, listed
from honlearn.experiments.estimate import Planned
from honlearn.experiments.machine import machine
from honlearn.experiments.measure import Bench, Plan
from honlearn.experiments.paper_figures import FIGURES, figure_rows, make_figure, plan_of
from honlearn.experiments.paper_tables import TABLES, TASKS, make_table, ready, rows_of
from honlearn.experiments.plots import Plot
from honlearn.experiments.sources import Source
from honlearn.experiments.tables import Table
from honlearn.stored import Fields, read_json
from honlearn.writing.atomic import atomic_text

NAMES = (*TABLES, *FIGURES)
ABOUT = "run.json"


@dataclass(frozen=True)
class Request:
    """What is asked for: a name, data sets, models (None: those of the paper), and how to measure."""

    name: str
    sources: Sequence[Source]
    folder: Path
    how: Plan
    models: Sequence[str] | None = None
    command: str = ""
    given: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ParameterError(
                f"no table or figure is called {self.name!r}{did_you_mean(self.name, NAMES)}; there are "
                f"{listed(NAMES, 20)}"
            )
        names = [source.name for source in self.sources]
        if len(set(names)) < len(names):
            raise ParameterError(f"two data sets have one name: {listed(names)}; write NAME=FOLDER")

    @property
    def task(self) -> str:
        """Whether nodes or links are predicted."""
        return TASKS.get(self.name, "nodes")

    def benches(self) -> list[Bench]:
        """Return a bench for each data set, in a folder of its own."""
        return [Bench(source, self.folder / source.name, self.plan, self.task) for source in self.sources]

    @property
    def plan(self) -> Plan:
        """How it is measured: as asked, but for figures that have a way of their own."""
        return plan_of(self.name, self.how)

    def notes(self) -> list[str]:
        """Return how it was measured, in words."""
        if self.name == "table-1":
            return []
        how = self.plan
        parts = f"{how.repetitions} repetitions" if self.task == "links" else _folds(how)
        if self.name == "tau":
            parts = f"{parts} of nodes and {how.repetitions} repetitions of links"
        seeds = f"seed {how.seeds[0]}" if len(how.seeds) == 1 else f"seeds {how.seeds[0]}–{how.seeds[-1]}"
        settings = f"; set by hand: {', '.join(self.given)}" if self.given else ""
        return [f"{parts}, {seeds}; {_protocol(how)}{settings}"]


def _folds(how: Plan) -> str:
    kind = (
        "the published folds"
        if how.folds.kind == "published"
        else f"{how.folds.count} {how.folds.kind} folds"
    )
    return kind if how.first_folds is None else f"the first {how.first_folds} of {kind}"


def _protocol(how: Plan) -> str:
    if how.protocol == "fixed":
        return "default settings, no search"
    limits = [f"{how.budget.minutes:g} minutes"] if how.budget.minutes is not None else []
    limits += [f"{how.budget.trials} settings"] if how.budget.trials is not None else []
    budget = " and ".join(limits)
    if how.protocol == "paper":
        return f"the paper's protocol: the best of several settings on the test folds ({budget} a fold)"
    return f"settings searched on a validation part inside each training part ({budget} a search)"


def reproduce(request: Request) -> tuple[Table | Plot, list[Path]]:
    """Measure what has no record yet, write the table or figure, and return it with its files."""
    benches = request.benches()
    for bench in benches:
        _remember(bench, request)
    make: Any = make_table if request.name in TABLES else make_figure
    made: Table | Plot = make(request.name, benches, request.models, request.notes())
    return made, made.write(request.folder)


def planned(request: Request) -> tuple[list[Planned], list[str]]:
    """Return what `reproduce` would run, and why it would leave rows out; widths of budgets are solved."""
    rows, reasons = list[Planned](), list[str]()
    for bench in request.benches() if request.name != "table-1" else ():
        if request.name in TABLES:
            prepared = ready(bench, rows_of(request.name, request.models, request.how.auto))
            asked = [(bench, prepared.rows)]
            reasons += [measured.reason for measured in prepared.refused.values()]
        else:
            asked = figure_rows(request.name, bench, request.models)
        for one, wanted in asked:
            rows += one.planned(wanted)
            reasons += [f"{bench.source.name}: {why}" for why in map(one.reason, wanted) if why]
    return rows, list(dict.fromkeys(reasons))


def _remember(bench: Bench, request: Request) -> None:
    """Write ``run.json`` of a data set's folder; commands of before are kept."""
    for folder in (request.folder, bench.folder):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: there is a file of this name; name a folder with -o")
    bench.folder.mkdir(parents=True, exist_ok=True)
    path, source = bench.folder / ABOUT, bench.source
    commands: list[str] = []
    if path.exists():
        # What is damaged is written anew; it holds nothing that a command does not say again.
        with suppress(HonlearnError):
            commands = Fields(read_json(path), str(path)).texts("commands")
    grown = source.network.parameters
    about = {
        "data": source.name,
        "published": source.published,
        "origin": source.origin,
        "entities": source.network.n_entities,
        "nodes": source.network.n_nodes,
        "edges": source.network.n_edges,
        "labelled": len(source.nodes),
        "grown": None
        if grown is None
        else {
            "order": grown.order,
            "tau": grown.tau,
            "min_support": grown.min_support,
            "alpha": grown.alpha,
        },
        "commands": list(dict.fromkeys([*commands, request.command] if request.command else commands)),
        "machine": machine(),
    }
    with atomic_text(path) as file:
        json.dump(about, file, indent=2, ensure_ascii=False)
        file.write("\n")
