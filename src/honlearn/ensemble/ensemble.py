"""The ensemble: L stacked learners and the head that pools them.

In: roots ``[L, B]`` (one relative of each node for each learner). Out: logits ``[G, B, C]``. Which roots, and
what is done with the logits, is for the training and the tasks to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.neighborhoods import Neighborhood
from honlearn.engine.weights import Features
from honlearn.ensemble.heads import HEADS
from honlearn.learners.layers import LAYERS, LayerShape, Pass
from honlearn.seeds import derive_seed

VARIANTS = ("bag", "pool", "concat", "attn", "batch")
MAX_LAYERS = 6


@dataclass(frozen=True)
class Architecture:
    """The shape of an ensemble, enough to build it again."""

    variant: str
    shared: bool
    n_learners: int
    n_classes: int
    n_entities: int
    aggregator: str = "mean"
    widths: tuple[int, ...] = (128, 128)
    normalize: bool = True
    identity: bool = True
    n_heads: int = 5
    echo: bool = True

    @property
    def is_joint(self) -> bool:
        """Whether the learners are pooled before the classes: one prediction for all of them."""
        return self.variant in ("pool", "concat", "attn")

    @property
    def is_sequential(self) -> bool:
        """Whether one model goes on training from draw to draw (bag*): a learner is its state after one."""
        return self.variant == "bag" and self.shared


class Ensemble(nn.Module):
    """Stacked learners and their head; `learners` says which learners of the ensemble these are.

    Every learner's weights come from its own seed, so a part of an ensemble is that part of the whole.
    """

    def __init__(
        self, shape: Architecture, seed: int, learners: Sequence[int], features: Features | None = None
    ) -> None:
        super().__init__()
        self.shape = shape
        # A shared model has one set of weights; it is the first learner's.
        owners = learners[:1] if shape.shared or shape.variant == "batch" else learners
        generators = [torch.Generator().manual_seed(derive_seed(seed, "init", owner)) for owner in owners]
        layers, width_in = [], None
        for number, width in enumerate(shape.widths):
            last = number == len(shape.widths) - 1
            entities = (shape.n_entities, features, shape.identity, shape.echo)
            place = LayerShape(number, width_in, width, last, *entities)
            layers.append(LAYERS[shape.aggregator](place, generators))
            width_in = width
        self.layers = nn.ModuleList(layers)
        extra: dict[str, Any] = {"n_heads": shape.n_heads} if shape.variant == "attn" else {}
        if shape.is_joint:
            generators = [torch.Generator().manual_seed(derive_seed(seed, "init", "head"))]
        head = HEADS[shape.variant]
        self.head = head(shape.n_learners, shape.widths[-1], shape.n_classes, generators, **extra)

    def represent(self, roots: NDArray[np.int32], near: Neighborhood, this: Pass) -> torch.Tensor:
        """Return h of the roots [1|L, B] for each learner's stream in `this`: [L, B, d]."""
        x: torch.Tensor | None = None
        for layer, hop in zip(self.layers, near.hops(roots, this.streams, this.step), strict=True):
            x = layer(this, hop, x)
        assert x is not None
        return nn.functional.normalize(x, dim=2) if self.shape.normalize else x

    def forward(self, roots: NDArray[np.int32], near: Neighborhood, this: Pass) -> torch.Tensor:
        """Return logits [G, B, C] of the roots [L, B]."""
        logits: torch.Tensor = self.head(self.represent(roots, near, this))
        return logits


def count_parameters(ensemble: nn.Module) -> int:
    """Return the number of trained numbers."""
    return sum(parameter.numel() for parameter in ensemble.parameters())
