"""The page of a benchmark run: tables in Markdown, and three charts.

In: rows, growth curves and facts of a run. Out: ``benchmarks.md`` and ``benchmarks/*.svg`` in a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import Curve, Row

COLOURS = {"limit": "#9aa5b1", "ours": "#1f6feb", "other": "#e0823d"}
TEXT = """# Benchmarks

Made by `make bench` (`benchmarks/run.py`), one run at scale {scale:g} (training {training_scale:g}, the fit
on a large network {memory_scale:g}) on a machine with {cores} cores ({processor}) and {memory_gb} GB, Python
{python}, one-minute load {load} at its start. CPU time, best of {repeat}; on a shared machine it is rather
too high, so compare the ratios. The limits are what any program would pay.

{tables}

`×` is CPU time relative to ours in the same run, beyond start-up where that is known (the same program on a
thousand paths). Polars and DuckDB count the windows of three entities only:
they find no contexts and make no network. A step of training is forward, backward and Adam of one learner.

## Growth

![CPU time by size](benchmarks/growth.svg)

{growth}

An exponent of 1 is proportional. A sampled step reads as many neighbours on any network.

## Memory

{memory_text}
"""


def write_page(folder: Path, found: dict[str, Any], rows: Sequence[Row], curves: Sequence[Curve]) -> None:
    """Write the page and its charts."""
    charts = folder / "benchmarks"
    charts.mkdir(parents=True, exist_ok=True)
    parts = list(dict.fromkeys(row.part for row in rows))
    sections = []
    for part in parts:
        own = [row for row in rows if row.part == part]
        name = part.partition(",")[0].replace(" ", "-")
        chart = ""
        if any(row.kind == "ours" for row in own):
            _bars(charts / f"{name}.svg", part, own)
            chart = f"\n![CPU time of {name}](benchmarks/{name}.svg)\n"
        sections.append(f"## {part[0].upper()}{part[1:]}\n{chart}\n{_table(own)}")
    _lines(charts / "growth.svg", [curve for curve in curves if curve.unit != "MB"])
    text = TEXT.format(
        **{name: found[name] for name in ("scale", "training_scale", "memory_scale", "repeat")},
        tables="\n\n".join(sections),
        growth=_growth_table(curves),
        memory_text=_memory(found["memory"]),
        **found["machine"],
    )
    (folder / "benchmarks.md").write_text(text, encoding="utf-8")


def _table(rows: Sequence[Row]) -> str:
    lines = ["| | CPU | beyond start-up | peak MB | × |", "|---|---|---|---|---|"]
    for row in rows:
        peak = "" if row.peak_mb is None else f"{row.peak_mb:,.0f}"
        times = "" if row.times is None else f"{row.times:,.2f}"
        what = f"*{row.what}*" if row.kind == "limit" else row.what
        what = f"**{what}**" if row.kind == "ours" else what
        beyond = "" if row.beyond is None else f"{row.beyond:,.2f} {row.unit}"
        lines.append(f"| {what} | {row.cpu:,.2f} {row.unit} | {beyond} | {peak} | {times} |")
    return "\n".join(lines)


def _growth_table(curves: Sequence[Curve]) -> str:
    lines = ["| | sizes | measured | exponent |", "|---|---|---|---|"]
    for curve in curves:
        sizes = ", ".join(f"{size:,.0f}" for size in curve.sizes)
        cpu = ", ".join(f"{value:,.2f}" for value in curve.cpu)
        lines.append(f"| {curve.what} | {sizes} {curve.size_name} | {cpu} {curve.unit} | {curve.exponent} |")
    return "\n".join(lines)


def _memory(row: dict[str, Any]) -> str:
    name, _, sizes = str(row["what"]).partition(": ")
    return (
        f"A {name} of {row['learners']} learners on {sizes}: peak {row['peak_mb']:,} MB, of which "
        f"{row['before_mb']:,} MB were there before it; of the training {row['training_mb']:,} MB, estimated "
        f"{row['estimate_mb']:,} MB; {row['cpu_s']:,} CPU s for few epochs."
    )


def _bars(file: Path, title: str, rows: Sequence[Row]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.34 * len(rows) + 0.9), layout="constrained")
    axes = figure.subplots()
    places = range(len(rows))
    axes.barh(places, [max(row.cpu, 1e-3) for row in rows], color=[COLOURS[row.kind] for row in rows])
    axes.set_yticks(places, [row.what for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(f"CPU {rows[-1].unit} (logarithmic)")
    axes.set_title(title, fontsize="medium")
    for place, row in zip(places, rows, strict=True):
        axes.text(max(row.cpu, 1e-3), place, f" {row.cpu:g}", va="center", fontsize="small")
    _save(figure, file)


def _lines(file: Path, curves: Sequence[Curve]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(curves), 2.8), layout="constrained")
    for axes, curve in zip(figure.subplots(1, len(curves), squeeze=False)[0], curves, strict=True):
        axes.loglog(curve.sizes, curve.cpu, "o-", color=COLOURS["ours"])
        axes.set_title(f"{curve.what}: exponent {curve.exponent:g}", fontsize="medium")
        axes.set_xlabel(curve.size_name)
        axes.set_ylabel(f"CPU {curve.unit}")
    _save(figure, file)


def _save(figure: Any, file: Path) -> None:
    import matplotlib

    # The same numbers give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "honlearn", "svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None})
