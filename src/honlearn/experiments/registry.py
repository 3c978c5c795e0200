"""Models by name: between the estimators and everything that trains or compares them by a word.

In: a name of the command line such as ``dge-bag*``. Out: an :class:`Entry` that makes the estimator and knows
its keywords. Estimators are imported on use, so that reading the names never imports torch.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from honlearn.baselines.catalogue import BASELINES
from honlearn.errors import ParameterError, check_choice, did_you_mean, listed

TASKS = ("nodes", "links")

# Keywords that fix or leave open which network is grown from counts; one that is grown already has none.
STRUCTURE = ("order", "tau", "min_support")
# Keywords of how a fit runs, not what comes out of it: they are no part of a configuration.
EXECUTION = ("n_threads", "verbose", "checkpoint", "checkpoint_seconds", "executor")


@dataclass(frozen=True)
class Entry:
    """One model: its name, what it can do, and the estimator behind it.

    `home` is ``"module:class"``; `decided` are the keywords that the name itself fixes.
    """

    name: str
    tasks: tuple[str, ...]
    description: str
    home: str
    decided: Mapping[str, Any] = field(default_factory=dict)

    def estimator(self) -> type:
        """Return the estimator's class, imported now."""
        module, _, name = self.home.partition(":")
        made: type = getattr(importlib.import_module(module), name)
        return made

    def keywords(self) -> dict[str, inspect.Parameter]:
        """Return the keywords of the estimator and of its parameter objects by their flat names."""
        from honlearn.tasks.nested import flat_keywords

        return flat_keywords(self.estimator())

    def aliases(self) -> dict[str, type]:
        """Return other words for parameters of learners, with their types, where the model has learners."""
        from honlearn.tasks.nested import ALIASES, Nested

        known = self.keywords() if issubclass(self.estimator(), Nested) else ALIASES
        return {name: kind for name, kind in ALIASES.items() if name not in known}

    @property
    def chooses_network(self) -> bool:
        """Whether the estimator also takes counts of grams, and finds the best network itself."""
        return "tau" in self.keywords()

    def parameters(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return every keyword with its value: the default, what the name decides, or the setting."""
        from honlearn.tasks.nested import flat_values

        return flat_values(self.estimator(), self.tasks[0], {**self.decided, **settings})

    def make(self, network: Any, **settings: Any) -> Any:
        """Return an unfitted estimator on `network`; an unknown setting is a ParameterError."""
        from honlearn.tasks.nested import nested, translated

        known, made = self.keywords(), self.estimator()
        for key in translated(made, settings):
            if key not in known:
                raise ParameterError(
                    f"{self.name} has no {key!r}; there are {listed(known, 40)}{did_you_mean(key, known)}"
                )
        return made(network, **nested(made, {**self.decided, **settings}))


# By task and name: a name may stand for one estimator for nodes and another for links.
_ENTRIES: dict[tuple[str, str], Entry] = {}


def register(entry: Entry) -> None:
    """Make a model known by its name, for each of its tasks."""
    for task in entry.tasks:
        if (task, entry.name) in _ENTRIES:
            raise ParameterError(
                f"there is a model {entry.name!r} for {task} already; give the new one another name"
            )
        _ENTRIES[task, entry.name] = entry


def model_names(task: str | None = None) -> list[str]:
    """Return the names of all models, or of those for one task.

    >>> model_names("nodes")[:4]
    ['dge-concat', 'dge-concat*', 'dge-pool', 'dge-pool*']
    """
    return list(dict.fromkeys(name for known, name in _ENTRIES if task in (None, known)))


def find_model(name: str, task: str = "nodes") -> Entry:
    """Return the model of this name; ``-shared`` is another way to write ``*``.

    >>> find_model("dge-bag-shared").name
    'dge-bag*'
    """
    check_choice("honlearn", "task", task, TASKS)
    for spelt in (name, _canonical(name)):
        if (task, spelt) in _ENTRIES:
            return _ENTRIES[task, spelt]
    names = model_names(task)
    others = [other for other in TASKS if (other, _canonical(name)) in _ENTRIES]
    if others:
        raise ParameterError(
            f"model {_canonical(name)!r} is for {listed(others)}, not for {task}; "
            f"for {task} there are {listed(names, 40)}"
        )
    raise ParameterError(f"no model {name!r}; there are {listed(names, 40)}{did_you_mean(name, names)}")


def find_among(name: str, known: Collection[str], task: str) -> str:
    """Return the name of a model as it is known for a task with a list of its own, or raise.

    >>> find_among("GRU", ["gru", "popular"], "next")
    'gru'
    """
    folded = name.strip().casefold()
    if folded not in known:
        raise ParameterError(
            f"no model {name!r} for {task}; there are {listed(known, 10)}{did_you_mean(folded, known)}"
        )
    return folded


def _canonical(name: str) -> str:
    folded = name.strip().casefold()
    if folded.endswith("-shared"):
        folded = folded.removesuffix("-shared") + "*"
    # The paper writes DGE-batch*: it has one set of weights always, so the star says nothing more.
    return "dge-batch" if folded == "dge-batch*" else folded


def _register_ensembles() -> None:
    pooled = {
        "concat": "learners side by side, one classifier on top (Eq. 5a)",
        "pool": "mean of the learners' representations, one classifier on top (Eq. 5b)",
        "bag": "independent learners, mean of their predictions (Eq. 5c)",
        "attn": "attention over the learners' representations",
    }
    homes = {"nodes": "honlearn.tasks:DGEClassifier", "links": "honlearn.tasks:DGELinkPredictor"}
    for task, home in homes.items():
        for variant, text in pooled.items():
            for shared in (False, True):
                weights = "; one set of weights for all learners" if shared else ""
                decided = {"variant": variant, "shared": shared}
                name = f"dge-{variant}{'*' if shared else ''}"
                register(Entry(name, (task,), f"deep graph ensemble: {text}{weights}", home, decided))
        text = "deep graph ensemble: one learner, other relatives in every batch, mean over draws"
        register(Entry("dge-batch", (task,), text, home, {"variant": "batch", "shared": True}))


def _register_baselines() -> None:
    for listed_one in BASELINES:
        home = f"honlearn.baselines.{listed_one.home}"
        register(Entry(listed_one.name, (listed_one.task,), listed_one.description, home))


_register_ensembles()
_register_baselines()
