"""Weights of groups of learners, put side by side as the groups are done: in memory, or on disk.

In: the state of each group, [n, …] for each name. Out: the state of all, [L, …]. On disk, weights take memory
only as far as they are read: a prediction from sampled neighbours reads some rows of each learner's tables.
"""

from __future__ import annotations

import math

import torch

from honlearn.disk_arrays import DiskArray, room
from honlearn.ensemble.loop import State

# Tensors of fewer bytes are no use on disk.
_LEAST = 1 << 22


class StackedStates:
    """The states of `size` learners; `is_short`: large tensors wait on disk, if there is room for all."""

    def __init__(self, size: int, is_short: bool) -> None:
        self.size, self.is_short = size, is_short
        self.count = 0
        self._here: State = {}
        self._on_disk: dict[str, tuple[torch.Size, DiskArray]] = {}

    def append(self, state: State) -> None:
        """Put the weights of the next learners behind those that are there; `state` is given up."""
        if not state:
            return
        if self.count == 0:
            self._begin(state)
        some = 0
        for name in list(state):
            tensor = state.pop(name)
            some = len(tensor)
            if name in self._on_disk:
                self._on_disk[name][1].append(tensor.numpy().reshape(-1))
            else:
                self._here[name][self.count : self.count + some] = tensor
        self.count += some

    def whole(self) -> State:
        """Return the weights of all learners."""
        out = dict(self._here)
        for name, (shape, array) in self._on_disk.items():
            out[name] = torch.from_numpy(array.mapped()).view(self.size, *shape)
        return out

    def _begin(self, state: State) -> None:
        large = [name for name, tensor in state.items() if self.size * _bytes(tensor) >= _LEAST]
        if not self.is_short or room() <= self.size * sum(_bytes(state[name]) for name in large):
            large = []
        for name, tensor in state.items():
            if name in large:
                self._on_disk[name] = tensor.shape[1:], DiskArray(tensor.numpy().dtype.type)
            else:
                self._here[name] = torch.empty((self.size, *tensor.shape[1:]), dtype=tensor.dtype)


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of one learner's part of a tensor [n, …]."""
    return math.prod(tensor.shape[1:]) * tensor.element_size()
