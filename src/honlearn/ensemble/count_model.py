"""A logistic regression on counts of a pair, beside the learners of a link predictor.

In: standardised features of pairs, those of :class:`~honlearn.sampling.pair_counts.PairCounts` first. Out:
P(u → v) = σ(w x + b), and its mix with what the learners predict. It is fitted in
:mod:`honlearn.tasks.count_share`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from honlearn.ensemble.pair_inputs import Features, Scaling


class CountModel(NamedTuple):
    """Coefficients of the standardised counts, float64 [C], the intercept, and the share of the prediction.

    >>> model = CountModel(np.array([1.0, -1.0]), 0.0, 0.25)
    >>> model.logits(np.array([[2.0, 2.0], [3.0, 0.0]], np.float32)).tolist()
    [0.0, 3.0]
    >>> model.mixed(np.array([0.9, 0.9], np.float32), np.zeros((2, 2), np.float32)).round(2).tolist()
    [0.800000011920929, 0.800000011920929]
    """

    coefficients: NDArray[np.float64]
    intercept: float
    share: float

    def logits(self, features: Features) -> NDArray[np.float64]:
        """Return the logit of a link of pairs with these features [B, F], F at least C, float64 [B]."""
        out = np.full(len(features), self.intercept)
        # Column by column: a product of matrices may round otherwise for another number of rows.
        for column, weight in enumerate(self.coefficients.tolist()):
            if weight:
                out += weight * features[:, column]
        return out

    def row_logits(self, columns: Iterable[Features], scaling: Scaling) -> NDArray[np.float32]:
        """Return the logits of all targets of sources [S, V], from their counts one after the other."""
        out: NDArray[np.float32] | None = None
        for place, column in enumerate(columns):
            scaled = scaling.column(place, column)
            scaled *= np.float32(self.coefficients[place])
            out = scaled if out is None else np.add(out, scaled, out=out)
        assert out is not None
        return out + np.float32(self.intercept)

    def mixed(self, linked: NDArray[np.float32], features: Features | None) -> NDArray[np.float32]:
        """Return the probability of a link [B]: that of the learners, and this model's, by its share."""
        if not self.share:
            return linked
        assert features is not None
        own = special.expit(self.logits(features))
        return np.asarray((1.0 - self.share) * linked + self.share * own, np.float32)
