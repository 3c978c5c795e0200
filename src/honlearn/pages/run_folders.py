"""Run folders, read for a page: whose records these are, and how they were made.

In: folders that ``evaluate`` or ``reproduce`` have filled, at any depth. Out: for each data set and task its
models, and the facts of the runs: commands, machine, seeds, CPU hours, versions.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from honlearn.errors import MissingFileError, ParameterError
from honlearn.experiments.evaluate import ModelSpec
from honlearn.experiments.measure import SCORE
from honlearn.experiments.nested import SEARCHES
from honlearn.experiments.registry import find_model
from honlearn.results.record import Record
from honlearn.results.records import FILE, Records, digest_of
from honlearn.stored import Fields, read_json


@dataclass(frozen=True)
class RunFolder:
    """One folder of records: its data set, what is known of the run, and the records."""

    path: Path
    data: str
    about: Mapping[str, Any]
    records: tuple[Record, ...]

    @property
    def cpu_hours(self) -> float:
        """Hours of processor time of all fits, predictions and searches."""
        return sum(record.times.cpu_seconds for record in self.records) / 3600

    @property
    def seeds(self) -> list[int]:
        """The seeds of the records, in order."""
        return sorted({record.configuration.seed for record in self.records})

    @property
    def commands(self) -> list[str]:
        """The commands of the run with the folders left out; put together from the records if unknown."""
        known = self.about.get("commands") or [self.about[key] for key in ("command",) if key in self.about]
        return [without_folders(command) for command in known] or _guessed(self)


@dataclass(frozen=True)
class ModelResults:
    """One model on one input, with the records of its main setting and how many other settings there are."""

    model: str
    input: str
    records: Sequence[Record]
    others: int = 0
    searched: bool = False

    def has(self, score: str) -> bool:
        """Return whether every record has a score."""
        return all(record.scores.get(score) is not None for record in self.records)


@dataclass(frozen=True)
class Results:
    """All that is known of one data set and task."""

    data: str
    task: str
    models: Sequence[ModelResults]

    @property
    def score(self) -> str:
        """The score that models are ordered and tested by: of links degree-corrected where all have it."""
        names = {record.main_score for model in self.models for record in model.records}
        return names.pop() if len(names) == 1 else SCORE[self.task]

    def find(self, model: str, input: str) -> ModelResults | None:
        """Return the results of a model on an input, or None."""
        return next((one for one in self.models if (one.model, one.input) == (model, input)), None)


def read_runs(words: Iterable[str]) -> list[RunFolder]:
    """Return every folder of records in the folders named; ``NAME=FOLDER`` names their data set."""
    found = []
    for word in words:
        name, equals, place = word.partition("=")
        root = Path(place if equals else word)
        if not root.is_dir():
            raise MissingFileError(f"{root}: no such folder; name the folder of a run, or of several")
        for file in sorted(root.rglob(FILE)):
            if SEARCHES not in file.relative_to(root).parts:
                found.append(_read(file.parent, name if equals else None))
    if not any(run.records for run in found):
        raise MissingFileError(
            "no records in these folders; run honlearn evaluate or honlearn reproduce first"
        )
    return [run for run in found if run.records]


def _read(folder: Path, name: str | None) -> RunFolder:
    about: dict[str, Any] = {}
    for file in ("summary.json", "run.json"):
        if (folder / file).is_file():
            about |= _about(folder / file)
    records = tuple(Records(folder))
    for record in records:
        record.check_whole(f"{folder / FILE}: {record.digest}")
    return RunFolder(folder, name or about.get("data") or _data_name(folder, about), about, records)


def _about(path: Path) -> dict[str, Any]:
    """Return a run file's facts, without the rows of a summary."""
    facts = Fields(read_json(path), str(path))
    for name in ("data", "command", "network"):
        if facts.has(name):
            facts.text(name)
    for name in ("commands", "notes"):
        if facts.has(name):
            facts.texts(name)
    if facts.has("machine"):
        facts.mapping("machine")
    return {key: value for key, value in facts.values.items() if key != "rows" and value is not None}


def _data_name(folder: Path, about: Mapping[str, Any]) -> str:
    """Return the data set that a run of ``evaluate`` is about: the name of its network, or of the folder."""
    # The files as the paper has published them; any other network may be called air.
    published = {"wiki1": "wiki", "wiki2": "wiki", "air1": "air"}
    stem = Path(str(about.get("network", ""))).stem
    return published.get(stem) or folder.name.removesuffix("-links").removesuffix("-nodes")


def gather(runs: Sequence[RunFolder]) -> list[Results]:
    """Return the results by data set and task, data sets in the order of the folders."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for run in runs:
        for record in run.records:
            groups.setdefault((run.data, record.configuration.task), []).append(record)
    made = [Results(data, task, _model_results(records)) for (data, task), records in groups.items()]
    return sorted(made, key=lambda results: (_first(runs, results.data), results.task == "links"))


def _first(runs: Sequence[RunFolder], data: str) -> int:
    return next(place for place, run in enumerate(runs) if run.data == data)


def _model_results(records: Sequence[Record]) -> list[ModelResults]:
    """Return the results of each (model, input), on the usual folds and network, of its main setting.

    Settings that were searched, or that are the model's defaults, come before others (such as narrow models
    of a budget), then those with more records. A model has the same setting on every input, so that inputs
    are compared with all else equal.
    """
    usual = [record for record in records if _is_usual(record)] or list(records)
    folds = _most(record.configuration.folds or "" for record in usual)
    same = [record for record in records if record.configuration.folds == folds]
    networks = {
        name: _most(_network(record) for record in same if record.configuration.input == name)
        for name in dict.fromkeys(record.configuration.input for record in same)
    }
    main = [record for record in same if _network(record) == networks[record.configuration.input]]
    results = []
    for model in dict.fromkeys(record.configuration.model for record in main):
        own = [record for record in main if record.configuration.model == model]
        settings = {_setting(record): record for record in own}
        preferred = {key: _is_usual(record) for key, record in settings.items()}
        chosen = _most([_setting(record) for record in own], preferred)
        kept = [record for record in own if _setting(record) == chosen]
        searched = kept[0].configuration.search is not None
        for name in dict.fromkeys(record.configuration.input for record in kept):
            found = {r.digest: r for r in kept if r.configuration.input == name}
            results.append(ModelResults(model, name, list(found.values()), len(settings) - 1, searched))
    return results


def _network(record: Record) -> str:
    return record.configuration.data.network or ""


def _setting(record: Record) -> str:
    asked = record.configuration
    return digest_of([asked.parameters, asked.search])


def _is_usual(record: Record) -> bool:
    """Return whether a record's settings were searched or are the model's defaults of today."""
    asked = record.configuration
    if asked.search is not None:
        return True
    defaults = default_parameters(asked.model, asked.task)
    return all(asked.parameters.get(key) == value for key, value in defaults.items() if key != "directed")


@cache
def default_parameters(model: str, task: str) -> dict[str, Any]:
    """Return the default parameters of a model; none for a model that is unknown today."""
    try:
        return ModelSpec(find_model(model, task)).configuration()
    except ParameterError:  # a model of before, or of somebody else
        return {}


def _most(names: Iterable[str], preferred: Mapping[str, bool] | None = None) -> str:
    """Return the name that occurs most among those that are preferred; of equals the earliest."""
    counts = Counter(names)
    return max(counts, key=lambda name: ((preferred or {}).get(name, False), counts[name]))


def without_folders(command: str) -> str:
    """Return a command with the last part of every path alone.

    >>> without_folders("honlearn evaluate /data/wiki2.txt -o runs/wiki --data air=/data/air")
    'honlearn evaluate wiki2.txt -o wiki --data air=air'
    """
    try:
        words = shlex.split(command)
    except ValueError:  # written by hand: a quote that does not end
        return command
    shown = []
    for word in words:
        parts = [re.sub(r"^.*/(?=[^/])", "", part.rstrip("/")) for part in re.split(r"([=+])", word)]
        shown.append("".join(parts) if "/" in word else word)
    return shlex.join(shown)


def _guessed(run: RunFolder) -> list[str]:
    """Return a command that would make these records, as far as they are known."""
    asked = [record.configuration for record in run.records]
    inputs = {configuration.input for configuration in asked}
    models = [f"--model {shlex.quote(name)}" for name in dict.fromkeys(c.model for c in asked)]
    task = "" if asked[0].task == "nodes" else " --task links"
    which = "auto" if inputs == {"auto"} else "all" if "auto" in inputs else "both"
    which = f"{which} --paths PATHS" if "auto" in inputs else which if len(inputs) > 1 else min(inputs)
    return [
        f"honlearn evaluate NET LABELS -o {run.path.name}{task} {' '.join(models)} --input {which} "
        f"--seed {run.seeds[0]} --seeds {len(run.seeds)}"
    ]
