"""Where the learners' arithmetic runs: device, threads, and memory that is used again at every step.

In: what the user asked for. Out: a :class:`Runtime` that the model's operations share.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from honlearn.errors import ParameterError, check_choice, check_integer


class Context(Protocol):
    """What torch hands from the forward to the backward pass; `stored` is what the operation needs there."""

    stored: Any
    saved_tensors: tuple[torch.Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: torch.Tensor) -> None:
        """Keep these for the backward pass."""


Gradients = tuple[torch.Tensor | None, ...]
"""What a backward pass returns: one for each argument of the forward pass, None where there is none."""


@dataclass
class _Block:
    """Memory that is lent again and again, and how many numbers at its beginning are known to be zero."""

    memory: torch.Tensor
    zeros: int = 0

    def take(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Return a view of this shape; it may be written to, so nothing is known to be zero."""
        self.zeros = 0
        return self.memory[: math.prod(shape)].view(shape)


# To hand a call to threads and wait for them takes some 50 µs; calls that take less than this stay whole.
_WORTH_DIVIDING = 3e-4
_TIMED_CALLS = 3


@dataclass
class _Cost:
    """What calls of a kernel on arrays of one size take, in seconds, while they are not divided."""

    n_calls: int = 0
    least: float = math.inf

    @property
    def is_divided(self) -> bool:
        """Whether threads are worth it; the first calls are timed, and the least counts.

        >>> cost = _Cost()
        >>> for seconds in (0.5, 0.001, 0.002):  # the first one compiles
        ...     assert not cost.is_divided
        ...     cost.add(seconds)
        >>> cost.is_divided
        True
        """
        return self.n_calls >= _TIMED_CALLS and self.least > _WORTH_DIVIDING

    def add(self, seconds: float) -> None:
        """Take in another call."""
        self.n_calls += 1
        self.least = min(self.least, seconds)


class Runtime:
    """Runs kernels over ranges of learners on `n_threads` threads and hands out scratch tensors.

    Results do not depend on the number of threads: a learner is computed by one thread, in one order.
    """

    def __init__(
        self, device: str = "cpu", n_threads: int | None = None, owner: str = "DGEClassifier"
    ) -> None:
        self.device = check_device(device, owner)
        self.n_threads = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
        if n_threads is not None:
            self.n_threads = check_integer(owner, "n_threads", n_threads, 1)
        self._pool: ThreadPoolExecutor | None = None
        self._costs: dict[tuple[Callable[..., Any], int, int], _Cost] = {}
        self._blocks: dict[str, list[_Block]] = {}
        self._lent: dict[str, int] = {}
        self._steps = 0

    def each(
        self, kernel: Callable[..., Any], n_learners: int, *arguments: Any, serial: bool = False
    ) -> None:
        """Call ``kernel(first, last, *arguments)`` over all learners; `serial` where they share an output.

        The learners are divided among threads where a call takes long enough: on small networks handing
        over would take longer than the work.
        """
        parts = 1 if serial else min(self.n_threads, n_learners)
        if parts <= 1:
            kernel(0, n_learners, *arguments)
            return
        size = max(getattr(one, "nbytes", 0) for one in arguments).bit_length()
        cost = self._costs.setdefault((kernel, n_learners, size), _Cost())
        if not cost.is_divided:
            started = time.perf_counter()
            kernel(0, n_learners, *arguments)
            cost.add(time.perf_counter() - started)
            return
        if self._pool is None:
            # A new thread has torch's own default, not the number that threads() sets for the calling one.
            self._pool = ThreadPoolExecutor(self.n_threads, "honlearn", torch.set_num_threads, (1,))
        ends = [n_learners * part // parts for part in range(parts + 1)]
        mine, *others = itertools.pairwise(ends)
        work = [self._pool.submit(kernel, first, last, *arguments) for first, last in others]
        kernel(*mine, *arguments)
        for part in work:
            part.result()

    @contextmanager
    def step(self) -> Iterator[None]:
        """Lend scratch memory inside the block; all of it is free again at its end.

        What is lent belongs to the caller until the step ends: two calls in one graph never share it.
        Outside of a step memory comes from the allocator, which is slower and always right.
        """
        self._steps += 1
        try:
            yield
        finally:
            self._steps -= 1
            if not self._steps:
                self._lent.clear()

    def buffer(self, role: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return a float32 tensor with any contents, nobody else's until the step ends.

        The allocator returns blocks of this size to the system, and faulting fresh pages in at every step
        took a third of a training step on Wiki. Blocks are kept by `role`, whose sizes are alike from step
        to step: the n-th call of a role in a step gets the n-th block of the role.
        """
        return self._block(role, shape).take(shape)

    def zeros(self, role: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return :meth:`buffer` filled with zeros; without a pass over it if it is known to hold them."""
        block = self._block(role, shape)
        known = block.zeros
        out = block.take(shape)
        return out if known >= out.numel() else out.zero_()

    def _block(self, role: str, shape: tuple[int, ...]) -> _Block:
        size = math.prod(shape)
        if not self._steps:
            return _Block(torch.empty(size))
        blocks, number = self._blocks.setdefault(role, []), self._lent.get(role, 0)
        self._lent[role] = number + 1
        if number == len(blocks):
            blocks.append(_Block(torch.empty(size)))
        elif blocks[number].memory.numel() < size:
            # Sizes differ from step to step: with some to spare a block is not outgrown again and again.
            blocks[number] = _Block(torch.empty(size + size // 8))
        return blocks[number]

    def emptied(self, tensor: torch.Tensor) -> None:
        """Take note that this tensor is zero again; it may be a buffer from its first place on, or none."""
        for blocks in self._blocks.values():
            for block in blocks:
                if block.memory.data_ptr() == tensor.data_ptr():
                    block.zeros = tensor.numel()

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Run torch itself on one thread inside the block (see products.product), as before after it."""
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None
            self._blocks.clear()


def check_device(device: str, owner: str) -> torch.device:
    """Return the device, or raise if this machine does not have it."""
    kind = str(device).partition(":")[0]
    check_choice(owner, "device", kind, ("cpu", "cuda", "mps"))
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there[kind]:
        raise ParameterError(f"device={device!r}: torch finds no such device here; use device='cpu'")
    return torch.device(device)
