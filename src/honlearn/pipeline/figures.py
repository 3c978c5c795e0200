"""Does memory help? One picture: folds with and without memory, or bits per step by order.

In: a validation, or the table of orders. Out: matplotlib figures.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from honlearn.hon.figures import COLOURS, new_axes

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from honlearn.pipeline.validation import Validation

_FIRST, _HIGHER = COLOURS[1], COLOURS[0]
_LINE = 64


def plot_validation(validation: Validation, headline: str) -> Figure:
    """Return the micro F1 of each fold, first order and higher order, joined in pairs."""
    figure, axes = new_axes(6.0, 3.6)
    ours, first = validation.score, validation.first_order
    groups = [("higher-order", ours, _HIGHER)]
    if first is not None:
        groups.insert(0, ("first-order", first, _FIRST))
        for low, high in zip(first.values, ours.values, strict=True):
            axes.plot([0, 1], [low, high], color="#b8bec8", linewidth=1, zorder=1)
    for place, (_, spread, colour) in enumerate(groups):
        axes.scatter([place] * len(spread.values), spread.values, color=colour, alpha=0.6, zorder=2)
        axes.errorbar(place, spread.mean, spread.deviation, fmt="D", color=colour, capsize=5, zorder=3)
    axes.set_xticks(range(len(groups)), [name for name, *_ in groups])
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_ylim(0, 1)
    axes.set_ylabel("micro F1 on unseen nodes")
    axes.set_title(textwrap.fill(headline, _LINE), loc="left", fontsize=9)
    return figure


def plot_orders(table: pandas.DataFrame, headline: str) -> Figure:
    """Return the bits of a step of held-out paths for each order, with 95 % intervals."""
    figure, axes = new_axes(6.0, 3.6)
    axes.errorbar(table["order"], table["bits"], table["bits_pm"], fmt="D-", color=_HIGHER, capsize=5)
    axes.set_xticks(table["order"].tolist())
    axes.set_xlabel("entities that are remembered")
    axes.set_ylabel("bits per step (fewer is better)")
    axes.set_title(textwrap.fill(headline, _LINE), loc="left", fontsize=9)
    return figure
