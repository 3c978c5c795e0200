"""The machine of a run, for readers of its figures.

In: nothing. Out: plain facts: processor, cores, system and memory.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def _facts() -> tuple[tuple[str, Any], ...]:
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        processor = next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
    facts: dict[str, Any] = {
        "processor": processor,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    with suppress(AttributeError, ValueError, OSError):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        facts["memory_gb"] = round(size / 2**30, 1)
    return tuple(facts.items())


def machine() -> dict[str, Any]:
    """Return what decides how long a run takes: processor, cores, system and memory."""
    return dict(_facts())
