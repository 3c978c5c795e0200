"""Widths for a budget of parameters: how wide a model of so many layers may be (the paper's Tables 5 and 8).

In: a model, a number of layers and a budget. Out: settings with the largest width whose trained parameters
fit. They are counted, not derived: a model of that width is made by a fit of one epoch on a few nodes. With
all layers equally wide the count is a quadratic in the width, so three counts place the answer and one or
two confirm it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from honlearn.errors import ParameterError
from honlearn.experiments.evaluate import ModelSpec
from honlearn.experiments.registry import Entry
from honlearn.experiments.shapes import keyword_for, with_shape
from honlearn.experiments.sources import Source

BUDGETS = {"10k": 10_000, "50k": 50_000, "100k": 100_000, "500k": 500_000, "1m": 1_000_000}
# A bag whose learners would be narrower than this has fewer of them instead.
LEARNERS = (16, 8, 4, 2, 1)
LEAST_WIDTH, MOST_WIDTH = 3, 65_536
# How many numbers of paths a fit takes, and its kernel, depend on labels: no width can allow for them.
_NAMES_ALONE = {"path_features": 0, "kernel_share": 0.0}


@dataclass(frozen=True)
class Fitting:
    """Settings for a budget: the width, the parameters that it takes, and the learners."""

    settings: Mapping[str, Any]
    width: int
    parameters: int
    learners: int | None = None


def settings_for(
    entry: Entry, source: Source, input: str, layers: int, budget: int, given: Mapping[str, Any] | None = None
) -> Fitting:
    """Return the widest model of this many layers within the budget.

    An ensemble with separate weights keeps as many learners (16, 8, 4, 2 or 1) as the budget allows at the
    least width. Ensembles read names alone, as in the paper, unless `given` sets them. Raises where not
    even one learner of the least width fits.
    """
    base = {word: value for word, value in _NAMES_ALONE.items() if word in entry.keywords()} | dict(
        given or {}
    )
    word = keyword_for(entry, "learners")
    shared = bool(entry.parameters(base).get("shared"))
    counts: Sequence[int | None] = LEARNERS if word and not shared and word not in base else (None,)
    least = 0
    for learners in counts:
        settings = base if learners is None else {**base, str(word): learners}
        count = lru_cache(maxsize=None)(_counter(entry, source, input, layers, settings))
        least = count(LEAST_WIDTH)
        if least <= budget:
            width = widest(count, budget)
            found = count(width)
            width = _whole(entry, settings, width)
            return Fitting(with_shape(entry, settings, layers, width), width, found, learners)
    raise ParameterError(
        f"{entry.name} with {layers} layers needs at least {least:,} parameters on {source.name}; "
        f"the budget is {budget:,}"
    )


def _counter(
    entry: Entry, source: Source, input: str, layers: int, settings: Mapping[str, Any]
) -> Callable[[int], int]:
    def count(width: int) -> int:
        shape = with_shape(entry, settings, layers, _whole(entry, settings, width))
        return count_parameters(entry, source, input, shape)

    return count


def _whole(entry: Entry, settings: Mapping[str, Any], width: int) -> int:
    """Return the width cut down to a multiple of the attention heads, where layers are made of them."""
    word = None if entry.name.startswith("dge-") else keyword_for(entry, "heads")
    heads = int(entry.parameters(settings)[word]) if word else 1
    return max(heads, width - width % heads)


def widest(count: Callable[[int], int], budget: int) -> int:
    """Return the largest width whose count is within the budget; `count` grows with the width.

    >>> widest(lambda width: 2 * width * width + 30 * width + 7, 10_000)
    63
    """
    # Widths are split in groups (of three, or by heads), so a few neighbouring ones must be looked at.
    probes = [6, 24, 96]
    curve = np.polyfit(probes, [count(width) for width in probes], 2)
    low, high = LEAST_WIDTH, MOST_WIDTH
    roots: Any = np.roots(curve - np.array([0, 0, budget])) if abs(curve[0]) > 1e-9 else []
    guesses = [float(root.real) for root in roots if abs(root.imag) < 1e-9 and root.real > 0]
    if not guesses and curve[1] > 0:
        guesses = [(budget - curve[2]) / curve[1]]
    guess = int(min(max(max(guesses, default=low), low), high))
    step = 1
    while guess > low and count(guess) > budget:
        high, guess, step = guess, max(low, guess - step), 2 * step
    low, step = guess, 1
    while high - low > 1:
        middle = min(low + step, high - 1) if high == MOST_WIDTH else (low + high) // 2
        if count(middle) <= budget:
            low, step = middle, 2 * step
        else:
            high = middle
    return low


def count_parameters(entry: Entry, source: Source, input: str, settings: Mapping[str, Any]) -> int:
    """Return the numbers that a model with these settings trains on a data set.

    Of a bag with shared weights that is one set of them, though it keeps a copy for each draw.
    """
    network = source.network if input == "gk" else source.network.first_order()
    quick: dict[str, Any] = {"max_epochs": 1, "n_threads": 1, "validation_fraction": 0.0, "refit": 0.0}
    known = {word: value for word, value in quick.items() if word in entry.keywords()}
    estimator = ModelSpec(entry, {**settings, **known}).make(network, seed=0)
    first = {label: place for place, label in reversed(list(enumerate(source.labels)))}
    chosen = sorted(first.values())
    estimator.fit([source.nodes[i] for i in chosen], [source.labels[i] for i in chosen])
    total = int(estimator.n_parameters_)
    given = entry.parameters(settings)
    if given.get("shared") and given.get("variant") == "bag":
        total //= int(given["n_learners"])
    return total
