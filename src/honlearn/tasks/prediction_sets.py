"""Prediction sets of a fitted classifier: for each node the classes that cannot be ruled out.

In: what a model predicts for its examples held back (:mod:`honlearn.tasks.held_back`) and for new nodes. Out:
:class:`PredictionSets`. By default a node is compared with held-back examples by the learners that held these
back (:mod:`honlearn.tasks.crossed`). With another score (:class:`SetCalibration`), scores of held-back
predictions calibrate the prediction of the whole model; that these are nearly exchangeable with those for new
nodes is measured, not guaranteed (``docs/uncertainty.md``). The arithmetic is in :mod:`honlearn.conformal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.conformal import Rows, ScoreRule, class_p_values
from honlearn.seeds import derive_seed

if TYPE_CHECKING:
    import pandas

RULES = {rule.kind: rule for rule in (ScoreRule("lac"), ScoreRule("aps"), ScoreRule("raps", 0.1))}


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Sets of classes, one for each node or path; ``numpy.asarray`` of it tells who is in, bool [B, C].

    Parameters
    ----------
    nodes : sequence of str or int
        The nodes, B of them; of paths, their places.
    classes : array [C]
        The classes, as in ``classes_``.
    p_values : float64 [B, C]
        How well each class fits: the share of held-back examples, this one among them, whose true class fits
        no better. A set holds the classes whose p-value is greater than alpha.
    alpha : float
        The share of sets that may lack the true class.
    in_training : bool [B]
        Whether the node's label was seen in training; no coverage is promised there.
    unit : str
        What has a set, the name of the first column of the table.

    Examples
    --------
    >>> sets = PredictionSets(["v"], np.array(["a", "b", "c"]), np.array([[0.9, 0.2, 0.05]]), 0.1)
    >>> sets.labels, sets.sizes.tolist(), np.asarray(sets).tolist()
    ([('a', 'b')], [2], [[True, True, False]])
    """

    nodes: Sequence[str] | Sequence[int]
    classes: NDArray[Any]
    p_values: Rows
    alpha: float
    in_training: NDArray[np.bool_] | None = None
    unit: str = "node"

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which classes are in each set, bool [B, C]."""
        return np.asarray(self.p_values > self.alpha)

    @property
    def labels(self) -> list[tuple[Any, ...]]:
        """The classes in each set, the best first."""
        order = np.argsort(-self.p_values, axis=1, kind="stable")
        sizes, names = self.sizes.tolist(), self.classes.tolist()
        return [tuple(names[i] for i in row[:size]) for row, size in zip(order.tolist(), sizes, strict=True)]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes are in each set, [B]."""
        return np.asarray(self.mask.sum(1), np.int64)

    @property
    def abstain(self) -> NDArray[np.bool_]:
        """Whether a set gives no answer, since it holds no class or several, [B]."""
        return np.asarray(self.sizes != 1)

    def __len__(self) -> int:
        return len(self.p_values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.mask.astype(bool if dtype is None else dtype)

    def table(self) -> pandas.DataFrame:
        """Return node (or path), set (a tuple, the best class first), set_size, in_training and abstain.

        Where it is not known what was trained on, ``in_training`` is left out.
        """
        import pandas as pd

        columns: dict[str, Any] = {self.unit: list(self.nodes), "set": self.labels, "set_size": self.sizes}
        if self.in_training is not None:
            columns["in_training"] = self.in_training
        return pd.DataFrame({**columns, "abstain": self.abstain})


def uniform_of(seed: int, names: Sequence[str]) -> Rows:
    """Return a number in [0, 1) for each name, the same in every call, whatever other names are asked for."""
    return np.array([derive_seed(seed, "prediction set", name) / 2.0**63 for name in names], np.float64)


@dataclass(frozen=True, eq=False)
class SetCalibration:
    """What sets are calibrated on: held-back probabilities [n, C] at the temperature, and true classes [n].

    `seed` and `names` decide the random numbers of adaptive scores.
    """

    proba: NDArray[np.float32]
    labels: NDArray[np.int64]
    names: Sequence[str]
    seed: int

    def p_values(
        self, proba: NDArray[np.float32], names: Sequence[str], score: str, class_conditional: bool
    ) -> Rows:
        """Return the p-value of each class, [B, C], from the model's probabilities [B, C] of new nodes."""
        new = scores_of(score, self.seed, proba, names)
        held = scores_of(score, self.seed, self.proba, self.names)
        of_truth = np.take_along_axis(held, self.labels[:, None], 1)[:, 0]
        return class_p_values(new, of_truth, self.labels if class_conditional else None)


def scores_of(score: str, seed: int, proba: NDArray[np.float32], names: Sequence[str]) -> Rows:
    """Return the score of every class, [B, C], by the rule of this name."""
    return RULES[score].scores(proba, uniform_of(seed, names))
