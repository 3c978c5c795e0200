"""The keywords of every model, kept in a file: a mistyped one is found without importing torch.

In: a name of the registry. Out: the keywords of the model by their flat names, its groups of parameters, and
other words for them. The file is made from the estimators by ``python scripts/make_keywords.py``; a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from honlearn.experiments.registry import TASKS, Entry, find_model, model_names
from honlearn.stored import parse_json

FILE = "data/keywords.json"


@dataclass(frozen=True)
class Keywords:
    """What can be set of one model: flat names, fields by group, other words, kinds of learner."""

    names: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    aliases: tuple[str, ...]
    learners: tuple[str, ...]


@cache
def _stored() -> Any:
    return parse_json((files("honlearn.experiments") / FILE).read_bytes(), FILE)


def keywords_of(entry: Entry) -> Keywords:
    """Return what can be set of a model; of one that was registered elsewhere, from its estimator.

    >>> keywords_of(find_model("gcn")).groups["training"][:2]
    ('learning_rate', 'batch_size')
    """
    kept = _stored()
    one = kept["models"].get(f"{entry.tasks[0]} {entry.name}") or read_keywords(entry)
    groups = {name: tuple(fields.split()) for name, fields in one["groups"].items()}
    return Keywords(
        tuple(one["names"].split()), groups, tuple(one["aliases"].split()), tuple(kept["learners"].split())
    )


def read_keywords(entry: Entry) -> dict[str, Any]:
    """Return what the file has of a model, read from its estimator."""
    from honlearn.tasks.nested import Nested, fields_by_group

    made = entry.estimator()
    groups = fields_by_group(made) if issubclass(made, Nested) else {}
    return {
        "names": " ".join(entry.keywords()),
        "groups": {group: " ".join(fields) for group, fields in groups.items()},
        "aliases": " ".join(entry.aliases()),
    }


def make() -> dict[str, Any]:
    """Return the content of the file, read from the estimators."""
    from honlearn.learners import KINDS, TorchLearner

    models = {
        f"{task} {name}": read_keywords(find_model(name, task))
        for task in TASKS
        for name in model_names(task)
    }
    return {"learners": " ".join(kind for kind in KINDS if kind != TorchLearner.kind), "models": models}
