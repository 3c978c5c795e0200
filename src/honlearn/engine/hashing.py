"""Random bits by counter: a key for each (learner, step, site), a hash of (key, place) for each bit.

Dropout drawn this way needs no stored mask (backward recomputes it), and a learner's masks depend on its
own seed only: not on how many learners train beside it, on threads, or on the device. The same hash is
written twice, once for compiled loops and once on tensors; a test holds them together.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.jit import njit
from honlearn.mixing import splitmix64_array

_MASK = 0xFFFFFFFF

Keys = NDArray[np.uint32]
"""A key for each learner, [L]."""

Site = tuple[Keys, np.uint32, np.float32]
"""A dropout site in compiled code: keys, the hash below which a place is dropped, the factor of the kept."""


@njit(inline="always")
def hash32(place: np.uint32, key: np.uint32) -> np.uint32:
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
    """Return the value below which a hash drops its place, with probability `rate`."""
    return min(int(rate * 2**32), _MASK)


def site_keys(streams: NDArray[np.uint64], step: int, site: int) -> NDArray[np.uint64]:
    """Return one 64-bit key for each learner's stream [L], for this step and this site of the model."""
    return splitmix64_array(streams, np.uint64(64 * step + site + 1))


def short_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the high half of 64-bit keys, for :func:`hash32`."""
    return (keys >> np.uint64(32)).astype(np.uint32)
