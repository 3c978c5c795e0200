"""The card of a saved model: data, what was chosen and why, held-back scores, training, versions, limits.

In: the config of a model folder, its network, and the facts of its fit (:mod:`honlearn.tasks.fit_facts`).
Out: plain values for ``honlearn info MODEL --json``; :mod:`honlearn.tasks.card_text` writes them as
``README.md``. Everything is read from the files by type (:mod:`honlearn.stored`), and no weights are loaded.
A section that a model has nothing for is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from honlearn.hon.network import HigherOrderNetwork
from honlearn.stored import Fields
from honlearn.tasks.card_limits import limits
from honlearn.tasks.fit_facts import FitFacts
from honlearn.tasks.held_scores import LEVELS

if TYPE_CHECKING:
    import os

Section = Any
_TRIED = ("learner", "edge_power", "order", "tau", "nodes", "loss", "gain", "standard_error", "share")
# What scores of the whole model tell of its probabilities.
_CALIBRATION = ("calibration_error", "brier")
_SETS = tuple(f"{name}_{level}" for level in LEVELS for name in ("coverage", "set_size"))


@dataclass(frozen=True, eq=False)
class Described:
    """What a card is made of."""

    config: Fields
    network: HigherOrderNetwork
    facts: FitFacts | None

    @property
    def task(self) -> str:
        """What the model predicts: classes of nodes or of paths, or links."""
        kind = self.config.text("kind")
        if kind == "PathClassifier":
            return "paths"
        return "links" if kind.endswith("Predictor") else "nodes"


def model_card(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the card of the model in `folder` as plain values, section by section.

    The config and the network are checked as for loading; weights are not read. What a fit was given and what
    it took is known where ``training.json`` is there.

    Parameters
    ----------
    folder
        Of a saved model.
    """
    from pathlib import Path

    from honlearn.hon.formats import load_network
    from honlearn.tasks.fit_facts import read_facts
    from honlearn.tasks.storage import NETWORK, check_files, read_config

    config = read_config(folder)
    check_files(folder, config, (NETWORK,))
    facts = read_facts(folder, config.text("digest"))
    return card_of(Described(config, load_network(Path(folder) / NETWORK), facts))


def card_of(model: Described) -> dict[str, Any]:
    """Return all sections that the model has something for."""
    made = {name: section(model) for name, section in _SECTIONS.items()}
    return {name: found for name, found in made.items() if found}


def _model(model: Described) -> Section:
    config, given = model.config, model.config.mapping("parameters")
    found: dict[str, Any] = {
        "kind": config.text("kind"),
        "task": model.task,
        "seed": str(config.integer("seed", 0, None)),
    }
    for name in ("variant", "shared", "learner", "n_learners", "order", "min_support", "vectors"):
        value = given.values.get(name)
        if isinstance(value, (str, int, float)):
            found[name] = value
    if config.has("n_parameters"):
        found["n_parameters"] = config.integer("n_parameters", 0)
    return found


def _data(model: Described) -> Section:
    hon, facts = model.network, model.facts
    found: dict[str, Any] = {
        "entities": hon.n_entities,
        "nodes": hon.n_nodes,
        "edges": hon.n_edges,
        "order": hon.max_order,
        "contexts_kept_by": "not known" if hon.parameters is None else hon.parameters.rule,
        "network_sha256": model.config.mapping("files").text("network.hon"),
    }
    if facts is not None:
        found |= {"examples": facts.examples, "unit": facts.unit, "examples_digest": facts.digest}
        found["classes"] = dict(facts.classes)
    else:
        found["classes"] = {str(name): None for name in model.config.mapping("classes").items("values")}
    return found


def _choice(model: Described) -> Section:
    """Return members with their shares, the kernel's share, and what was tried."""
    config = model.config
    found: dict[str, Any] = {}
    if config.has("components"):
        kernel = config.number("kernel_share", 0, 1) if config.has("kernel_share") else 0.0
        found["members"] = [_member(row, kernel) for row in config.mappings("components")]
        found["path_kernel_share"] = kernel
    if config.has("counts"):
        found["count_model_share"] = config.mapping("counts").number("share", 0, 1)
    if config.has("edge_power"):
        found["edge_power"] = config.number("edge_power")
    if config.has("C"):
        found["C"] = config.number("C", 0)
    key = "selection_results" if config.has("selection_results") else "search_results"
    if config.has(key):
        found["tried"] = [_row(row) for row in config.mappings(key)]
    return found


def _member(row: Fields, kernel: float) -> dict[str, Any]:
    """Return one component of a bag; its share is of the whole prediction, beside the kernel's."""
    learners = [Fields(one, row.where, advice=row.advice) for one in row.items("learners")]
    epochs = row.integers("epochs", 0)
    return {
        "learner": ", ".join(one.text("object").lower() for one in learners),
        "edge_power": _powers(learners),
        "network": row.text("network"),
        "learners": row.integer("n_learners", 1),
        "epochs": sum(epochs) / len(epochs) if epochs else None,
        "share": (1 - kernel) * row.number("share", 0, 1),
    }


def _powers(learners: Sequence[Fields]) -> float | str | None:
    """Return the edge power of learners; where they have several, all of them as a text."""
    given = (one.mapping("parameters").values.get("edge_power") for one in learners)
    powers = list(dict.fromkeys(value for value in given if isinstance(value, (int, float))))
    if len(powers) > 1:
        return ", ".join(f"{power:g}" for power in powers)
    return powers[0] if powers else None


def _row(row: Fields) -> dict[str, Any]:
    """Return the columns of a row of what was tried that hold texts or numbers."""
    known = (*_TRIED, "C")
    found = {name: row.values[name] for name in known if name in row.values}
    return {name: value for name, value in found.items() if isinstance(value, (str, int, float))}


def _held_back(model: Described) -> Section:
    """Return losses and scores on what was held back while training: of the whole, then of each member."""
    config = model.config
    found: list[dict[str, Any]] = []
    if model.facts is not None and model.facts.scores:
        own = {
            name: value for name, value in model.facts.scores.items() if name not in (*_CALIBRATION, *_SETS)
        }
        found += [{"part": "whole model", **own}] if own else []
    if config.has("search_results"):
        losses = [row.number("loss") for row in config.mappings("search_results") if row.has("loss")]
        return [{"log_loss": min(losses)}] if losses else []
    best: dict[int, tuple[float, float]] = {}
    for row in config.mappings("history") if config.has("history") else []:
        if row.has("validation_loss") and row.has("validation_score"):
            part = row.integer("component", 0) if row.has("component") else 0
            both = row.number("validation_loss"), row.number("validation_score")
            best[part] = min(best.get(part, both), both)
    score = "average_precision" if model.task == "links" else "accuracy"
    for part, (loss, value) in sorted(best.items()):
        named = {"part": f"member {part + 1}"} if len(best) > 1 or found else {}
        found.append({**named, "log_loss": loss, score: value})
    return found


def _calibration(model: Described) -> Section:
    config = model.config
    fields = config.mapping("uncertainty") if config.has("uncertainty") else config
    found = {"temperature": fields.number("temperature")} if fields.has("temperature") else {}
    scores = {} if model.facts is None else model.facts.scores
    return found | {name: scores[name] for name in _CALIBRATION if name in scores}


def _prediction_sets(model: Described) -> Section:
    """Return coverage and mean size of the sets of held-back examples, by the coverage asked for."""
    scores = {} if model.facts is None else model.facts.scores
    return [
        {"asked": level / 100, "coverage": scores[coverage], "mean_size": scores[size]}
        for level, coverage, size in ((n, f"coverage_{n}", f"set_size_{n}") for n in LEVELS)
        if coverage in scores and size in scores
    ]


def _training(model: Described) -> Section:
    facts = model.facts
    if facts is None:
        return {}
    found = {"seconds": facts.seconds, "cpu_seconds": facts.cpu_seconds, "finished": facts.finished}
    return found | ({"notes": "; ".join(facts.notes)} if facts.notes else {})


def _versions(model: Described) -> Section:
    return {"honlearn": model.config.text("honlearn")} if model.facts is None else dict(model.facts.versions)


def _limits(model: Described) -> Section:
    return limits(model.task, model.network.n_entities, model.facts, scored=bool(_held_back(model)))


_SECTIONS: Mapping[str, Callable[[Described], Section]] = {
    "model": _model,
    "data": _data,
    "choice": _choice,
    "held_back": _held_back,
    "calibration": _calibration,
    "prediction_sets": _prediction_sets,
    "training": _training,
    "versions": _versions,
    "limits": _limits,
}
