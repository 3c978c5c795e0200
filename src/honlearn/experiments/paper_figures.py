"""The paper's figures by name, on any data: what is measured for each, and its panels.

In: benches (a data set, a run folder and a way to measure), and which models to show. Out: a :class:`Plot`
with the numbers behind it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from honlearn.errors import InputError
from honlearn.experiments.characteristics import (
    CHARACTERISTICS,
    change_facts,
    node_losses,
    on_axis,
    regression,
)
from honlearn.experiments.diversity import answers_of, fitted_size_facts, pair_facts, size_facts
from honlearn.experiments.measure import SCORE, Bench, Measured, Plan, TableRow
from honlearn.experiments.paper_tables import natural_input
from honlearn.experiments.plots import Panel, Plot, Series
from honlearn.experiments.published import model_label
from honlearn.experiments.registry import find_model
from honlearn.experiments.shapes import keyword_for, with_shape
from honlearn.results.metrics import mean_and_deviation
from honlearn.results.networks import network_name
from honlearn.results.record import required

FIGURES = ("depth", "diversity", "ensemble-size", "training-time", "characteristics", "tau")
DEPTHS, TAUS = (1, 2, 3), (0.5, 1.0, 3.0, 10.0, 30.0, 100.0)
EPOCHS, SIZES = (1, 2, 4, 8, 16, 32, 64, 128), (1, 2, 4, 8, 16, 32, 64)
_BAG = "dge-bag"
_BASELINES = ("gcn", "gcnii", "gat", "gatv2", "graphsage", "gin", "graphsaint")
_MODELS = {
    "depth": (*_BASELINES, "dge-bag"),
    "diversity": ("dge-bag", "dge-bag*", "dge-pool", "dge-pool*"),
    "ensemble-size": ("dge-bag",),
    "training-time": (*_BASELINES, "dge-pool", "dge-bag"),
    "characteristics": ("dge-bag", "graphsage"),
    "tau": ("dge-bag",),
}
Facts = list[dict[str, Any]]


def make_figure(
    name: str, benches: Sequence[Bench], models: Sequence[str] | None, notes: Sequence[str]
) -> Plot:
    """Measure what a figure needs on every bench, and return it."""
    makers: dict[str, Callable[[Sequence[Bench], Sequence[str]], Plot]] = {
        "depth": depth,
        "diversity": diversity,
        "ensemble-size": ensemble_size,
        "training-time": training_time,
        "characteristics": characteristics,
        "tau": tau,
    }
    plot = makers[name](benches, models or _MODELS[name])
    return replace(plot, notes=[*notes, *plot.notes])


def plan_of(name: str, how: Plan) -> Plan:
    """Return how a figure is measured: training time on the first fold alone, and without a search."""
    return replace(how, first_folds=1, protocol="fixed") if name == "training-time" else how


def figure_rows(name: str, bench: Bench, models: Sequence[str] | None) -> list[tuple[Bench, list[TableRow]]]:
    """Return the rows that a figure measures on a bench, for a dry run; tau has a bench for each network."""
    wanted = models or _MODELS[name]
    if name == "tau":
        return [(other, _tau_rows(other, wanted, value)) for value, other in _tau_benches(bench)]
    makers = {"depth": _depth_rows, "training-time": _time_rows, "ensemble-size": _size_rows}
    rows = makers[name](bench, wanted) if name in makers else [_row(bench, model) for model in wanted]
    return [(bench, rows)]


def _row(bench: Bench, model: str, **more: Any) -> TableRow:
    """Return a model's row on the network that it is made for, where there is one, else on G1."""
    return TableRow(model, natural_input(model) if bench.source.has_memory else "g1", **more)


def _measured(bench: Bench, rows: Sequence[TableRow], need_answers: bool = False) -> dict[TableRow, Measured]:
    """Measure rows; those that cannot be had are left out, but not all of them."""
    found = bench.measure(rows, need_answers=need_answers)
    known = {row: measured for row, measured in found.items() if measured.records}
    if not known:
        reasons = "; ".join(sorted({measured.reason for measured in found.values()}))
        reasons = reasons or "none of the models has what it varies; name others with --model"
        raise InputError(f"{bench.source.name}: nothing of this figure can be measured: {reasons}")
    return known


def _summary(bench: Bench, row: TableRow, found: Measured, **more: Any) -> dict[str, Any]:
    fact: dict[str, Any] = {"data": bench.source.name, "model": row.model, "input": row.input, **more}
    for score in ("log_loss", SCORE[bench.task]):
        fact[score], fact[f"{score}_std"] = found.spread(score)
    flattered = {} if found.optimism is None else {"optimism": found.optimism}
    return fact | {"records": len(found.records)} | flattered


# --- loss by depth ------------------------------------------------------------------------------------


def _depth_rows(bench: Bench, models: Sequence[str]) -> list[TableRow]:
    rows = []
    for model in models:
        for layers in DEPTHS:
            row = _row(bench, model, layers=layers)
            if not bench.reason(row):
                entry = find_model(model, bench.task)
                if keyword_for(entry, "layers") is None:
                    continue
                row = replace(row, settings=with_shape(entry, bench.how.given(entry), layers))
            rows.append(row)
    return rows


def depth(benches: Sequence[Bench], models: Sequence[str]) -> Plot:
    """Test loss by the number of layers; error bars are standard deviations."""
    facts, panels = Facts(), []
    for bench in benches:
        found = _measured(bench, _depth_rows(bench, models))
        mine = [_summary(bench, row, measured, layers=row.layers) for row, measured in found.items()]
        facts += mine
        panels.append(_lines(bench, mine, "layers", "log_loss", "layers", "test loss", whole_x=True))
    return Plot("depth", "Test loss by depth", panels, facts)


def _lines(
    bench: Bench, facts: Sequence[Mapping[str, Any]], x: str, y: str, x_label: str, y_label: str, **more: Any
) -> Panel:
    """Return one line with error bars for each model and input."""
    series = []
    for model, input in dict.fromkeys((fact["model"], fact["input"]) for fact in facts):
        own = [fact for fact in facts if (fact["model"], fact["input"]) == (model, input)]
        label = f"{model_label(model)} {network_name(input)}"
        spreads = [fact.get(f"{y}_std") for fact in own]
        errors = None if all(value is None for value in spreads) else spreads
        series.append(Series(label, [fact[x] for fact in own], [fact[y] for fact in own], errors))
    return Panel(bench.source.title, x_label, y_label, series, **more)


# --- diversity and size -------------------------------------------------------------------------------


def diversity(benches: Sequence[Bench], models: Sequence[str]) -> Plot:
    """Cohen's kappa of each pair of learners against their mean loss, a panel for each model."""
    facts, panels = Facts(), []
    for bench in benches:
        _need_learners("diversity", bench, models)
        found = _measured(bench, [_row(bench, model) for model in models], need_answers=True)
        for row, measured in found.items():
            mine = [{"data": bench.source.name, **f} for f in pair_facts(bench.folder, measured.records)]
            facts += mine
            points = Series("", [f["kappa"] for f in mine], [f["loss"] for f in mine], is_line=False)
            title = f"{bench.source.title}: {model_label(row.model)}"
            panels.append(Panel(title, "Cohen's kappa", "mean loss of the pair", [points]))
    note = "each point is a pair of learners in one test fold; less kappa is less agreement"
    return Plot("diversity", "Diversity and accuracy of learners", panels, facts, [note])


def _need_learners(name: str, bench: Bench, models: Sequence[str]) -> None:
    for model in models:
        if keyword_for(find_model(model, bench.task), "learners") is None:
            raise InputError(f"the figure {name!r} is about learners, and {model} has none; name a dge model")


def _size_rows(bench: Bench, models: Sequence[str]) -> list[TableRow]:
    """Return one row for a bag, which holds every smaller one, and for other ensembles one per size."""
    _need_learners("ensemble-size", bench, models)
    rows = []
    for model in models:
        row, entry = _row(bench, model), find_model(model, bench.task)
        if model == _BAG or bench.reason(row):
            rows.append(row)
            continue
        most = int(entry.parameters(bench.how.given(entry))["n_learners"])
        for size in (*(size for size in SIZES if size < most), most):
            alone = {"n_learners": size, "kernel_share": 0.0}
            rows.append(replace(row, column=f"{size} learners", settings=alone))
    return rows


def ensemble_size(benches: Sequence[Bench], models: Sequence[str]) -> Plot:
    """Score and loss by the number of learners; of a bag from one fit per fold."""
    facts, panels = Facts(), []
    for bench in benches:
        found = _measured(bench, _size_rows(bench, models), need_answers=True)
        single = Facts()
        for row, m in found.items():
            is_bag = row.model == _BAG
            single += size_facts(bench.folder, m.records) if is_bag else fitted_size_facts(m.records)
        mine = _means(
            [{"data": bench.source.name, **f} for f in single], "learners", ("micro_f1", "log_loss")
        )
        facts += mine
        for score, label in (("micro_f1", "micro F1"), ("log_loss", "test loss")):
            panels.append(_lines(bench, mine, "learners", score, "learners", label))
    note = (
        "the learners alone, without a kernel's share. The first learners of DGE-bag are a bag of that size, "
        "so one fit per fold gives every size; other ensembles are fitted anew for each"
    )
    return Plot("ensemble-size", "Score by ensemble size", panels, facts, [note], across=2)


def _means(facts: Sequence[Mapping[str, Any]], x: str, scores: Sequence[str]) -> Facts:
    """Return mean and deviation of scores over seeds and folds, for each (data, model, input, x)."""
    names = ("data", "model", "input", x)
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for fact in facts:
        groups.setdefault(tuple(fact[name] for name in names), []).append(fact)
    made = []
    for key, group in groups.items():
        row: dict[str, Any] = dict(zip(names, key, strict=True))
        for score in scores:
            row[score], row[f"{score}_std"] = mean_and_deviation([fact[score] for fact in group])
        made.append(row | {"records": len(group)})
    return made


# --- loss by training time ----------------------------------------------------------------------------


def _time_rows(bench: Bench, models: Sequence[str]) -> list[TableRow]:
    rows = []
    for model in models:
        row = _row(bench, model)
        if bench.reason(row):
            rows.append(row)
            continue
        entry = find_model(model, bench.task)
        word, given = keyword_for(entry, "epochs"), bench.how.given(entry)
        if word is None:
            continue
        most = int(given.get(word) or entry.parameters({}).get(word) or EPOCHS[-1])
        # Every epoch is trained, on all of the training part: nothing stops early, nothing is restored.
        off: dict[str, Any] = dict.fromkeys({"validation_fraction", "refit"} & set(entry.keywords()), 0.0)
        for epochs in (*(e for e in EPOCHS if e < most), most):
            rows.append(replace(row, column=f"{epochs} epochs", settings={word: epochs, **off}))
    return rows


def training_time(benches: Sequence[Bench], models: Sequence[str]) -> Plot:
    """Training and test loss on the first fold by the CPU seconds of training; each point is a fit."""
    facts, panels = Facts(), []
    for bench in benches:
        found = _measured(bench, _time_rows(bench, models), need_answers=True)
        mine = []
        for row, measured in found.items():
            fact = _summary(bench, row, measured, epochs=int(row.column.split()[0]))
            records = list(answers_of(bench.folder, measured.records))
            times = [record.times for record, _ in records]
            fact["fit_seconds"] = statistics.fmean(required(one.fit_seconds, "fit_seconds") for one in times)
            fact["fit_cpu_seconds"] = statistics.fmean(
                required(one.fit_cpu_seconds, "fit_cpu_seconds") for one in times
            )
            last = [
                answer.about["history"][-1].get("loss") for _, answer in records if answer.about["history"]
            ]
            fact["training_loss"] = last[0] if last else None
            mine.append(fact)
        facts += mine
        mine.sort(key=lambda fact: (fact["model"], fact["epochs"]))
        known = [fact for fact in mine if fact["training_loss"] is not None]
        panels.append(
            _lines(
                bench, known, "fit_cpu_seconds", "training_loss", "CPU seconds", "training loss", log_x=True
            )
        )
        panels.append(
            _lines(bench, mine, "fit_cpu_seconds", "log_loss", "CPU seconds", "test loss", log_x=True)
        )
    note = "first test fold; training loss is that of the last epoch, with dropout"
    return Plot("training-time", "Loss by training time", panels, facts, [note], across=2)


# --- node characteristics -----------------------------------------------------------------------------


def characteristics(benches: Sequence[Bench], models: Sequence[str]) -> Plot:
    """Change in a node's loss, first model minus second, by what the node is like, with a regression line."""
    if len(models) != 2:
        raise InputError(
            "the figure 'characteristics' compares two models, such as dge-bag and graphsage; "
            f"got {len(models)}"
        )
    facts, lines, panels = Facts(), Facts(), []
    for bench in benches:
        ours, theirs = (_row(bench, model) for model in models)
        found = _measured(bench, [ours, theirs], need_answers=True)
        if len(found) < 2:
            raise InputError(
                f"{bench.source.name}: {bench.reason(ours) or bench.reason(theirs)}; name others"
            )
        both = [node_losses(bench.folder, found[row].records) for row in (ours, theirs)]
        mine = change_facts(bench.source, *both)
        facts += [{"data": bench.source.name, **fact} for fact in mine]
        for name, (label, is_log) in CHARACTERISTICS.items():
            panel, line = _change_panel(bench, mine, name, f"log10(1 + {label})" if is_log else label)
            panels.append(panel)
            lines.append({"data": bench.source.name, "characteristic": name, **line})
    title = f"Change in test loss, {model_label(models[0])} against {model_label(models[1])}"
    note = "below 0 the first model has the lower loss; the band is the 95 % confidence of the line"
    return Plot("characteristics", title, panels, facts, [note], more={"regression": lines})


def _change_panel(bench: Bench, facts: Facts, name: str, label: str) -> tuple[Panel, dict[str, Any]]:
    x = on_axis(name, [fact[name] for fact in facts])
    y = np.array([fact["change"] for fact in facts])
    good = np.isfinite(x)
    series = [Series("", x[good].tolist(), y[good].tolist(), is_line=False)]
    line = regression(x, y)
    fact: dict[str, Any] = {"slope": None, "p_value": None, "nodes": int(good.sum())}
    if line is not None:
        grid = np.linspace(x[good].min(), x[good].max(), 60)
        middle, half = line.at(grid)
        band = {"low": (middle - half).tolist(), "high": (middle + half).tolist()}
        series.append(Series("", grid.tolist(), middle.tolist(), colour=1, **band))
        fact = {
            "slope": line.slope,
            "intercept": line.intercept,
            "p_value": line.p_value,
            "nodes": line.count,
        }
    return Panel(bench.source.title, label, "change in loss", series), fact


# --- score by tau -------------------------------------------------------------------------------------


def _tau_benches(bench: Bench) -> list[tuple[float, Bench]]:
    """Return a bench for each tau, with the network that it grows, for nodes and then for links."""
    sources = {value: replace(bench.source, network=bench.source.grown(value)) for value in TAUS}
    return [
        (value, Bench(source, bench.folder, bench.how, task))
        for task in ("nodes", "links")
        for value, source in sources.items()
    ]


def _tau_rows(bench: Bench, models: Sequence[str], value: float) -> list[TableRow]:
    return [_row(bench, model, column=f"{bench.task}, tau {value:g}") for model in models]


def tau(benches: Sequence[Bench], models: Sequence[str]) -> Plot:
    """Score on nodes and on links by tau; the network is grown anew for each, settings stay."""
    facts, panels = Facts(), []
    for bench in benches:
        grown = _tau_benches(bench)
        for task, label in (("nodes", "micro F1"), ("links", "AUPRC")):
            mine = []
            for value, other in grown:
                if other.task != task:
                    continue
                size = other.source.network.n_nodes
                for row, measured in _measured(other, _tau_rows(other, models, value)).items():
                    fact = _summary(other, row, measured, task=task, tau=value, nodes=size)
                    mine.append({**fact, "input": "gk"})
            facts += mine
            title_of = replace(bench.source, name=f"{bench.source.title}: {task}", published=None)
            other = Bench(title_of, bench.folder, bench.how, task)
            panels.append(_lines(other, mine, "tau", SCORE[task], "tau", label, log_x=True))
    return Plot("tau", "Score by tau", panels, facts, across=2)
