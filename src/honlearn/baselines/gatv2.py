"""GATv2: graph attention whose ranking of neighbours depends on who listens (Brody et al., ICLR 2022).

As GAT, but with e(i, j) = s · leaky_relu(W h(j) + W' h(i)). In: the identity of each node's base. Out:
[N, d]. Edge weights are not used, as in the paper; with `use_weights` a learnt number of each head times
log(1 + weight) is added to e. A layer computes what ``GATv2Conv`` of PyTorch Geometric does (a test compares
them). Edges are heard as `direction` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from honlearn.baselines.attention import Neighbours, pair_scores
from honlearn.baselines.gat import GAT, SLOPE, Heads, glorot
from honlearn.baselines.neural import NeuralClassifier, NeuralLinkPredictor


class DynamicHeads(Heads):
    """Heads with two projections, W h and W' h, and one vector s [H, C] over their leaky sum."""

    rows: ClassVar[int] = 2

    def _make(self) -> None:
        self.sender = glorot(*self.shape)

    def _scores(self, near: Neighbours, heard: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        return pair_scores(near, heard, own, self.sender, SLOPE) + self._of_weights(near)


@dataclass(eq=False, repr=False)
class GATv2(GAT):
    """Graph attention network, second version; parameters as for :class:`GAT`."""

    heads: ClassVar[type[Heads]] = DynamicHeads


@dataclass(eq=False, repr=False)
class GATv2Classifier(NeuralClassifier, GATv2):
    """GATv2 for nodes."""


@dataclass(eq=False, repr=False)
class GATv2LinkPredictor(NeuralLinkPredictor, GATv2):
    """GATv2 for links."""
