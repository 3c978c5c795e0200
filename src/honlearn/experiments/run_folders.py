"""Run folders, read for a page of results: whose records these are, and how they were made.

In: folders that ``evaluate`` or ``reproduce`` have filled, at any depth. Out: for each data set and task its
rows, and the facts of the runs: commands, machine, seeds, CPU hours, versions.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from honlearn.errors import MissingFileError
from honlearn.experiments.nested import SEARCHES
from honlearn.results.records import FILE, Records, digest_of

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
            facts = json.loads((folder / file).read_text("utf-8"))
            about |= {key: value for key, value in facts.items() if key != "rows"}
    records = tuple(Records(folder))
    return RunFolder(folder, name or about.get("data") or _data_name(folder, about), about, records)


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
    """Return one row for each (model, input), of the network, folds and setting that have most records.

    A model has the same setting on every input, so that inputs are compared with all else equal.
    """
    asked = [record["configuration"] for record in records]
    folds = _most(str(c["folds"]) for c in asked)
    networks = {
        name: _most(str(c["data"]["network"]) for c in asked if c["input"] == name)
        for name in dict.fromkeys(c["input"] for c in asked)
    }
    main = [
        record
        for record, c in zip(records, asked, strict=True)
        if str(c["folds"]) == folds and str(c["data"]["network"]) == networks[c["input"]]
    ]
    rows = []
    for model in dict.fromkeys(record["configuration"]["model"] for record in main):
        own = [record for record in main if record["configuration"]["model"] == model]
        searched = {_setting(record): "search" in record["configuration"] for record in own}
        chosen = _most([_setting(record) for record in own], searched)
        kept = [record for record in own if _setting(record) == chosen]
        for name in dict.fromkeys(record["configuration"]["input"] for record in kept):
            found = {r["digest"]: r for r in kept if r["configuration"]["input"] == name}
            rows.append(ResultRow(model, name, list(found.values()), len(searched) - 1, searched[chosen]))
    return rows


def _setting(record: Record) -> str:
    asked = record["configuration"]
    return digest_of([asked["parameters"], asked.get("search")])


def _most(names: Iterable[str], first: Mapping[str, bool] | None = None) -> str:
    """Return the name that occurs most; of equals one that is marked in `first`, else the earliest."""
    counts = Counter(names)
    return max(counts, key=lambda name: (counts[name], (first or {}).get(name, False)))


def without_folders(command: str) -> str:
    """Return a command with the last part of every path alone.

    >>> without_folders("honlearn evaluate /data/wiki2.txt -o runs/wiki --data air=/data/air")
    'honlearn evaluate wiki2.txt -o wiki --data air=air'
    """
    shown = []
    for word in shlex.split(command):
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
    which = "both" if len(inputs) > 1 else inputs.pop()
    return [
        f"honlearn evaluate NET LABELS -o {run.path.name}{task} {' '.join(models)} --input {which} "
        f"--seed {seeds[0]} --seeds {len(seeds)}"
    ]
