"""Where the learners' arithmetic runs: device, threads, and memory that is used again at every step.

In: what the user asked for. Out: a :class:`Runtime` that the model's operations share.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch

from honlearn.errors import ParameterError, check_choice, check_integer


class Runtime:
    """Runs kernels over ranges of learners on `n_threads` threads and hands out scratch tensors.

    Results do not depend on the number of threads: a learner is computed by one thread, in one order.
    """

    def __init__(self, device: str = "cpu", n_threads: int | None = None) -> None:
        self.device = check_device(device)
        self.n_threads = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
        if n_threads is not None:
            self.n_threads = check_integer("DGEClassifier", "n_threads", n_threads, 1)
        self._pool: ThreadPoolExecutor | None = None
        self._buffers: dict[str, torch.Tensor] = {}
        self._zeros: dict[str, int] = {}

    def each(
        self, kernel: Callable[..., Any], n_learners: int, *arguments: Any, serial: bool = False
    ) -> None:
        """Call ``kernel(first, last, *arguments)`` over all learners; `serial` where they share an output."""
        parts = 1 if serial else min(self.n_threads, n_learners)
        if parts <= 1:
            kernel(0, n_learners, *arguments)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="honlearn")
        ends = [n_learners * part // parts for part in range(parts + 1)]
        work = [self._pool.submit(kernel, a, b, *arguments) for a, b in itertools.pairwise(ends)]
        for part in work:
            part.result()

    def buffer(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return a float32 tensor with old contents, the same memory at each call.

        The allocator returns blocks of this size to the system, and faulting fresh pages in at every step
        took a third of a training step on Wiki. A name must not be asked for again before its last use.
        """
        size = 1
        for extent in shape:
            size *= extent
        self._zeros.pop(name, None)
        held = self._buffers.get(name)
        if held is None or held.numel() < size:
            held = self._buffers[name] = torch.empty(size)
        return held[:size].view(shape)

    def zeros(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return :meth:`buffer` filled with zeros; without a pass over it if it is known to hold them."""
        known = self._zeros.get(name, 0)
        out = self.buffer(name, shape)
        return out if known >= out.numel() else out.zero_()

    def emptied(self, tensor: torch.Tensor) -> None:
        """Take note that this tensor is zero again; it may be a buffer from its first place on, or none."""
        for name, held in self._buffers.items():
            if held.data_ptr() == tensor.data_ptr():
                self._zeros[name] = tensor.numel()

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Run torch itself on one thread inside the block (see propagate.product), as before after it."""
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None
            self._buffers.clear()
            self._zeros.clear()


def check_device(device: str) -> torch.device:
    """Return the device, or raise if this machine does not have it."""
    kind = str(device).partition(":")[0]
    check_choice("DGEClassifier", "device", kind, ("cpu", "cuda", "mps"))
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there[kind]:
        raise ParameterError(f"device={device!r}: torch finds no such device here; use device='cpu'")
    return torch.device(device)
