"""The class or outcome of whole paths: which patient recovers, which session ends in a purchase.

In: paths, one label each. Out: an estimator with scikit-learn's contract. A path is described by its grams
(:mod:`honlearn.tasks.path_grams`) and by learned vectors of its entities (:mod:`honlearn.hon.embedding`); a
logistic regression reads both. Its penalty is chosen, and its probabilities are scaled, on held-out paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from honlearn.conformal import check_alpha
from honlearn.errors import InputError, ParameterError, check_integer, check_real
from honlearn.hon.build import grow
from honlearn.hon.embedding import path_embedding, unit
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.seeds import root_seed
from honlearn.tasks import parameters as check
from honlearn.tasks.fit_facts import Clock
from honlearn.tasks.held_scores import held_set_scores
from honlearn.tasks.html import Shown
from honlearn.tasks.inputs import Labels, Weights
from honlearn.tasks.logistic import choose_logistic, fit_logistic
from honlearn.tasks.path_grams import Matrix, PathGrams, narrow, pieces
from honlearn.tasks.path_sets import PathCalibration
from honlearn.tasks.prediction_sets import PredictionSets

if TYPE_CHECKING:
    import pandas

    from honlearn.tasks.explain.value import Explanation

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_TOKENS_AT_ONCE = 1 << 20
# The network whose steps the vectors are learned from: GrowHON's rule, so that it is the same in any version.
_NETWORK = {"order": 2, "tau": 10.0, "min_support": 10}


class PathClassifier(Shown, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifies whole paths by their grams and the vectors of their entities.

    Columns are log(1 + count) · rarity of each gram of up to ``order + 1`` entities in the training paths,
    each row at a length of 1; and the mean vector of a path's entities, those of its first and last one, and
    the log of its length, standardised. Vectors are factors of what comes near what in the training paths.
    What training did not have is left out. A logistic regression with an L2 penalty reads all of them.

    Parameters
    ----------
    order : int, default 2
        Entities before the last one of the longest gram: 0 is a bag of entities, 1 adds transitions, 2 also
        contexts of two with the next step.
    min_support : int, default 2
        In how many training paths a gram of two entities or more must be.
    vectors : int, default 16
        Dimensions of the vectors of entities; 0 does without them and the length.
    C : "auto" or float, default "auto"
        Inverse strength of the penalty. "auto" takes the one of :data:`PENALTIES` with the least log loss on
        held-out training paths.
    n_folds : int, default 3
        Parts of the inner cross-validation that chooses C and scales the probabilities (a temperature, Guo et
        al., 2017). Classes with fewer paths lower it; where one has a single path there is neither, and
        "auto" is 1.
    max_grams : int, default 262,144
        At most so many grams of each length, those in the most paths.
    random_state : int, Generator, optional
        Decides the folds, and nothing else.

    Attributes
    ----------
    classes_, network_, grams_
        The classes, the network that vectors are learned from, the columns.
    C_, temperature_, search_results_
        What was chosen: logits are divided by the temperature; log loss of each C on held-out paths.
    calibration_
        What prediction sets are calibrated on; None where no path could be held out.

    Examples
    --------
    >>> there, back = [["A", "B", "C"], ["B", "C", "A"]], [["C", "B", "A"], ["A", "C", "B"]]
    >>> clf = PathClassifier(random_state=0).fit(9 * (there + back), 9 * ["there", "there", "back", "back"])
    >>> clf.predict([["B", "C"], ["C", "B"]]).tolist()
    ['there', 'back']
    """

    calibration_: PathCalibration | None = None

    def __init__(
        self,
        order: int = 2,
        min_support: int = 2,
        vectors: int = 16,
        C: float | str = "auto",
        n_folds: int = 3,
        max_grams: int = 1 << 18,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.order = order
        self.min_support = min_support
        self.vectors = vectors
        self.C = C
        self.n_folds = n_folds
        self.max_grams = max_grams
        self.random_state = random_state

    def fit(
        self, X: Paths | Iterable[Sequence[object]], y: Labels, sample_weight: Weights | None = None
    ) -> PathClassifier:
        """Learn from paths X [n], as :class:`~honlearn.Paths` or lists of names, with one label each.

        A path with a count weighs as much as so many; `sample_weight` multiplies that.

        Parameters
        ----------
        X
            Paths, as :func:`honlearn.read_paths` takes them.
        y
            The class of each path.
        sample_weight
            The weight of each path; None is 1 for all.
        """
        self.check()
        clock = Clock()
        paths = as_paths(X, "fit")
        self.classes_, codes = check.class_codes(y, len(paths), "path")
        if len(self.classes_) < 2:
            raise InputError(
                f"PathClassifier: all paths are of the class {self.classes_[0]!r}; give paths of two or more"
            )
        weight = _weights(paths, sample_weight)
        self.seed_ = root_seed(self.random_state)
        self.grams_ = PathGrams.of(paths, int(self.order), int(self.min_support), int(self.max_grams))
        self.network_: HigherOrderNetwork = grow(paths, **_NETWORK)  # type: ignore[arg-type]
        self.vectors_ = self._entity_vectors()
        summary = self._summary(paths)
        self.center_ = np.average(summary, axis=0, weights=weight)
        spread = np.sqrt(np.average((summary - self.center_) ** 2, axis=0, weights=weight))
        self.scale_ = np.where(spread > 1e-9, spread, 1.0)
        columns = self._columns(paths)
        classes = len(self.classes_)
        support = int(self.min_support)
        chosen = choose_logistic(
            columns, codes, classes, weight, _candidates(self.C), int(self.n_folds), self.seed_,
            lambda train, test: self.grams_.supported(train, test, support),
        )  # fmt: skip
        self.C_, self.temperature_, self.search_results_ = chosen.C, chosen.temperature, chosen.table()
        held = chosen.held_proba, chosen.held_codes
        self.calibration_ = PathCalibration.of(*held) if len(chosen.held_codes) else None
        self.logistic_ = fit_logistic(columns, codes, classes, weight, self.C_)
        # How the paths of a file were read; the command line sets it, so that new ones are read alike.
        self.reading_: dict[str, Any] = {}
        self.n_parameters_ = self.logistic_.coef.size + self.logistic_.intercept.size
        labels = self.classes_[codes]
        facts = clock.facts("paths", labels, paths.codes, paths.offsets)
        self.fit_facts_ = replace(facts, scores=held_set_scores(*held))
        return self

    def predict_proba(self, X: Paths | Iterable[Sequence[object]]) -> NDArray[np.float64]:
        """Return class probabilities [n, C]; columns as in ``classes_``.

        Parameters
        ----------
        X
            Paths.
        """
        check_is_fitted(self, "logistic_")
        paths = as_paths(X, "predict_proba") if not isinstance(X, (list, tuple)) or len(X) else None
        if paths is None:
            return np.zeros((0, len(self.classes_)))
        found = [
            self.logistic_.proba(self._columns(part), self.temperature_)
            for part in pieces(paths, _TOKENS_AT_ONCE)
        ]
        return np.concatenate(found) if found else np.zeros((0, len(self.classes_)))

    def predict(self, X: Paths | Iterable[Sequence[object]]) -> NDArray[Any]:
        """Return the most probable class of each path, [n].

        Parameters
        ----------
        X
            Paths.
        """
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])

    @property
    def has_sets(self) -> bool:
        """Whether there are held-out paths to calibrate prediction sets on."""
        return self.calibration_ is not None

    def predict_set(
        self, X: Paths | Iterable[Sequence[object]], alpha: float = 0.1, class_conditional: bool = False
    ) -> PredictionSets:
        """Return for each path the set of classes that holds the true one with probability 1 − alpha.

        Parameters
        ----------
        X : paths
            Those that were not trained on, where sets are to be relied on.
        alpha : float, default 0.1
            How often a set may lack the true class, from 0 to 1.
        class_conditional : bool, default False
            Ask for 1 − alpha in every class, not over all paths. Classes with fewer than 1 / alpha − 1
            held-out paths are then in every set.

        Returns
        -------
        PredictionSets
            Its ``nodes`` are the places of the paths in X.
        """
        check_is_fitted(self, "logistic_")
        share = check_alpha("PathClassifier.predict_set", alpha)
        if self.calibration_ is None:
            raise InputError(
                "PathClassifier.predict_set: no path was held out in this fit, so there is nothing to "
                "calibrate sets on; fit again, with at least two paths in every class"
            )
        proba = self.predict_proba(X)
        values = self.calibration_.p_values(proba, bool(class_conditional))
        return PredictionSets(range(len(proba)), self.classes_, values, share, unit="path")

    def top_grams(self, top: int = 10) -> pandas.DataFrame:
        """Return the grams that raise each class's probability most: label, gram (oldest first), weight.

        The weight is the coefficient less the mean of all classes, so that those of a gram sum to 0.

        Parameters
        ----------
        top
            How many grams for each class.
        """
        import pandas as pd

        check_is_fitted(self, "logistic_")
        top = check_integer("PathClassifier.top_grams", "top", top, 1)
        weights = self.logistic_.coef[:, : self.grams_.n_columns]
        weights = weights - weights.mean(0)
        rows = []
        for label, row in zip(self.classes_, weights, strict=True):
            for column in np.argsort(-row, kind="stable")[:top].tolist():
                rows.append({"label": label, "gram": self.grams_.gram(column), "weight": float(row[column])})
        return pd.DataFrame(rows)

    def explain(self, path: Paths | Sequence[object], label: object = None, top: int = 5) -> Explanation:
        """Return why a path has its class: which grams moved the prediction, by how much.

        `path` is a list of names, or :class:`~honlearn.Paths` with one row; `label` is the class whose
        probability is explained, None for the most probable one; `top` grams are told one by one. The
        ``logit`` of a reason is exact: a logit is the sum of its terms.

        Parameters
        ----------
        path
            The path that is explained.
        label
            The class; None is the one that is predicted.
        top
            How many reasons.
        """
        from honlearn.tasks.explain.paths import explain_path

        check_is_fitted(self, "logistic_")
        known = path if isinstance(path, Paths) else as_paths([path], "explain")
        return explain_path(self, known, label, top)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted model to `folder`; :func:`honlearn.load_model` reads it back.

        Parameters
        ----------
        folder
            Where the model goes.
        """
        from honlearn.tasks.path_saving import save_path_classifier

        check_is_fitted(self, "logistic_")
        save_path_classifier(self, folder)

    @property
    def network(self) -> HigherOrderNetwork | None:
        """The network that vectors are learned from, None before the fit."""
        return getattr(self, "network_", None)

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        owner = "PathClassifier"
        check_integer(owner, "order", self.order, 0, 16)
        check_integer(owner, "min_support", self.min_support, 1)
        check_integer(owner, "vectors", self.vectors, 0, 4096)
        check_integer(owner, "n_folds", self.n_folds, 2, 100)
        check_integer(owner, "max_grams", self.max_grams, 1)
        if self.C == "auto":
            return
        if isinstance(self.C, str) or not check_real(owner, "C", self.C, 0) > 0:
            raise ParameterError(
                f"The 'C' parameter of {owner} must be 'auto' or a number above 0. Got {self.C!r} instead."
            )

    def _entity_vectors(self) -> NDArray[np.float64]:
        """Return the vector of each entity of ``grams_``, and one of zeros for those that are not there."""
        out = np.zeros((len(self.grams_.vocabulary) + 1, int(self.vectors)))
        network = self.network_
        if self.vectors and network.n_edges:
            found = unit(path_embedding(network, int(self.vectors)))
            place = self.grams_.vocabulary.codes(network.vocabulary.names)
            out[place, : found.shape[1]] = found
        return out

    def _summary(self, paths: Paths) -> NDArray[np.float64]:
        """Return mean, first and last vector and log length of each path, [n, 3 d + 1]; [n, 0] for d = 0."""
        n, lengths, depth = len(paths), paths.lengths, self.vectors_.shape[1]
        if not depth:
            return np.zeros((n, 0))
        codes = self.grams_.codes(paths)  # −1 is the row of zeros
        rows = np.repeat(np.arange(n), lengths)
        unknown = len(self.vectors_) - 1
        share = (1.0 / lengths)[rows]
        mean = sparse.csr_array(
            (share, (rows, np.where(codes < 0, unknown, codes))), shape=(n, len(self.vectors_))
        )
        ends = (self.vectors_[codes[paths.offsets[:-1]]], self.vectors_[codes[paths.offsets[1:] - 1]])
        return np.hstack([np.asarray(mean @ self.vectors_), *ends, np.log(lengths)[:, None]])

    def _columns(self, paths: Paths) -> Matrix:
        """Return all that the regression reads, [n, F + 3 d + 1]."""
        grams = self.grams_.matrix(paths)
        summary = (self._summary(paths) - self.center_) / self.scale_
        if not summary.shape[1]:
            return narrow(grams)
        # Like the grams, all of it together is about one long.
        summary /= np.sqrt(summary.shape[1])
        return narrow(sparse.hstack([grams, sparse.csr_array(summary)], format="csr"))


def as_paths(X: Any, what: str) -> Paths:
    """Return X as paths, row by row, or raise where a row would be lost."""
    if isinstance(X, (str, bytes, PathLike)):
        raise InputError(f"PathClassifier.{what} takes paths; read a file with honlearn.read_paths first")
    if isinstance(X, Paths):
        paths = X
    else:
        rows = list(X)
        if any(isinstance(row, (str, bytes)) for row in rows):
            raise InputError(f"PathClassifier.{what} takes paths, each a list of names. Got a text instead")
        empty = next((i for i, row in enumerate(rows) if hasattr(row, "__len__") and not len(row)), None)
        if empty is not None:
            raise InputError(f"PathClassifier.{what}: path {empty} is empty; leave it out, with its label")
        paths = Paths.from_lists(rows)
    if len(paths) and paths.lengths.min() < 1:
        row = int(np.argmin(paths.lengths))
        raise InputError(f"PathClassifier.{what}: path {row} is empty; leave it out, with its label")
    return paths


def _candidates(C: float | str) -> tuple[float, ...]:
    return PENALTIES if isinstance(C, str) else (float(C),)


def _weights(paths: Paths, sample_weight: Weights | None) -> NDArray[np.float64]:
    """Return the weight of each path: its count times what is given, scaled to a mean of 1."""
    weight = np.ones(len(paths)) if paths.counts is None else paths.counts.astype(np.float64)
    if sample_weight is not None:
        given = np.asarray(sample_weight, np.float64)
        if given.shape != weight.shape or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(
                f"PathClassifier: sample_weight must be {len(weight):,} finite numbers of at least 0, one "
                "per path"
            )
        weight = weight * check.near_one(given)
    if not weight.any():
        raise InputError("PathClassifier: all weights are 0; give at least one path a weight")
    return np.asarray(weight / weight.mean())
