"""A figure as a value: panels of series, drawn as SVG and PNG with its numbers as CSV beside it.

In: panels and facts, one dictionary for each point. Out: ``NAME.svg``, ``NAME.png`` and ``NAME.csv``.
matplotlib is imported when a figure is drawn, without its global state.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honlearn.writing.atomic import atomic_binary, atomic_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which readers with any kind of colour vision can tell apart, and black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_PANEL_INCHES, _DOTS = (3.6, 3.0), 160
_STYLE: Any = {"svg.hashsalt": "honlearn", "svg.fonttype": "none", "font.size": 9, "axes.titlesize": 10}


@dataclass(frozen=True)
class Series:
    """Points or a line: x, y, and perhaps error bars or a band from `low` to `high`."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float | None] | None = None
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    is_line: bool = True
    colour: int | None = None
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    whole_x: bool = False


@dataclass(frozen=True)
class Plot:
    """A figure: panels in rows of `across`, the facts behind them, and tables that go with it."""

    name: str
    title: str
    panels: Sequence[Panel]
    facts: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    across: int = 4
    more: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the picture twice and its numbers, and return the files."""
        root = Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        tables = {f"{self.name}.csv": self.facts}
        tables |= {f"{self.name}-{ending}.csv": facts for ending, facts in self.more.items()}
        for file_name, facts in tables.items():
            with atomic_text(root / file_name) as text:
                text.write(as_csv(facts))
        pictures = [root / f"{self.name}.svg", root / f"{self.name}.png"]
        for path in pictures:
            with atomic_binary(path) as file:
                file.write(drawn(self, path.suffix[1:]))
        return [*pictures, *(root / file_name for file_name in tables)]


def as_csv(facts: Sequence[Mapping[str, Any]]) -> str:
    """Return dictionaries as CSV, columns in the order in which they first come.

    >>> as_csv([{"x": 1}, {"x": 2, "y": 3}])
    'x,y\\n1,\\n2,3\\n'
    """
    out = io.StringIO()
    names = list(dict.fromkeys(name for fact in facts for name in fact))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(facts)
    return out.getvalue()


def drawn(plot: Plot, kind: str) -> bytes:
    """Return the picture as bytes of an SVG or PNG file; the same figures give the same bytes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(plot.across, max(len(plot.panels), 1))
    down = -(-len(plot.panels) // across)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_PANEL_INCHES[0] * across, _PANEL_INCHES[1] * down + 0.4))
        FigureCanvasAgg(figure)
        figure.suptitle(plot.title)
        axes = figure.subplots(down, across, squeeze=False).flatten()
        for place, axis in enumerate(axes):
            if place < len(plot.panels):
                _draw_panel(axis, plot.panels[place])
            else:
                axis.set_axis_off()
        figure.tight_layout()
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=_DOTS, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()


def _draw_panel(axis: Axes, panel: Panel) -> None:
    for place, series in enumerate(panel.series):
        _draw_series(axis, series, place if series.colour is None else series.colour)
    axis.set_title(panel.title)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    if panel.log_x:
        _scale_by_powers(axis, [x for series in panel.series for x in series.x])
    if panel.whole_x:
        axis.set_xticks(sorted({x for series in panel.series for x in series.x}))
    axis.grid(alpha=0.25, linewidth=0.5)
    if any(series.label for series in panel.series):
        axis.legend(fontsize=7, framealpha=0.8)


def _scale_by_powers(axis: Axes, values: Sequence[float]) -> None:
    """Make the x-axis logarithmic with plain numbers on it, few enough not to run into each other."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_xscale("log")
    narrow = not values or max(values) < 100 * min(values)
    axis.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if narrow else (1,)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _draw_series(axis: Axes, series: Series, place: int) -> None:
    colour, label = COLOURS[place % len(COLOURS)], series.label or None
    if not series.is_line:
        size = 10 if len(series.x) < 500 else 4
        axis.scatter(series.x, series.y, s=size, alpha=0.35, color=colour, label=label, linewidths=0)
        return
    if series.low is not None and series.high is not None:
        axis.fill_between(series.x, series.low, series.high, color=colour, alpha=0.2, linewidth=0)
    # Where colours begin anew, lines are dotted and markers move on, so that no two series look alike.
    again = place // len(COLOURS)
    marker, line = MARKERS[(place + again) % len(MARKERS)], ":" if again else "-"
    style: dict[str, Any] = {"color": colour, "label": label, "linestyle": "--" if series.dashed else line}
    if series.error is None:
        many = len(series.x) > 40 or series.dashed
        axis.plot(series.x, series.y, marker=None if many else marker, markersize=4, **style)
        return
    bars = [error or 0.0 for error in series.error]
    axis.errorbar(series.x, series.y, bars, marker=marker, markersize=4, capsize=2, **style)
