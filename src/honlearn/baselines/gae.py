"""The optimised graph auto-encoder (CIKM 2025): linear propagation, and a deep decoder of products.

In: a network and labelled pairs. Out: the probability of a link. Orthogonal rows x of the entities are
propagated without any nonlinearity, here with a source s and a target t for each node, since links have a
direction; D are degrees by weight, A the adjacency without the edges of the pairs that are trained on:

    s⁰ = t⁰ = x,   sⁱ⁺¹ = Â tⁱ,   tⁱ⁺¹ = Âᵀ sⁱ,   Â = D_out^{-1/2} A D_in^{-1/2},
    s = Σᵢ aᵢ sⁱ,   t = Σᵢ bᵢ tⁱ,

and p(u → v) = σ(MLP(s_u ⊙ t_v)) with residual layers. An entity of a higher-order network has the mean of its
relatives' vectors, weighted by Eq. 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import nn

from honlearn.baselines.graph import Graph, as_tensor
from honlearn.baselines.negatives import with_popular_negatives
from honlearn.baselines.neural import Encoder, Identity, NeuralLinkPredictor, PairModel
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.errors import check_integer


class LinearView(NamedTuple):
    """What propagation takes: Â and Âᵀ [N, N], the mean over relatives [V, N], and the bases [N]."""

    along: torch.Tensor
    back: torch.Tensor
    relatives: torch.Tensor
    base: torch.Tensor


class LinearEncoder(Encoder):
    """Sums of propagated rows, sources beside targets: [V, 2 d]."""

    def __init__(self, n_entities: int, width: int, n_hops: int, dropout: float) -> None:
        super().__init__()
        self.identity = Identity(n_entities, width, dropout)
        nn.init.orthogonal_(self.identity.weight)
        # Rows of length about 1, whatever the number of entities.
        with torch.no_grad():
            self.identity.weight.mul_(max(n_entities / width, 1.0) ** 0.5)
        self.source = nn.Parameter(torch.ones(n_hops + 1))
        self.target = nn.Parameter(torch.ones(n_hops + 1))
        self.width = width

    def view(self, graph: Graph) -> LinearView:
        """Return the normalised adjacency and the weights of relatives."""
        out = graph.adjacency("out")
        leaving, coming = np.asarray(out.sum(1)), np.asarray(out.sum(0))
        scale = [1.0 / np.sqrt(np.where(total > 0, total, 1.0)) for total in (leaving, coming)]
        along = sparse.diags_array(scale[0]) @ out @ sparse.diags_array(scale[1])
        base = graph.base.numpy()
        family = np.bincount(base, leaving, minlength=graph.n_entities)
        # Where no relative has an out-edge, the base node stands for the family.
        first = np.zeros(graph.n_nodes)
        first[: graph.n_entities] = 1.0
        share = np.where(family[base] > 0, leaving / np.where(family > 0, family, 1.0)[base], first)
        ends = (base, np.arange(graph.n_nodes))
        mean = sparse.csr_array((share, ends), shape=(graph.n_entities, graph.n_nodes))
        return LinearView(as_tensor(along.tocsr()), as_tensor(along.T.tocsr()), as_tensor(mean), graph.base)

    def forward(self, view: LinearView) -> torch.Tensor:
        """Return sources and targets of all entities, [V, 2 d]."""
        s = t = self.identity(view.base)
        sources, targets = self.source[0] * s, self.target[0] * t
        for hop in range(1, len(self.source)):
            s, t = view.along @ t, view.back @ s
            sources, targets = sources + self.source[hop] * s, targets + self.target[hop] * t
        return view.relatives @ torch.cat([sources, targets], 1)


class ProductDecoder(nn.Module):
    """Scores ends [B, 2 d] each: the product of source and target, dense layers with residuals, one logit."""

    def __init__(self, width: int, depth: int, dropout: float, directed: bool) -> None:
        super().__init__()
        self.width, self.directed = width, directed
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.dropout, self.last = nn.Dropout(dropout), nn.Linear(width, 1)

    def forward(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Return logits [B]; without direction the mean of both orders."""
        logits = self._one_way(u, v)
        return logits if self.directed else (logits + self._one_way(v, u)) / 2

    def _one_way(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        z = self.norm(u[:, : self.width] * v[:, self.width :])
        for layer in self.layers:
            z = z + self.dropout(torch.relu(layer(z)))
        return self.last(z).squeeze(1)  # type: ignore[no-any-return]


@dataclass(eq=False, repr=False)
class GAELinkPredictor(NeuralLinkPredictor):
    """Optimised graph auto-encoder for links.

    `n_layers` hops of propagation, then `depth` dense layers with residuals over the product of the two
    ends; `dropout` is on the identities and in the decoder. Edges count by their weight to `edge_power`. Half
    of the unlinked pairs to train on are uniform, half have ends drawn by degree. `direction`, `operator` and
    `pair_width` are not used: both directions propagate, and the product is what the decoder reads.
    """

    depth: int = 3
    n_layers: int = 3
    width: int = 128
    dropout: float = 0.2
    edge_power: float = 0.0
    learning_rate: float = 0.003
    n_batches: int = 4
    max_epochs: int = 60
    patience: int = 8

    def _check(self) -> None:
        super()._check()
        check_integer(type(self).__name__, "depth", self.depth, 0, 100)

    def _module(self, graph: Graph) -> PairModel:
        encoder = LinearEncoder(graph.n_entities, self.width, self.n_layers, self.dropout)
        return PairModel(encoder, ProductDecoder(self.width, self.depth, self.dropout, self.directed))

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        if unlinked is not None:
            examples, unlinked = with_popular_negatives(examples, unlinked, self.network, self.seed_)
        super()._fit_pairs(examples, unlinked)
