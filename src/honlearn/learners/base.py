"""What every learner is: parameters that print and clone, defaults by task, and a stack of modules.

In: parameters of one graph neural network. Out: the neighbourhoods it reads and a :class:`Stack`, the weights
of many such networks side by side, ``[P, …]`` each. An ensemble never asks which kind it trains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from torch import nn

from honlearn.engine.adjacency import DIRECTIONS
from honlearn.engine.context import MAX_LAYERS, ForwardContext
from honlearn.engine.neighborhoods import Neighborhood, SelfMask
from honlearn.engine.weights import Features, Generators
from honlearn.errors import ParameterError, check_choice, check_integer, check_real
from honlearn.hon.network import HigherOrderNetwork

Kind = TypeVar("Kind", bound="Learner")
# The edge power of a learner whose own is yet to be chosen.
USUAL_POWER = 0.5


class Inputs(NamedTuple):
    """What is known of the entities: how many there are, and their features where they have any."""

    n_entities: int
    features: Features | None = None


class Stack(nn.Module):
    """Networks of one kind side by side: weights [P, …], one P for each learner, or 1 where they share."""

    width: int

    def represent(self, roots: NDArray[np.int32], near: Any, ctx: ForwardContext) -> torch.Tensor:
        """Return the representations [L, B, width] of roots [1|L, B], each by its learner."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class Learner(BaseEstimator):  # type: ignore[misc]
    """Parameters that all learners have.

    `widths` has one number for each layer. A neighbour counts by its edge's weight to `edge_power`: 1 lets a
    few heavy edges drown the rest, 0 ignores the weights; ``"auto"`` chooses among 0, 0.25, 0.5 and 1 on
    held-back examples. `identity` gives every entity an input vector of its own; without it there must be
    features. `input_dropout` drops neighbours (with features alone: their elements), `hidden_dropout` values
    between layers. `mask_self` hides from a root who it is, so that a labelled node cannot learn its own
    label by heart (nodes only: the two ends of a link are known by their identities). None is what suits the
    task; ``resolved("nodes")`` says what that is.

    Parameters
    ----------
    widths
        Width of each layer; one number is one layer.
    edge_power
        A neighbour counts by the weight of its edge to this power; 0 ignores weights, "auto" chooses.
    identity
        Whether every entity has an input vector of its own; without it there must be features.
    input_dropout
        Share of neighbours that are dropped in training; None is what suits the task.
    hidden_dropout
        Share of values between layers that are dropped in training.
    mask_self
        Whether a labelled root is kept from reading its own identity; None is what suits the task.
    """

    widths: int | Sequence[int] = (128, 128)
    edge_power: float | str = 0.5
    identity: bool = True
    input_dropout: float | None = None
    hidden_dropout: float | None = None
    mask_self: bool | None = None

    kind: ClassVar[str]
    # What None means, by task; and how this kind is best trained where `training` leaves it open.
    task_defaults: ClassVar[Mapping[str, Mapping[str, Any]]]
    training_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {"nodes": {}, "links": {}}

    def resolved(self: Kind, task: str) -> Kind:
        """Return a copy whose open parameters, those that are None, are what suits a task.

        Parameters
        ----------
        task : {"nodes", "links"}
            What is predicted.
        """
        out: Kind = clone(self)
        for name, value in self.task_defaults[task].items():
            if getattr(out, name) is None:
                setattr(out, name, value)
        return out

    # --- what a kind provides ------------------------------------------------------------------------

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range; subclasses add their own."""
        name = self.name
        check_sequence(name, "widths", self.widths)
        layers = self.layer_widths
        if not 1 <= len(layers) <= MAX_LAYERS - 2:
            raise ParameterError(
                f"The 'widths' parameter of {name} must name 1 to {MAX_LAYERS - 2} layers. "
                f"Got {layers!r} instead."
            )
        for width in layers:
            check_integer(name, "widths", width, 3)
        if isinstance(self.edge_power, str):
            check_choice(name, "edge_power", self.edge_power, ("auto",))
        else:
            check_real(name, "edge_power", self.edge_power, 0, 10)
        for field in ("input_dropout", "hidden_dropout"):
            check_real(name, field, getattr(self, field), 0, 0.99)
        self._check_flags("identity", "mask_self")

    def neighborhood(self, network: HigherOrderNetwork, mask: SelfMask) -> Neighborhood:
        """Return what the layers read of a network."""
        raise NotImplementedError

    def stack(self, inputs: Inputs, generators: Generators) -> Stack:
        """Return new weights, each learner's drawn from its own generator."""
        raise NotImplementedError

    # --- what all share ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name that messages use."""
        return type(self).__name__

    @property
    def layer_widths(self) -> tuple[int, ...]:
        """The widths as a tuple."""
        single = isinstance(self.widths, (int, np.integer))
        return (self.widths,) if single else tuple(self.widths)  # type: ignore[return-value, arg-type]

    @property
    def width(self) -> int:
        """The width of a representation."""
        return int(self.layer_widths[-1])

    def mask(self, has_features: bool) -> SelfMask:
        """Return how a root's identity is hidden from it, where it is."""
        # Features alone do not say who somebody is, so there is nothing to hide.
        return SelfMask(bool(self.mask_self) and bool(self.identity), has_features, self.masks_by_vector)

    @property
    def reads_weights(self) -> bool:
        """Whether the weights of edges make a difference, and so their power."""
        return True

    @property
    def masks_by_vector(self) -> bool:
        """Whether a learned vector stands for a hidden identity."""
        return True

    def sums_over_rows(self, near: Neighborhood) -> bool:
        """Return whether weights are trained by sums over rows of other nodes than the roots, in torch.

        How such a sum is rounded depends on how many rows there are.
        """
        return len(self.layer_widths) > 1

    def _check_flags(self, *fields: str) -> None:
        for field in fields:
            value = getattr(self, field)
            if not isinstance(value, (bool, np.bool_)):
                raise ParameterError(
                    f"The {field!r} parameter of {self.name} must be True or False. Got {value!r} instead."
                )

    def _check_direction(self) -> None:
        check_choice(self.name, "direction", getattr(self, "direction"), DIRECTIONS)  # noqa: B009

    @property
    def power(self) -> float:
        """The edge power; of one that is yet to be chosen, the usual one."""
        return USUAL_POWER if isinstance(self.edge_power, str) else float(self.edge_power)


def check_sequence(owner: str, name: str, value: object) -> None:
    """Raise unless the value is a whole number or a sequence of them, one for each layer."""
    single = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not single and (isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__")):
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be whole numbers, one for each layer. "
            f"Got {value!r} instead."
        )
