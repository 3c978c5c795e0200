"""A run as the report reads it: records by model, models by study, and what was kept beside them.

In: a run folder, which is only read. Out: a :class:`Run`. A study is what can be compared: one task on one
set of labels (or, for links, one network); each of its models has one setting on one input.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from honlearn.errors import FormatError, HonlearnError, InputError, MissingFileError, listed
from honlearn.results import artefacts
from honlearn.results.learned import LearnedFacts, read_learned
from honlearn.results.networks import NETWORKS
from honlearn.results.record import Configuration, DataDigests, Record
from honlearn.results.records import FILE, digest_of, parsed_lines
from honlearn.stored import Fields, read_json

if TYPE_CHECKING:
    from honlearn.hon.network import HigherOrderNetwork

# Where ``honlearn learn`` keeps the run of its validation.
LEARNED_RUN = "run"
INPUTS = {**NETWORKS, "auto": "chosen order"}
"""What inputs are called."""
Found = TypeVar("Found")


@dataclass(frozen=True)
class ModelRecords:
    """The records of one model on one input with one setting and one kind of folds, in their order."""

    model: str
    input: str
    name: str
    records: Sequence[Record]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The settings of the model."""
        return self.records[0].configuration.parameters

    @property
    def seeds(self) -> list[int]:
        """The seeds, ascending."""
        return sorted({record.configuration.seed for record in self.records})

    def of_seed(self, seed: int) -> list[Record]:
        """Return the records of one seed, by fold."""
        chosen = [record for record in self.records if record.configuration.seed == seed]
        return sorted(chosen, key=lambda record: record.configuration.fold)


@dataclass(frozen=True)
class Study:
    """Models that were tested on the same labels or links, and what was kept of them.

    What was kept and is damaged counts as not kept; `damaged` holds what is wrong with each such file.
    """

    run: Path
    task: str
    models: Sequence[ModelRecords]
    data: DataDigests = field(default_factory=DataDigests)
    damaged: dict[str, None] = field(default_factory=dict, compare=False)

    @property
    def finished(self) -> str:
        """When the last record was made."""
        return max(record.times.finished or "" for record in self._records())

    def _records(self) -> Iterator[Record]:
        return (record for model in self.models for record in model.records)

    def network(self) -> HigherOrderNetwork | None:
        """Return the network, the higher-order one where both took part; None where none was kept."""
        wanted: dict[str, None] = {}
        learned = self.learned()
        if learned is not None:
            wanted.setdefault(learned.network)
        for record in sorted(self._records(), key=lambda record: record.configuration.input != "gk"):
            if record.configuration.data.network is not None:
                wanted.setdefault(record.configuration.data.network)
        for digest in wanted:
            found = self._whole(partial(artefacts.read_network, self.run, digest))
            if found is not None:
                return found
        return None

    def _whole(self, read: Callable[[], Found | None]) -> Found | None:
        try:
            return read()
        except HonlearnError as error:
            self.damaged.setdefault(str(error))
            return None

    def learned(self) -> LearnedFacts | None:
        """Return what ``honlearn learn`` found; None for other runs."""
        return self._whole(lambda: read_learned(self.run))

    def labels(self) -> dict[str, str] | None:
        """Return the class of each labelled node; None for links, and where they were not kept."""
        digest = self.data.labels
        return None if digest is None else self._whole(partial(artefacts.read_labels, self.run, digest))

    def facts(self) -> dict[str, dict[str, Any]]:
        """Return what is known of nodes, such as coordinates; empty where nothing was kept."""
        return self._whole(lambda: artefacts.read_facts(self.run)) or {}

    def memory(self) -> artefacts.Memory | None:
        """Return how much memory helps on held-out paths; None where it was not kept."""
        learned = self.learned()
        digest = learned.paths if learned is not None and learned.paths else self.data.network
        return None if digest is None else self._whole(partial(artefacts.read_memory, self.run, digest))

    def answers(self, record: Record) -> artefacts.Answers | None:
        """Return the predictions of the fit of a record; None where they were not kept."""
        return self._whole(lambda: artefacts.read_answers(self.run, record.digest, self.task))


@dataclass(frozen=True)
class Run:
    """A run folder: its studies, the latest first, and the summary that the command left."""

    folder: Path
    studies: Sequence[Study]
    about: Mapping[str, Any]


def read_run(folder: str | os.PathLike[str]) -> Run:
    """Return the run in a folder that ``honlearn evaluate`` made."""
    root = _run_folder(Path(folder))
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in read_records(root):
        asked = record.configuration
        about = asked.data.labels or asked.data.network or ""
        groups.setdefault((asked.task, about), []).append(record)
    studies = [
        Study(root, task, _models(records), records[0].configuration.data)
        for (task, _), records in groups.items()
    ]
    return Run(root, sorted(studies, key=lambda study: study.finished, reverse=True), _about(root))


def _run_folder(folder: Path) -> Path:
    """Return the run folder that is meant: that in a folder of ``honlearn learn``, else the folder itself."""
    inside = folder / LEARNED_RUN
    return inside if (inside / FILE).is_file() and not (folder / FILE).exists() else folder


def read_records(folder: Path) -> list[Record]:
    """Return the records of a run, the later of two with one digest, without touching the file.

    A last line that is damaged belongs to a run that is still writing, or was killed, and is left out.
    """
    if not folder.is_dir():
        raise MissingFileError(f"{folder}: no such folder; name a run that 'honlearn evaluate … -o RUN' made")
    path = folder / FILE
    inside = sorted(str(found.parent) for found in folder.glob(f"*/{FILE}")) if not path.is_file() else []
    if inside:
        raise MissingFileError(f"{folder}: holds several runs; name one of {listed(inside, 8)}")
    if not path.is_file():
        raise MissingFileError(
            f"{folder}: no {FILE} in it; name a run that 'honlearn evaluate … -o RUN' made"
        )
    wrong = "not a record of an evaluation; remove the line"
    lines = parsed_lines(path.read_bytes(), Record.parse, path, wrong)
    found = {record.digest: record for record in lines}
    if not found:
        raise InputError(f"{path}: no record in it; let the run finish at least one fit")
    return list(found.values())


def _models(records: Sequence[Record]) -> list[ModelRecords]:
    """Return the models in the order of their first records; settings are named only where they differ."""
    groups: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in records:
        asked = record.configuration
        key = (asked.name, asked.input, asked.folds or "", digest_of(asked.parameters))
        groups.setdefault(key, []).append(record)
    twins: dict[tuple[str, str], list[list[Record]]] = {}
    for (model, name, *_), group in groups.items():
        twins.setdefault((model, name), []).append(group)
    return [
        ModelRecords(
            model, name, f"{model} · {INPUTS.get(name, name)}{_difference(group, twins[model, name])}", group
        )
        for (model, name, *_), group in groups.items()
    ]


def _difference(group: Sequence[Record], twins: Sequence[Sequence[Record]]) -> str:
    """Return in brackets what sets a model apart from others of the same name and input."""
    if len(twins) == 1:
        return ""
    asked = [_settings(g[0].configuration) for g in twins]
    own = next(values for values, g in zip(asked, twins, strict=True) if g is group)
    differing = [key for key in own if any(other.get(key) != own[key] for other in asked)]
    return f" ({', '.join(f'{key}={own[key]}' for key in differing[:4])})"


def _settings(asked: Configuration) -> dict[str, Any]:
    return {**asked.parameters, "folds": asked.folds}


def _about(root: Path) -> dict[str, Any]:
    path = root / "summary.json"
    if not path.is_file():
        return {}
    try:
        found = Fields(read_json(path), str(path))
        notes = found.texts("notes") if found.has("notes") else []
    except FormatError as error:
        return {"notes": [f"left out: {error}"]}
    return {**{key: value for key, value in found.values.items() if key != "rows"}, "notes": notes}
