"""Random bits by counter: a key for each (learner, step, site), a hash of (key, place) for each bit.

Dropout drawn this way needs no stored mask (backward recomputes it), and a learner's masks depend on its
own seed only: not on how many learners train beside it, on threads, or on the device. The same hash is
written twice, once for compiled loops and once on tensors; a test holds them together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.jit import njit

_MASK = 0xFFFFFFFF


@njit(inline="always")
def hash32(place: Any, key: Any) -> Any:
    """Return 32 well-mixed bits of a place (uint32) under a key (uint32)."""
    x = np.uint32(place * np.uint32(0x9E3779B1)) ^ key
    x ^= x >> np.uint32(16)
    x = np.uint32(x * np.uint32(0x7FEB352D))
    x ^= x >> np.uint32(15)
    x = np.uint32(x * np.uint32(0x846CA68B))
    x ^= x >> np.uint32(16)
    return x


def hash32_tensor(place: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Return :func:`hash32` of int64 tensors that hold 32-bit values, as int64."""
    x = ((place * 0x9E3779B1) & _MASK) ^ key
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _MASK
    return x ^ (x >> 16)


def drop_threshold(rate: float) -> int:
    """Return the value below which a hash drops its place, with chance `rate`."""
    return min(int(rate * 2**32), _MASK)


def site_keys(streams: NDArray[np.uint64], step: int, site: int) -> NDArray[np.uint64]:
    """Return one 64-bit key for each learner's stream [L], for this step and this site of the model."""
    with np.errstate(over="ignore"):
        place = np.uint64(step) * np.uint64(64) + np.uint64(site + 1)
        x = streams + place * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)), np.uint64)


def short_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the high half of 64-bit keys, for :func:`hash32`."""
    return (keys >> np.uint64(32)).astype(np.uint32)
