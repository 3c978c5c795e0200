"""Kernel ridge regression of the classes on path vectors.

In: vectors of entities (:mod:`honlearn.path_kernel.path_vectors`) and labelled ones. Out: class probabilities
of every entity [V, C], those of a labelled one from all the others. Entities are alike as far as their
vectors x are,

    k(i, j) = exp(−γ |x_i − x_j|² / d),

and where a kernel also reads profiles p and statistics s (:mod:`honlearn.hon.profiles`),

    k(i, j) + p_i · p_j + ½ exp(−γ |s_i − s_j|² / 9).

A ridge regression on this kernel, over a limited number of landmarks (Nyström), gives scores, and a softmax
of them is calibrated on examples that were left out. For those there is a closed form: without example i its
score is (f_i − h_i y_i) / (1 − h_i), h_i its leverage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.ensemble.examples import Examples
from honlearn.hon.embedding import unit
from honlearn.path_kernel.calibration import Calibration, Rows, calibrate
from honlearn.path_kernel.terms import PARTS, Blocks, KernelTerms, LabelledEntities, alike
from honlearn.seeds import generator

# Into so many parts examples are divided where penalties and vectors are compared.
_JUDGED = 2
PENALTIES = tuple(10.0 ** np.arange(-3, 1.1, 0.5))
# Entities whose kernel rows are held at once.
_BLOCK = 8192


class KernelModel(NamedTuple):
    """What predicts for entities that were not there: float32, so that a saved one is the same.

    `center` and `scale` [d] standardise vectors; `landmarks` [m, d] have `coefficients` [m, C]; `matrix`
    [C, C] and `bias` [C] calibrate.
    """

    center: NDArray[np.float32]
    scale: NDArray[np.float32]
    landmarks: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    matrix: NDArray[np.float32]
    bias: NDArray[np.float32]

    def standardised(self, vectors: Rows, blocks: Blocks) -> Rows:
        """Return what is read of entities, [n, d], as in the fit."""
        return (_unit(vectors, blocks) - self.center.astype(np.float64)) / self.scale.astype(np.float64)

    def proba(self, vectors: Rows, blocks: Blocks) -> NDArray[np.float32]:
        """Return class probabilities [n, C] of entities of which this is read, [n, d]."""
        landmarks, coefficients, matrix, bias = (part.astype(np.float64) for part in self[2:])
        with threadpool_limits(1):
            rows = self.standardised(vectors, blocks)
            scores = alike(rows, landmarks, blocks) @ coefficients
            return np.asarray(special.softmax(scores @ matrix + bias, 1), np.float32)


class KernelPrediction(NamedTuple):
    """Probabilities float32 [V, C], log loss of labelled entities left out, the penalty, model and terms."""

    proba: NDArray[np.float32]
    loss: float
    penalty: float
    model: KernelModel
    terms: KernelTerms

    def of_truth(self, examples: Examples) -> Rows:
        """Return the probability of the true class of labelled entities, left out, [n]."""
        return np.asarray(self.proba[examples.nodes, examples.labels], np.float64)


def fit_kernel(
    vectors: Rows, examples: Examples, n_classes: int, seed: int, blocks: Blocks | None = None
) -> KernelPrediction:
    """Return class probabilities of all entities from what is read of them [V, d] and the labelled ones.

    Without `blocks`, all columns are path vectors.
    """
    blocks = Blocks(vectors.shape[1]) if blocks is None else blocks
    with threadpool_limits(1):
        kernel = PathRidge(vectors, shuffled(examples, seed), n_classes, blocks.landmarks, blocks)
        return kernel.prediction(min(kernel.fits(PENALTIES), key=lambda fit: fit.loss))


def shuffled(examples: Examples, seed: int) -> Examples:
    """Return the examples once each, in random order: the first ones are landmarks."""
    examples = examples.once()
    return examples.take(generator(seed, "reading").permutation(len(examples)))


def _unit(rows: Rows, blocks: Blocks) -> Rows:
    """Return rows with path vectors at a length of 1."""
    if not blocks.profiles:
        return unit(rows)
    vectors, *others = blocks.split(rows)
    return np.hstack([unit(vectors), *others])


def _standardised(vectors: Rows, blocks: Blocks) -> tuple[Rows, Rows, Rows]:
    """Return path vectors at a length of 1, then columns with mean 0 and deviation 1, and these two.

    Profiles stay as they are.
    """
    rows = _unit(vectors, blocks)
    center = rows.mean(0)
    fixed = slice(blocks.vectors, blocks.vectors + blocks.profiles)
    center[fixed] = 0.0
    rows -= center
    # Column by column, and in place: of a million entities, a copy is a gigabyte.
    deviation = np.array([column.std() for column in rows.T])
    scale = np.where(deviation > 1e-9, deviation, 1.0)
    scale[fixed] = 1.0
    rows /= scale
    return rows, center, scale


class _Fit(NamedTuple):
    """A penalty, the coefficients of the landmarks [m, C], the scores left out [n, C], and their losses [n].

    Losses are by a calibration on other examples: one that is fitted on the scores that it is judged by
    flatters small penalties, as they follow the labels most.
    """

    penalty: float
    coefficients: Rows
    left_out: Rows
    losses: Rows

    @property
    def loss(self) -> float:
        """The mean log loss."""
        return float(self.losses.mean())


class PathRidge:
    """Ridge regression of the classes on a kernel over vectors [V, d]; the first examples are landmarks."""

    def __init__(
        self,
        vectors: Rows,
        examples: Examples,
        n_classes: int,
        landmarks: int,
        blocks: Blocks | None = None,
    ) -> None:
        self.blocks = Blocks(vectors.shape[1]) if blocks is None else blocks
        self.vectors, self._center, self._scale = _standardised(vectors, self.blocks)
        self.examples, self.n_classes = examples, n_classes
        weights = examples.weights.astype(np.float64)
        self.weights = weights / max(weights.mean(), 1e-12)
        self.landmarks = self.vectors[np.unique(examples.nodes[:landmarks])]
        values, basis = np.linalg.eigh(self._kernel(self.landmarks))
        kept = values > 1e-9 * values[-1]
        self._lift = basis[:, kept] / np.sqrt(values[kept])

    def _kernel(self, rows: Rows) -> Rows:
        """Return how alike these vectors and the landmarks are, [n, m]."""
        return alike(rows, self.landmarks, self.blocks)

    def fits(self, penalties: Sequence[float], mixed: bool = True) -> Iterator[_Fit]:
        """Yield a fit for each penalty; its loss is of examples left out, by regression and calibration.

        Unless classes may be `mixed`, the calibration has a slope and biases alone, which takes a fraction of
        the time and is less of a guess where examples are few.
        """
        labels, weights = self.examples.labels, self.weights
        truth = np.eye(self.n_classes)[labels]
        truth -= weights @ truth / len(labels)
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(labels), _BLOCK)]
        size = self._lift.shape[1]
        gram, onto = np.zeros((size, size)), np.zeros((size, self.n_classes))
        for block in blocks:
            rows = self._lifted(block)
            weighted = rows * weights[block, None]
            gram += weighted.T @ rows
            onto += weighted.T @ truth[block]
        values, basis = np.linalg.eigh(gram)
        values, onto = np.maximum(values, 0), basis.T @ onto
        left_out = np.empty((len(penalties), *truth.shape))
        for block in blocks:
            rows = self._lifted(block) @ basis
            for place, penalty in enumerate(penalties):
                leverage = weights[block] * (np.square(rows) @ (1 / (values + penalty)))
                leverage = np.minimum(leverage, 1 - 1e-6)[:, None]
                fitted = rows @ (onto / (values + penalty)[:, None])
                left_out[place, block] = (fitted - leverage * truth[block]) / (1 - leverage)
        near: Sequence[Calibration | None] = [None] * _JUDGED
        for penalty, scores in zip(penalties, left_out, strict=True):
            coefficients = self._lift @ (basis @ (onto / (values + penalty)[:, None]))
            near, logits = self._calibrated(scores, near, mixed)
            yield _Fit(penalty, coefficients, scores, self._losses(logits))

    def _calibrated(
        self, scores: Rows, near: Sequence[Calibration | None], mixed: bool = True
    ) -> tuple[list[Calibration], Rows]:
        """Return a calibration for each part of the examples, fitted on the others, and the logits [n, C]."""
        part, logits = np.arange(len(scores)) % len(near), np.empty_like(scores)
        found = []
        for number, start in enumerate(near):
            rest, own = part != number, part == number
            known = (scores[rest], self.examples.labels[rest], self.weights[rest])
            found.append(calibrate(*known, start, mixed))
            logits[own] = found[-1].logits(scores[own])
        return found, logits

    def _losses(self, logits: Rows) -> Rows:
        """Return the log loss of each example times its weight, [n]; weights have a mean of 1."""
        of_truth = special.log_softmax(logits, 1)[np.arange(len(logits)), self.examples.labels]
        return np.asarray(-self.weights * of_truth)

    def _lifted(self, block: slice) -> Rows:
        """Return features of a block of examples whose products are the kernel, [b, m']."""
        return np.asarray(self._kernel(self.vectors[self.examples.nodes[block]]) @ self._lift)

    def prediction(self, fit: _Fit) -> KernelPrediction:
        """Return the prediction for every entity; for a labelled one, by fit and calibration without it."""
        whole = calibrate(fit.left_out, self.examples.labels, self.weights)
        calibrations, logits = self._calibrated(fit.left_out, [whole] * PARTS)
        proba = np.empty((len(self.vectors), self.n_classes), np.float32)
        for start in range(0, len(proba), _BLOCK):
            scores = self._kernel(self.vectors[start : start + _BLOCK]) @ fit.coefficients
            proba[start : start + _BLOCK] = special.softmax(whole.logits(scores), 1)
        proba[self.examples.nodes] = special.softmax(logits, 1)
        parts = (self._center, self._scale, self.landmarks, fit.coefficients, *whole[:2])
        model = KernelModel(*(np.asarray(part, np.float32) for part in parts))
        terms = self._terms(fit, [*calibrations, whole])
        return KernelPrediction(proba, float(self._losses(logits).mean()), fit.penalty, model, terms)

    def _terms(self, fit: _Fit, calibrations: Sequence[Calibration]) -> KernelTerms:
        """Return what the terms of the predictions are made from."""
        examples = self.examples
        labelled = LabelledEntities(examples.nodes, examples.labels, self.weights)
        numbers = np.stack([np.vstack([one.matrix, one.bias]) for one in calibrations])
        vectors = self.vectors.astype(np.float32)
        return KernelTerms(vectors, self.blocks, labelled, fit.penalty, numbers)
