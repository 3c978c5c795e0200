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

from honlearn.conformal import GRID, KINDS, Rows, check_alpha, implied_coverage
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted
from honlearn.errors import FormatError, InputError, check_choice
from honlearn.seeds import generator
from honlearn.stored import Fields, check_arrays
from honlearn.tasks import parameters as check
from honlearn.tasks.held_back import PREFIX, HeldBack
from honlearn.tasks.inputs import Names
from honlearn.tasks.prediction_sets import PredictionSets, SetCalibration
from honlearn.tasks.storage import ADVICE
from honlearn.tasks.temperature import WIDEST, choose_temperature, tempered

if TYPE_CHECKING:
    import pandas

    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.tasks.component import Component


_CURVE = PREFIX + "implied_coverage"
# Nodes without a label that tell how sure a model is of new nodes.
FEWEST_NEW, MOST_NEW = 30, 2000


class Calibrated:
    """The part of a node classifier that says how sure it is."""

    held_back_: HeldBack
    temperature_: float = 1.0
    set_curve_: Rows | None = None
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
        """Set what is known of the examples held back, the temperature and what is implied for new nodes."""
        shares = [one.share for one in self.components_]
        parts = list(zip((fitted.held for fitted in results), shares, strict=True))
        kernel = (self.kernel_proba_, self.kernel_share_)
        self.held_back_ = HeldBack.mixed(parts, examples, len(self.classes_), *kernel)
        known, rows = self.held_back_.known(), self.held_back_.is_known
        weights = examples.weights[rows].astype(np.float64)
        self.temperature_ = choose_temperature(known.proba, known.labels, weights)
        self.set_curve_ = None
        # New nodes are alike those that have no label yet, as far as anything is known of them.
        new = np.setdiff1d(np.arange(self.network_.n_entities, dtype=np.int32), examples.nodes)
        if len(new) >= FEWEST_NEW:
            some = generator(self.seed_, "implied coverage").permutation(new)[:MOST_NEW]
            self.set_curve_ = implied_coverage(self.predict_proba(self._named(np.sort(some))))

    @property
    def has_sets(self) -> bool:
        """Whether there are held-back predictions to calibrate prediction sets on."""
        return bool(self.held_back_.is_known.any())

    def _set_calibration(self) -> SetCalibration:
        known = self.held_back_.known()
        proba = tempered(known.proba, self.temperature_)
        return SetCalibration(proba, known.labels, self._named(known.nodes), self.seed_, self.set_curve_)

    def _named(self, codes: NDArray[np.int32]) -> list[str]:
        return [self.network_.vocabulary[int(code)] for code in codes]

    def predict_set(
        self,
        X: Names,
        alpha: float = 0.1,
        class_conditional: bool = False,
        score: str = "implied",
        proba: NDArray[np.float32] | None = None,
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
        score : {"implied", "lac", "aps", "raps"}, default "implied"
            The score of :mod:`honlearn.conformal`. The default has the smallest sets; ``"aps"`` has larger
            ones, which differ more between easy and hard nodes.
        proba : array [B, C], optional
            What `predict_proba` returns for X, where it is known already.

        Returns
        -------
        PredictionSets
            Its ``labels`` are tuples of classes, ``mask`` is a table bool [B, C].
        """
        check_is_fitted(self, "components_")
        share = check_alpha(f"{self._owner}.predict_set", alpha)
        check_choice(f"{self._owner}.predict_set", "score", score, KINDS)
        if not self.has_sets:
            raise InputError(
                f"{self._owner}.predict_set: no node was held back in this fit, so there is nothing to "
                "calibrate sets on; fit with validation_fraction above 0 and at least two nodes in a class"
            )
        codes = check.node_codes(self._owner, self.network_, X, "predict_set")
        names = self._named(codes)
        given = self.predict_proba(names) if proba is None else proba
        values = self._set_calibration().p_values(given, names, score, bool(class_conditional))
        trained = np.isin(codes, self.held_back_.nodes)
        return PredictionSets(names, self.classes_, values, share, trained)

    def uncertainty(self, X: Names, members: NDArray[np.float32] | None = None) -> pandas.DataFrame:
        """Return how uncertain each prediction is, and why, in nats: one row for each node.

        ``entropy`` is that of the mean prediction of the members (each learner, and the path kernel with its
        share), ``expected_entropy`` the mean of their own entropies, what the data leave open, and
        ``mutual_information`` the difference, what members disagree on. They are computed before the
        temperature, so that the last two sum to the first. `members` is what `member_proba` returns for X,
        where it is known already.
        """
        import pandas as pd

        check_is_fitted(self, "components_")
        codes = check.node_codes(self._owner, self.network_, X, "uncertainty")
        given = self.member_proba(self._named(codes)) if members is None else members
        every, weights = self._with_kernel(given, codes)
        mean = np.einsum("m,mbc->bc", weights, every)
        total, expected = _entropy(mean), weights @ _entropy(every)
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


def _entropy(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy over the last axis, in nats."""
    return np.asarray(-(proba * np.log(np.maximum(proba, 1e-300))).sum(-1))


def uncertainty_config(model: Calibrated) -> dict[str, Any]:
    """Return what of the calibration of a model is no tensor."""
    return {"temperature": model.temperature_}


def uncertainty_tensors(model: Calibrated) -> dict[str, torch.Tensor]:
    """Return the tensors of the calibration of a model."""
    tensors = model.held_back_.tensors()
    if model.set_curve_ is not None:
        tensors[_CURVE] = torch.from_numpy(model.set_curve_)
    return tensors


def restore_uncertainty(model: Calibrated, config: Fields, tensors: Mapping[str, torch.Tensor]) -> None:
    """Set the calibration of a classifier that is loaded, all of it checked."""
    config.only("temperature")
    model.temperature_ = config.number("temperature", 1 / WIDEST, WIDEST)
    entities, classes, own = model.network_.n_entities, len(model.classes_), dict(tensors)
    model.set_curve_ = None
    if _CURVE in own:
        curve = own.pop(_CURVE).numpy()
        check_arrays({_CURVE: curve}, {_CURVE: ("f8", (GRID,))}, config.where, advice=ADVICE)
        if curve.min() < 0 or curve.max() > 1.001 or (np.diff(curve) > 0).any():
            raise FormatError(f"{config.where}: {_CURVE!r} is no falling coverage; {ADVICE}")
        model.set_curve_ = curve
    model.held_back_ = HeldBack.of_tensors(own, entities, classes, config.where)
