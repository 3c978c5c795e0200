"""A kernel's reading of the paths: how an entity's place in them alone speaks for its class.

In: a network and labelled entities. Out: class probabilities of every entity [V, C], those of a labelled one
from all the others. Entities are alike as far as their vectors x are
(:func:`honlearn.hon.embedding.path_embedding`),

    k(i, j) = exp(−γ |x_i − x_j|² / d).

A ridge regression on this kernel, over a limited number of landmarks (Nyström), gives scores, and a softmax
of them is calibrated on examples that were left out. For those there is a closed form: without example i its
score is (f_i − h_i y_i) / (1 − h_i), h_i its leverage. So reach, smoothing and length of the vectors are
chosen in seconds, also of those that learners take.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.hon.embedding import embedding, steps_to_others, unit
from honlearn.hon.network import HigherOrderNetwork
from honlearn.models.examples import Examples
from honlearn.seeds import generator

Rows = NDArray[np.float64]

# Reach and smoothing; learners take the first whose loss is within noise of the least.
_STEPS = ((2, 1.0), (2, 0.75), (1, 1.0), (1, 0.75))
_LENGTHS = (8, 16, 32, 64, 128)
# Reach and smoothing are compared at these lengths.
_SHORT = (16, 32)
_PENALTIES = tuple(10.0 ** np.arange(-3, 1.1, 0.5))
_GAMMA = 0.3
# Vectors are compared on so many examples and landmarks at most, and a reading has more landmarks.
_COMPARED, _FEW, _MANY = 4096, 256, 1024
# Entities whose kernel rows are held at once.
_BLOCK = 8192
# With more classes than this, calibration does not mix their scores.
_MIXED = 64
# Where classes are told apart without an error, no slope would be steep enough.
_STEEPEST = 20.0
_PARTS = 5


class Vectors(NamedTuple):
    """Numbers of each entity [V, d] from steps up to `reach` away, the weightiest first."""

    reach: int
    smoothing: float
    numbers: Rows

    def first(self, count: int) -> NDArray[np.float32]:
        """Return the first numbers of each entity at a length of 1, for learners."""
        return unit(self.numbers[:, :count]).astype(np.float32)


class Reading(NamedTuple):
    """Probabilities float32 [V, C], the log loss of labelled entities left out, and the penalty chosen."""

    proba: NDArray[np.float32]
    loss: float
    penalty: float


# What the best vectors of one step lose on each example [n], and these, by all that they come from.
OneStep = dict[tuple[str, float, tuple[int, ...]], tuple[Rows, Vectors]]


def choose_vectors(
    network: HigherOrderNetwork,
    examples: Examples,
    n_classes: int,
    seed: int,
    one_step: OneStep | None = None,
) -> tuple[Vectors, Vectors]:
    """Return vectors for learners and those for the kernel, which say most of labelled entities left out.

    Learners look at neighbours themselves, so theirs reach two steps, which hold the memory, unless one step
    says more by more than a standard error. In `one_step` stands what one step said on other networks: those
    of the same paths have it in common, and it is not made again.
    """
    examples = _shuffled(examples, seed)
    examples = examples.take(np.arange(min(len(examples), _COMPARED)))
    # On several threads sums come out in another order, and with them the last bits.
    with threadpool_limits(1):
        compared = _Comparison(network, examples, n_classes, {} if one_step is None else one_step)
        short = [compared.best(*steps, _SHORT) for steps in _STEPS]
        least, sharp = min(short, key=lambda one: float(one[0].mean()))
        safe = next(vectors for losses, vectors in short if _is_within_noise(losses - least))
        learned, read = ((vectors.reach, vectors.smoothing) for vectors in (safe, sharp))
        found = {steps: compared.best(*steps, _LENGTHS)[1] for steps in dict.fromkeys([learned, read])}
        return found[learned], found[read]


class _Comparison:
    """Vectors of a network, compared by what a kernel on them says of examples that are left out."""

    def __init__(
        self, network: HigherOrderNetwork, examples: Examples, n_classes: int, one_step: OneStep
    ) -> None:
        self.examples, self.n_classes, self.one_step = examples, n_classes, one_step
        self.ahead = {reach: steps_to_others(network, reach) for reach in {reach for reach, _ in _STEPS}}
        self.most = max(network.n_entities // 2, 1)
        near, digest = self.ahead[1], hashlib.sha256(str(n_classes).encode())
        for array in (near.indptr, near.indices, near.data, *examples.arrays()):
            digest.update(array.tobytes())
        self.mark = digest.hexdigest()

    def best(self, reach: int, smoothing: float, lengths: tuple[int, ...]) -> tuple[Rows, Vectors]:
        """Return the losses [n] and the vectors of the length with the least."""
        if reach > 1:
            return self._best(reach, smoothing, lengths)
        key = (self.mark, smoothing, lengths)
        if key not in self.one_step:
            self.one_step[key] = self._best(reach, smoothing, lengths)
        return self.one_step[key]

    def _best(self, reach: int, smoothing: float, lengths: tuple[int, ...]) -> tuple[Rows, Vectors]:
        shorter = sorted({min(length, self.most) for length in lengths})
        every, tried = embedding(self.ahead[reach], shorter[-1], smoothing), []
        for length in shorter:
            kernel = _Kernel(every[:, :length], self.examples, self.n_classes, _FEW)
            found = min(kernel.fits(_PENALTIES[::2]), key=lambda fit: fit.loss)
            tried.append((found.losses, Vectors(reach, smoothing, every[:, :length])))
        return min(tried, key=lambda one: float(one[0].mean()))


def read(vectors: Vectors, examples: Examples, n_classes: int, seed: int) -> Reading:
    """Return what these vectors say of the classes of all entities."""
    with threadpool_limits(1):
        kernel = _Kernel(vectors.numbers, _shuffled(examples, seed), n_classes, _MANY)
        return kernel.reading(min(kernel.fits(_PENALTIES), key=lambda fit: fit.loss))


def _is_within_noise(differences: Rows) -> bool:
    """Return whether the mean of these is at most one standard error."""
    return bool(differences.mean() <= differences.std() / np.sqrt(len(differences)))


def _shuffled(examples: Examples, seed: int) -> Examples:
    examples = _once(examples)
    return examples.take(generator(seed, "reading").permutation(len(examples)))


def _once(examples: Examples) -> Examples:
    """Return each label of each entity once, with all its weight: a twin would tell what is left out."""
    pairs = np.stack([examples.nodes.astype(np.int64), examples.labels])
    _, first, which = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
    if len(first) == len(examples):
        return examples
    weights = np.bincount(which.ravel(), examples.weights).astype(np.float32)
    order = np.argsort(first)
    return Examples(examples.nodes[first[order]], examples.labels[first[order]], weights[order])


def _standardised(numbers: Rows) -> Rows:
    """Return the rows at a length of 1, then each column with mean 0 and deviation 1."""
    rows = unit(numbers)
    rows -= rows.mean(0)
    deviation = rows.std(0)
    return np.asarray(rows / np.where(deviation > 1e-9, deviation, 1.0))


class _Fit(NamedTuple):
    """A penalty, the coefficients of the landmarks [m, C], the calibration, and what is left out: [n, C]."""

    penalty: float
    coefficients: Rows
    calibration: Calibration
    left_out: Rows
    losses: Rows

    @property
    def loss(self) -> float:
        """The mean log loss."""
        return float(self.losses.mean())


class _Kernel:
    """Ridge regression of the classes on a kernel over vectors [V, d]; the first examples are landmarks."""

    def __init__(self, numbers: Rows, examples: Examples, n_classes: int, landmarks: int) -> None:
        self.vectors, self.examples, self.n_classes = _standardised(numbers), examples, n_classes
        weights = examples.weights.astype(np.float64)
        self.weights = weights / max(weights.mean(), 1e-12)
        self.landmarks = self.vectors[np.unique(examples.nodes[:landmarks])]
        values, basis = np.linalg.eigh(self._kernel(self.landmarks))
        kept = values > 1e-9 * values[-1]
        self._lift = basis[:, kept] / np.sqrt(values[kept])

    def _kernel(self, rows: Rows) -> Rows:
        """Return how alike these vectors and the landmarks are, [n, m]."""
        apart = np.square(rows).sum(1)[:, None] + np.square(self.landmarks).sum(1)
        apart -= 2 * rows @ self.landmarks.T
        return np.asarray(np.exp(-_GAMMA / rows.shape[1] * np.maximum(apart, 0)))

    def fits(self, penalties: Sequence[float]) -> Iterator[_Fit]:
        """Yield a fit for each penalty; its loss is of examples left out, but calibrated with them."""
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
        calibration = None
        for penalty, scores in zip(penalties, left_out, strict=True):
            coefficients = self._lift @ (basis @ (onto / (values + penalty)[:, None]))
            calibration = calibrate(scores, labels, weights, calibration)
            yield _Fit(penalty, coefficients, calibration, scores, self._losses(calibration.logits(scores)))

    def _losses(self, logits: Rows) -> Rows:
        """Return the log loss of each example times its weight, [n]; weights have a mean of 1."""
        chance = log_softmax(logits, 1)[np.arange(len(logits)), self.examples.labels]
        return np.asarray(-self.weights * chance)

    def _lifted(self, block: slice) -> Rows:
        """Return features of a block of examples whose products are the kernel, [b, m']."""
        return np.asarray(self._kernel(self.vectors[self.examples.nodes[block]]) @ self._lift)

    def reading(self, fit: _Fit) -> Reading:
        """Return what a fit says of every entity; of a labelled one, by fit and calibration without it."""
        proba = np.empty((len(self.vectors), self.n_classes), np.float32)
        for start in range(0, len(proba), _BLOCK):
            scores = self._kernel(self.vectors[start : start + _BLOCK]) @ fit.coefficients
            proba[start : start + _BLOCK] = softmax(fit.calibration.logits(scores), 1)
        part, logits = np.arange(len(self.examples)) % _PARTS, np.empty_like(fit.left_out)
        for number in range(_PARTS):
            rest, own = part != number, part == number
            known = (fit.left_out[rest], self.examples.labels[rest], self.weights[rest])
            logits[own] = calibrate(*known, fit.calibration).logits(fit.left_out[own])
        proba[self.examples.nodes] = softmax(logits, 1)
        return Reading(proba, float(self._losses(logits).mean()), fit.penalty)


class Calibration(NamedTuple):
    """logits = scores (a I + M) + b, with M [C, C] and b [C] held near 0; `packed` is (a, M, b)."""

    matrix: Rows
    bias: Rows
    packed: Rows

    def logits(self, scores: Rows) -> Rows:
        """Return the logits of scores [n, C]."""
        return np.asarray(scores @ self.matrix + self.bias)


def calibrate(
    scores: Rows, labels: NDArray[np.int64], weights: Rows, near: Calibration | None = None
) -> Calibration:
    """Return the calibration of scores [n, C] with the least weighted log loss + (|M|² + |b|²) / 2.

    The search begins at one that is `near`.

    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]] * 50)
    >>> found = calibrate(scores, np.array([0, 1, 0, 1] * 50), np.ones(200))
    >>> softmax(found.logits(scores), 1)[:2].round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    count = scores.shape[1]
    mixed = count**2 if count <= _MIXED else 0
    # Classes in rows, so that what is summed over classes is summed over long rows.
    columns, own = np.ascontiguousarray(scores.T), np.arange(len(labels))
    truth = np.zeros_like(columns)
    truth[labels, own] = weights
    onto, total = columns @ truth.T, truth.sum(1)

    def unpacked(numbers: Rows) -> Calibration:
        matrix = numbers[0] * np.eye(count)
        if mixed:
            matrix += numbers[1 : 1 + mixed].reshape(count, count)
        return Calibration(matrix, numbers[1 + mixed :], numbers)

    def loss(numbers: Rows) -> tuple[float, Rows]:
        now = unpacked(numbers)
        chance = now.matrix.T @ columns
        chance += now.bias[:, None]
        chance -= chance.max(0)
        of_truth = chance[labels, own]
        np.exp(chance, out=chance)
        every = chance.sum(0)
        chance *= weights / every
        by_matrix, by_bias = columns @ chance.T - onto, chance.sum(1) - total
        free = numbers[1:]
        grown = np.concatenate([by_matrix.ravel() if mixed else [], by_bias]) + free
        value = weights @ (np.log(every) - of_truth) + free @ free / 2
        return float(value), np.concatenate([[np.trace(by_matrix)], grown])

    start = np.concatenate([[5.0], np.zeros(mixed + count)]) if near is None else near.packed
    limits = [(0.0, _STEEPEST), *[(None, None)] * (mixed + count)]
    return unpacked(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits).x)


def best_share(
    reading: Reading, examples: Examples, held: NDArray[np.int64], chance: NDArray[np.float64]
) -> float:
    """Return the share of the answer that a reading earns beside learners: 0 to 0.5 in steps of 0.05.

    Learners held back the examples at `held` [G, h] and gave their truth the `chance` [G, h]. An example is
    held back by a few of them, but all G will answer: the loss of a mean of k learners is taken to fall as
    1 / k, at the rate at which it falls from one learner to the few. Where nothing was held back, nothing can
    be compared: then it is a quarter.

    >>> examples = Examples(np.arange(2, dtype=np.int32), np.array([0, 1]), np.ones(2, np.float32))
    >>> reading = Reading(np.array([[0.1, 0.9], [0.1, 0.9]], np.float32), 0.0, 1.0)
    >>> held = np.array([[0, 1]])
    >>> best_share(reading, examples, held, np.array([[0.9, 0.9]]))
    0.0
    >>> best_share(reading, examples, held, np.array([[0.9, 0.1]]))
    0.5
    """
    if not held.size:
        return 0.25
    which, known = np.unique(held, return_inverse=True)
    known, voices = known.ravel(), np.bincount(known.ravel())
    few = np.bincount(known, chance.ravel()) / voices
    read = reading.proba[examples.nodes[which], examples.labels[which]].astype(np.float64)
    weights = examples.weights[which].astype(np.float64)
    total, spread = max(float(weights.sum()), 1e-12), max(float(weights @ (1 - 1 / voices)), 1e-12)

    def loss(share: float) -> float:
        of_one = _log_loss((1 - share) * chance.ravel() + share * read[known])
        of_one = np.bincount(known, of_one) / voices
        falls = weights @ (of_one - _log_loss((1 - share) * few + share * read)) / spread
        return float(weights @ of_one / total - falls * (1 - 1 / len(held)))

    shares = (np.arange(11) / 20).tolist()
    return float(min(shares, key=loss))


def _log_loss(chance: Rows) -> Rows:
    return np.asarray(-np.log(np.maximum(chance, 1e-12)))
