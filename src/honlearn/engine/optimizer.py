"""Adam over stacked learners, one pass over memory; of large tables, over the rows that a step has read.

In: parameters ``[P, …]`` and their gradients. Out: updated parameters, and on the CPU gradients that are zero
again: the pass that reads a table of them is the cheapest one to empty it. On the CPU a compiled loop goes
learner by learner: torch's fused step is as quick, but rounds an element by where it lies in the tensor, so
that a learner in company would differ in the last bit from the same learner alone.

Row-wise steps. Where a step gives the gradient of some rows of a table only
(:class:`~honlearn.engine.touched.RowGradient`), only these rows are stepped. A row that was last stepped n
steps ago first has its moments decayed as n − 1 steps without a gradient would have, m ← β₁ⁿ⁻¹ m and
v ← β₂ⁿ⁻¹ v; then it takes the usual step, with the bias corrections of the number of all steps. Adam on the
whole table differs in one thing: there a row moves on along its momentum, and its weights decay, while nobody
reads it. Without a pause between steps the two are the same.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from honlearn.engine.runtime import Runtime
from honlearn.engine.touched import RowGradient
from honlearn.engine.weights import InputWeight
from honlearn.jit import Floats, Integers, njit

_BETA_1, _BETA_2 = 0.9, 0.999


@njit(inline="always", error_model="numpy")
def _step(
    x: Floats,
    grad: Floats,
    mean: Floats,
    square: Floats,
    missed: int,
    rate: np.float32,
    root: np.float32,
    epsilon: np.float32,
    decay: np.float32,
) -> None:
    """One step on a row of each [n] after `missed` steps without a gradient; the gradient is 0 again."""
    keep_1 = np.float32(_BETA_1) * np.float32(_BETA_1**missed)
    keep_2 = np.float32(_BETA_2) * np.float32(_BETA_2**missed)
    rest_1, rest_2 = np.float32(1 - _BETA_1), np.float32(1 - _BETA_2)
    for i in range(len(x)):
        g = grad[i] + decay * x[i]
        mean[i] = keep_1 * mean[i] + rest_1 * g
        square[i] = keep_2 * square[i] + rest_2 * g * g
        x[i] -= rate * mean[i] / (np.sqrt(square[i]) * root + epsilon)
        grad[i] = 0


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def _adam(
    first: int,
    last: int,
    x: Floats,
    grad: Floats,
    mean: Floats,
    square: Floats,
    rate: np.float32,
    root: np.float32,
    epsilon: np.float32,
    decay: np.float32,
) -> None:
    """One step on rows `first` to `last` of [P, n]; `rate` and `root` hold the bias corrections."""
    for row in range(first, last):
        _step(x[row], grad[row], mean[row], square[row], 0, rate, root, epsilon, decay)


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def _adam_rows(
    first: int,
    last: int,
    x: Floats,
    mean: Floats,
    square: Floats,
    stepped: Integers,
    rows: Integers,
    counts: Integers,
    grad: Floats,
    step: int,
    rate: np.float32,
    root: np.float32,
    epsilon: np.float32,
    decay: np.float32,
) -> None:
    """One step on rows[l, :counts[l]] of tables [L, V, d]; grad is [L, U, d], `stepped` [L, V]."""
    for learner in range(first, last):
        for place in range(counts[learner]):
            row = rows[learner, place]
            missed = step - 1 - stepped[learner, row]
            stepped[learner, row] = step
            own = (x[learner, row], grad[learner, place], mean[learner, row], square[learner, row])
            _step(own[0], own[1], own[2], own[3], missed, rate, root, epsilon, decay)


class Adam:
    """Adam (Kingma and Ba 2015) with L2 weight decay.

    A part of the module that has a `weight_decay` of its own keeps it.
    """

    def __init__(self, module: nn.Module, run: Runtime, rate: float, epsilon: float, decay: float) -> None:
        decays = dict.fromkeys(module.parameters(), decay)
        for part in module.modules():
            own = getattr(part, "weight_decay", None)
            decays |= {} if own is None else dict.fromkeys(part.parameters(), float(own))
        self.parameters, self.decays, self.run = list(decays), list(decays.values()), run
        self.rate, self.epsilon = rate, epsilon
        self.steps = 0
        self.means = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in self.parameters]
        self._owners = {
            part.identity: part
            for part in module.modules()
            if isinstance(part, InputWeight) and part.identity is not None
        }
        # By table: the step at which each row was stepped last, int32 [L, V]; made with its first rows.
        self.stepped: dict[int, torch.Tensor] = {}

    def clear(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None
        for owner in self._owners.values():
            owner.row_gradient = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self.steps += 1
        rate = self.rate / (1 - _BETA_1**self.steps)
        root = 1 / math.sqrt(1 - _BETA_2**self.steps)
        of_each = zip(self.parameters, self.decays, self.means, self.squares, strict=True)
        for number, (parameter, decay, mean, square) in enumerate(of_each):
            owner = self._owners.get(parameter)
            if owner is not None and owner.row_gradient is not None:
                self._step_rows(number, owner.row_gradient, rate, root)
                continue
            if parameter.grad is None:
                continue
            if parameter.device.type == "cpu":
                self._step_compiled(parameter, mean, square, rate, root, decay)
                continue
            grad = parameter.grad + decay * parameter
            mean.lerp_(grad, 1 - _BETA_1)
            square.mul_(_BETA_2).addcmul_(grad, grad, value=1 - _BETA_2)
            parameter.addcdiv_(mean, square.sqrt().mul_(root).add_(self.epsilon), value=-rate)

    def _step_compiled(
        self,
        parameter: nn.Parameter,
        mean: torch.Tensor,
        square: torch.Tensor,
        rate: float,
        root: float,
        decay: float,
    ) -> None:
        assert parameter.grad is not None
        grad = parameter.grad.contiguous()
        tensors = (parameter.detach(), grad, mean, square)
        learners = len(parameter) if parameter.ndim else 1
        rows = [tensor.view(learners, -1).numpy() for tensor in tensors]
        numbers = [np.float32(number) for number in (rate, root, self.epsilon, decay)]
        self.run.each(_adam, learners, *rows, *numbers)
        self.run.emptied(grad)

    def _step_rows(self, number: int, gradient: RowGradient, rate: float, root: float) -> None:
        table, (touched, values) = self.parameters[number], gradient
        if number not in self.stepped:
            self.stepped[number] = torch.zeros(table.shape[:2], dtype=torch.int32)
        tensors = (table.detach(), self.means[number], self.squares[number], self.stepped[number])
        numbers = [np.float32(one) for one in (rate, root, self.epsilon, self.decays[number])]
        arrays = [tensor.numpy() for tensor in tensors]
        given = (*arrays, *touched, values.numpy(), self.steps, *numbers)
        self.run.each(_adam_rows, len(table), *given)
        # Rows behind the last one that was read have no gradient, so that all of it is zero again.
        self.run.emptied(values)

    def take(self, places: list[int]) -> None:
        """Keep the moments of these places of the learner axis only."""
        self.stepped = {number: stepped[places] for number, stepped in self.stepped.items()}
        self.means = [mean[places] for mean in self.means]
        self.squares = [square[places] for square in self.squares]

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the moments by name, for a checkpoint."""
        out = {f"mean.{i}": mean for i, mean in enumerate(self.means)}
        out |= {f"square.{i}": square for i, square in enumerate(self.squares)}
        return out | {f"stepped.{i}": stepped for i, stepped in self.stepped.items()}

    def restore(self, steps: int, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from the moments of a checkpoint."""
        self.steps = steps
        for name, held in (("mean", self.means), ("square", self.squares)):
            for i, tensor in enumerate(held):
                tensor.copy_(tensors[f"{name}.{i}"])
        for i, parameter in enumerate(self.parameters):
            stepped = tensors.get(f"stepped.{i}")
            if stepped is None:
                continue
            if stepped.shape != parameter.shape[:2] or stepped.dtype != torch.int32:
                raise ValueError("no steps of the rows of a table")
            # Steps that are not between 0 and now would be exponents out of range.
            self.stepped[i] = stepped.clamp(0, steps)
