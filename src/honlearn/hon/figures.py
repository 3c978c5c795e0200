"""Pictures of memory: the flow through one entity, and the contexts that tell most.

In: a network or counts. Out: matplotlib figures, made without its global state, in the colours of the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork

# The page's colours, one for each place that one comes from; what has no memory is grey.
COLOURS = ("#4a78b5", "#e8872b", "#4f9d58", "#d9534f", "#8a6bbf", "#c9a227", "#3aa6a6", "#d670a0")
_GREY, _INK = "#b8bec8", "#1a2230"
_REST = "start, others"
_LEFT, _MIDDLE, _RIGHT, _WIDTH = 0.0, 0.47, 1.0, 0.03
_GAP = 0.015


def new_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of its own and its axes, without frame."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def plot_flow(network: HigherOrderNetwork, entity: str, top: int = 6) -> Figure:
    """Return where walkers at an entity came from and where they go on to, for each of its memories.

    The `top` strongest memories have a colour each; what follows the entity without memory is grey. The `top`
    commonest next entities are named, the others are together.
    """
    top = check_integer("plot", "top", top, 1, len(COLOURS))
    names, flow = _flow(network, entity, top)
    if not flow.sum():
        raise InputError(f"plot: nothing follows {entity!r} in the network; name another entity")
    sources, targets = names
    figure, axes = new_axes(7.0, 0.9 + 0.42 * max(len(sources), len(targets)))
    axes.set_axis_off()
    share = flow / flow.sum()
    starts, ends = _places(share.sum(1)), _places(share.sum(0))
    left, right = starts.copy(), ends.copy()
    for i, source in enumerate(sources):
        colour = _GREY if i == len(sources) - 1 else COLOURS[i]
        _bar(axes, _LEFT, starts[i], share[i].sum(), colour, source, "right")
        for j in range(len(targets)):
            if share[i, j]:
                _ribbon(axes, left[i], right[j], share[i, j], colour)
                left[i] += share[i, j]
                right[j] += share[i, j]
    for j, target in enumerate(targets):
        _bar(axes, _RIGHT, ends[j], share[:, j].sum(), _INK, target, "left")
    axes.set_xlim(-0.32, 1.32)
    axes.set_ylim(1 + _GAP * max(share.shape), -0.08)
    for x, text in ((_LEFT, "came from"), (_MIDDLE, f"at {entity}"), (_RIGHT, "goes to")):
        axes.text(x + _WIDTH / 2, -0.05, text, ha="center", va="bottom", color=_INK, weight="bold")
    return figure


def _flow(
    network: HigherOrderNetwork, entity: str, top: int
) -> tuple[tuple[list[str], list[str]], NDArray[np.float64]]:
    """Return names of sources and targets and the steps from each to each [S, T]; the last are the rest."""
    family = [network.index(label) for label in network.family(entity)]
    base = family[0]
    if network.index(entity) != base:
        raise InputError(f"plot: {entity!r} is a context; name its entity")
    rows = {node: _next(network, node) for node in family}
    memories = [node for node in family[1:] if network.order[node] == 2]
    memories.sort(key=lambda node: -rows[node].sum())
    kept = memories[:top]
    whole = rows[base]
    best = [int(i) for i in np.argsort(-whole, kind="stable")[:top] if whole[i]]
    rest = whole - sum((rows[node] for node in kept), np.zeros_like(whole))
    table = np.stack([*(rows[node] for node in kept), np.maximum(rest, 0.0)])
    others = np.delete(table, best, axis=1).sum(1, keepdims=True)
    before = network.grams[network.gram_offsets[kept] + 1] if kept else ()
    labels = [network.vocabulary.names[code] for code in before]
    targets = [network.vocabulary.names[i] for i in best]
    flow = np.hstack([table[:, best], others])
    if not others.any():
        return ([*labels, _REST], targets), flow[:, :-1]
    return ([*labels, _REST], [*targets, "others"]), flow


def _next(network: HigherOrderNetwork, node: int) -> NDArray[np.float64]:
    """Return how often each entity follows a node [entities]."""
    row = slice(network.indptr[node], network.indptr[node + 1])
    ends, weights = network.base[network.indices[row]], network.weights[row].astype(np.float64)
    return np.bincount(ends, weights, network.n_entities).astype(np.float64)


def _places(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where each bar begins, one below the other with gaps."""
    return np.concatenate([[0.0], np.cumsum(sizes + _GAP)[:-1]])


def _bar(axes: Axes, x: float, y: float, size: float, colour: str, name: str, side: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), _WIDTH, size, color=colour, linewidth=0))
    at = x - 0.015 if side == "right" else x + _WIDTH + 0.015
    axes.text(at, y + size / 2, f"{name}  {size:.0%}", ha=side, va="center", color=_INK, fontsize=9)


def _ribbon(axes: Axes, y0: float, y1: float, size: float, colour: str) -> None:
    """Draw a band from the left to the right bars, through the middle."""
    x = np.linspace(_LEFT + _WIDTH, _RIGHT, 60)
    t = (x - x[0]) / (x[-1] - x[0])
    smooth = y0 + (y1 - y0) * (3 * t**2 - 2 * t**3)
    axes.fill_between(x, smooth, smooth + size, color=colour, alpha=0.5, linewidth=0)


def plot_memory(counts: GramCounts, top: int = 12, alpha: float = 0.05) -> Figure:
    """Return the contexts that save most bits in all, and how many of all contexts are significant.

    A bar is D(g) times the number of steps that go on from the context: the bits that remembering it saves.
    """
    top = check_integer("plot_memory", "top", top, 1)
    network = counts.grow(min(2, counts.order), alpha=alpha)
    figure, axes = new_axes(6.4, 4.2)
    if not network.n_conditional:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no context is significant", ha="center", va="center", color=_INK)
        return figure
    table: Any = network.dependencies()
    table = table.assign(saved=table["divergence"] * table["weight"])
    table = table.sort_values("saved", ascending=False, kind="stable").head(top)[::-1]
    axes.barh(table["node"], table["saved"], color=COLOURS[0])
    axes.set_xlabel("bits saved: divergence × steps from the context")
    axes.set_title(
        f"{network.n_conditional:,} of {counts.evidence(2).n_tested:,} tested contexts are significant",
        loc="left",
    )
    return figure
