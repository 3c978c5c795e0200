"""Single models: one learner on the base nodes, a graph neural network without an ensemble.

In: a network and labelled nodes or pairs. Out: estimators that wrap a model of one learner whose roots are
the entities' base nodes; no relative is ever drawn. Parameters are those of the learner (`learner`) and of
its training (`training`), as for :class:`honlearn.DGEClassifier`. A learner that is listed in
:data:`honlearn.learners.KINDS` becomes a single model with the two lines of a class here and its entry in
:mod:`honlearn.baselines.catalogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from honlearn.baselines.contract import Baseline, LinkBaseline, NodeBaseline, State
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Architecture, count_parameters
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted, forget_checkpoints
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.node_model import NodeModel, Plan
from honlearn.ensemble.pair_model import PairModel, PairPlan
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.ensemble.pairs import PairArchitecture
from honlearn.errors import ParameterError
from honlearn.learners import KINDS, Learner
from honlearn.sampling.pairs import Pairs as PairCodes
from honlearn.sampling.pairs import PairSampler
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import Label
from honlearn.tasks import parameters as check
from honlearn.tasks.inputs import Labels, Names, Weights
from honlearn.tasks.link_split import hide_pairs
from honlearn.tasks.nested import Nested, as_learners
from honlearn.tasks.saving import feature_tensors
from honlearn.tasks.settings import PlainPairs, Training


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
        self, pairs: PairCodes, seed: int, learners: Sequence[int], *labels: Label, joint: bool
    ) -> NDArray[np.int32]:
        """Return the base nodes of both ends of each pair for each learner, int32 [L, B, 2]."""
        return np.repeat(np.asarray(pairs, np.int32)[None], len(learners), 0)

    def possible(self, pairs: PairCodes, joint: bool) -> NDArray[np.int32]:
        """Return the base nodes of these pairs, ascending."""
        return np.unique(pairs).astype(np.int32)


@dataclass(eq=False, repr=False)
class Single(Nested, Baseline):
    """What the single models of both tasks share.

    `learner` holds the parameters of the graph neural network, `training` how it is trained; `features` [V,
    F] are as for :class:`honlearn.DGEClassifier`. None is the default of the model. `mask_self` is False
    unless it is set: as published, a single model knows the identity of the node that it classifies.
    """

    learner: Learner | None = None
    training: Training | None = None
    features: Any = None

    task: ClassVar[str]
    any_learner: ClassVar[bool] = False
    learner_defaults: ClassVar[Mapping[str, Any]] = {"mask_self": False}
    parameter_objects: ClassVar[Mapping[str, type]] = {"training": Training}
    data_parameters: ClassVar[tuple[str, ...]] = ("features",)
    # Defaults of a training that come before those of an ensemble's.
    usual: ClassVar[Mapping[str, Any]] = {
        "patience": 10,
        "validation_fraction": 0.15,
        "refit": 1.0,
        "restart": True,
    }

    def _kind(self) -> Learner:
        """Return the learner, resolved for the task and checked."""
        name, has_features = type(self).__name__, self.features is not None
        given, *others = as_learners(name, self.learner, self.default_learner)
        if others or given.kind != self.default_learner:
            own = KINDS[self.default_learner].__name__
            raise ParameterError(
                f"The 'learner' parameter of {name} must be None or honlearn.learners.{own}(...). "
                f"Got {self.learner!r} instead."
            )
        if isinstance(given.edge_power, str):
            raise ParameterError(
                f"The 'edge_power' parameter of {name} must be a number: several learners are needed to "
                f"choose it. Got {given.edge_power!r} instead; use DGEClassifier, or name a power."
            )
        (kind,) = check.learners(name, given, self.default_learner, self.task, has_features)
        kind.mask_self = bool(given.mask_self)
        return kind

    def _check(self) -> None:
        self._options(self._kind(), 1)

    def _options(self, kind: Learner, n_examples: int) -> list[TrainingOptions]:
        training = self.parameter_object("training")
        given = (type(self).__name__, self.task, kind, n_examples, self.verbose, self.usual)
        options = training.options(*given)
        if self.checkpoint is None:
            return [options]
        seconds = self.checkpoint_seconds
        return [replace(options, checkpoint=Path(self.checkpoint), checkpoint_seconds=seconds)]

    def _runtime(self) -> Runtime:
        return Runtime(self.parameter_object("training").device, self.n_threads, type(self).__name__)

    def _inputs(self) -> Any:
        return check.user_features(self.features, self.network)

    def _complete(self, fitted: Fitted, shape: Architecture, options: list[TrainingOptions]) -> None:
        """Set the fitted attributes and remove the checkpoints."""
        state = {**fitted.state, **feature_tensors(self.features, self.network)}
        self.best_epoch_ = int(fitted.best_epochs[0])
        self._finish(state, fitted.history, 0)
        self.n_parameters_ = count_parameters(self.module_)
        forget_checkpoints(shape, options)

    def _fingerprints(self, *arrays: NDArray[Any]) -> Callable[[str], str]:
        features = self._inputs()
        more = [] if features is None else features.arrays()
        return lambda phase: self.fingerprint(phase, *arrays, *more)

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self.module_ = self._model().restore(
            {n: t for n, t in state.items() if not n.startswith("features.")}
        )

    def _model(self) -> Any:
        """Return what is trained."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class SingleClassifier(Single, NodeBaseline):
    """Classifies nodes by one learner."""

    task: ClassVar[str] = "nodes"

    def fit(self, X: Names, y: Labels, sample_weight: Weights | None = None) -> Any:
        """Train on the nodes named in X with labels y; other nodes of the network take part unlabelled."""
        self._sample_weight = sample_weight
        try:
            return super().fit(X, y)
        finally:
            del self._sample_weight

    def _fit_nodes(self, nodes: NDArray[np.int32], codes: NDArray[np.int64], n_classes: int) -> None:
        given = (self.parameter_object("training").class_weight, self._sample_weight, self.classes_, codes)
        weights = check.example_weights(type(self).__name__, *given)
        examples, model, run = Examples(nodes, codes, weights).once(), self._model(), self._runtime()
        options = self._options(model.shape.kinds[0], len(examples))
        with run.threads():
            fitted = model.fit(Plan(run, examples, options, self._fingerprints(*examples.arrays())))
        self._complete(fitted, model.shape, options)

    def _model(self) -> NodeModel:
        kinds, entities = (self._kind(),), self.network.n_entities
        shape = Architecture("bag", False, 1, len(self.classes_), entities, kinds)
        return NodeModel(self.network, BaseNodes(self.network), shape, self._inputs(), self.seed_)

    def _nodes_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        run = self._runtime()
        with run.threads():
            return self._model().inference(self.module_, run, 1).proba(nodes)


@dataclass(eq=False, repr=False)
class SingleLinkPredictor(Single, LinkBaseline):
    """Predicts links by one learner; `pairs` holds how two ends are joined, and whether order counts.

    Messages pass without the edges between the pairs of a batch, and unlinked pairs are drawn anew in every
    epoch, as for :class:`honlearn.DGELinkPredictor`.
    """

    pairs: PlainPairs | None = None

    task: ClassVar[str] = "links"
    parameter_objects: ClassVar[Mapping[str, type]] = {"training": Training, "pairs": PlainPairs}
    usual: ClassVar[Mapping[str, Any]] = {}

    def _check(self) -> None:
        super()._check()
        pairs = self.parameter_object("pairs")
        if type(pairs) is not PlainPairs:
            raise ParameterError(
                f"The 'pairs' parameter of {type(self).__name__} must be None or honlearn.PlainPairs(...): a "
                f"single model reads the ends of a pair alone. Got {pairs!r} instead."
            )
        pairs.check(type(self).__name__)

    @property
    def _is_directed(self) -> bool:
        return bool(self.parameter_object("pairs").directed)

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        model, run = self._model(), self._runtime()
        options = self._options(model.shape.kinds[0], len(examples))
        mark = self._fingerprints(examples.pairs, examples.labels)
        unlinked = unlinked if self.parameter_object("pairs").new_negatives else None
        with run.threads():
            fitted, _ = model.fit(PairPlan(run, examples, unlinked, options, mark))
        self._complete(fitted, model.shape, options)

    def _model(self) -> PairModel:
        pairs, kinds, network = self.parameter_object("pairs"), (self._kind(),), self.network
        shape = PairArchitecture(
            "bag",
            False,
            1,
            2,
            network.n_entities,
            kinds,
            operator=pairs.operator,
            pair_width=pairs.width,
            directed=bool(pairs.directed),
        )
        sampler = BasePairs(network, bool(pairs.directed))
        return PairModel(
            network, sampler, shape, self._inputs(), self.seed_, hide_pairs, bool(pairs.hide_own)
        )

    def _pairs_proba(self, pairs: PairCodes) -> NDArray[np.float32]:
        run = self._runtime()
        with run.threads():
            return self._model().inference(self.module_, run, 1).proba(pairs)[:, 1]


class GraphSAGEClassifier(SingleClassifier):
    """GraphSAGE for nodes."""

    default_learner: ClassVar[str] = "sage"


class GraphSAGELinkPredictor(SingleLinkPredictor):
    """GraphSAGE for links."""

    default_learner: ClassVar[str] = "sage"


class GINClassifier(SingleClassifier):
    """GIN for nodes."""

    default_learner: ClassVar[str] = "gin"


class GINLinkPredictor(SingleLinkPredictor):
    """GIN for links."""

    default_learner: ClassVar[str] = "gin"


class GCNClassifier(SingleClassifier):
    """GCN for nodes."""

    default_learner: ClassVar[str] = "gcn"


class GCNLinkPredictor(SingleLinkPredictor):
    """GCN for links."""

    default_learner: ClassVar[str] = "gcn"


class GCNIIClassifier(SingleClassifier):
    """GCNII for nodes."""

    default_learner: ClassVar[str] = "gcnii"


class GCNIILinkPredictor(SingleLinkPredictor):
    """GCNII for links."""

    default_learner: ClassVar[str] = "gcnii"


class GATClassifier(SingleClassifier):
    """GAT for nodes."""

    default_learner: ClassVar[str] = "gat"


class GATLinkPredictor(SingleLinkPredictor):
    """GAT for links."""

    default_learner: ClassVar[str] = "gat"


class GATv2Classifier(SingleClassifier):
    """GATv2 for nodes."""

    default_learner: ClassVar[str] = "gatv2"


class GATv2LinkPredictor(SingleLinkPredictor):
    """GATv2 for links."""

    default_learner: ClassVar[str] = "gatv2"
