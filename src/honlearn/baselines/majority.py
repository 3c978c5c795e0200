"""The floor for nodes: every node gets the frequencies of the classes in training.

In: labels. Out: the same probabilities [C] for every node. The network is not looked at; a model
that does no better has learnt nothing from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.baselines.contract import NodeBaseline
from honlearn.stored import Spec


@dataclass(eq=False, repr=False)
class MajorityClassifier(NodeBaseline):
    """Class frequencies; the most frequent class is predicted."""

    probability_tensors: ClassVar[tuple[str, ...]] = ("frequency",)

    def _fit_nodes(self, nodes: NDArray[np.int32], codes: NDArray[np.int64], n_classes: int) -> None:
        frequency = np.bincount(codes, minlength=n_classes) / len(codes)
        self._finish({"frequency": torch.from_numpy(frequency)}, [], n_classes)

    def _specs(self) -> Mapping[str, Spec]:
        return {"frequency": ("f8", (len(self.classes_),))}

    def _nodes_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        one = self.state_["frequency"].numpy().astype(np.float32)
        return np.repeat(one[None], len(nodes), 0)
