"""The ensemble: stacks of learners and the head that pools them.

In: roots ``[L, B]`` (one relative of each node for each learner). Out: logits ``[G, B, C]``. Which roots, and
what is done with the logits, is for the training and the tasks to say. Learner i is of kind i mod K where
there are K kinds; each kind is one stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import ExactNeighborhood
from honlearn.engine.weights import Features, Generators
from honlearn.ensemble.heads import HEADS
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import TorchLearner
from honlearn.learners.base import Inputs, Learner
from honlearn.seeds import derive_seed

VARIANTS = ("bag", "pool", "concat", "attn", "batch")


@dataclass(frozen=True)
class Architecture:
    """The shape of an ensemble, enough to build it again; `kinds` are its learners, all resolved."""

    variant: str
    shared: bool
    n_learners: int
    n_classes: int
    n_entities: int
    kinds: tuple[Learner, ...]
    n_heads: int = 5
    # How many rows a batch asks for at most, as batches are made by default.
    usual_rows: ClassVar[int] = 512

    @property
    def is_joint(self) -> bool:
        """Whether the learners are pooled before the classes: one prediction for all of them."""
        return self.variant in ("pool", "concat", "attn")

    @property
    def is_sequential(self) -> bool:
        """Whether one model goes on training from draw to draw (bag*): a learner is its state after one."""
        return self.variant == "bag" and self.shared

    @property
    def width(self) -> int:
        """The width of a representation, the same for all kinds."""
        return self.kinds[0].width

    @property
    def widest(self) -> int:
        """The width of the widest layer."""
        return max(int(width) for kind in self.kinds for width in kind.layer_widths)


class Surroundings(NamedTuple):
    """What surrounds the roots of a batch, for each kind of learner."""

    of_kind: tuple[Any, ...]

    def only(self, kind: int) -> Surroundings:
        """Return what surrounds the roots for one kind."""
        return Surroundings((self.of_kind[kind],))

    def for_bag(self, kinds: Sequence[Learner]) -> Surroundings:
        """Return the same where no learner's numbers depend on the roots of others."""
        pairs = zip(self.of_kind, kinds, strict=True)
        return Surroundings(tuple(_for_bag(near, kind) for near, kind in pairs))

    def for_batches(self, rows: int) -> Surroundings:
        """Return the same for batches that ask for so many rows."""
        return Surroundings(
            tuple(
                near.for_batches(rows) if isinstance(near, ExactNeighborhood) else near
                for near in self.of_kind
            )
        )

    @property
    def rows_a_root(self) -> int:
        """The most rows of a first layer that belong to one root alone."""
        return max(int(near.rows_a_root) for near in self.of_kind)

    @property
    def is_exact(self) -> bool:
        """Whether a node has one representation, no matter which others are in the batch."""
        return all(near.is_exact for near in self.of_kind)


def _for_bag(near: Any, kind: Learner) -> Any:
    if not isinstance(near, ExactNeighborhood):
        return near
    return near.with_all_rows() if kind.sums_over_rows(near) else near.with_own_rows()


def surroundings(network: HigherOrderNetwork, shape: Architecture, has_features: bool) -> Surroundings:
    """Return what each kind of learner reads of a network."""
    near = tuple(kind.neighborhood(network, kind.mask(has_features)) for kind in shape.kinds)
    for one in near:
        if isinstance(one, ExactNeighborhood):
            one.usual_rows = shape.usual_rows
    return Surroundings(near)


class Ensemble(nn.Module):
    """Stacked learners and their head; `learners` says which learners of the ensemble these are.

    Every learner's weights come from its own seed, so a part of an ensemble is that part of the whole.
    """

    def __init__(
        self, shape: Architecture, seed: int, learners: Sequence[int], features: Features | None = None
    ) -> None:
        super().__init__()
        self.shape = shape
        inputs, n_kinds = Inputs(shape.n_entities, features), len(shape.kinds)
        # The places of each kind among these learners; a shared model has one set of weights, of the first.
        self.places = [[p for p, i in enumerate(learners) if i % n_kinds == k] for k in range(n_kinds)]
        is_shared = shape.shared or shape.variant == "batch"
        generators = learner_generators(seed, learners, "init")
        owned = [[generators[p] for p in places[: 1 if is_shared else None]] for places in self.places]
        stacks = (kind.stack(inputs, own) for kind, own in zip(shape.kinds, owned, strict=True))
        self.stacks = nn.ModuleList(stacks)
        owners = list(learners[:1] if is_shared else learners)
        self.head = self._head(seed, owners, generators[: len(owners)])

    def _head(self, seed: int, owners: Sequence[int], generators: Generators) -> nn.Module:
        """Return the head: of a bag, one for each learner's representation."""
        shape = self.shape
        if shape.is_joint:
            generators = learner_generators(seed, ["head"], "init")
        return make_head(shape, shape.width, generators)

    def represent(self, roots: NDArray[np.int32], near: Surroundings, ctx: ForwardContext) -> torch.Tensor:
        """Return h of the roots [1|L, B] for each learner's stream: [L, B, d]."""
        if len(self.stacks) == 1:
            return self.stacks[0].represent(roots, near.of_kind[0], ctx)  # type: ignore[no-any-return, operator]
        parts = []
        for stack, one, places in zip(self.stacks, near.of_kind, self.places, strict=True):
            own = roots[places] if len(roots) > 1 else roots
            parts.append(stack.represent(own, one, ctx.of(places)))  # type: ignore[operator]
        order = np.argsort(np.concatenate(self.places))
        return torch.cat(parts)[torch.from_numpy(order).to(parts[0].device)]

    def forward(self, roots: NDArray[np.int32], near: Surroundings, ctx: ForwardContext) -> torch.Tensor:
        """Return logits [G, B, C] of the roots [L, B]."""
        logits: torch.Tensor = self.head(self.represent(roots, near, ctx))
        return logits


def empty_ensemble(
    shape: Architecture, seed: int, learners: Sequence[int], features: Features | None
) -> Ensemble:
    """Return an ensemble whose weights have shapes but no numbers, to be counted or to be given some.

    A module of the user's may compute when it is made, so that one has numbers.
    """
    if any(isinstance(kind, TorchLearner) for kind in shape.kinds):
        return Ensemble(shape, seed, learners, features)
    with torch.device("meta"):
        return Ensemble(shape, seed, learners, features)


def learner_generators(seed: int, owners: Sequence[int | str], *labels: str) -> list[torch.Generator]:
    """Return a generator of initial weights for each owner."""
    return [torch.Generator().manual_seed(derive_seed(seed, *labels, owner)) for owner in owners]


def make_head(shape: Architecture, width: int, generators: Generators) -> nn.Module:
    """Return the head of the variant over representations of this width."""
    extra: dict[str, Any] = {"n_heads": shape.n_heads} if shape.variant == "attn" else {}
    return HEADS[shape.variant](shape.n_learners, width, shape.n_classes, generators, **extra)


def count_parameters(ensemble: nn.Module) -> int:
    """Return the number of trained numbers."""
    return sum(parameter.numel() for parameter in ensemble.parameters())
