"""Which nodes gain: the change in a node's test loss against what the node is like.

In: answers of two models on the same test nodes, and the network. Out: facts for each node (in- and
out-degree, family size, homophily, both losses), and a regression line with its 95 % band for each of the
four characteristics. Negative changes are gains of the first model.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.experiments.diversity import answers_of, tested
from honlearn.experiments.sources import Source
from honlearn.hon.summary import node_homophily
from honlearn.results.metrics import losses
from honlearn.results.record import Record

# Name, label of the axis, and whether it is counted on a logarithmic scale (of 1 + count).
CHARACTERISTICS = {
    "out_degree": ("out-degree in the first-order network", True),
    "in_degree": ("in-degree in the first-order network", True),
    "family_size": ("family size", True),
    "homophily": ("homophily in the first-order network", False),
}


def node_facts(source: Source) -> dict[str, dict[str, float]]:
    """Return the four characteristics of every entity; degrees count neighbours, not weights."""
    first = source.network.first_order()
    names = first.vocabulary.names
    alike = node_homophily(first, dict(zip(source.nodes, source.labels, strict=True)))
    families = np.diff(source.network.family_indptr)
    out_degree = np.diff(first.indptr)
    in_degree = np.bincount(first.indices, minlength=first.n_nodes)
    places = {name: number for number, name in enumerate(source.network.vocabulary.names)}
    return {
        name: {
            "out_degree": float(out_degree[code]),
            "in_degree": float(in_degree[code]),
            "family_size": float(families[places[name]]),
            "homophily": float(alike[code]),
        }
        for code, name in enumerate(names)
    }


def node_losses(folder: Path, records: Sequence[Record]) -> dict[tuple[int, str], float]:
    """Return the test loss of each (seed, node); every node is tested once per seed."""
    found = {}
    for record, answers in answers_of(folder, records):
        truth, proba, _ = tested(answers)
        loss = losses(truth, proba)
        seed = record.configuration.seed
        found.update(
            {(seed, node): float(value) for node, value in zip(answers.about["nodes"], loss, strict=True)}
        )
    return found


def change_facts(
    source: Source,
    ours: Mapping[tuple[int, str], float],
    theirs: Mapping[tuple[int, str], float],
) -> list[dict[str, Any]]:
    """Return one fact for each node that both have tested: its characteristics, losses and their change.

    Losses are means over the seeds that both have: a node that is tested by several is one point of a
    regression.
    """
    known = node_facts(source)
    both: dict[str, list[tuple[float, float]]] = {}
    for (seed, node), loss in ours.items():
        if (seed, node) in theirs:
            both.setdefault(node, []).append((loss, theirs[seed, node]))
    facts = []
    for node, pairs in both.items():
        loss, other = (statistics.fmean(values) for values in zip(*pairs, strict=True))
        own = {"seeds": len(pairs), **known[node], "loss": loss, "other_loss": other}
        facts.append({"node": node, **own, "change": loss - other})
    return facts


@dataclass(frozen=True)
class Line:
    """A least-squares line y = intercept + slope · x, and what its confidence band needs."""

    slope: float
    intercept: float
    p_value: float
    count: int
    slope_error: float
    x_mean: float
    x_variance: float

    def at(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the line at x and half the width of its 95 % confidence band."""
        from scipy.stats import t

        error = self.slope_error * np.sqrt(self.x_variance + (x - self.x_mean) ** 2)
        half = t.ppf(0.975, self.count - 2) * error
        return self.intercept + self.slope * x, np.asarray(half, np.float64)


def regression(x: NDArray[np.float64], y: NDArray[np.float64]) -> Line | None:
    """Fit a line; None for fewer than three points or where all x are the same.

    >>> line = regression(np.array([0.0, 1, 2, 3]), np.array([1.0, 3, 5, 7.5]))
    >>> round(line.slope, 2), line.count
    (2.15, 4)
    """
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) < 3 or np.ptp(x) <= 1e-12:
        return None
    from scipy.stats import linregress

    fit = linregress(x, y)
    # Where all y are the same, the correlation is not defined and the slope is 0.
    p_value = 1.0 if np.isnan(fit.pvalue) else float(fit.pvalue)
    line = (float(fit.slope), float(fit.intercept), p_value, len(x), float(fit.stderr))
    return Line(*line, float(x.mean()), float(x.var()))


def on_axis(name: str, values: Sequence[float]) -> NDArray[np.float64]:
    """Return a characteristic as it is regressed on: counts as log10(1 + count)."""
    array = np.asarray(values, np.float64)
    return np.log10(1 + array) if CHARACTERISTICS[name][1] else array
