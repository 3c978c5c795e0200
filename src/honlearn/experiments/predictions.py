"""Predictions as one value: those of an estimator for some nodes, computed once, read in many ways.

In: a fitted estimator and names of nodes. Out: classes, probabilities, confidence, entropy and disagreement,
and a table of them, for the command ``predict`` and for the test parts of an evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.results import metrics

if TYPE_CHECKING:
    import pandas

PROBABILITY = "p_"


@dataclass(frozen=True)
class Predictions:
    """Nodes [B], classes [C], probabilities [B, C], and those of members [L, B, C] where there are any."""

    nodes: Sequence[str]
    classes: NDArray[Any]
    proba: NDArray[np.float32]
    members: NDArray[np.float32] | None

    @classmethod
    def of(cls, estimator: Any, nodes: Sequence[str], classes: Sequence[Any] | None = None) -> Predictions:
        """Ask a fitted estimator; `classes` may name more than it has seen: those get probability 0."""
        own = np.asarray(estimator.classes_)
        proba = np.asarray(estimator.predict_proba(nodes))
        members = np.asarray(estimator.member_proba(nodes)) if hasattr(estimator, "member_proba") else None
        if not np.isfinite(proba).all():
            raise InputError(
                f"{type(estimator).__name__}: its probabilities are not finite, so the training diverged; "
                "lower learning_rate"
            )
        if classes is None:
            return cls(nodes, own, proba, members)
        wanted = np.asarray(classes)
        place = np.searchsorted(wanted, own)
        spread = None if members is None else _spread(members, place, len(wanted))
        return cls(nodes, wanted, _spread(proba, place, len(wanted)), spread)

    @property
    def labels(self) -> NDArray[Any]:
        """The most probable class of each node, [B]."""
        return np.asarray(self.classes[self.proba.argmax(1)])

    @property
    def disagreement(self) -> NDArray[np.float64]:
        """The share of pairs of members that differ, for each node, [B]; 0 without members."""
        if self.members is None:
            return np.zeros(len(self.nodes))
        return metrics.disagreement(self.members)

    def scores(self, truth: Sequence[Any]) -> dict[str, Any]:
        """Return the scores against the true classes, each of which must be among the classes."""
        return metrics.scores(np.searchsorted(self.classes, np.asarray(truth)), self.proba, self.members)

    def table(self) -> pandas.DataFrame:
        """Return node, label, one column ``p_<class>`` a class, confidence, entropy and disagreement.

        A model without members has no column of disagreement.
        """
        import pandas as pd

        columns: dict[str, Any] = {"node": list(self.nodes), "label": self.labels}
        columns |= {f"{PROBABILITY}{name}": self.proba[:, i] for i, name in enumerate(self.classes.tolist())}
        columns["confidence"] = self.proba.max(1)
        columns["entropy"] = metrics.entropy(self.proba)
        if self.members is not None:
            columns["disagreement"] = self.disagreement
        return pd.DataFrame(columns)


def _spread(values: NDArray[np.float32], place: NDArray[np.intp], width: int) -> NDArray[np.float32]:
    """Return the values with their last axis laid out over `width` classes, 0 where there is none."""
    if values.shape[-1] == width:
        return values
    wide = np.zeros((*values.shape[:-1], width), values.dtype)
    wide[..., place] = values
    return wide
