"""How well each class fits a node, by the very learners that calibrate it: counts for prediction sets.

In: what the learners of each component held back (:class:`honlearn.ensemble.training.Held`), what the same
learners predict for every entity at the end of the search, the shares, and the kernel. Out:
:class:`FitCounts`, by which a node has its p-values. This is the jackknife+ after bootstrap (Kim et al. 2020;
with one learner for each part, the cross-conformal prediction of Vovk 2015). Example i was held back by
learners L(i). With p_i(x, y), the prediction of these learners for node x, mixed as the model mixes,

    s_i = 1 − p_i(x_i, y_i),      p(y) = (1 + #{i : s_i ≥ 1 − p_i(x, y)}) / (n + 1).

A new node and example i are compared by learners that have seen neither, so nothing has to be assumed of how
held-back predictions differ from those of all learners after they were trained on everything. (The epoch may
differ: a new node has that of the best loss on the whole held-back part, example i that which is best for the
half it is not in.) What is guaranteed, and what is not: ``docs/uncertainty.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.conformal import Rows, p_values
from honlearn.ensemble.training import Held
from honlearn.errors import FormatError
from honlearn.stored import Spec, check_arrays
from honlearn.tasks.storage import ADVICE
from honlearn.tasks.temperature import tempered

# What is more probable than this fits no better: where a model is sure of nearly all nodes, differences in
# the last digits do not make sets empty.
SUREST = 0.999
NAMES = ("fits", "fits_of_class", "n_by_class")


class Crossed(NamedTuple):
    """One component: what its learners held back, what they predict for entities [L, V, C], its share."""

    held: Held
    proba: NDArray[np.float32]
    share: float


@dataclass(frozen=True, eq=False)
class FitCounts:
    """How many held-back examples fit no better than each class fits each entity.

    Parameters
    ----------
    counts : int32 [V, C]
        Among all examples that were held back.
    of_class : int32 [V, C]
        Among those of the class itself.
    examples : int64 [C]
        How many there are of each class.
    """

    counts: NDArray[np.int32]
    of_class: NDArray[np.int32]
    examples: NDArray[np.int64]

    def p_values(self, codes: NDArray[np.int32], class_conditional: bool) -> Rows:
        """Return the p-value of each class of these entities, [B, C]."""
        if class_conditional:
            return np.asarray((1.0 + self.of_class[codes]) / (1.0 + self.examples))
        return np.asarray((1.0 + self.counts[codes]) / (1.0 + self.examples.sum()))

    def tensors(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return what is saved with a model."""
        arrays = zip(NAMES, (self.counts, self.of_class, self.examples), strict=True)
        return {prefix + name: torch.from_numpy(array) for name, array in arrays}

    @classmethod
    def of_tensors(
        cls, tensors: Mapping[str, torch.Tensor], prefix: str, shape: tuple[int, int], where: str
    ) -> FitCounts | None:
        """Return what was saved for entities and classes (`shape`), all of it checked; None without any."""
        found = {name: tensors[prefix + name].numpy() for name in NAMES if prefix + name in tensors}
        if not found:
            return None
        if len(found) < len(NAMES):
            raise FormatError(f"{where}: counts of prediction sets are not whole; {ADVICE}")
        specs: dict[str, Spec] = {"fits": ("i4", shape), "fits_of_class": ("i4", shape)}
        check_arrays(found, {**specs, "n_by_class": ("i8", shape[1:])}, where, advice=ADVICE)
        counts, of_class, examples = (found[name] for name in NAMES)
        sound = bool((examples >= 0).all() and (examples < 2**31).all())
        if not sound or counts.min(initial=0) < 0 or counts.max(initial=0) > examples.sum():
            raise FormatError(f"{where}: 'fits' counts more examples than there are; {ADVICE}")
        if of_class.min(initial=0) < 0 or (of_class > examples).any():
            raise FormatError(f"{where}: 'fits_of_class' counts more examples than there are; {ADVICE}")
        return cls(counts, of_class, examples)


class Kernel(NamedTuple):
    """The kernel's probabilities for entities [V, C], and its share of the prediction."""

    proba: NDArray[np.float32]
    share: float


def count_fits(
    parts: Sequence[Crossed],
    kernel: Kernel | None,
    known: tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.int64]],
    temperature: float,
) -> FitCounts:
    """Return the counts, from the components and the held-back examples.

    `known` is of all examples whether they were held back [n], what was predicted for those that were [h, C],
    before a temperature, and their classes [h].
    """
    is_known, held, labels = known
    size, n_classes = parts[0].proba.shape[1:]
    of_truth = _scores(tempered(held, temperature))[np.arange(len(labels)), labels]
    counts, of_class = (np.zeros((size, n_classes), np.int32) for _ in range(2))
    for mixed, own in group_proba(parts, kernel, is_known):
        scores = _scores(tempered(mixed, temperature))
        counts += _no_better(scores, of_truth[own])
        for code in np.unique(labels[own]):
            of_class[:, code] += _no_better(scores[:, code], of_truth[own & (labels == code)])
    return FitCounts(counts, of_class, np.bincount(labels, minlength=n_classes).astype(np.int64))


def group_proba(
    parts: Sequence[Crossed], kernel: Kernel | None, is_known: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """Yield what the same learners predict for all entities [V, C], and which examples they held back [h]."""
    share = 0.0 if kernel is None else kernel.share
    weights = (1 - share) * np.concatenate([_weights(one, len(is_known)) for one in parts], 1)[is_known]
    given = np.concatenate([one.proba for one in parts])
    groups, group = np.unique(weights, axis=0, return_inverse=True)
    for number, row in enumerate(groups):
        mixed = np.tensordot(row[row > 0], given[row > 0].astype(np.float64), 1)
        if kernel is not None:
            mixed += share * kernel.proba
        yield mixed.astype(np.float32), group.ravel() == number


def mean_confidence(
    parts: Sequence[Crossed],
    kernel: Kernel | None,
    is_known: NDArray[np.bool_],
    codes: NDArray[np.int32],
    temperature: float,
) -> float:
    """Return how sure the learners that held an example back are of these entities.

    The mean, over the examples and the entities, of the largest probability at the temperature.
    """
    total, count = 0.0, 0
    for mixed, own in group_proba(parts, kernel, is_known):
        sure = tempered(mixed[codes].astype(np.float64), temperature).max(1)
        total += float(sure.mean()) * int(own.sum())
        count += int(own.sum())
    return total / count


def _scores(proba: NDArray[np.float32]) -> Rows:
    return np.asarray(1.0 - np.minimum(proba.astype(np.float64), SUREST))


def _no_better(scores: Rows, known: Rows) -> NDArray[np.int32]:
    """Return how many of the known scores are at least as high, of the shape of `scores`."""
    share = p_values(scores, known)
    return np.rint(share * (len(known) + 1) - 1).astype(np.int32)


def _weights(part: Crossed, n_examples: int) -> NDArray[np.float64]:
    """Return how much each learner counts in what was predicted for each example, [n, L]; NaN for none."""
    out = np.zeros((n_examples, len(part.proba)))
    for learner, positions in enumerate(part.held.positions):
        out[positions, learner] = 1.0
    with np.errstate(invalid="ignore"):
        return np.asarray(part.share * out / out.sum(1, keepdims=True))
