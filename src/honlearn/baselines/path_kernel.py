"""Kernel ridge regression on path vectors, without any graph neural network: a part of our ensemble, alone.

In: a network and labelled nodes. Out: class probabilities of every entity [V, C], which are looked up. It is
the best of the kernels on path vectors alone that :class:`honlearn.DGEClassifier` mixes into its
probabilities on this network (``PathKernel(share=…)``), to the bit with the same seed and equal weights of
the examples. A table with both shows what the learners and the other kernels add.

Paths count as far as the contexts of the network reach: on a first-order network two steps are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.baselines.contract import NodeBaseline, State
from honlearn.ensemble.examples import Examples
from honlearn.errors import check_real
from honlearn.path_kernel.path_vectors import choose_vectors
from honlearn.path_kernel.ridge import fit_kernel
from honlearn.stored import Spec


@dataclass(eq=False, repr=False)
class PathKernelClassifier(NodeBaseline):
    """Calibrated kernel ridge regression on vectors of the paths, see :mod:`honlearn.path_kernel.ridge`.

    There is nothing to set: reach, smoothing and dimensions of the vectors and the penalty are chosen on
    labelled nodes that are left out. Fitted: ``reach_``, ``smoothing_``, ``dimensions_``, ``penalty_``, and
    ``loss_``, the log loss of the labelled nodes. The probabilities of a labelled node do not use its own
    label, so a score on the training nodes is not that of a model that has seen them; only the choices have,
    and with a few dozen labels that shows.

    A fit takes seconds, on one thread: `checkpoint` is accepted, but nothing is kept on the way.
    """

    probability_tensors: ClassVar[tuple[str, ...]] = ("proba",)

    def _check(self) -> None:
        check_real(type(self).__name__, "checkpoint_seconds", self.checkpoint_seconds, 0)

    def _fit_nodes(self, nodes: NDArray[np.int32], codes: NDArray[np.int64], n_classes: int) -> None:
        examples = Examples(nodes, codes, np.ones(len(nodes), np.float32))
        _, (vectors, *_) = choose_vectors(self.network, examples, n_classes, self.seed_)
        fitted = fit_kernel(vectors.values, examples, n_classes, self.seed_)
        state = {
            "proba": torch.from_numpy(fitted.proba),
            "reach": torch.tensor(vectors.reach),
            "smoothing": torch.tensor(vectors.smoothing, dtype=torch.float64),
            "dimensions": torch.tensor(vectors.values.shape[1]),
            "penalty": torch.tensor(fitted.penalty, dtype=torch.float64),
            "loss": torch.tensor(fitted.loss, dtype=torch.float64),
        }
        self._finish(state, [], sum(tensor.numel() for tensor in state.values()))

    def _specs(self) -> Mapping[str, Spec]:
        numbers: dict[str, Spec] = dict.fromkeys(("smoothing", "penalty", "loss"), ("f8", ()))
        shape = (self.network.n_entities, len(self.classes_))
        return {"proba": ("f4", shape), "reach": ("i8", ()), "dimensions": ("i8", ()), **numbers}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self.reach_, self.dimensions_ = int(state["reach"]), int(state["dimensions"])
        self.smoothing_, self.penalty_ = float(state["smoothing"]), float(state["penalty"])
        self.loss_ = float(state["loss"])

    def _nodes_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        return np.asarray(self.state_["proba"].numpy()[nodes], np.float32)
