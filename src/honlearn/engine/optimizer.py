"""Adam over stacked learners, one pass over memory.

In: parameters ``[P, …]`` and their gradients. Out: updated parameters, and on the CPU gradients that are zero
again: the pass that reads a table of them is the cheapest one to empty it. On the CPU a compiled loop goes
learner by learner: torch's fused step is as quick, but rounds an element by where it lies in the tensor, so
that a learner in company would differ in the last bit from the same learner alone.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from honlearn.engine.runtime import Runtime
from honlearn.jit import Floats, njit

_BETA_1, _BETA_2 = 0.9, 0.999


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
    beta_1, beta_2 = np.float32(_BETA_1), np.float32(_BETA_2)
    rest_1, rest_2 = np.float32(1 - _BETA_1), np.float32(1 - _BETA_2)
    for row in range(first, last):
        values, slope, m, v = x[row], grad[row], mean[row], square[row]
        for i in range(len(values)):
            g = slope[i] + decay * values[i]
            m[i] = beta_1 * m[i] + rest_1 * g
            v[i] = beta_2 * v[i] + rest_2 * g * g
            values[i] -= rate * m[i] / (np.sqrt(v[i]) * root + epsilon)
            slope[i] = 0


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

    def clear(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self.steps += 1
        rate = self.rate / (1 - _BETA_1**self.steps)
        root = 1 / math.sqrt(1 - _BETA_2**self.steps)
        of_each = zip(self.parameters, self.decays, self.means, self.squares, strict=True)
        for parameter, decay, mean, square in of_each:
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

    def take(self, places: list[int]) -> None:
        """Keep the moments of these places of the learner axis only."""
        self.means = [mean[places] for mean in self.means]
        self.squares = [square[places] for square in self.squares]

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the moments by name, for a checkpoint."""
        out = {f"mean.{i}": mean for i, mean in enumerate(self.means)}
        return out | {f"square.{i}": square for i, square in enumerate(self.squares)}

    def restore(self, steps: int, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from the moments of a checkpoint."""
        self.steps = steps
        for name, held in (("mean", self.means), ("square", self.squares)):
            for i, tensor in enumerate(held):
                tensor.copy_(tensors[f"{name}.{i}"])
