"""Random bits by counter: the splitmix64 generator (Steele, Lea & Flood, OOPSLA 2014), in its one place.

In: a stream, which is any 64-bit number, and places in it. Out: 64 well-mixed bits per place. The bits of a
place depend on the stream and the place alone, so threads, chunks and the order of work change nothing. The
formula is written once; compiled loops use it on one number, NumPy on whole arrays.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, made odd: the step from one place to the next."""

Bits = TypeVar("Bits", np.uint64, NDArray[np.uint64])


def _mixed(state: Bits) -> Bits:
    x = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


mix64 = njit(_mixed, inline="always")
"""In compiled code: 64 well-mixed bits of a state (uint64); a stream adds GOLDEN to its state each time."""


@njit(inline="always")
def splitmix64(stream: np.uint64, place: np.uint64) -> np.uint64:
    """Return, in compiled code, the bits at a place of a stream, both uint64."""
    return mix64(stream + place * GOLDEN)


def splitmix64_array(
    stream: NDArray[np.uint64] | np.uint64, place: NDArray[np.uint64] | np.uint64
) -> NDArray[np.uint64]:
    """Return :func:`splitmix64` of arrays that broadcast.

    >>> [hex(bits) for bits in splitmix64_array(np.uint64(0), np.arange(1, 3, dtype=np.uint64)).tolist()]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    with np.errstate(over="ignore"):  # the products are meant modulo 2^64
        return _mixed(np.asarray(stream + place * GOLDEN))
