"""Facts about a fit that are no part of the model: how many examples, how long it took, which versions.

In: examples of a fit. Out: :class:`FitFacts`, which ``save`` writes to ``training.json`` beside the model,
for its card (:mod:`honlearn.tasks.model_card`). They stand in a file of their own, since times differ
between two runs whose models are the same to the byte.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError
from honlearn.stored import Fields, read_json
from honlearn.versions import versions

FILE, FORMAT, VERSION = "training.json", "honlearn-training", 1
UNITS = ("nodes", "pairs", "paths")
_ADVICE = "remove it (the model works without it) or save the model again"


@dataclass(frozen=True)
class FitFacts:
    """What a fit was given and what it took.

    Parameters
    ----------
    unit : what an example is: ``"nodes"``, ``"pairs"`` or ``"paths"``.
    examples : how many there were.
    classes : how many of each class, by its text.
    digest : of the examples and their classes; two models with the same digest have seen the same.
    seconds, cpu_seconds : of the process that ended the fit; a fit that was resumed took longer.
    finished : when, in UTC.
    versions : of honlearn and of what it computes with.
    scores : of the whole model on what was held back (:mod:`honlearn.tasks.held_scores`), where known.
    notes : what the fit has decided by itself, such as fan-outs and groups of learners on a large network.
    """

    unit: str
    examples: int
    classes: Mapping[str, int]
    digest: str
    seconds: float
    cpu_seconds: float
    finished: str
    versions: Mapping[str, str]
    scores: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Clock:
    """Started with a fit; gives its facts in the end."""

    wall: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=time.process_time)

    def facts(self, unit: str, labels: NDArray[Any], *examples: NDArray[Any]) -> FitFacts:
        """Return the facts of a fit that has ended, on examples as arrays and their labels [n]."""
        texts = [str(label) for label in labels.tolist()]
        names, counts = np.unique(np.array(texts, object), return_counts=True)
        digest = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=16)
        for array in examples:
            digest.update(np.ascontiguousarray(array).tobytes())
        return FitFacts(
            unit,
            len(texts),
            dict(zip(names.tolist(), counts.tolist(), strict=True)),
            digest.hexdigest(),
            round(time.perf_counter() - self.wall, 3),
            round(time.process_time() - self.cpu, 3),
            datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            versions(),
        )


def write_facts(folder: Path, facts: FitFacts, config_digest: str) -> None:
    """Write the facts to a model folder; `config_digest` names the model that they are of."""
    whole = {"format": FORMAT, "version": VERSION, "config": config_digest, **asdict(facts)}
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    (folder / FILE).write_text(text, encoding="utf-8")


def read_facts(folder: str | os.PathLike[str], config_digest: str) -> FitFacts | None:
    """Return the facts in a model folder, None where it has none or only those of another model."""
    path = Path(folder) / FILE
    if not path.exists():
        return None
    fields = Fields(read_json(path, advice=_ADVICE), str(path), advice=_ADVICE)
    if fields.text("format") != FORMAT or fields.integer("version") != VERSION:
        raise FormatError(f"{path}: not a file of this version of honlearn; {_ADVICE}")
    if fields.text("config") != config_digest:
        return None  # of another model: nothing is known of this one
    classes, used = fields.mapping("classes"), fields.mapping("versions")
    scores = fields.mapping("scores")
    for name in scores.values:
        scores.number(name)
    return FitFacts(
        fields.text("unit", UNITS),
        fields.integer("examples", 0),
        {name: classes.integer(name, 0) for name in classes.values},
        fields.text("digest"),
        fields.number("seconds", 0),
        fields.number("cpu_seconds", 0),
        fields.text("finished"),
        {name: used.text(name) for name in used.values},
        dict(scores.values),
        tuple(fields.texts("notes")) if fields.has("notes") else (),
    )


def restore_facts(model: Any, folder: str | os.PathLike[str], config: Fields) -> None:
    """Set ``fit_facts_`` of a model that is loaded, where its folder has them."""
    found = read_facts(folder, config.text("digest"))
    if found is not None:
        model.fit_facts_ = found
