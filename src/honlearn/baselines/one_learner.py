"""One learner of ours on the base nodes: what GraphSAGE and GIN share.

In: a network and labelled nodes or pairs. Out: estimators that are an ensemble of one whose roots are the
entities' base nodes; no relative is ever drawn, so that what is left is the plain graph neural network.
Parameters are the fields of a dataclass, as for every baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from honlearn.baselines.contract import speaking_of
from honlearn.hon.network import HigherOrderNetwork
from honlearn.models.inference import Inference
from honlearn.models.pair_inference import PairInference
from honlearn.sampling.pairs import Pairs, PairSampler
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import Label
from honlearn.tasks.fitting import EnsembleEstimator
from honlearn.tasks.links import DGELinkPredictor
from honlearn.tasks.nodes import DGEClassifier


class BaseNodes(RelativeSampler):
    """Every entity is its base node.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "C|A", "C"], ["C|A", "D", "D"], [2, 2, 6])
    >>> BaseNodes(hon).draw(0, [0, 1]).tolist(), BaseNodes(hon).probabilities.tolist()
    ([[0, 1, 2], [0, 1, 2]], [1.0, 1.0, 1.0, 0.0])
    """

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """1 for a base node, 0 for any other, float64 [N]."""
        return (np.arange(self.network.n_nodes) < self.network.n_entities).astype(np.float64)

    def draw(self, seed: int, learners: Sequence[int], *labels: Label) -> NDArray[np.int32]:
        """Return the base node of each entity for each learner, int32 [L, V]."""
        return np.repeat(np.arange(self.network.n_entities, dtype=np.int32)[None], len(learners), 0)


class BasePairs(PairSampler):
    """Both ends of a pair are their base nodes."""

    def draw(
        self, pairs: Pairs, seed: int, learners: Sequence[int], *labels: Label, joint: bool
    ) -> NDArray[np.int32]:
        """Return the base nodes of both ends of each pair for each learner, int32 [L, B, 2]."""
        return np.repeat(np.asarray(pairs, np.int32)[None], len(learners), 0)

    def possible(self, pairs: Pairs, joint: bool) -> NDArray[np.int32]:
        """Return the base nodes of these pairs, ascending."""
        return np.unique(pairs).astype(np.int32)


@dataclass(eq=False, repr=False)
class OneLearner(EnsembleEstimator):
    """Parameters of both models and both tasks; their meaning is that of :class:`honlearn.DGEClassifier`.

    `widths` has one number a layer; `fan_outs` None reads whole neighbourhoods, numbers sample as many in-
    and out-neighbours at each depth (the paper: 64 and 1). A neighbour counts by its edge's weight to
    `edge_power`. The paper's dropout is 0.4 and its weights count in full; on inner parts of Wiki and Air 0.6
    (Wiki) and square roots of the weights (Air) did better.
    """

    network: HigherOrderNetwork
    widths: int | Sequence[int] = (128, 128)
    fan_outs: Sequence[int] | None = None
    edge_power: Any = 0.5
    normalize: bool = True
    features: Any = None
    identity: bool = True
    learning_rate: float = 0.01
    batch_size: int | None = None
    patience: int = 10
    validation_fraction: float = 0.15
    refit: float = 1.0
    input_dropout: float = 0.6
    hidden_dropout: float = 0.6
    weight_decay: float = 0.0
    device: str = "cpu"
    n_threads: int | None = None
    checkpoint: str | PathLike[str] | None = None
    checkpoint_seconds: float = 60.0
    random_state: int | np.random.Generator | None = None
    verbose: bool | None = None

    _has_members: ClassVar[bool] = False
    _settled: ClassVar[Mapping[str, Any]] = {
        "variant": "bag",
        "shared": False,
        "n_learners": 1,
        "n_heads": 1,
        "n_draws": 1,
        "echo": True,
        "path_features": 0,
        "kernel_share": 0.0,
        "order": None,
        "tau": None,
        "min_support": None,
    }


@dataclass(eq=False, repr=False)
class NodeLearner(OneLearner, DGEClassifier):
    """Classifies nodes by one learner; `class_weight` is None, ``"balanced"`` or a mapping."""

    max_epochs: int = 100
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on the nodes named in X with labels y; other nodes of the network take part unlabelled."""
        with speaking_of(self):
            self._check()
            return super().fit(X, y, sample_weight)

    def _sampler(self) -> RelativeSampler:
        return BaseNodes(self.network_)

    def _inference(self, X: Any, what: str) -> tuple[NDArray[np.int32], Inference]:
        with speaking_of(self):
            return super()._inference(X, what)


@dataclass(eq=False, repr=False)
class LinkLearner(OneLearner, DGELinkPredictor):
    """Predicts links by one learner.

    `operator`, `pair_width` and `directed` are as for :class:`honlearn.DGELinkPredictor`. Messages pass
    without the edges between the pairs of a batch, and unlinked pairs are drawn anew in every epoch.
    """

    normalize: bool = False
    operator: str = "concat+hadamard"
    pair_width: int = 64
    directed: bool = True
    max_epochs: int | None = None
    patience: int = 5
    validation_fraction: float = 0.1
    refit: float = 0.0
    input_dropout: float = 0.4
    hidden_dropout: float = 0.2

    _settled: ClassVar[Mapping[str, Any]] = {
        **OneLearner._settled,
        "pair_draw": "independent",
        "hide_own": True,
        "new_negatives": True,
    }

    def fit(self, X: Any = None, y: Any = None, *, exclude: Any = None) -> Any:
        """Train on pairs X [n, 2] with labels y (1: linked, 0: not), or on pairs of the network itself.

        `exclude` names pairs that are held out for a test: they and their ways back are no examples.
        """
        with speaking_of(self):
            self._check()
            return super().fit(X, y, exclude=exclude)

    def _sampler(self) -> PairSampler:
        return BasePairs(self.network_, self.directed)

    def _inference(self, X: Any, what: str) -> tuple[Pairs, PairInference]:
        with speaking_of(self):
            return super()._inference(X, what)
