"""Logistic regression with a penalty that held-out rows choose, and probabilities that they scale.

In: a sparse matrix [n, F], classes, weights. Out: coefficients [C, F], the chosen penalty and a temperature.
scikit-learn fits; this module holds out, compares and keeps plain arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.seeds import generator
from honlearn.tasks.path_grams import Matrix

if TYPE_CHECKING:
    import pandas

Divided = Callable[[Matrix, Matrix], tuple[Matrix, Matrix]]

# Of Newton's method, which needs five or six; by gradients alone it takes hundreds.
_ITERATIONS = 100
# The folds are gone through until so many rows were held out.
_ENOUGH = 10_000
# Where every held-out row is right, any scale above would do as well.
_TEMPERATURES = (0.1, 10.0)


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted regression: logits are ``X @ coef.T + intercept``, float64 [C, F] and [C]."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def logits(self, X: Matrix) -> NDArray[np.float64]:
        """Return one logit per row and class, [n, C]."""
        return np.asarray(X @ self.coef.T + self.intercept)

    def proba(self, X: Matrix, temperature: float) -> NDArray[np.float64]:
        """Return the probabilities of the classes, [n, C]."""
        return np.asarray(special.softmax(self.logits(X) / temperature, axis=1))


@dataclass(frozen=True, eq=False)
class ChosenPenalty:
    """What held-out rows chose: C, the temperature, and the log loss of each C that was tried.

    held_proba, held_codes: probabilities [m, C] of the rows that were held out, with this C and temperature,
    and their classes [m]; m is 0 where none could be.
    """

    C: float
    temperature: float
    losses: tuple[tuple[float, float], ...]
    held_proba: NDArray[np.float64]
    held_codes: NDArray[np.int64]

    def table(self) -> pandas.DataFrame:
        """Return the candidates as a table: C, loss."""
        import pandas as pd

        return pd.DataFrame(list(self.losses), columns=["C", "loss"], dtype=float)


def fit_logistic(
    X: Matrix, codes: NDArray[np.int64], n_classes: int, weight: NDArray[np.float64], C: float
) -> Logistic:
    """Return the regression with an L2 penalty of inverse strength C; every class must have a row."""
    with threadpool_limits(1):
        return _fitted(X, codes, n_classes, weight, C)


def _fitted(
    X: Matrix, codes: NDArray[np.int64], n_classes: int, weight: NDArray[np.float64], C: float
) -> Logistic:
    # Loading takes half a second, which a prediction does without.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, solver="newton-cg", tol=1e-5, max_iter=_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, codes, sample_weight=weight)
    coef, intercept = np.asarray(model.coef_), np.asarray(model.intercept_)
    if n_classes == 2:  # one row for the second class against the first
        coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
    return Logistic(np.ascontiguousarray(coef), intercept)


def choose_logistic(
    X: Matrix,
    codes: NDArray[np.int64],
    n_classes: int,
    weight: NDArray[np.float64],
    candidates: tuple[float, ...],
    n_folds: int,
    seed: int,
    divided: Divided = lambda train, test: (train, test),
) -> ChosenPenalty:
    """Return the candidate with the least log loss on held-out rows, and the temperature that lowers it most.

    Rows of each class are dealt to the folds at random; once 10,000 were held out, the other folds are not
    needed. Ties go to the stronger penalty. `divided` makes of the rows of a fold's training and test what
    they would be if columns came from the training rows alone.
    """
    n_folds = min(n_folds, int(np.bincount(codes, minlength=n_classes).min()))
    if n_folds < 2:
        none = np.zeros((0, n_classes)), np.zeros(0, np.int64)
        return ChosenPenalty(candidates[0] if len(candidates) == 1 else 1.0, 1.0, (), *none)
    fold = _folds(codes, n_classes, n_folds, seed)
    held = np.empty((len(candidates), len(codes), n_classes))
    done = np.zeros(len(codes), np.bool_)
    # Setting the limit takes as long as a fit of a small table, so it is set once.
    with threadpool_limits(1):
        for k in range(n_folds):
            if done.sum() >= _ENOUGH:
                break
            inner, outer = fold != k, fold == k
            train, test = divided(X[inner], X[outer])
            for i, C in enumerate(candidates):
                held[i, outer] = _fitted(train, codes[inner], n_classes, weight[inner], C).logits(test)
            done |= outer
    held, codes, weight = held[:, done], codes[done], weight[done]
    losses = [log_loss(logits, codes, weight, 1.0) for logits in held]
    best = int(np.argmin(np.round(losses, 12)))
    temperature = _temperature(held[best], codes, weight)
    tried = tuple(zip(candidates, map(float, losses), strict=True))
    proba = np.asarray(special.softmax(held[best] / temperature, axis=1))
    return ChosenPenalty(candidates[best], temperature, tried, proba, codes)


def log_loss(
    logits: NDArray[np.float64],
    codes: NDArray[np.int64],
    weight: NDArray[np.float64],
    temperature: float,
) -> float:
    """Return the mean of −log p of the right class, in nats, for logits [n, C] over a temperature."""
    found = special.log_softmax(logits / temperature, axis=1)[np.arange(len(codes)), codes]
    return float(-np.average(found, weights=weight))


def _temperature(logits: NDArray[np.float64], codes: NDArray[np.int64], weight: NDArray[np.float64]) -> float:
    found = optimize.minimize_scalar(
        lambda log: log_loss(logits, codes, weight, float(np.exp(log))),
        bounds=(np.log(_TEMPERATURES[0]), np.log(_TEMPERATURES[1])),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(np.exp(found.x))


def _folds(codes: NDArray[np.int64], n_classes: int, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each row; every fold has as many rows of each class, within one."""
    random = generator(seed, "paths", "folds")
    fold = np.empty(len(codes), np.int64)
    for code in range(n_classes):
        rows = random.permutation(np.flatnonzero(codes == code))
        fold[rows] = np.arange(len(rows)) % n_folds
    return fold
