"""SEAL (Zhang & Chen, NeurIPS 2018): a pair is linked if what surrounds it looks like what surrounds a link.

In: a network and labelled pairs. Out: the probability of a link. Each pair's enclosing subgraph, without the
edges of the pair itself, is labelled by the distances to both ends (:mod:`honlearn.baselines.double_radius`)
and scored by a DGCNN (:mod:`honlearn.baselines.dgcnn`): p(u, v) = σ(DGCNN(G_uv, labels, features)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from honlearn.baselines.contract import DirectedBaseline, State
from honlearn.baselines.dgcnn import DGCNN, INPUTS, LEAST_POOL, Shape
from honlearn.baselines.graph import Graph
from honlearn.baselines.neural import Neural
from honlearn.baselines.sort_pool import pool_size
from honlearn.baselines.subgraphs import Extractor, Subgraphs
from honlearn.baselines.training import Losses, Validate
from honlearn.engine.adjacency import DIRECTIONS
from honlearn.ensemble.examples import split
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.errors import check_choice, check_integer, check_real
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import Pairs
from honlearn.seeds import generator
from honlearn.tasks.link_split import hide_pairs

# Subgraphs that are scored at once where nothing is learnt, and that the pool's size is taken from.
_BLOCK, _MEASURED = 256, 2000


@dataclass(eq=False, repr=False)
class SEALLinkPredictor(DirectedBaseline, Neural):
    """SEAL for links.

    A subgraph has the nodes within `hops` steps, at most `max_per_hop` new ones a hop, drawn uniformly (None:
    all). `n_layers` convolutions of `width` and one of a single channel follow; sort pooling keeps as many
    nodes as a share `pool` of the training subgraphs have at most. `inputs` are the features of a node:
    ``"labels"`` alone is the original; SEAL allows explicit features beside them, here ``"labels+degree"``
    (logarithms of the number and the weight of a node's edges in the network, less the pair's own),
    ``"labels+identity"`` (a row for each entity) or ``"labels+degree+identity"``. Steps have `batch_size`
    pairs; an epoch passes `max_pairs` of them (None: all), drawn anew; at most a quarter as many validate.

    With `directed` the source has a label of its own. Messages pass along `direction`, with one weight matrix
    per side; an edge counts by its weight to `edge_power`, over the sum of its node's edges.

    On a higher-order network an end is a whole family, so that relatives of u are at distance 0 of u and no
    edge between relatives of the pair is seen; other contexts are nodes of their own. The paper ran
    SEAL on the first-order network only, with 1 to 3 layers and hops.
    """

    # A subgraph is extracted for every pair.
    scores_all_pairs: ClassVar[bool] = False

    hops: int = 1
    max_per_hop: int | None = 100
    pool: float = 0.6
    inputs: str = "labels+degree"
    batch_size: int = 64
    max_pairs: int | None = 12_000
    n_layers: int = 3
    width: int = 32
    edge_power: float = 0.5
    learning_rate: float = 0.001
    max_epochs: int = 20
    patience: int = 4
    validation_fraction: float = 0.1
    refit: float = 0.0

    def _check(self) -> None:
        super()._check()
        name = type(self).__name__
        for field in ("hops", "batch_size"):
            check_integer(name, field, getattr(self, field), 1)
        for field in ("max_per_hop", "max_pairs"):
            if getattr(self, field) is not None:
                check_integer(name, field, getattr(self, field), 1)
        check_real(name, "pool", self.pool, 0, 1)
        check_choice(name, "inputs", self.inputs, INPUTS)
        check_choice(name, "direction", self.direction, DIRECTIONS)

    def _extractor(self, network: HigherOrderNetwork) -> Extractor:
        return Extractor(network, self.hops, self.max_per_hop, self.edge_power, self.seed_)

    def _module(self, graph: Graph) -> nn.Module:
        return DGCNN(
            Shape(
                graph.n_entities,
                self.n_layers,
                self.width,
                self.pool_size_,
                self.dropout,
                self.inputs,
                self.direction,
                self.directed,
            )
        )

    def _restore(self, state: State) -> None:
        self.pool_size_ = int(state["pool"])
        super()._restore(state)

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        graph = self._graph()
        self.pool_size_ = self._measured(examples)

        def task(module: nn.Module, whole: bool) -> tuple[Losses, Validate | None]:
            trained, held = split(
                examples.labels, 0.0 if whole else self._held_share(len(examples)), self.seed_, "joint"
            )
            linked = held[examples.labels[held] == 1]
            extract = self._extractor(hide_pairs(self.network, examples.pairs[linked]))
            free = held[examples.labels[held] == 0]

            def losses(epoch: int) -> Iterator[torch.Tensor]:
                random = generator(self.seed_, "pairs", epoch)
                some = random.permutation(trained)[: self.max_pairs]
                pairs, labels = examples.pairs[some], examples.labels[some]
                if unlinked is not None:
                    places = np.flatnonzero(labels == 0)
                    pairs[places] = unlinked.draw(random, len(places), examples.pairs[free])
                for start in range(0, len(some), self.batch_size):
                    part = slice(start, start + self.batch_size)
                    logits = module(extract(pairs[part]), graph.base)
                    truth = torch.from_numpy(labels[part]).float()
                    yield F.binary_cross_entropy_with_logits(logits, truth)

            if not len(held):
                return losses, None
            return losses, self._validation(module, extract, graph, examples, held)

        arrays = (examples.pairs, examples.labels)
        state, history = self._train_twice(lambda: self._module(graph), task, arrays)
        self._finish(state, history)

    def _measured(self, examples: PairExamples) -> int:
        some = generator(self.seed_, "pool").permutation(len(examples))[:_MEASURED]
        sizes = self._extractor(self.network)(examples.pairs[some]).sizes
        return pool_size(sizes, self.pool, LEAST_POOL)

    def _held_share(self, count: int) -> float:
        most = count if self.max_pairs is None else self.max_pairs / 4
        return min(self.validation_fraction, most / count)

    def _validation(
        self,
        module: nn.Module,
        extract: Extractor,
        graph: Graph,
        examples: PairExamples,
        held: NDArray[np.int64],
    ) -> Validate:
        from sklearn.metrics import average_precision_score

        graphs = list(_blocks(extract, examples.pairs[held]))
        truth = torch.from_numpy(examples.labels[held]).float()
        # A few pairs of a user can leave one kind alone to validate on: they have a loss, but no precision.
        is_scored = 0 < int(truth.sum()) < len(truth)

        def validate() -> tuple[float, float]:
            logits = torch.cat([module(some, graph.base) for some in graphs])
            score = float(average_precision_score(truth.numpy(), logits.numpy())) if is_scored else np.nan
            return float(F.binary_cross_entropy_with_logits(logits, truth)), score

        return validate

    @torch.no_grad()
    def _pairs_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        base = self._graph().base
        logits = [self.module_(some, base) for some in _blocks(self._extractor(self.network), pairs)]
        return np.asarray(torch.sigmoid(torch.cat(logits)).numpy(), np.float32)


def _blocks(extract: Extractor, pairs: Pairs) -> Iterator[Subgraphs]:
    for start in range(0, len(pairs), _BLOCK):
        yield extract(pairs[start : start + _BLOCK])
