"""What a fitted bag predicts for its own examples without having seen them.

In: what the learners of each component held back (:class:`honlearn.ensemble.training.Held`), the shares of
the components, and the kernel's probabilities, which leave a labelled entity out. Out: for each example the
mean over the learners that held it back, mixed with the final shares, as the model mixes its predictions for
new nodes. Temperatures (:mod:`honlearn.tasks.temperature`) and prediction sets
(:mod:`honlearn.tasks.prediction_sets`) are calibrated on these.

They are a little weaker than predictions for new nodes: an example is held back by one in four learners or
fewer, each of which has seen fewer examples and reads one drawn relative, while all learners predict a new
node. What that costs is measured in ``docs/uncertainty.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.examples import Examples
from honlearn.ensemble.training import Held
from honlearn.errors import FormatError
from honlearn.stored import check_arrays
from honlearn.tasks.loading import check_probabilities
from honlearn.tasks.storage import ADVICE

PREFIX = "held_back."


@dataclass(frozen=True, eq=False)
class HeldBack:
    """Labelled nodes int32 [n] as in the fit, their classes int64 [n], probabilities float32 [n, C].

    A row of probabilities is NaN where no learner held the node back. They are those before a temperature.
    """

    nodes: NDArray[np.int32]
    labels: NDArray[np.int64]
    proba: NDArray[np.float32]

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether some learner held each node back, [n]."""
        return np.asarray(np.isfinite(self.proba[:, 0]))

    def known(self) -> HeldBack:
        """Return the nodes that were held back."""
        rows = self.is_known
        return HeldBack(self.nodes[rows], self.labels[rows], self.proba[rows])

    @classmethod
    def mixed(
        cls,
        parts: Sequence[tuple[Held, float]],
        examples: Examples,
        n_classes: int,
        kernel: NDArray[np.float32] | None,
        kernel_share: float,
    ) -> HeldBack:
        """Return the mixture of components (what each held back, its share) and of a kernel [V, C]."""
        total = np.zeros((len(examples), n_classes))
        for held, share in parts:
            total += share * _mean(held, len(examples), n_classes)
        if kernel is not None:
            total = (1 - kernel_share) * total + kernel_share * kernel[examples.nodes]
        return cls(examples.nodes, examples.labels, total.astype(np.float32))

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return what is saved with a model."""
        known = self.known()
        arrays = {"nodes": self.nodes, "labels": self.labels, "is_known": self.is_known, "proba": known.proba}
        return {PREFIX + name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}

    @classmethod
    def of_tensors(
        cls, tensors: Mapping[str, torch.Tensor], n_entities: int, n_classes: int, where: str
    ) -> HeldBack:
        """Return what was saved among these tensors, all of it checked."""
        found: dict[str, NDArray[Any]] = {
            name: tensor.numpy() for name, tensor in tensors.items() if name.startswith(PREFIX)
        }
        specs = {"nodes": ("i4", ("n",)), "labels": ("i8", ("n",)), "is_known": ("b", ("n",))}
        specs |= {"proba": ("f4", (None, n_classes))}  # type: ignore[dict-item]
        wanted: Any = {PREFIX + name: spec for name, spec in specs.items()}
        if set(found) != set(wanted):
            raise FormatError(f"{where}: held-back predictions are not whole; {ADVICE}")
        check_arrays(found, wanted, where, advice=ADVICE)
        nodes, labels, is_known, proba = (found[PREFIX + name] for name in specs)
        inside = _within(nodes, n_entities) and _within(labels, n_classes)
        if not inside or int(is_known.sum()) != len(proba):
            raise FormatError(f"{where}: held-back predictions are of other nodes or classes; {ADVICE}")
        check_probabilities(proba, PREFIX + "proba")
        every = np.full((len(nodes), n_classes), np.nan, np.float32)
        every[is_known] = proba
        return cls(nodes, labels, every)


def _mean(held: Held, n_examples: int, n_classes: int) -> NDArray[np.float64]:
    """Return the mean of the learners that held each example back, [n, C], NaN where none did."""
    total, count = np.zeros((n_examples, n_classes)), np.zeros(n_examples)
    for positions, proba in zip(held.positions, held.proba, strict=True):
        # A learner holds an example back at most once, so that no sum is lost.
        total[positions] += proba
        count[positions] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count[:, None])


def _within(codes: NDArray[Any], most: int) -> bool:
    return not len(codes) or bool(codes.min() >= 0 and codes.max() < most)
