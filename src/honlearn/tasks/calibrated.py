"""Answers with their uncertainty: what a node classifier adds to its probabilities.

In: a fitted bag and what its learners held back. Out: a temperature, prediction sets, and a table that splits
the uncertainty of each prediction. Mixed into :class:`honlearn.DGEClassifier`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from honlearn.conformal import KINDS, ScoreRule, check_alpha
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted
from honlearn.errors import InputError, check_choice
from honlearn.stored import Fields
from honlearn.tasks import parameters as check
from honlearn.tasks.held_back import HeldBack
from honlearn.tasks.inputs import Names
from honlearn.tasks.prediction_sets import SCORES, PredictionSets, SetCalibration, uniform_of
from honlearn.tasks.temperature import WIDEST, choose_temperature

if TYPE_CHECKING:
    import pandas

    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.tasks.component import Component


class Calibrated:
    """The part of a node classifier that says how sure it is."""

    held_back_: HeldBack
    temperature_: float = 1.0
    set_rule_: ScoreRule
    if TYPE_CHECKING:
        components_: list[Component]
        classes_: NDArray[Any]
        kernel_proba_: NDArray[np.float32] | None
        kernel_share_: float
        network_: HigherOrderNetwork
        seed_: int
        _owner: str

        def predict_proba(self, X: Names) -> NDArray[np.float32]:
            """Return class probabilities, [B, C]; a subclass's."""

        def member_proba(self, X: Names) -> NDArray[np.float32]:
            """Return the class probabilities of each member, [L, B, C]; a subclass's."""

    def _calibrate(self, results: Sequence[Fitted], examples: Examples) -> None:
        """Set what is known of the examples held back, the temperature and the score of prediction sets."""
        shares = [one.share for one in self.components_]
        parts = list(zip((fitted.held for fitted in results), shares, strict=True))
        kernel = (self.kernel_proba_, self.kernel_share_)
        self.held_back_ = HeldBack.mixed(parts, examples, len(self.classes_), *kernel)
        known, rows = self.held_back_.known(), self.held_back_.is_known
        weights = examples.weights[rows].astype(np.float64)
        self.temperature_ = choose_temperature(known.proba, known.labels, weights)
        self.set_rule_ = self._set_calibration(None).rule

    def _set_calibration(self, rule: ScoreRule | None) -> SetCalibration:
        """Return the calibration of prediction sets with this score, or with that of the smallest sets."""
        known = self.held_back_.known()
        uniform = uniform_of(self.seed_, self._named(known.nodes))
        return SetCalibration.of(known, self.temperature_, uniform, rule)

    def _named(self, codes: NDArray[np.int32]) -> list[str]:
        return [self.network_.vocabulary[int(code)] for code in codes]

    def predict_set(
        self,
        X: Names,
        alpha: float = 0.1,
        class_conditional: bool = False,
        score: str | None = None,
    ) -> PredictionSets:
        """Return for each node the set of classes that holds the true one with probability 1 − alpha.

        Parameters
        ----------
        X : names of nodes
            Those whose labels were not trained on, where sets are to be relied on.
        alpha : float, default 0.1
            How often a set may lack the true class, from 0 to 1.
        class_conditional : bool, default False
            Ask for 1 − alpha in every class, not over all nodes. Classes with fewer than 1 / alpha − 1
            labelled nodes are then in every set.
        score : {"lac", "aps", "raps"}, optional
            The score of :mod:`honlearn.conformal`; None takes the one of the smallest sets on held-back
            nodes.

        Returns
        -------
        PredictionSets
            Its ``labels`` are tuples of classes, ``mask`` is a table bool [B, C].
        """
        check_is_fitted(self, "components_")
        share = check_alpha(f"{self._owner}.predict_set", alpha)
        if score is not None:
            check_choice(f"{self._owner}.predict_set", "score", score, KINDS)
        if not self.held_back_.is_known.any():
            raise InputError(
                f"{self._owner}.predict_set: no node was held back in this fit, so there is nothing to "
                "calibrate sets on; fit with validation_fraction above 0 and at least two nodes in a class"
            )
        codes = check.node_codes(self._owner, self.network_, X, "predict_set")
        names, rule = self._named(codes), self.set_rule_ if score is None else SCORES[score]
        calibration, uniform = self._set_calibration(rule), uniform_of(self.seed_, names)
        values = calibration.p_values(self.predict_proba(names), uniform, class_conditional)
        trained = np.isin(codes, self.held_back_.nodes)
        return PredictionSets(names, self.classes_, values, share, trained)

    def uncertainty(self, X: Names) -> pandas.DataFrame:
        """Return how uncertain each prediction is, and why, in nats: one row for each node.

        ``entropy`` is that of the mean prediction of the members (each learner, and the path kernel with its
        share), ``expected_entropy`` the mean of their own entropies, what the data leave open, and
        ``mutual_information`` the difference, what members disagree on. They are computed before the
        temperature, so that the last two sum to the first.
        """
        import pandas as pd

        check_is_fitted(self, "components_")
        codes = check.node_codes(self._owner, self.network_, X, "uncertainty")
        members, weights = self._weighted_members(codes)
        mean = np.einsum("m,mbc->bc", weights, members)
        total, expected = _entropy(mean), weights @ _entropy(members)
        return pd.DataFrame(
            {
                "node": self._named(codes),
                "entropy": total,
                "expected_entropy": expected,
                "mutual_information": np.maximum(total - expected, 0.0),
            }
        )

    def _weighted_members(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the probabilities of members [M, B, C], the kernel the last of them, and weights [M]."""
        members = self.member_proba(self._named(codes)).astype(np.float64)
        weights = np.repeat(
            [one.share / one.n_members for one in self.components_],
            [one.n_members for one in self.components_],
        )
        if self.kernel_proba_ is not None and self.kernel_share_ > 0:
            members = np.concatenate([members, self.kernel_proba_[codes].astype(np.float64)[None]])
            weights = np.append((1 - self.kernel_share_) * weights, self.kernel_share_)
        return members, weights / weights.sum()


def _entropy(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy over the last axis, in nats."""
    return np.asarray(-(proba * np.log(np.maximum(proba, 1e-300))).sum(-1))


def uncertainty_config(model: Calibrated) -> dict[str, Any]:
    """Return what of the calibration of a model is no tensor."""
    rule = model.set_rule_
    return {
        "temperature": model.temperature_,
        "score": {"kind": rule.kind, "penalty": rule.penalty, "free": rule.free},
    }


def restore_uncertainty(model: Calibrated, config: Fields, tensors: Mapping[str, torch.Tensor]) -> None:
    """Set the calibration of a classifier that is loaded, all of it checked."""
    config.only("temperature", "score")
    score = config.mapping("score")
    score.only("kind", "penalty", "free")
    model.temperature_ = config.number("temperature", 1 / WIDEST, WIDEST)
    model.set_rule_ = ScoreRule(
        score.text("kind", KINDS), score.number("penalty", 0, 1e6), score.integer("free", 0, 2**31)
    )
    entities, classes = model.network_.n_entities, len(model.classes_)
    model.held_back_ = HeldBack.of_tensors(tensors, entities, classes, config.where)
