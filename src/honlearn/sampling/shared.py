"""Results that the models of a run share: computed once for one network, its paths and its training pairs.

In: a digest of all that decides a result, and how it is computed. Out: the result, from memory where it was
computed before in this process. Only the last few are kept: as many as the inputs of one split.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths

# The higher-order and the first-order network of one split.
KEPT = 2
Result = TypeVar("Result")


class Shared(Generic[Result]):
    """The last few results (:data:`KEPT`) by their keys.

    >>> squares = Shared[int]()
    >>> squares.get("3", lambda: 3**2), squares.get("3", lambda: 0)
    (9, 9)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, Result] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str, compute: Callable[[], Result]) -> Result:
        """Return the result of a key, computed now unless it is known. Nobody may write to it."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        # Threads that ask at once compute the same twice.
        found = compute()
        with self._lock:
            self._known[key] = found
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return found

    def clear(self) -> None:
        """Forget all results."""
        with self._lock:
            self._known.clear()


def input_digest(
    network: HigherOrderNetwork, paths: Paths | None, examples: Iterable[NDArray[Any]], *given: object
) -> str:
    """Return a digest of what a result is computed from; `given` are plain values."""
    digest = hashlib.sha256(repr(given).encode())
    arrays: list[NDArray[Any]] = [
        network.gram_offsets,
        network.grams,
        network.indptr,
        network.indices,
        network.weights,
        *examples,
    ]
    if paths is not None:
        arrays += [paths.codes, paths.offsets, paths.vocabulary.data, paths.vocabulary.offsets]
        arrays += [network.vocabulary.data, network.vocabulary.offsets]
        arrays += [] if paths.counts is None else [paths.counts]
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
