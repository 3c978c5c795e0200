"""Neural baselines: an encoder of the whole graph, a head for the task, and how both are trained.

In: a :class:`Graph` and labelled entities or pairs. Out: fitted estimators. A model's file has an encoder and
a dataclass that makes it; the two tasks are the mixins :class:`NeuralClassifier` and
:class:`NeuralLinkPredictor`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from honlearn.baselines.contract import Baseline, DirectedBaseline, NodeBaseline, State
from honlearn.baselines.graph import Graph
from honlearn.baselines.pair_head import PairBatches, PairHead
from honlearn.baselines.training import Losses, ModuleLoop, Validate, stream
from honlearn.engine.adjacency import DIRECTIONS
from honlearn.ensemble.examples import Examples, split
from honlearn.ensemble.fitting import histories, train_twice
from honlearn.ensemble.learner_training import Schedule
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.errors import check_choice, check_integer, check_real
from honlearn.sampling.pairs import Pairs
from honlearn.tasks.settings import check_operator

# Pairs that are scored at once.
_BLOCK = 65_536

Trained = TypeVar("Trained", bound=nn.Module)


class Encoder(nn.Module):
    """Represents every node of a graph: ``encoder(encoder.view(graph))`` is [N, width], base nodes first.

    `view` computes what does not change while weights do (normalised adjacency and the like).
    """

    width: int

    def view(self, graph: Graph) -> Any:
        """Return what `forward` takes; the graph itself unless a model needs more."""
        return graph


class Identity(nn.Module):
    """The look-up that stands for a one-hot of the base times a weight matrix: rows [V, d], Glorot uniform.

    Dropout takes whole rows, as dropout on a one-hot does.
    """

    def __init__(self, n_entities: int, width: int, dropout: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_entities, width))
        nn.init.xavier_uniform_(self.weight)
        self.dropout = dropout

    def forward(self, base: torch.Tensor) -> torch.Tensor:
        """Return the rows of these entities [N], as [N, d]."""
        rows = F.embedding(base, self.weight)
        if not self.training or not self.dropout:
            return rows
        kept = torch.rand(len(base), 1) >= self.dropout
        return rows * kept / (1.0 - self.dropout)


@dataclass(eq=False, repr=False)
class Neural(Baseline):
    """Parameters of all neural baselines; a model overrides defaults, adds its own, and makes its encoder.

    `n_layers` layers of width `width`, `dropout` on the inputs of each. A neighbour counts by its edge's
    weight to `edge_power`; `direction` is whose messages a node receives: ``"in"`` (along the edges),
    ``"out"``, or ``"both"``. Adam with `learning_rate` and `weight_decay`; at most `max_epochs`, ended after
    `patience` epochs without a better loss on a stratified `validation_fraction`; then all is trained anew
    on everything for `refit` times the best number of epochs, or with 0 the best epoch is restored. A
    `validation_fraction` of 0 trains `max_epochs`.
    """

    n_layers: int = 2
    width: int = 128
    dropout: float = 0.4
    edge_power: float = 1.0
    direction: str = "both"
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    max_epochs: int = 200
    patience: int = 20
    validation_fraction: float = 0.15
    refit: float = 1.0

    def _encoder(self, graph: Graph) -> Encoder:
        """Return a new encoder for this graph."""
        raise NotImplementedError

    def _check(self) -> None:
        name = type(self).__name__
        check_choice(name, "direction", self.direction, DIRECTIONS)
        check_integer(name, "n_layers", self.n_layers, 1, 100)
        for field in ("width", "max_epochs", "patience"):
            check_integer(name, field, getattr(self, field), 1)
        check_real(name, "learning_rate", self.learning_rate, 0, open_below=True)
        for field, most in (
            ("dropout", 0.99),
            ("validation_fraction", 0.9),
            ("edge_power", 10),
            ("weight_decay", float("inf")),
            ("refit", 100),
            ("checkpoint_seconds", float("inf")),
        ):
            check_real(name, field, getattr(self, field), 0, most)

    def _graph(self) -> Graph:
        return Graph.of(self.network, self.edge_power)

    def _path(self, phase: str) -> Path | None:
        """Return the checkpoint of a phase."""
        path = None if self.checkpoint is None else Path(self.checkpoint)
        return path if path is None or phase == "search" else path.with_name(path.name + ".refit")

    def _train_twice(
        self,
        make: Callable[[], Trained],
        task: Callable[[Trained, bool], tuple[Losses, Validate | None]],
        examples: tuple[NDArray[Any], ...],
    ) -> tuple[State, list[dict[str, Any]]]:
        """Find the best number of epochs on a validation part, then train on everything; see `refit`.

        `task(module, whole)` gives the losses and the validation, on everything if `whole`.
        """
        options = TrainingOptions(
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            max_epochs=self.max_epochs,
            patience=self.patience,
            validation_fraction=self.validation_fraction,
            refit=self.refit,
            checkpoint_seconds=self.checkpoint_seconds,
            show=self.verbose,
        )

        def loop(options: TrainingOptions, schedule: Schedule, phase: str) -> ModuleLoop:
            with stream(self.seed_, "init"):
                module = make()
            losses, validate = task(module, options.validation_fraction == 0 or phase == "refit")
            mark = "" if options.checkpoint is None else self.fingerprint(phase, *examples)
            label = f"training {phase}"
            return ModuleLoop(module, losses, validate, options, self.seed_, schedule, mark, label)

        state, loops = train_twice(options, self._path, loop)
        for phase in ("search", "refit"):
            done = self._path(phase)
            if done is not None:
                done.unlink(missing_ok=True)
        self.best_epoch_ = loops[-1].at.best_epochs[0][0]
        return state, histories(loops)

    def _finish(self, state: State, history: list[dict[str, Any]], n_parameters: int = 0) -> None:
        super()._finish(state, history, n_parameters)
        self.n_parameters_ = sum(parameter.numel() for parameter in self.module_.parameters())

    def _module(self, graph: Graph) -> nn.Module:
        """Return a new module for the task: an encoder and a head."""
        raise NotImplementedError

    def _restore(self, state: State) -> None:
        super()._restore(state)
        with stream(self.seed_, "init"):
            self.module_ = self._module(self._graph())
        self.module_.load_state_dict(state)
        self.module_.eval()


class NodeModel(nn.Module):
    """An encoder and a linear layer to the classes."""

    def __init__(self, encoder: Encoder, n_classes: int) -> None:
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(encoder.width, n_classes)

    def forward(self, view: Any) -> torch.Tensor:
        """Return logits [N, C] of all nodes."""
        return self.head(self.encoder(view))  # type: ignore[no-any-return]


class NeuralClassifier(NodeBaseline, Neural):
    """Node classification by a graph's encoder, full batch: one step per epoch.

    A node that is named twice with one label counts once, so that no copy of it is validated on.
    """

    def _module(self, graph: Graph) -> NodeModel:
        return NodeModel(self._encoder(graph), len(self.classes_))

    def _fit_nodes(self, nodes: NDArray[np.int32], codes: NDArray[np.int64], n_classes: int) -> None:
        graph, examples = self._graph(), Examples(nodes, codes, np.ones(len(nodes), np.float32)).once()
        nodes, codes = examples.nodes, examples.labels

        def task(module: NodeModel, whole: bool) -> tuple[Losses, Validate | None]:
            fraction = 0.0 if whole else self.validation_fraction
            trained, held = split(codes, fraction, self.seed_, "joint")
            losses = self._losses(module, graph, nodes[trained], codes[trained])
            if not len(held):
                return losses, None
            return losses, self._validation(module, graph, nodes[held], codes[held])

        state, history = self._train_twice(lambda: self._module(graph), task, (nodes, codes))
        self._finish(state, history)

    def _losses(
        self, module: NodeModel, graph: Graph, nodes: NDArray[np.int32], codes: NDArray[np.int64]
    ) -> Losses:
        """Return the losses of an epoch; a model that samples parts of the graph overrides this."""
        view = module.encoder.view(graph)
        rows, truth = torch.from_numpy(nodes).long(), torch.from_numpy(codes)

        def losses(epoch: int) -> Iterator[torch.Tensor]:
            yield F.cross_entropy(module(view)[rows], truth)

        return losses

    def _validation(
        self, module: NodeModel, graph: Graph, nodes: NDArray[np.int32], codes: NDArray[np.int64]
    ) -> Validate:
        view = module.encoder.view(graph)
        rows, truth = torch.from_numpy(nodes).long(), torch.from_numpy(codes)

        def validate() -> tuple[float, float]:
            logits = module(view)[rows]
            right = (logits.argmax(1) == truth).float().mean()
            return float(F.cross_entropy(logits, truth)), float(right)

        return validate

    @torch.no_grad()
    def _nodes_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        module: Any = self.module_
        with stream(self.seed_, "predict"):
            logits = module(module.encoder.view(self._graph()))
        return np.asarray(torch.softmax(logits[torch.from_numpy(nodes).long()], 1).numpy(), np.float32)


class PairModel(nn.Module):
    """An encoder and a head for pairs."""

    def __init__(self, encoder: Encoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, view: Any, pairs: torch.Tensor) -> torch.Tensor:
        """Return logits [B] of these pairs [B, 2]."""
        h = self.encoder(view)
        return self.head(h[pairs[:, 0]], h[pairs[:, 1]])  # type: ignore[no-any-return]


@dataclass(eq=False, repr=False)
class NeuralLinkPredictor(DirectedBaseline, Neural):
    """Link prediction by a graph's encoder and a small network over pairs.

    `operator` joins the two ends as in :class:`honlearn.DGELinkPredictor`, a dense layer of `pair_width`
    follows. An epoch passes all linked pairs in `n_batches` steps, with as many unlinked ones, drawn anew; a
    step passes messages without the edges of its own pairs, as tested pairs must do without theirs.
    """

    operator: str = "concat+hadamard"
    pair_width: int = 64
    n_batches: int = 4
    max_epochs: int = 50
    patience: int = 5
    validation_fraction: float = 0.1
    refit: float = 0.0

    def _check(self) -> None:
        super()._check()
        check_integer(type(self).__name__, "n_batches", self.n_batches, 1)
        check_integer(type(self).__name__, "pair_width", self.pair_width, 0)
        check_operator(type(self).__name__, self.operator)

    def _module(self, graph: Graph) -> PairModel:
        encoder = self._encoder(graph)
        return PairModel(encoder, PairHead(encoder.width, self.operator, self.pair_width, self.directed))

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        graph = self._graph()

        def task(module: PairModel, whole: bool) -> tuple[Losses, Validate | None]:
            fraction = 0.0 if whole else self.validation_fraction
            batches = PairBatches.of(self.network, examples, unlinked, fraction, self.seed_)

            losses = self._pair_losses(module, graph, batches)
            return losses, None if not batches.has_validation else self._validation(module, graph, batches)

        arrays = (examples.pairs, examples.labels)
        state, history = self._train_twice(lambda: self._module(graph), task, arrays)
        self._finish(state, history)

    def _pair_losses(self, module: PairModel, graph: Graph, batches: PairBatches) -> Losses:
        """Return the losses of an epoch; a model that samples parts of the graph overrides this."""

        def losses(epoch: int) -> Iterator[torch.Tensor]:
            for pairs, labels, hidden in batches.epoch(epoch, self.n_batches):
                part = graph.without(hidden)
                logits = module(module.encoder.view(part), pairs)
                yield F.binary_cross_entropy_with_logits(logits, labels)

        return losses

    def _validation(self, module: PairModel, graph: Graph, batches: PairBatches) -> Validate:
        from sklearn.metrics import average_precision_score

        pairs, labels, hidden = batches.validation()
        part = graph.without(hidden)
        view = module.encoder.view(part)
        # A few pairs of a user can leave one kind alone to validate on: they have a loss, but no precision.
        is_scored = 0 < int(labels.sum()) < len(labels)

        def validate() -> tuple[float, float]:
            logits = module(view, pairs)
            score = float(average_precision_score(labels.numpy(), logits.numpy())) if is_scored else math.nan
            return float(F.binary_cross_entropy_with_logits(logits, labels)), score

        return validate

    @torch.no_grad()
    def _pairs_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        module: Any = self.module_
        with stream(self.seed_, "predict"):
            h = module.encoder(module.encoder.view(self._graph()))
        parts = []
        for start in range(0, len(pairs), _BLOCK):
            u, v = torch.from_numpy(pairs[start : start + _BLOCK]).long().T
            parts.append(torch.sigmoid(module.head(h[u], h[v])))
        return np.asarray(torch.cat(parts).numpy(), np.float32)
