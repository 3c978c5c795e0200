"""Depth, width and other sizes of any model by one word, whatever its own keyword for it is.

In: an entry of the registry and a size such as ``layers=2``. Out: settings of that model's keywords. Learners
take ``widths=(128, 128)``, other baselines ``n_layers=2`` and ``width=128``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from honlearn.errors import ParameterError
from honlearn.experiments.registry import Entry
from honlearn.sampling.neighbors import as_fan_outs

# What a size may be called, first match counts.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "layers": ("widths", "n_layers"),
    "width": ("widths", "width"),
    "learners": ("n_learners",),
    "samples": ("fan_outs",),
    "heads": ("n_heads", "heads"),
    "aggregator": ("aggregator", "aggregation"),
    "roots": ("n_roots", "roots"),
    "walks": ("n_walks", "walks"),
    "walk_length": ("walk_length", "walk_len"),
    "hops": ("n_hops", "hops"),
    "alpha": ("alpha",),
    "lambda": ("theta", "lambda_", "lam"),
    "dropout": ("dropout",),
    "batch_size": ("batch_size",),
    "learning_rate": ("learning_rate",),
    "epochs": ("max_epochs", "n_epochs", "epochs"),
}


def keyword_for(entry: Entry, size: str) -> str | None:
    """Return the keyword of a model that stands for a size, or None where it has none."""
    known = entry.keywords()
    return next((word for word in KEYWORDS[size] if word in known and word not in entry.decided), None)


def shape_of(parameters: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of layers and the widest of them that a model's parameters ask for.

    >>> shape_of({"widths": (64, 32)}), shape_of({"n_layers": 3, "width": 16})
    ((2, 64), (3, 16))
    """
    widths = parameters.get("widths")
    if widths is not None:
        row = (widths,) if isinstance(widths, int) else tuple(widths)
        return len(row), max(row)
    return int(parameters.get("n_layers") or 1), int(parameters.get("width") or 0)


def with_shape(
    entry: Entry, settings: Mapping[str, Any], layers: int | None = None, width: int | None = None
) -> dict[str, Any]:
    """Return the settings with this many layers of this width; what is None stays as it is.

    Sampled neighbourhoods get as many fan-outs as there are layers: the last ones are 1, as in the paper.
    """
    parameters = entry.parameters(settings)
    known_layers, known_width = shape_of(parameters)
    depth, size = layers or known_layers, width or known_width
    changed = dict(settings)
    if keyword_for(entry, "layers") == "widths":
        changed["widths"] = (size,) * depth
    else:
        for wanted, value, word in ((layers, depth, "layers"), (width, size, "width")):
            if wanted is not None:
                changed[_needed(entry, word)] = value
    fan_outs = as_fan_outs(parameters.get("fan_outs"))
    if fan_outs is not None and len(fan_outs) != depth:
        changed["fan_outs"] = (*fan_outs[:depth], *(1,) * (depth - len(fan_outs)))
    return changed


def _needed(entry: Entry, size: str) -> str:
    word = keyword_for(entry, size)
    if word is None:
        raise ParameterError(f"model {entry.name!r} has no {size}; leave it out of this experiment")
    return word
