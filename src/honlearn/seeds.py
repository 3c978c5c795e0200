"""Randomness: one root seed, and a generator of its own for every use, named by labels.

In: a root seed and labels. Out: a seed, or a NumPy generator. Labels (fold, learner, purpose) make the
stream, so adding a learner, a worker or an output changes no other stream. Nothing here touches a global
generator.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from honlearn.errors import ParameterError

Label = str | int


def root_seed(random_state: int | np.random.Generator | np.random.RandomState | None) -> int:
    """Return the root seed that a ``random_state`` parameter stands for; None draws one.

    >>> root_seed(7)
    7
    """
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63, dtype=np.uint64))
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise ParameterError(
            "The seed must be a whole number, at least 0, a NumPy Generator or RandomState, or None. "
            f"Got {random_state!r} instead."
        )
    return int(random_state)


def derive_seed(seed: int, *labels: Label) -> int:
    """Return a 63-bit seed that belongs to `seed` and these labels alone.

    >>> derive_seed(0, "relatives", 7) == derive_seed(0, "relatives", 7)
    True
    >>> derive_seed(0, "relatives", 7) == derive_seed(0, "relatives", 8)
    False
    """
    text = "\x1f".join(f"{type(x).__name__[0]}{x}" for x in (int(seed), *labels))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def generator(seed: int, *labels: Label) -> np.random.Generator:
    """Return a NumPy generator that belongs to `seed` and these labels alone."""
    return np.random.Generator(np.random.PCG64DXSM(derive_seed(seed, *labels)))
