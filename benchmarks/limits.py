"""What the machine can do: memory bandwidth, one dense and one sparse product, on one core.

In: a scale. Out: rows, the limits that the figures of building and training stand beside.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))
from measuring import Row

PART = "the machine, one core"


def limits(scale: float, repeat: int) -> list[Row]:
    """Return rows whose CPU time is for one gigabyte or a thousand million operations."""
    size = max(int(20_000_000 * scale), 100_000)
    a, b = np.ones(size), np.ones(size)
    out, side = np.empty(size), max(int(1000 * scale**0.5), 64)
    dense = np.random.default_rng(0).random((side, side), np.float32)
    nodes, width = max(int(50_000 * scale), 500), 64
    matrix = sparse.random_array((nodes, nodes), density=20 / nodes, format="csr", rng=0, dtype=np.float32)
    x = np.ones((nodes, width), np.float32)
    with threadpool_limits(1):
        return [
            _row("reading a gigabyte of memory", lambda: a.sum(), 8 * size / 1e9, repeat),
            _row("a + b, a gigabyte moved", lambda: np.add(a, b, out=out), 24 * size / 1e9, repeat),
            _row("dense product, 1e9 float32 operations", lambda: dense @ dense, 2 * side**3 / 1e9, repeat),
            _row(
                "sparse product, 1e9 float32 operations",
                lambda: matrix @ x,
                2 * matrix.nnz * width / 1e9,
                repeat,
            ),
        ]


def _row(what: str, work: Callable[[], object], amount: float, repeat: int) -> Row:
    work()
    times = []
    for _ in range(max(repeat, 3)):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return Row(PART, what, "limit", round(1000 * min(times) / amount, 2), "ms")
