"""How the benchmarks measure: programs as processes of their own, rows of a table, exponents of growth.

In: a Python program and its arguments, or sizes and times. Out: CPU seconds and peak memory as the operating
system counts them, and the exponent that fits best.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, CPU time in `unit`, peak memory, and how many times ours it is.

    `kind` is ``"limit"`` for what any program would pay, ``"ours"`` or ``"other"``.
    """

    part: str
    what: str
    kind: str
    cpu: float
    unit: str = "s"
    peak_mb: float | None = None
    times: float | None = None


@dataclass(frozen=True)
class Curve:
    """CPU times at several sizes, and the exponent b of time ~ size ** b that fits best."""

    what: str
    size_name: str
    sizes: tuple[float, ...]
    cpu: tuple[float, ...]
    unit: str
    exponent: float


def measure(program: str, *arguments: object) -> tuple[float, float]:
    """Return CPU seconds (user + system, start-up included) and peak megabytes of a Python program."""
    return measure_command([sys.executable, "-c", program, *map(str, arguments)])


def measure_command(words: Sequence[str]) -> tuple[float, float]:
    """Return CPU seconds and peak megabytes of a command."""
    process = subprocess.Popen(list(words), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"a benchmark program failed: {' '.join(words)[:90]}…")
    per_unit = 1e6 if sys.platform == "darwin" else 1e3
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / per_unit


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return b of time ~ size ** b by least squares of the logarithms.

    >>> exponent([1, 2, 4], [3.0, 6.0, 12.0])
    1.0
    """
    slope = np.polyfit(np.log(sizes), np.log(np.maximum(times, 1e-6)), 1)[0]
    return round(float(slope), 2)


def compared(rows: Sequence[Row], ours: str) -> list[Row]:
    """Return the rows with their times relative to the row named `ours`, where they are none of ours."""
    base = next(row.cpu for row in rows if row.what == ours)
    return [
        Row(r.part, r.what, r.kind, r.cpu, r.unit, r.peak_mb, round(r.cpu / max(base, 1e-9), 2)) for r in rows
    ]
