"""What :func:`honlearn.learn` adds to a run for its page: headline, summary, a prediction for every entity.

In: plain values. Out: ``RUN/artefacts/learned.json``, whole or not at all, and the same read back, checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from honlearn.errors import FormatError
from honlearn.results.artefacts import FOLDER
from honlearn.results.checked import check_explanation
from honlearn.stored import Fields, read_json
from honlearn.writing.atomic import atomic_text

FILE = "learned.json"
# What explanations call the prediction that an entity would have without memory.
FIRST_ORDER = "on the first-order network"
_ADVICE = "remove it, and the report goes without it"


@dataclass(frozen=True)
class Entity:
    """One entity as the page shows it.

    Parameters
    ----------
    node : its name.
    known : the label it was given, None where it had none.
    probabilities : one for each class.
    chosen : the classes of its prediction set, the most probable first; None without sets.
    reasons : why it has its prediction, as :class:`~honlearn.results.artefacts.Answers` has reasons.
    """

    node: str
    known: str | None
    probabilities: Sequence[float]
    chosen: Sequence[str] | None = None
    reasons: Mapping[str, Any] | None = None

    @property
    def without_memory(self) -> float | None:
        """The probability of the predicted class on the first-order network; None where not known."""
        return None if self.reasons is None else self.reasons["references"].get(FIRST_ORDER)


@dataclass(frozen=True)
class LearnedFacts:
    """Headline, summary, the network that was chosen, classes, and every entity; none without labels.

    `paths` is the digest under which the run keeps how much memory helps on held-out paths.
    """

    headline: str
    summary: str
    network: str
    classes: Sequence[str] = ()
    alpha: float = 0.1
    entities: Sequence[Entity] = ()
    paths: str = ""


def write_learned(run: Path, facts: LearnedFacts) -> None:
    """Write the facts to a run folder."""
    folder = run / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_text(folder / FILE) as file:
        json.dump(asdict(facts), file, ensure_ascii=False, allow_nan=False)


def read_learned(run: Path) -> LearnedFacts | None:
    """Return the facts of a run folder; None where it has none."""
    path = run / FOLDER / FILE
    if not path.exists():
        return None
    found = Fields(read_json(path, advice=_ADVICE), str(path), advice=_ADVICE)
    classes = found.texts("classes")
    rows = [_entity(row, classes) for row in found.mappings("entities")]
    return LearnedFacts(
        found.text("headline"),
        found.text("summary"),
        found.text("network"),
        classes,
        found.number("alpha"),
        rows,
        found.text("paths") if found.has("paths") else "",
    )


def _entity(row: Fields, classes: Sequence[str]) -> Entity:
    node, chances = row.text("node"), row.numbers("probabilities", 0, 1.001, len(classes))
    chosen = row.texts("chosen") if row.has("chosen") else None
    known = row.text("known", classes) if row.has("known") else None
    if not set(chosen or ()) <= set(classes):
        raise FormatError(f"{row.where}: a set holds what is no class; {_ADVICE}")
    reasons = None
    if row.has("reasons"):
        check_explanation(row.mapping("reasons"), {node}, list(classes))
        reasons = row.mapping("reasons").values
    return Entity(node, known, chances, chosen, reasons)
