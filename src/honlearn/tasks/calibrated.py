"""Answers with their uncertainty: what a node classifier adds to its probabilities.

In: a fitted bag and what its learners held back. Out: a temperature, prediction sets, and a table that splits
the uncertainty of each prediction. Mixed into :class:`honlearn.DGEClassifier`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from honlearn.conformal import KINDS, Rows, check_alpha
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted
from honlearn.errors import InputError, ParameterError, check_choice, check_real
from honlearn.stored import Fields
from honlearn.tasks import parameters as check
from honlearn.tasks.crossed import NAMES, Crossed, FitCounts, Kernel, count_fits, mean_confidence
from honlearn.tasks.held_back import PREFIX, HeldBack
from honlearn.tasks.inputs import Names
from honlearn.tasks.prediction_sets import PredictionSets, SetCalibration
from honlearn.tasks.smoothed import AUTO, smoothed_p_values
from honlearn.tasks.temperature import (
    WIDEST,
    choose_temperature,
    matching_temperature,
    tempered,
    whole_temperature,
)

if TYPE_CHECKING:
    import pandas

    from honlearn.engine.runtime import Runtime
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.tasks.component import Component


# Of larger tables of entities and classes no counts are made, and sets are those of the score 1 − p.
MOST_COUNTS = 1_000_000
# Entities that learners predict at once.
_BLOCK = 16_384
# How many entities without a label tell how sure the whole model is, and how few are too few.
_MOST_UNLABELLED, _FEWEST_UNLABELLED = 2_048, 20


class Calibrated:
    """The part of a node classifier that says how sure it is."""

    held_back_: HeldBack
    temperature_: float = 1.0
    # That of the held-back predictions; scores of prediction sets are compared at this one.
    held_temperature_: float = 1.0
    fit_counts_: FitCounts | None = None
    if TYPE_CHECKING:
        components_: list[Component]
        classes_: NDArray[Any]
        kernel_proba_: NDArray[np.float32] | None
        kernel_share_: float
        network_: HigherOrderNetwork
        seed_: int
        _owner: str

        def _runtime(self) -> Runtime:
            """Return what computes; a subclass's."""

        def predict_proba(self, X: Names) -> NDArray[np.float32]:
            """Return class probabilities, [B, C]; a subclass's."""

        def member_proba(self, X: Names) -> NDArray[np.float32]:
            """Return the class probabilities of each member, [L, B, C]; a subclass's."""

    def _calibrate(self, results: Sequence[Fitted], examples: Examples) -> None:
        """Set what is known of the examples held back, the temperatures, and the counts of sets."""
        shares = [one.share for one in self.components_]
        parts = list(zip((fitted.held for fitted in results), shares, strict=True))
        kernel = (self.kernel_proba_, self.kernel_share_)
        self.held_back_ = HeldBack.mixed(parts, examples, len(self.classes_), *kernel)
        known, rows = self.held_back_.known(), self.held_back_.is_known
        weights = examples.weights[rows].astype(np.float64)
        self.held_temperature_ = choose_temperature(known.proba, known.labels, weights)
        self.temperature_, self.fit_counts_ = self.held_temperature_, None
        kept = all(fitted.searched is not None for fitted in results)
        if kept and rows.any() and self.network_.n_entities * len(self.classes_) <= MOST_COUNTS:
            components = zip(self.components_, results, strict=True)
            crossed = [
                Crossed(fitted.held, self._before_refit(one, fitted), one.share) for one, fitted in components
            ]
            of_kernel = None if self.kernel_proba_ is None else Kernel(self.kernel_proba_, self.kernel_share_)
            told = (rows, known.proba, known.labels)
            self.fit_counts_ = count_fits(crossed, of_kernel, told, self.held_temperature_)
            self._match_temperature(crossed, of_kernel)

    def _match_temperature(self, crossed: Sequence[Crossed], kernel: Kernel | None) -> None:
        """Set the temperature of the whole model, by how sure it is of nodes without a label."""
        codes = np.setdiff1d(np.arange(self.network_.n_entities, dtype=np.int32), self.held_back_.nodes)
        if len(codes) < _FEWEST_UNLABELLED:
            return
        some = codes[np.unique(np.linspace(0, len(codes) - 1, _MOST_UNLABELLED).astype(np.int64))]
        held = (self.held_back_.is_known, some, self.held_temperature_)
        confidence = mean_confidence(crossed, kernel, *held)
        self.temperature_ = 1.0
        matched = matching_temperature(self.predict_proba(self._named(some)), confidence)
        self.temperature_ = whole_temperature(self.held_temperature_, matched)

    def _before_refit(self, component: Component, fitted: Fitted) -> NDArray[np.float32]:
        """Return what the learners of a component predicted for all entities at the end of the search.

        From one drawn relative each, as for what they held back, [L, V, C]; learners that are pooled before
        the classes are one.
        """
        assert fitted.searched is not None
        model, n_learners = component.model, len(fitted.held.positions)
        is_one = model.shape.is_joint or model.shape.variant == "batch"
        if not is_one and n_learners != model.shape.n_learners:
            model = replace(model, shape=replace(model.shape, n_learners=n_learners))
        run = self._runtime()
        inference = model.inference(model.restore(fitted.searched), run, 1)
        codes = np.arange(self.network_.n_entities, dtype=np.int32)
        with run.threads():
            parts = [inference.votes(codes[i : i + _BLOCK])[0] for i in range(0, len(codes), _BLOCK)]
        return np.concatenate([part[:n_learners] for part in parts], axis=1)

    @property
    def has_sets(self) -> bool:
        """Whether there are held-back predictions to calibrate prediction sets on."""
        return bool(self.held_back_.is_known.any())

    def _set_calibration(self) -> SetCalibration:
        known = self.held_back_.known()
        proba = tempered(known.proba, self.held_temperature_)
        return SetCalibration(proba, known.labels, self._named(known.nodes), self.seed_)

    def _as_held(self, proba: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return probabilities of the whole model [B, C] at the temperature of the held-back ones."""
        return tempered(proba, self.held_temperature_ / self.temperature_)

    def _named(self, codes: NDArray[np.int32]) -> list[str]:
        return [self.network_.vocabulary[int(code)] for code in codes]

    def predict_set(
        self,
        X: Names,
        alpha: float = 0.1,
        class_conditional: bool = False,
        score: str | None = None,
        proba: NDArray[np.float32] | None = None,
        smoothing: float | str = 0.0,
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
        score : {"jackknife", "lac", "aps", "raps"}, optional
            How well a class fits. None is ``"jackknife"``, 1 − p by the learners that held the calibration
            nodes back (:mod:`honlearn.tasks.crossed`); where that is not known (entities of an update, very
            large tables), ``"lac"``, 1 − p by the whole model; with `smoothing`, ``"aps"``, whose sets are
            larger and differ more between easy and hard nodes.
        proba : array [B, C], optional
            What `predict_proba` returns for X, where it is known already.
        smoothing : float or "auto", default 0
            The weight, from 0 to 1, of the mean score of the neighbours (:mod:`honlearn.tasks.smoothed`), for
            the scores of the whole model. ``"auto"`` chooses it on one half of the held-back nodes, and the
            other half calibrates.

        Returns
        -------
        PredictionSets
            Its ``labels`` are tuples of classes, ``mask`` is a table bool [B, C].
        """
        check_is_fitted(self, "components_")
        share = check_alpha(f"{self._owner}.predict_set", alpha)
        rule, weight = self._resolve_score(score, smoothing)
        if not self.has_sets:
            raise InputError(
                f"{self._owner}.predict_set: no node was held back in this fit, so there is nothing to "
                "calibrate sets on; fit with validation_fraction above 0 and at least two nodes in a class"
            )
        codes = check.node_codes(self._owner, self.network_, X, "predict_set")
        names = self._named(codes)
        apart = bool(class_conditional)
        if rule == "jackknife":
            assert self.fit_counts_ is not None
            values = self.fit_counts_.p_values(codes, apart)
        elif weight == 0:
            given = self.predict_proba(names) if proba is None else proba
            values = self._set_calibration().p_values(self._as_held(given), names, rule, apart)
        else:
            values = smoothed_p_values(self, codes, rule, weight, share, apart)
        trained = np.isin(codes, self.held_back_.nodes)
        return PredictionSets(names, self.classes_, values, share, trained)

    def _resolve_score(self, score: str | None, smoothing: float | str) -> tuple[str, float | str]:
        """Return the score and the weight of the neighbours, both checked."""
        owner = f"{self._owner}.predict_set"
        weight = smoothing if smoothing == AUTO else check_real(owner, "smoothing", smoothing, 0, 1)
        if score is None:
            plain = "lac" if self.fit_counts_ is None else "jackknife"
            return ("aps" if weight else plain), weight
        check_choice(owner, "score", score, KINDS)
        if score == "jackknife" and weight:
            raise ParameterError(
                f"{owner}: 'smoothing' is for scores of the whole model; give score='lac', 'aps' or 'raps'"
            )
        if score == "jackknife" and self.fit_counts_ is None:
            raise ParameterError(
                f"{owner}: score='jackknife' is not known of a classifier that was updated, or that has more "
                f"than {MOST_COUNTS:,} pairs of an entity and a class; leave 'score' out"
            )
        return score, weight

    def uncertainty(self, X: Names, members: NDArray[np.float32] | None = None) -> pandas.DataFrame:
        """Return how uncertain each prediction is, and why, in nats: one row for each node.

        ``entropy`` is that of the mean prediction of the members (each learner, and the path kernel with its
        share), ``expected_entropy`` the mean of their own entropies, what the data leave open, and
        ``mutual_information`` the difference, what members disagree on. They are computed before the
        temperature, so that the last two sum to the first. `members` is what `member_proba` returns for X,
        where it is known already.

        Parameters
        ----------
        X
            Names of entities, one for each row of the result.
        members
            Predictions of the members, where they are known already.
        """
        import pandas as pd

        check_is_fitted(self, "components_")
        codes = check.node_codes(self._owner, self.network_, X, "uncertainty")
        given = self.member_proba(self._named(codes)) if members is None else members
        every, weights = self._with_kernel(given, codes)
        mean = np.einsum("m,mbc->bc", weights, every)
        total, expected = entropy(mean), weights @ entropy(every)
        return pd.DataFrame(
            {
                "node": self._named(codes),
                "entropy": total,
                "expected_entropy": expected,
                "mutual_information": np.maximum(total - expected, 0.0),
            }
        )

    def _with_kernel(self, given: NDArray[np.float32], codes: NDArray[np.int32]) -> tuple[Rows, Rows]:
        """Return the probabilities of members [M, B, C], the kernel the last of them, and weights [M]."""
        members = given.astype(np.float64)
        weights = np.repeat(
            [one.share / one.n_members for one in self.components_],
            [one.n_members for one in self.components_],
        )
        if self.kernel_proba_ is not None and self.kernel_share_ > 0:
            members = np.concatenate([members, self.kernel_proba_[codes].astype(np.float64)[None]])
            weights = np.append((1 - self.kernel_share_) * weights, self.kernel_share_)
        return members, weights / weights.sum()


def entropy(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy over the last axis, in nats."""
    return np.asarray(-(proba * np.log(np.maximum(proba, 1e-300))).sum(-1))


def uncertainty_config(model: Calibrated) -> dict[str, Any]:
    """Return what of the calibration of a model is no tensor."""
    return {"temperature": model.temperature_, "held_temperature": model.held_temperature_}


def uncertainty_tensors(model: Calibrated) -> dict[str, torch.Tensor]:
    """Return the tensors of the calibration of a model."""
    tensors = model.held_back_.tensors()
    return tensors if model.fit_counts_ is None else tensors | model.fit_counts_.tensors(PREFIX)


def restore_uncertainty(model: Calibrated, config: Fields, tensors: Mapping[str, torch.Tensor]) -> None:
    """Set the calibration of a classifier that is loaded, all of it checked."""
    config.only("temperature", "held_temperature")
    model.temperature_ = config.number("temperature", 1 / WIDEST, WIDEST)
    # Models of before had one temperature for both.
    name = "held_temperature" if config.has("held_temperature") else "temperature"
    model.held_temperature_ = config.number(name, 1 / WIDEST, WIDEST)
    entities, classes = model.network_.n_entities, len(model.classes_)
    model.fit_counts_ = FitCounts.of_tensors(tensors, PREFIX, (entities, classes), config.where)
    rest = {name: tensor for name, tensor in tensors.items() if name.removeprefix(PREFIX) not in NAMES}
    model.held_back_ = HeldBack.of_tensors(rest, entities, classes, config.where)
