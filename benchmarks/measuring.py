"""How the benchmarks measure: programs as processes of their own, rows of a table, exponents of growth.

In: a Python program and its arguments, or sizes and times. Out: CPU seconds and peak memory as the operating
system counts them, and the exponent that fits best.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

# A process has the peak of the one that started it until it is another program, so a small one starts it.
LAUNCH = """
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) and 1)
"""


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, CPU time in `unit`, peak memory, and how many times ours it is.

    `kind` is ``"limit"`` for what any program would pay, ``"ours"`` or ``"other"``. `beyond` is the CPU time
    without that of the same program on a thousand paths; where it is known, it is what is compared.
    """

    part: str
    what: str
    kind: str
    cpu: float
    unit: str = "s"
    peak_mb: float | None = None
    times: float | None = None
    beyond: float | None = None

    @property
    def basis(self) -> float:
        """The time that is compared."""
        return self.cpu if self.beyond is None else self.beyond


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
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCH, *words], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"a benchmark program failed: {' '.join(words)[:90]}…")
    cpu, memory = map(float, done.stdout.split()[-2:])
    return cpu, memory / (1e6 if sys.platform == "darwin" else 1e3)


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return b of time ~ size ** b by least squares of the logarithms.

    >>> exponent([1, 2, 4], [3.0, 6.0, 12.0])
    1.0
    """
    slope = np.polyfit(np.log(sizes), np.log(np.maximum(times, 1e-6)), 1)[0]
    return round(float(slope), 2)


def compared(rows: Sequence[Row], ours: str) -> list[Row]:
    """Return the rows with their times relative to the row named `ours`."""
    base = max(next(row.basis for row in rows if row.what == ours), 1e-9)
    return [replace(row, times=round(row.basis / base, 2)) for row in rows]
