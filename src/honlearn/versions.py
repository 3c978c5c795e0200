"""What a record or model was made with: versions of honlearn and of what it computes with, and the system."""

from __future__ import annotations

import importlib.metadata
import platform
from functools import lru_cache

from honlearn import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "torch_geometric", "numba")


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("honlearn", __version__), ("python", platform.python_version())]
    for name in _PACKAGES:
        try:
            found.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            continue
    return (*found, ("system", f"{platform.system()} {platform.machine()}"))


def versions() -> dict[str, str]:
    """Return the versions of what decides results, by name."""
    return dict(_versions())
