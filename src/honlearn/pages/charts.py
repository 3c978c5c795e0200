"""A chart of scores: the best models of each data set as dots with their spread.

In: points for each data set. Out: SVG text; the same points give the same text. matplotlib is imported when
a chart is drawn, without its global state.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"higher-order": "#4a78b5", "first-order": "#e8872b", "chosen": "#4f9d58"}
_GREY = "#5b6675"
_BEST, _ACROSS = 8, 3
_PANEL_INCHES = (3.7, 2.5)
_STYLE: Any = {"svg.hashsalt": "honlearn", "font.size": 9, "axes.titlesize": 10}


@dataclass(frozen=True)
class Point:
    """A model on a network: the mean of its score and the standard deviation over fits."""

    model: str
    network: str
    mean: float
    deviation: float | None = None


def dot_chart(panels: Mapping[str, Sequence[Point]], score: str) -> str:
    """Return an SVG with one panel for each data set: its best models, the best at the top."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    with matplotlib.rc_context(_STYLE):
        size = (_PANEL_INCHES[0] * across, _PANEL_INCHES[1] * down + 0.3)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(down, across, squeeze=False).flatten()
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        for axis, (title, points) in zip(axes, panels.items(), strict=False):
            _draw(axis, title, points, score)
        _legend(figure, {point.network for points in panels.values() for point in points})
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _draw(axis: Axes, title: str, points: Sequence[Point], score: str) -> None:
    best = sorted(points, key=lambda point: -point.mean)[:_BEST]
    for place, point in enumerate(best):
        colour = _COLOURS.get(point.network, _GREY)
        axis.errorbar(point.mean, place, xerr=point.deviation or 0.0, fmt="o", color=colour, capsize=2)
    axis.set_yticks(range(len(best)), [point.model for point in best])
    axis.set_ylim(len(best) - 0.5, -0.5)
    axis.set_title(title, loc="left")
    axis.set_xlabel(score)
    axis.grid(axis="x", alpha=0.25, linewidth=0.5)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _legend(figure: Any, networks: set[str]) -> None:
    from matplotlib.lines import Line2D

    shown = [name for name in _COLOURS if name in networks]
    handles = [Line2D([], [], marker="o", linestyle="", color=_COLOURS[name]) for name in shown]
    figure.legend(handles, [f"{name} network" for name in shown], loc="outside upper right", ncols=len(shown))
