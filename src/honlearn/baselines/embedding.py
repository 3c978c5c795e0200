"""Embed the entities once, then a logistic regression: what HONEM and path2vec share.

In: a matrix of embeddings [V, d] that a model makes of its network, without labels. Out: estimators for nodes
(multinomial regression on standardised embeddings) and for links (regression on what pair operators make of
the two ends). What is kept of a fit are tensors: embeddings, coefficients and intercepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.baselines.contract import Baseline, DirectedBaseline, NodeBaseline, State
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.ensemble.pairs import operate
from honlearn.errors import FormatError, check_integer, check_real
from honlearn.sampling.pairs import Pairs
from honlearn.stored import Spec
from honlearn.tasks.settings import check_operator

Rows = NDArray[np.float64]

# Pairs that are scored at once.
_BLOCK = 65_536
_STEPS = 5000


@dataclass(eq=False, repr=False)
class Embedding(Baseline):
    """Parameters of all models that embed first; a model overrides defaults and makes its embeddings.

    `dimensions` is the length of an entity's vector; `regularization` is the inverse strength of the
    regression's L2 penalty, scikit-learn's ``C``: small values hold the coefficients back.
    """

    dimensions: int = 128
    regularization: float = 0.1

    def _embed(self) -> tuple[Rows, list[dict[str, Any]]]:
        """Return the embedding of each entity [V, d], and a history where there are epochs."""
        raise NotImplementedError

    def _check(self) -> None:
        name = type(self).__name__
        check_integer(name, "dimensions", self.dimensions, 1)
        check_real(name, "regularization", self.regularization, 0, open_below=True)
        check_real(name, "checkpoint_seconds", self.checkpoint_seconds, 0)

    def _restore(self, state: State) -> None:
        # Products may differ in the last bit by where a tensor lies in memory; copies all lie alike.
        super()._restore({name: tensor.clone() for name, tensor in state.items()})

    def _keep(
        self, embedding: torch.Tensor, regression: tuple[Rows, Rows], history: list[dict[str, Any]]
    ) -> None:
        coefficients, intercepts = (torch.from_numpy(part).float() for part in regression)
        state: State = {"embedding": embedding, "coefficients": coefficients, "intercepts": intercepts}
        self._finish(state, history, sum(tensor.numel() for tensor in state.values()))


class EmbeddingClassifier(NodeBaseline, Embedding):
    """Nodes: softmax(z W + b) of the standardised embedding z."""

    def _fit_nodes(self, nodes: NDArray[np.int32], codes: NDArray[np.int64], n_classes: int) -> None:
        with threadpool_limits(1):
            embedding, history = self._embed()
            rows = torch.from_numpy(standardised(embedding)).float()
            found = regression(rows.numpy()[nodes].astype(np.float64), codes, n_classes, self.regularization)
        self._keep(rows, found, history)

    def _specs(self) -> Mapping[str, Spec]:
        classes = len(self.classes_)
        return {
            "embedding": ("f4", (self.network.n_entities, "dimensions")),
            "coefficients": ("f4", (classes, "dimensions")),
            "intercepts": ("f4", (classes,)),
        }

    def _nodes_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        rows = self.state_["embedding"][torch.from_numpy(nodes).long()]
        logits = rows @ self.state_["coefficients"].T + self.state_["intercepts"]
        return np.asarray(torch.softmax(logits, 1).numpy(), np.float32)


@dataclass(eq=False, repr=False)
class EmbeddingLinkPredictor(DirectedBaseline, Embedding):
    """Links: sigmoid(w x + b), x what `operator` makes of the two ends, as in :class:`NeuralLinkPredictor`.

    Without direction x is the mean of both orders. The embeddings have seen the links that are trained on,
    as is usual for models that embed first, but never those of a test.
    """

    operator: str = "concat+hadamard"

    def _check(self) -> None:
        super()._check()
        check_operator(type(self).__name__, self.operator)

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        with threadpool_limits(1):
            embedding, history = self._embed()
            rows = torch.from_numpy(standardised(embedding)).float()
            features = self._pair_features(rows, examples.pairs).numpy()
            mean, scale = moments(features)
            features -= mean.astype(np.float32)
            features /= scale.astype(np.float32)
            both, at = regression(features, examples.labels, 2, self.regularization)
        # The scale goes into the coefficients, so that predictions need none.
        weights = (both[1] - both[0]) / scale
        self._keep(rows, (weights, np.atleast_1d(at[1] - at[0] - weights @ mean)), history)

    def _specs(self) -> Mapping[str, Spec]:
        return {
            "embedding": ("f4", (self.network.n_entities, None)),
            "coefficients": ("f4", 1),
            "intercepts": ("f4", (1,)),
        }

    def _restore(self, state: State) -> None:
        super()._restore(state)
        width = self._pair_features(self.state_["embedding"], np.zeros((1, 2), np.int32)).shape[1]
        if width != len(self.state_["coefficients"]):
            raise FormatError(
                f"{len(self.state_['coefficients']):,} coefficients for {width:,} features of a pair"
            )

    def _pair_features(self, rows: torch.Tensor, pairs: Pairs) -> torch.Tensor:
        """Return the features of each pair, float32 [B, F]."""
        ends = torch.from_numpy(pairs).long()
        u, v = rows[ends[:, 0]], rows[ends[:, 1]]
        there = torch.cat([operate(name, u, v) for name in self.operator.split("+")], 1)
        if self.directed:
            return there
        return (there + torch.cat([operate(name, v, u) for name in self.operator.split("+")], 1)) / 2

    def _pairs_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        state = self.state_
        parts = [
            torch.sigmoid(
                self._pair_features(state["embedding"], pairs[start : start + _BLOCK]) @ state["coefficients"]
                + state["intercepts"]
            )
            for start in range(0, len(pairs), _BLOCK)
        ]
        return np.asarray(torch.cat(parts).numpy(), np.float32)


def regression(rows: NDArray[Any], codes: NDArray[np.int64], n_classes: int, strength: float) -> Any:
    """Return coefficients [C, F] and intercepts [C] of a multinomial regression, C at least the classes seen.

    One class alone has a logit of 0. Of two, scikit-learn gives the second's alone.
    """
    from sklearn.linear_model import LogisticRegression

    coefficients, intercepts = np.zeros((n_classes, rows.shape[1])), np.zeros(n_classes)
    if n_classes > 1:
        found = LogisticRegression(C=strength, max_iter=_STEPS).fit(rows, codes)
        own = slice(1, 2) if n_classes == 2 else slice(None)
        coefficients[own], intercepts[own] = found.coef_, found.intercept_
    return coefficients, intercepts


def standardised(rows: Rows) -> Rows:
    """Return the rows with a mean of 0 in each column, all divided by one number, to a mean square of 1.

    One number for all: a scale for each column would blow up the last factors of an SVD, which are noise.
    """
    centred = rows - rows.mean(0)
    scale = float(np.sqrt(np.square(centred).mean()))
    return np.asarray(centred / (scale if scale > 1e-9 else 1.0))


def moments(rows: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return mean and standard deviation of each column; of a constant one, 1."""
    mean, scale = rows.mean(0, dtype=np.float64), rows.std(0, dtype=np.float64)
    return mean, np.where(scale > 1e-9, scale, 1.0)
