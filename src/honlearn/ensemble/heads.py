"""How an ensemble pools its learners: Eqs. 5a, 5b, 5c and the attention of the paper's appendix.

In: the learners' representations of the same nodes ``[L, B, d]``. Out: logits ``[G, B, C]`` with G = L where
every learner predicts for itself (bag), else G = 1.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from honlearn.engine.products import product
from honlearn.engine.weights import Generators, glorot, zeros

_SLOPE = 0.3


class BagHead(nn.Module):
    """Eq. 5c: every learner has a dense layer of its own, and probabilities are averaged."""

    def __init__(self, n_learners: int, width: int, n_classes: int, generators: Generators) -> None:
        super().__init__()
        self.weight, self.bias = glorot(generators, width, n_classes), zeros(generators, n_classes)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """Return logits [L, B, C]."""
        return product(None, h, self.weight) + self.bias[:, None]

    def read(self, h: torch.Tensor) -> torch.Tensor:
        """Return what the classes are read from: the learners side by side, [B, L · d]."""
        return _side_by_side(h)


def _side_by_side(h: torch.Tensor) -> torch.Tensor:
    return h.transpose(0, 1).flatten(1)


class JointHead(nn.Module):
    """Learners pooled before the classes: one dense layer reads what a subclass makes of all of them."""

    weight: nn.Parameter
    bias: nn.Parameter

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """Return logits [1, B, C]."""
        return (self.read(h) @ self.weight[0] + self.bias[0])[None]

    def read(self, h: torch.Tensor) -> torch.Tensor:
        """Return what the classes are read from, [B, d']."""
        raise NotImplementedError


class ConcatHead(JointHead):
    """Eq. 5a: softmax(CONCAT(h_1 … h_L)ᵀ W), W [L · d, C]."""

    def __init__(self, n_learners: int, width: int, n_classes: int, generators: Generators) -> None:
        super().__init__()
        self.weight = glorot(generators[:1], n_learners * width, n_classes)
        self.bias = zeros(generators[:1], n_classes)

    def read(self, h: torch.Tensor) -> torch.Tensor:
        """Return the learners side by side, [B, L · d]."""
        return _side_by_side(h)


class PoolHead(JointHead):
    """Eq. 5b: softmax(MEAN(h_1 … h_L)ᵀ W), W [d, C]."""

    def __init__(self, n_learners: int, width: int, n_classes: int, generators: Generators) -> None:
        super().__init__()
        self.weight, self.bias = glorot(generators[:1], width, n_classes), zeros(generators[:1], n_classes)

    def read(self, h: torch.Tensor) -> torch.Tensor:
        """Return the learners' mean, [B, d]."""
        return h.mean(0)


class AttentionHead(JointHead):
    """The appendix's attention over learners, K heads, as its equations say.

    e_ij = LeakyReLU(a · [W h_i ‖ W h_j]), α_ij = softmax over j for each i; head n gives, for each j,
    Σ_i α_ij W h_j with W [d → 2d]; heads are averaged, learners concatenated, then LeakyReLU, a dense layer
    to d / 4, batch normalisation, LeakyReLU, and the dense layer of the classes. All slopes are 0.3.
    """

    def __init__(
        self, n_learners: int, width: int, n_classes: int, generators: Generators, n_heads: int = 5
    ) -> None:
        super().__init__()
        first = list(generators[:1])
        heads = first * n_heads
        self.project = glorot(heads, width, 2 * width)
        self.score_i, self.score_j = glorot(heads, 2 * width, 1), glorot(heads, 2 * width, 1)
        narrow = max(1, width // 4)
        self.dense, self.dense_bias = glorot(first, n_learners * 2 * width, narrow), zeros(first, narrow)
        self.normalize = nn.BatchNorm1d(narrow)
        self.weight, self.bias = glorot(first, narrow, n_classes), zeros(first, n_classes)

    def read(self, h: torch.Tensor) -> torch.Tensor:
        """Return the narrow layer before the classes, [B, d / 4]."""
        batch = h.shape[1]
        projected = torch.einsum("lbd,kde->klbe", h, self.project)
        e_i = torch.einsum("klbe,keo->klb", projected, self.score_i)
        e_j = torch.einsum("klbe,keo->klb", projected, self.score_j)
        e = F.leaky_relu(e_i[:, :, None] + e_j[:, None], _SLOPE)
        # α_ij sums to 1 over j; the outer sum over i leaves one factor for each learner j.
        factor = torch.softmax(e, 2).sum(1)
        mixed = (factor[..., None] * projected).mean(0).transpose(0, 1).reshape(batch, -1)
        narrow = F.leaky_relu(mixed, _SLOPE) @ self.dense[0] + self.dense_bias[0]
        if self.training and batch == 1:
            # One row has no variance; use the running statistics for it.
            norm = self.normalize
            normal = F.batch_norm(narrow, norm.running_mean, norm.running_var, norm.weight, norm.bias)
        else:
            normal = self.normalize(narrow)
        return F.leaky_relu(normal, _SLOPE)


HEADS: dict[str, type[nn.Module]] = {
    "bag": BagHead,
    "batch": BagHead,
    "concat": ConcatHead,
    "pool": PoolHead,
    "attn": AttentionHead,
}
