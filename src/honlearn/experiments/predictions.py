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
from honlearn.results.calibration import set_scores
from honlearn.tasks.prediction_sets import PredictionSets

if TYPE_CHECKING:
    import pandas

PROBABILITY = "p_"
_PARTS = ("expected_entropy", "mutual_information")


@dataclass(frozen=True)
class Predictions:
    """Nodes [B], classes [C], probabilities [B, C], and those of members [L, B, C] where there are any.

    Where the estimator has prediction sets: the p-value of each class [B, C], by which a set is made for any
    alpha, and whether a node's label was trained on [B]. `uncertainty` is its table of what members leave
    open and what they disagree on.
    """

    nodes: Sequence[str]
    classes: NDArray[Any]
    proba: NDArray[np.float32]
    members: NDArray[np.float32] | None
    p_values: NDArray[np.float64] | None = None
    in_training: NDArray[np.bool_] | None = None
    uncertainty: pandas.DataFrame | None = None

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
        values = trained = parted = None
        if getattr(estimator, "has_sets", False):
            sets = estimator.predict_set(nodes, proba=proba)
            values, trained = sets.p_values, sets.in_training
        if hasattr(estimator, "uncertainty"):
            parted = estimator.uncertainty(nodes, members=members)
        if classes is None:
            return cls(nodes, own, proba, members, values, trained, parted)
        wanted = np.asarray(classes)
        place = np.searchsorted(wanted, own)
        # A class that was never trained on has no probability and is in no set.
        proba, members, values = (_spread(each, place, len(wanted)) for each in (proba, members, values))
        return cls(nodes, wanted, proba, members, values, trained, parted)

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
        codes = np.searchsorted(self.classes, np.asarray(truth))
        found = metrics.scores(codes, self.proba, self.members)
        return found if self.p_values is None else found | set_scores(codes, self.p_values)

    def table(self, alpha: float | None = None) -> pandas.DataFrame:
        """Return node, label, one column ``p_<class>`` per class, confidence, entropy and disagreement.

        A model without members has no column of disagreement; a bag has ``expected_entropy`` and
        ``mutual_information``. With `alpha` there are ``set`` (a list, the best class first), ``set_size``,
        ``in_training`` (of nodes) and ``abstain`` (whether the set is of another size than 1).
        """
        import pandas as pd

        columns: dict[str, Any] = {"node": list(self.nodes), "label": self.labels}
        columns |= {f"{PROBABILITY}{name}": self.proba[:, i] for i, name in enumerate(self.classes.tolist())}
        columns["confidence"] = self.proba.max(1)
        columns["entropy"] = metrics.entropy(self.proba)
        if self.members is not None:
            columns["disagreement"] = self.disagreement
        if self.uncertainty is not None:
            columns |= {name: self.uncertainty[name].to_numpy() for name in _PARTS}
        return pd.DataFrame(columns | ({} if alpha is None else self._sets(alpha)))

    def _sets(self, alpha: float) -> dict[str, Any]:
        """Return the columns of prediction sets."""
        assert self.p_values is not None
        sets = PredictionSets(self.nodes, self.classes, self.p_values, alpha, self.in_training)
        table = sets.table()
        more = [name for name in ("set_size", "in_training", "abstain") if name in table]
        return {"set": [list(one) for one in sets.labels]} | {name: table[name].to_numpy() for name in more}


def _spread(values: Any, place: NDArray[np.intp], width: int) -> Any:
    """Return the values with their last axis laid out over `width` classes, 0 where there is none."""
    if values is None or values.shape[-1] == width:
        return values
    wide = np.zeros((*values.shape[:-1], width), values.dtype)
    wide[..., place] = values
    return wide
