"""``docs/ablations.md``: what each idea adds, alone and together, from the records of runs.

In: a folder with a run for each data set and idea, ``RUNS/DATA/IDEA``. Out: one short Markdown page, with a
picture, whole tables as CSV and the commands beside it. Every number comes from records, every star from a
paired test over the same folds and seeds. The page is laid out by ``templates/ablations.md.j2``.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from honlearn.errors import MissingFileError
from honlearn.experiments.plots import Panel, Plot, Series
from honlearn.experiments.significance import LEVEL, paired
from honlearn.experiments.tables import Table, p_text, signed, spread
from honlearn.pages.descriptions import DESCRIPTIONS
from honlearn.pages.run_folders import RunFolder, read_runs
from honlearn.pages.template import write_page
from honlearn.results.metrics import mean_and_deviation
from honlearn.results.record import ChosenNetwork, Record, required
from honlearn.writing.atomic import atomic_text

# What ideas are compared with: the first of these that a data set has.
REFERENCES = ("sage", "sage-g1", "published")
# The picture, beside the page.
_PICTURES, _PICTURE = "results", "ablations"
# Rows of a table that the page shows; the whole table is a CSV file.
_SHOWN = 6
# What a run's folder is called, and what was done in it; in this order they stand on the page.
IDEAS = {
    "published-g1": "first-order network, roots not masked, names only: an ensemble of plain GraphSAGE",
    "published": "the paper's method on the higher-order network: roots not masked, names only; but exact "
    "neighbourhoods, square roots of the weights, all relatives at inference, early stopping for each "
    "learner and a second training",
    "no-echo": "roots are masked in their own neighbourhood (`mask_self=True`)",
    "path-vectors": "path vectors beside names (`path_features=64`)",
    "kernel": "kernel ridge regression on path vectors has a share in the prediction (`kernel_share=auto`)",
    "both": "masked roots and path vectors: the learners without the kernel",
    "all": "masked roots, path vectors and the kernel: the defaults",
    "all-g1": "the same on the first-order network",
    "all-one-draw": "the same, one draw of relatives at inference (`n_draws=1`), as published",
    "all-redrawn": "the same, relatives drawn anew in every batch (`variant=batch`)",
    "all-weights": "the same, weights of edges in full (`edge_power=1`), as published",
    "all-power": "the same, the power of edges' weights chosen inside each training part (`edge_power=auto`)",
    "all-once": "the same, no second training on all nodes (`refit=0`)",
    "chosen": "the same, order, tau and min_support chosen inside each training part (`--input auto`)",
    "auto": "the default: learners, networks grown from the paths, edge powers, the kernel and their shares, "
    "all chosen inside each training part (`learner=auto`, `--input auto`; Air has a network only)",
    "auto-gk": "the same on the network as given and its first-order network",
    "sage": "an ensemble of GraphSAGE on the higher-order network (`learner=sage`; order 2, tau 10, "
    "min_support 10)",
    "sage-g1": "the same on the first-order network",
    **{
        f"{model}{ending}": f"one {name}, a single model, on the {network} network"
        for model, name in (("gcn", "GCN"), ("gcnii", "GCNII"), ("gat", "GAT"), ("graphsage", "GraphSAGE"))
        for ending, network in (("", "higher-order"), ("-g1", "first-order"))
    },
}


@dataclass(frozen=True)
class DataSection:
    """A data set: its description, the table of its ideas, and the structures that fits have chosen."""

    name: str
    description: str
    table: Table
    structures: Sequence[tuple[str, int]]


def make_page(root: Path, target: Path, notes: str = "") -> None:
    """Write the page from the runs below `root`; `notes` is Markdown that goes below the tables."""
    runs = read_runs([str(root)])
    by_data: dict[str, dict[str, RunFolder]] = {}
    for run in runs:
        by_data.setdefault(run.path.parent.name, {})[run.path.name] = run
    if not any(_reference(ideas) for ideas in by_data.values()):
        named = " or ".join(REFERENCES)
        raise MissingFileError(f"{root}: no run is called {named}; runs are in RUNS/DATA/IDEA")
    folder = target.parent / _PICTURES
    picture(by_data).write(folder)
    sections = [_section(data, ideas) for data, ideas in by_data.items()]
    texts = {f"{section.table.name}.csv": section.table.csv() for section in sections}
    texts["ablation-commands.txt"] = "".join(
        f"# {run.path.parent.name}/{run.path.name}\n{command}\n" for run in runs for command in run.commands
    )
    for name, text in texts.items():
        with atomic_text(folder / name) as file:
            file.write(text)
    seen = {name for ideas in by_data.values() for name in ideas}
    write_page(
        target,
        "ablations.md.j2",
        level=LEVEL,
        references=[label_of(name) for name in REFERENCES if name in seen],
        picture=f"{_PICTURES}/{_PICTURE}.svg",
        folder=_PICTURES,
        shown=_SHOWN,
        ideas={label_of(name): text for name, text in IDEAS.items() if name in seen},
        overview=_overview(by_data),
        sections=sections,
        notes=notes.rstrip(),
        runs=runs,
        versions=sorted({v for run in runs for r in run.records if (v := r.versions.get("honlearn"))}),
    )


def label_of(idea: str) -> str:
    """Return the name of an idea as the page shows it.

    >>> label_of("gcn-g1"), label_of("gcn")
    ('gcn, first-order', 'gcn')
    """
    for ending, network in (("-g1", "first-order"), ("-gk", "higher-order")):
        if idea.endswith(ending):
            return f"{idea.removesuffix(ending)}, {network}"
    return idea


def _reference(ideas: Mapping[str, RunFolder]) -> str | None:
    """Return the idea that the others of a data set are compared with."""
    return next((name for name in REFERENCES if name in ideas), None)


def picture(by_data: Mapping[str, Mapping[str, RunFolder]]) -> Plot:
    """Return micro F1 against log loss of every idea, a panel for each data set: up and left is better.

    Bars are standard errors over fits.
    """
    panels, facts = [], []
    for data, ideas in by_data.items():
        series = []
        for name in _ordered(ideas):
            loss, f1 = ([r.score(score) for r in ideas[name].records] for score in ("log_loss", "micro_f1"))
            error = statistics.stdev(f1) / len(f1) ** 0.5 if len(f1) > 1 else 0.0
            x, y = statistics.fmean(loss), statistics.fmean(f1)
            series.append(Series(label_of(name), [x], [y], error=[error]))
            facts.append({"data": data, "idea": name, "log_loss": x, "micro_f1": y, "error": error})
        panels.append(Panel(data, "log loss", "micro F1", series))
    return Plot(_PICTURE, "Micro F1 against log loss", panels, facts, across=3)


def _ordered(ideas: Mapping[str, RunFolder]) -> list[str]:
    return [name for name in IDEAS if name in ideas] + sorted(name for name in ideas if name not in IDEAS)


def _overview(by_data: Mapping[str, Mapping[str, RunFolder]]) -> Table:
    """Return one table of all data sets: the change of micro F1 and of the log loss by each idea."""
    names = _ordered({name: run for ideas in by_data.values() for name, run in ideas.items()})
    rows = []
    for name in names:
        cells = [label_of(name)]
        for ideas in by_data.values():
            usual = _reference(ideas)
            both = name in ideas and usual is not None and name != usual
            cells.append(" / ".join(_changes(ideas[name], ideas[str(usual)])) if both else "–")
        rows.append(cells)
    columns = ["idea", *by_data]
    title = "Change of micro F1 / of log loss against the reference"
    return Table("changes", title, columns, rows, left=1)


def _changes(run: RunFolder, reference: RunFolder) -> list[str]:
    changes = []
    for score in ("micro_f1", "log_loss"):
        test = paired(run.records, reference.records, score)
        if test is None:
            changes.append("–")
            continue
        sure = test.p_value is not None and test.p_value < LEVEL
        changes.append(signed(test.difference) + "*" * sure)
    return changes


def _section(data: str, ideas: Mapping[str, RunFolder]) -> DataSection:
    rows, usual = [], _reference(ideas)
    for name in sorted(_ordered(ideas), key=lambda name: -_mean(ideas[name].records, "micro_f1")):
        records = ideas[name].records
        cells = [label_of(name), _spread(records, "micro_f1"), _spread(records, "log_loss")]
        single = [value for r in records if (value := r.scores.get("single_micro_f1")) is not None]
        cells.append(f"{statistics.fmean(single):.3f}" if single else "–")
        if usual is None or name == usual:
            cells += ["–", "–"]
        else:
            for score in ("micro_f1", "log_loss"):
                test = paired(records, ideas[usual].records, score)
                cells.append("–" if test is None else f"{signed(test.difference)} ({p_text(test.p_value)})")
        shares = [record.sizes.kernel_share or 0.0 for record in records]
        cpu = statistics.fmean(
            required(record.times.fit_cpu_seconds, "fit_cpu_seconds") for record in records
        )
        rows.append([*cells, f"{statistics.fmean(shares):.2f}", f"{cpu:.1f}", str(len(records))])
    columns = ["idea", "micro F1", "log loss", "one learner", "Δ F1 (p)", "Δ log loss (p)"]
    columns += ["kernel's share", "CPU s", "fits"]
    chosen = [_structure(r.sizes.chosen) for run in ideas.values() for r in run.records if r.sizes.chosen]
    table = Table(f"ablation-{data}", data, columns, rows, left=1)
    return DataSection(data, DESCRIPTIONS.get(data, ""), table, Counter(chosen).most_common())


def _mean(records: Sequence[Record], score: str) -> float:
    return statistics.fmean(record.score(score) for record in records)


def _spread(records: Sequence[Record], score: str) -> str:
    return spread(*mean_and_deviation([record.score(score) for record in records]))


def _structure(chosen: ChosenNetwork) -> str:
    """Return a chosen structure in words."""
    if chosen.order == 1:
        return "first order"
    tau = "none" if chosen.tau is None else f"{chosen.tau:g}"
    return f"order {chosen.order}, tau {tau}, min_support {chosen.min_support}"
