"""What a search may choose from: the paper's grid (its Table 4), or choices of the user's own.

In: an entry of the registry, and settings that are given and therefore not searched. Out: a :class:`Space`:
dimensions with their choices, and how a point of it becomes settings of the model's keywords. A size of the
grid that a model has no keyword for is left out, and `left_out` names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

from honlearn.errors import FormatError, MissingFileError, did_you_mean, listed
from honlearn.experiments.registry import Entry
from honlearn.experiments.shapes import KEYWORDS, keyword_for, shape_of, with_shape
from honlearn.sampling.neighbors import as_fan_outs
from honlearn.stored import Fields, read_json

_DEPTH, _UNITS = (1, 2, 3), (128, 256, 512, 1024, 2048)
_SAMPLES, _BATCH = (32, 64, 128, 256, 512, 1024), (16, 32, 64)
_NEAR = {"samples": _SAMPLES, "samples_2": (1, 2, 4, 8), "batch_size": _BATCH}
_SHAPE = {"layers": _DEPTH, "width": _UNITS}
_DGE: dict[str, tuple[Any, ...]] = {
    **_SHAPE,
    "learners": (4, 8, 16),
    "samples": _SAMPLES[:4],
    "samples_2": (1, 2, 4),
    "batch_size": _BATCH,
}

# Table 4, by model; HONEM and the simplest baselines have nothing to choose.
PAPER: dict[str, dict[str, tuple[Any, ...]]] = {
    "gcn": _SHAPE,
    "gcnii": {**_SHAPE, "layers": (1, 2, 3, 4, 6, 8)},
    "gat": {**_SHAPE, "heads": (4, 8, 16)},
    "gatv2": {**_SHAPE, "heads": (4, 8, 16)},
    "graphsage": {**_SHAPE, **_NEAR, "aggregator": ("mean", "max")},
    "gin": {**_SHAPE, **_NEAR},
    "graphsaint": {**_SHAPE, "roots": (256, 512, 1024, 2048, 4096), "walk_length": (2, 3, 4)},
    "pathgcn": {**_SHAPE, "walks": (10, 50, 100, 200), "walk_length": (2, 3, 4, 5)},
    "ho-gnn": _SHAPE,
    "seal": {**_SHAPE, "hops": (1, 2, 3)},
}
# The same for every configuration of the paper: dropout, the learning rate, GCNII's constants.
_DROPOUT, _RATE, _SLOW_RATE = 0.4, 0.01, 0.0005


@dataclass(frozen=True)
class Space:
    """Dimensions with their choices, the keywords that every point has, and what was left out.

    `depth` is how many layers a model has where a point does not set it.
    """

    name: str
    dimensions: Mapping[str, tuple[Any, ...]]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    depth: int = 2

    @property
    def size(self) -> int:
        """Number of points; 0 where there is nothing to choose."""
        return prod(len(choices) for choices in self.dimensions.values()) if self.dimensions else 0

    def described(self) -> dict[str, Any]:
        """Return the space as plain values, for a configuration."""
        dimensions = {name: [_plain(choice) for choice in row] for name, row in self.dimensions.items()}
        return {"name": self.name, "dimensions": dimensions, "fixed": dict(self.fixed)}

    def settings(self, entry: Entry, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a model that a point stands for."""
        if self.name != "paper":
            return {**self.fixed, **point}
        settings = dict(self.fixed)
        if "layers" in point or "width" in point:
            settings = with_shape(entry, settings, point.get("layers"), point.get("width"))
        if "samples" in point:
            depth = point.get("layers", self.depth)
            near = (point["samples"], point.get("samples_2", 1))
            settings["fan_outs"] = (*near[:depth], *(1,) * (depth - 2))
        for size, choice in point.items():
            if size not in ("layers", "width", "samples", "samples_2"):
                settings[str(keyword_for(entry, size))] = choice
        return settings


def paper_space(entry: Entry, given: Mapping[str, Any] = {}) -> Space:
    """Return the grid of Table 4 for a model, without what is `given` already or cannot stand beside it."""
    from honlearn.tasks.nested import Nested, translated

    grid = _DGE if entry.name.startswith("dge-") else PAPER.get(entry.name, {})
    # Given as width or n_layers, a size leaves the other open; the model itself has widths for both.
    made: Any = entry.estimator()
    # The grid is that of the paper's learner: learners that are selected have no sizes to search for.
    usual = given
    if grid is _DGE and issubclass(made, Nested):
        usual = {"learner": made.default_learner, **given}
    flat, known = translated(made, given), entry.parameters(usual)
    kept, left_out = {}, []
    for size, choices in grid.items():
        word = keyword_for(entry, size.removesuffix("_2"))
        # A learner that is given may lack what the usual one has.
        if word is None or word not in known:
            left_out.append(size)
        elif not _is_given(size, given) and (fitting := _beside(size, choices, given, flat)):
            kept[size] = fitting
    fixed = _constants(entry) if grid else {}
    free = {word: value for word, value in fixed.items() if word not in flat}
    return Space("paper", kept, free, tuple(left_out), shape_of(known)[0])


def _is_given(size: str, given: Mapping[str, Any]) -> bool:
    return any(word in given for word in KEYWORDS[size.removesuffix("_2")])


def _beside(
    size: str, choices: tuple[Any, ...], given: Mapping[str, Any], flat: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return the choices that can stand beside what is given: a fan-out for each layer, whole heads."""
    if size == "layers" and (fan_outs := as_fan_outs(flat.get("fan_outs"))) is not None:
        return (len(fan_outs),)
    if size == "heads" and _is_given("width", given):
        return tuple(heads for heads in choices if shape_of(flat)[1] % heads == 0)
    if size == "width" and flat.get("heads"):
        return tuple(width for width in choices if width % flat["heads"] == 0)
    return choices


def _constants(entry: Entry) -> dict[str, Any]:
    rate = _SLOW_RATE if entry.name in ("gat", "gatv2") else _RATE
    wanted: dict[str, Any] = {"dropout": _DROPOUT, "learning_rate": rate}
    if entry.name == "gcnii":
        wanted |= {"alpha": 0.5, "lambda": 1.0}
    named = {keyword_for(entry, size): value for size, value in wanted.items()}
    known = entry.keywords()
    both: dict[str, Any] = dict.fromkeys(set(known) & {"input_dropout", "hidden_dropout"}, _DROPOUT)
    return {**{word: value for word, value in named.items() if word is not None}, **both}


def own_space(entry: Entry, choices: Mapping[str, Any], given: Mapping[str, Any] = {}) -> Space:
    """Return a space over a model's own keywords: ``{"widths": [[64], [64, 64]], "dropout": [0.2, 0.4]}``."""
    known = [word for word in (*entry.keywords(), *entry.aliases()) if word not in entry.decided]
    strange = [word for word in choices if word not in known]
    if strange:
        raise FormatError(
            f"the space of {entry.name} names {listed(map(repr, strange))}{did_you_mean(strange[0], known)}; "
            f"there are {listed(known, 40)}"
        )
    rows = {word: _row(word, row) for word, row in choices.items() if word not in given}
    return Space("own", rows)


def _row(word: str, choices: object) -> tuple[Any, ...]:
    if not isinstance(choices, list) or not choices:
        raise FormatError(
            f"the choices of {word!r} must be a list with at least one. Got {choices!r} instead"
        )
    return tuple(tuple(choice) if isinstance(choice, list) else choice for choice in choices)


def read_spaces(path: str | PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return the choices of a JSON file by model: ``{"dge-bag": {"n_learners": [4, 8]}, …}``."""
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(f"{source}: no such file; name a JSON file of models with their choices")
    try:
        found = Fields(read_json(source, advice="mend it"), str(source), advice="mend it")
        return {model: dict(found.mapping(model).values) for model in found.values}
    except FormatError as error:
        raise FormatError(
            f"{source}: not a space; expected {{model: {{keyword: [choices]}}}} ({error})"
        ) from None


def _plain(choice: object) -> object:
    return list(choice) if isinstance(choice, tuple) else choice
