"""Run folders, read for a page of results: whose records these are, and how they were made.

In: folders that ``evaluate`` or ``reproduce`` have filled, at any depth. Out: for each data set and task its
rows, and the facts of the runs: commands, machine, seeds, CPU hours, versions.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from honlearn.errors import MissingFileError, ParameterError
from honlearn.experiments.evaluate import Contender
from honlearn.experiments.nested import SEARCHES
from honlearn.experiments.registry import find_model
from honlearn.results.checked import check_whole
from honlearn.results.records import FILE, Records, digest_of
from honlearn.stored import Fields, read_json

Record = Mapping[str, Any]


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
        clocks = ("fit_cpu_seconds", "predict_cpu_seconds", "search_cpu_seconds")
        return float(sum(r["times"].get(clock, 0.0) for r in self.records for clock in clocks)) / 3600

    @property
    def commands(self) -> list[str]:
        """The commands of the run with the folders left out; put together from the records if unknown."""
        known = self.about.get("commands") or [self.about[key] for key in ("command",) if key in self.about]
        return [without_folders(command) for command in known] or _guessed(self)


@dataclass(frozen=True)
class ResultRow:
    """One model on one input, with the records of its main setting and how many other settings there are."""

    model: str
    input: str
    records: Sequence[Record]
    others: int = 0
    searched: bool = False


@dataclass(frozen=True)
class Results:
    """All that is known of one data set and task."""

    data: str
    task: str
    rows: Sequence[ResultRow]
    folders: Sequence[RunFolder] = field(default_factory=list)

    def find(self, model: str, input: str) -> ResultRow | None:
        """Return the row of a model on an input, or None."""
        return next((row for row in self.rows if (row.model, row.input) == (model, input)), None)


def read_runs(words: Iterable[str]) -> list[RunFolder]:
    """Return every folder of records in the folders named; ``NAME=FOLDER`` says whose data they are."""
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
        check_whole(record, f"{folder / FILE}: {record['digest']}")
    return RunFolder(folder, name or about.get("data") or _data_name(folder, about), about, records)


def _about(path: Path) -> dict[str, Any]:
    """Return what a file says of its run, without the rows of a summary."""
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
    groups: dict[tuple[str, str], list[tuple[RunFolder, Record]]] = {}
    for run in runs:
        for record in run.records:
            groups.setdefault((run.data, record["configuration"]["task"]), []).append((run, record))
    made = []
    for (data, task), members in groups.items():
        folders = list({id(run): run for run, _ in members}.values())
        made.append(Results(data, task, _rows([record for _, record in members]), folders))
    return sorted(made, key=lambda results: (_first(runs, results.data), results.task == "links"))


def _first(runs: Sequence[RunFolder], data: str) -> int:
    return next(place for place, run in enumerate(runs) if run.data == data)


def _rows(records: Sequence[Record]) -> list[ResultRow]:
    """Return one row for each (model, input): of the usual folds and network, with the model's main setting.

    Settings that were searched, or that are the model's defaults, come before others (narrow models of a
    budget, say), then those with more records. A model has the same setting on every input, so that inputs
    are compared with all else equal.
    """
    usual = [record for record in records if _is_usual(record)] or list(records)
    folds = _most(str(record["configuration"]["folds"]) for record in usual)
    same = [record for record in records if str(record["configuration"]["folds"]) == folds]
    networks = {
        name: _most(_network(record) for record in same if record["configuration"]["input"] == name)
        for name in dict.fromkeys(record["configuration"]["input"] for record in same)
    }
    main = [record for record in same if _network(record) == networks[record["configuration"]["input"]]]
    rows = []
    for model in dict.fromkeys(record["configuration"]["model"] for record in main):
        own = [record for record in main if record["configuration"]["model"] == model]
        settings = {_setting(record): record for record in own}
        preferred = {key: _is_usual(record) for key, record in settings.items()}
        chosen = _most([_setting(record) for record in own], preferred)
        kept = [record for record in own if _setting(record) == chosen]
        searched = "search" in kept[0]["configuration"]
        for name in dict.fromkeys(record["configuration"]["input"] for record in kept):
            found = {r["digest"]: r for r in kept if r["configuration"]["input"] == name}
            rows.append(ResultRow(model, name, list(found.values()), len(settings) - 1, searched))
    return rows


def _network(record: Record) -> str:
    return str(record["configuration"]["data"]["network"])


def _setting(record: Record) -> str:
    asked = record["configuration"]
    return digest_of([asked["parameters"], asked.get("search")])


def _is_usual(record: Record) -> bool:
    """Return whether a record's settings were searched or are the model's defaults of today."""
    asked = record["configuration"]
    if "search" in asked:
        return True
    defaults = _defaults(asked["model"], asked["task"])
    return all(asked["parameters"].get(key) == value for key, value in defaults.items() if key != "directed")


@cache
def _defaults(model: str, task: str) -> dict[str, Any]:
    try:
        return Contender(find_model(model, task)).configuration()
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
    """Return a command that would make these records, as far as they tell."""
    asked = [record["configuration"] for record in run.records]
    inputs = {configuration["input"] for configuration in asked}
    models = [f"--model {shlex.quote(name)}" for name in dict.fromkeys(c["model"] for c in asked)]
    seeds = sorted({configuration["seed"] for configuration in asked})
    task = "" if asked[0]["task"] == "nodes" else " --task links"
    which = "auto" if inputs == {"auto"} else "all" if "auto" in inputs else "both"
    which = f"{which} --paths PATHS" if "auto" in inputs else which if len(inputs) > 1 else min(inputs)
    return [
        f"honlearn evaluate NET LABELS -o {run.path.name}{task} {' '.join(models)} --input {which} "
        f"--seed {seeds[0]} --seeds {len(seeds)}"
    ]
