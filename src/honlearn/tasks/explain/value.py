"""An explanation: one prediction, what it would be without its parts, and the reasons for it.

In: numbers and names. Out: one immutable value with a table, a text, HTML for notebooks and JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

KINDS = {
    "memory": "memories",
    "neighbor": "neighbours",
    "count": "counts of the pair, in the count model",
    "path": "paths",
    "example": "labels in the path kernel",
    "gram": "grams",
    "summary": "vectors and length",
}
"""Kinds of reason, in the order in which they are shown, and their headings."""


@dataclass(frozen=True)
class Reason:
    """One reason for a prediction.

    Parameters
    ----------
    kind
        A key of :data:`KINDS`.
    name
        The memory, neighbour, path or entity.
    value
        The Shapley value, in probability; None where only the deletion is known.
    without
        The probability of the explained class without this reason alone.
    count
        How often it was observed, where that is known.
    support
        The observed paths behind it, in words.
    logit
        Its exact part of the logit of the class, less the mean of all classes, where that is a sum. Of a link
        it is the part in the logit of the count model, against the mean of the training pairs.
    """

    kind: str
    name: str
    value: float | None
    without: float
    count: float | None = None
    support: str = ""
    logit: float | None = None


@dataclass(frozen=True)
class Reference:
    """The probability of the explained class under another condition, such as without memory."""

    name: str
    probability: float


@dataclass(frozen=True)
class Explanation:
    """Why a node, a link or a path has its prediction.

    Parameters
    ----------
    subject
        What the prediction is about.
    label
        The class that is explained.
    probability
        Its predicted probability.
    references
        Its probability without memory, without neighbours, and so on.
    reasons
        The reasons, by kind, those that move the prediction most first.
    """

    subject: str
    label: str
    probability: float
    references: tuple[Reference, ...]
    reasons: tuple[Reason, ...]

    def effect(self, reason: Reason) -> float:
        """Return by how much the probability falls without a reason.

        Parameters
        ----------
        reason : Reason
            One of the ``reasons``.
        """
        return self.probability - reason.without

    def moved(self, reason: Reason) -> float:
        """Return the Shapley value of a reason; where it has none, its effect.

        Parameters
        ----------
        reason : Reason
            One of the ``reasons``.
        """
        return self.effect(reason) if reason.value is None else reason.value

    def frame(self) -> pandas.DataFrame:
        """Return the reasons as a table: kind, reason, value, effect, without, count, support, logit."""
        import pandas as pd

        columns = ["kind", "reason", "value", "effect", "without", "count", "support", "logit"]
        rows = [
            (one.kind, one.name, one.value, self.effect(one), one.without, one.count, one.support, one.logit)
            for one in self.reasons
        ]
        numbers = dict.fromkeys(["value", "effect", "without", "count", "logit"], float)
        return pd.DataFrame(rows, columns=columns).astype(numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        reasons = [{**asdict(one), "effect": self.effect(one)} for one in self.reasons]
        return {**asdict(self), "references": {r.name: r.probability for r in self.references}} | {
            "reasons": reasons
        }

    def to_json(self) -> str:
        """Return the explanation as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def of_kind(self, kind: str) -> tuple[Reason, ...]:
        """Return the reasons of one kind.

        Parameters
        ----------
        kind : str
            Such as ``"memory"`` or ``"neighbor"``; each reason tells its own.
        """
        return tuple(one for one in self.reasons if one.kind == kind)

    def __str__(self) -> str:
        lines = [f"{self.subject}: {self.label}, probability {self.probability:.3f}"]
        lines += [f"  {one.name}: {one.probability:.3f}" for one in self.references]
        for kind, heading in KINDS.items():
            found = self.of_kind(kind)
            if found:
                lines.append(heading)
            for one in found:
                support = f"  ({one.support})" if one.support else ""
                support += f"  (logit {one.logit:+.2f})" if one.logit is not None else ""
                lines.append(f"  {self.moved(one):+.3f}  {one.name}, without it {one.without:.3f}{support}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from honlearn.paths.html import card, table

        facts: dict[str, object] = {"probability": f"{self.probability:.3f}"}
        facts |= {one.name: f"{one.probability:.3f}" for one in self.references}
        header = ["", "reason", "moves it by", "without it", "observed"]
        tables = []
        for kind, heading in KINDS.items():
            rows = [
                (heading, one.name, f"{self.moved(one):+.3f}", f"{one.without:.3f}", one.support)
                for one in self.of_kind(kind)
            ]
            if rows:
                tables.append(table(header, rows, [2, 3]))
        return card(f"{self.subject}: {self.label}", facts, *tables)
