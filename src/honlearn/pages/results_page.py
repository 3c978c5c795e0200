"""``docs/results.md`` and ``docs/paper.md``: what was measured, from the records of runs, with conclusions.

In: run folders. Out: two short Markdown pages, with charts, whole tables as CSV and the commands beside them.
Nothing on them is typed by hand: numbers come from records, words from paired tests, and how it was measured
from what the runs have noted. Laid out by ``templates/results.md.j2`` and ``templates/paper.md.j2``.
"""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from honlearn.experiments.comparison import COLUMN, INPUT
from honlearn.experiments.measure import SCORE, Measured
from honlearn.experiments.paper_figures import FIGURES
from honlearn.experiments.paper_tables import TABLES
from honlearn.experiments.published import DATA, REPETITIONS, model_label, published
from honlearn.experiments.significance import LEVEL, gap, paired
from honlearn.experiments.tables import Table, as_printed, p_text, signed, spread
from honlearn.pages.charts import Point, dot_chart
from honlearn.pages.conclusions import (
    PUBLISHED,
    Conclusions,
    Difference,
    across,
    column_of,
    conclude,
    printed,
    reference_of,
)
from honlearn.pages.descriptions import DESCRIPTIONS
from honlearn.pages.run_folders import ModelResults, Results, default_parameters, gather, read_runs
from honlearn.pages.template import write_page
from honlearn.results.metrics import LEAST_PAIRS
from honlearn.results.record import required
from honlearn.writing.atomic import atomic_text

# Rows of a table that a page shows; the whole table is a CSV file.
_SHOWN = 5


@dataclass(frozen=True)
class TaskSection:
    """A task on a data set: its table, its scores for the chart, and what its tests give."""

    task: str
    title: str
    description: str
    table: Table
    points: Sequence[Point]
    conclusions: Conclusions | None

    @property
    def published(self) -> Table | None:
        """The rows with a published value, beside it; None where there are none."""
        if "published" not in self.table.columns:
            return None
        score = self.table.columns[list(self.table.columns).index("published") - 1]
        table = self.table.select(["model", "network", score, "published", "difference"])
        rows = [row for row in table.rows if row[3] != "–"]
        return replace(table, rows=rows, notes=()) if rows else None


@dataclass(frozen=True)
class ReproducedTable:
    """A table that ``reproduce`` has written, in Markdown."""

    title: str
    body: str


@dataclass(frozen=True)
class Content:
    """Everything that the two pages show."""

    across: Mapping[str, Mapping[str, Sequence[Difference]]]
    sections: Sequence[TaskSection]
    reproduced: Sequence[ReproducedTable]
    not_measured: Sequence[Table]
    fits: int
    cpu_hours: float
    machines: Sequence[Mapping[str, Any]]
    versions: Sequence[Mapping[str, str]]
    commands: Sequence[str]


def make_page(words: Sequence[str], target: Path) -> list[Path]:
    """Write the pages from the run folders named, with what belongs to them, and return all files."""
    runs = read_runs(words)
    everything = gather(runs)
    roots = [Path(word.partition("=")[2] or word) for word in words]
    figures = _copied_figures(roots, target.parent / target.stem)
    content = Content(
        across=across(everything),
        sections=[_section(results) for results in everything],
        reproduced=_reproduced(roots),
        not_measured=_not_measured(everything),
        fits=sum(len(run.records) for run in runs),
        cpu_hours=sum(run.cpu_hours for run in runs),
        machines=_distinct(run.about["machine"] for run in runs if run.about.get("machine")),
        versions=_distinct(dict(record.versions) for run in runs for record in run.records),
        commands=list(dict.fromkeys(command for run in runs for command in run.commands)),
    )
    return write_pages(target, content, figures)


def write_pages(target: Path, content: Content, figures: Sequence[Path]) -> list[Path]:
    """Write results and paper, tables, charts and commands, and return all files; `figures` are there."""
    folder = target.parent / target.stem
    folder.mkdir(parents=True, exist_ok=True)
    made = [_write(folder / f"{s.table.name}.csv", s.table.csv()) for s in content.sections]
    made += [_write(folder / f"{table.name}.csv", table.csv()) for table in content.not_measured]
    made.append(_write(folder / "commands.txt", "".join(f"{line}\n" for line in content.commands)))
    charts = {}
    for task in dict.fromkeys(section.task for section in content.sections):
        panels = {s.title: s.points for s in content.sections if s.task == task}
        charts[task] = f"{target.stem}/{task}.svg"
        made.append(_write(folder / f"{task}.svg", dot_chart(panels, COLUMN[task])))
    pictures = [file.relative_to(target.parent) for file in figures if file.suffix == ".svg"]
    shared = {"content": content, "charts": charts, "folder": target.stem, "shown": _SHOWN}
    paper = target.with_name("paper.md")
    write_page(target, "results.md.j2", level=LEVEL, least_pairs=LEAST_PAIRS, **shared)
    write_page(paper, "paper.md.j2", figures=pictures, **shared)
    return [target, paper, *made, *figures]


def _write(path: Path, text: str) -> Path:
    with atomic_text(path) as file:
        file.write(text)
    return path


def _section(results: Results) -> TaskSection:
    points = []
    for model in results.models:
        mean, deviation = Measured(model.records).spread(results.score)
        points.append(Point(model_label(model.model), INPUT[model.input], mean, deviation))
    return TaskSection(
        results.task,
        DATA.get(results.data, results.data),
        DESCRIPTIONS.get(results.data, ""),
        _table(results),
        points,
        conclude(results),
    )


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return the facts that differ, in the order of their JSON."""
    return [json.loads(text) for text in sorted({json.dumps(value, sort_keys=True) for value in values})]


def _table(results: Results) -> Table:
    """Return the models of a data set and task, best first."""
    score, reference = results.score, reference_of(results)
    has_published = results.data in DATA
    usual = SCORE[results.task]
    columns = ["model", "network", *([] if score == usual else [column_of(results)])]
    # Published values of links are of uniform negatives.
    columns.append(COLUMN[results.task] if score == usual else f"{COLUMN[results.task]}, uniform")
    columns += ["published", "difference"] if has_published else []
    columns += ["p (t, Wilcoxon)", "log loss", "CPU s per fit", "parameters", "fits"]
    order = sorted(results.models, key=lambda model: -Measured(model.records).spread(score)[0])
    rows = [_cells(results, model, reference, has_published) for model in order]
    name = f"{results.data}-{results.task}"
    return Table(name, f"{column_of(results)}, best first", columns, rows, _table_notes(results))


def _cells(
    results: Results, model: ModelResults, reference: ModelResults | None, has_published: bool
) -> list[str]:
    score, usual, found = results.score, SCORE[results.task], Measured(model.records)
    mean, deviation = found.spread(usual) if model.has(usual) else (None, None)
    cells = [model_label(model.model), INPUT[model.input]]
    cells += [] if score == usual else [spread(*found.spread(score))]
    cells.append(spread(mean, deviation))
    if has_published:
        cell = printed(results, model)
        between = None
        if cell is not None and mean is not None:
            between = gap(mean, deviation, len(model.records), *cell, REPETITIONS)
        cells += [as_printed(*cell) if cell else "–"]
        cells += [f"{signed(between.difference)} {between.words}".strip() if between else "–"]
    if reference is None or model is reference:
        cells.append("–" if reference is None else "reference")
    else:
        test = paired(model.records, reference.records, score)
        cells.append(f"{p_text(test.p_value)}, {p_text(test.p_wilcoxon)}" if test else "–")
    cpu = statistics.fmean(
        required(record.times.fit_cpu_seconds, "fit_cpu_seconds") for record in model.records
    )
    size = model.records[0].sizes.parameters
    cells += [f"{found.spread('log_loss')[0]:.3f}", f"{cpu:.1f}", f"{size:,}" if size else "–"]
    return [*cells, str(len(model.records))]


def _table_notes(results: Results) -> list[str]:
    folds = {record.configuration.folds for model in results.models for record in model.records}
    seeds = sorted({record.configuration.seed for model in results.models for record in model.records})
    kind = "folds" if results.task == "nodes" else "pairs held out"
    searched = [model for model in results.models if model.searched]
    notes = [f"{kind}: {', '.join(sorted(map(str, folds)))}; seeds: {', '.join(map(str, seeds))}"]
    if searched and len(searched) < len(results.models):
        names = ", ".join(f"{model_label(model.model)} {INPUT[model.input]}" for model in searched)
        notes.append(
            f"settings searched inside each training part: {names}; those of the others are in their commands"
        )
    elif searched:
        notes.append("settings searched inside each training part")
    # Learners of an ensemble unless its command sets another number.
    usual = default_parameters("dge-bag", "nodes")["n_learners"]
    sizes: dict[int, list[str]] = {}
    for model in results.models:
        learners = model.records[0].configuration.parameters.get("n_learners", usual)
        if learners != usual:
            sizes.setdefault(learners, []).append(f"{model_label(model.model)} {INPUT[model.input]}")
    notes += [f"{learners} learners, not {usual}: {', '.join(names)}" for learners, names in sizes.items()]
    counts = {len(model.records) for model in results.models}
    if len(counts) > 1:
        notes.append("models have different numbers of fits; tests use the folds that both have")
    others = max(model.others for model in results.models)
    if others:
        notes.append("of models that were run with several settings, the setting with most fits is shown")
    return notes


def _reproduced(roots: Sequence[Path]) -> list[ReproducedTable]:
    """Return the tables that ``reproduce`` has written; those of scores are above already."""
    tables = []
    for name in ("table-1", "table-5", "table-8"):
        assert name in TABLES
        for file in _found(roots, f"{name}.md"):
            title, *body = file.read_text("utf-8").strip().splitlines()
            tables.append(ReproducedTable(title.strip("*"), "\n".join(body).strip()))
    return tables


def _found(roots: Sequence[Path], name: str) -> list[Path]:
    return [file for root in roots for file in sorted(root.rglob(name))]


def _copied_figures(roots: Sequence[Path], folder: Path) -> list[Path]:
    """Copy the figures of the runs, and their numbers, to a folder beside the page."""
    copied = []
    for name in FIGURES:
        for place, file in enumerate(_found(roots, f"{name}.svg")):
            folder.mkdir(parents=True, exist_ok=True)
            for source in (file, file.with_suffix(".csv")):
                more = f"-{place + 1}" if place else ""
                target = folder / f"{name}{more}{source.suffix}"
                if source.is_file():
                    shutil.copyfile(source, target)
                    copied.append(target)
    return copied


def _not_measured(everything: Sequence[Results]) -> list[Table]:
    """Return the published values of inputs that nothing was measured on: data that are not to be had."""
    measured = {(found.data, found.task, model.input) for found in everything for model in found.models}
    return [table for task in PUBLISHED if (table := _published_alone(task, measured)).rows]


def _published_alone(task: str, measured: set[tuple[str, str, str]]) -> Table:
    """Return what the paper prints for a task on inputs (data, task, input) that were not measured."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for cell in (cell for name in PUBLISHED[task] for cell in published(name)):
        if (cell.data, task, cell.input) not in measured:
            cells = found.setdefault((cell.model, cell.input), {})
            cells.setdefault(cell.data, as_printed(cell.value, cell.deviation))
    shown = [key for key in DATA if any(key in cells for cells in found.values())]
    rows = [
        [model_label(model), INPUT[input], *(cells.get(key, "–") for key in shown)]
        for (model, input), cells in found.items()
    ]
    title = f"Published {COLUMN[task]} where nothing was measured"
    return Table(f"published-{task}", title, ["model", "network", *(DATA[key] for key in shown)], rows)
