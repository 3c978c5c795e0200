"""A hash table in two arrays, by open addressing: 64-bit keys → numbers 0, 1, 2, … by first appearance.

In: keys, any 64-bit value. Out: one number per key. A key takes the first free slot from its home slot on; a
slot is free as long as its number is FREE. The count of slots is a power of two. The compiled steps also
serve a table that compares more than the key (:mod:`honlearn.paths.interner`). They are left to LLVM to
inline: ``inline="always"`` would count references to the arrays at every look-up, and the text reader would
take six times as long.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit
from honlearn.mixing import GOLDEN

FREE = -1
_START = 1 << 12
_ONE = np.uint64(1)

Keys = NDArray[np.uint64]
Number = TypeVar("Number", np.int32, np.int64)


@njit
def home_slot(key: np.uint64, keys: Keys) -> np.uint64:
    """Return the slot where the search for a key starts."""
    mixed = key * GOLDEN
    return (mixed ^ (mixed >> np.uint64(32))) & np.uint64(len(keys) - 1)


@njit
def next_slot(slot: np.uint64, keys: Keys) -> np.uint64:
    """Return the slot behind this one, the first behind the last."""
    return (slot + _ONE) & np.uint64(len(keys) - 1)


@njit
def find_slot(slot: np.uint64, key: np.uint64, keys: Keys, numbers: NDArray[Number]) -> np.uint64:
    """Return the first slot from `slot` on that holds the key or nothing."""
    while keys[slot] != key and numbers[slot] != FREE:
        slot = next_slot(slot, keys)
    return slot


@njit
def has_room(size: int, keys: Keys) -> bool:
    """Return whether a table of `size` keys stays at most 70 % full with one more: searches are short."""
    return 10 * (size + 1) <= 7 * len(keys)


@njit
def _move(keys: Keys, numbers: NDArray[Number], to_keys: Keys, to_numbers: NDArray[Number]) -> None:
    """Put what one table holds into a larger one that holds nothing; equal keys keep a slot each."""
    for i in range(len(keys)):
        if numbers[i] != FREE:
            slot = home_slot(keys[i], to_keys)
            while to_numbers[slot] != FREE:
                slot = next_slot(slot, to_keys)
            to_keys[slot] = keys[i]
            to_numbers[slot] = numbers[i]


@njit
def _number(
    wanted: Keys, done: int, keys: Keys, numbers: NDArray[Number], size: int, out: NDArray[Number]
) -> tuple[int, int]:
    """Number the keys from `done` on; stop where the table has no room."""
    for i in range(done, len(wanted)):
        if i > 0 and wanted[i] == wanted[i - 1]:  # equal keys often stand together
            out[i] = out[i - 1]
            continue
        slot = find_slot(home_slot(wanted[i], keys), wanted[i], keys, numbers)
        if numbers[slot] == FREE:
            if not has_room(size, keys):
                return i, size
            keys[slot] = wanted[i]
            numbers[slot] = size
            size += 1
        out[i] = numbers[slot]
    return len(wanted), size


def empty_slots(dtype: type[Number]) -> tuple[Keys, NDArray[Number]]:
    """Return the keys and the numbers of a small, empty table."""
    return np.zeros(_START, np.uint64), np.full(_START, FREE, dtype)


def doubled(keys: Keys, numbers: NDArray[Number]) -> tuple[Keys, NDArray[Number]]:
    """Return a table with twice the slots that holds the same."""
    to_keys, to_numbers = np.zeros(2 * len(keys), np.uint64), np.full(2 * len(keys), FREE, numbers.dtype)
    _move(keys, numbers, to_keys, to_numbers)
    return to_keys, to_numbers


class HashTable(Generic[Number]):
    """Numbers keys by first appearance; `len` is how many there are.

    >>> table = HashTable(np.int32)
    >>> table.number(np.array([7, 7, 0, 9, 0], np.uint64)).tolist()
    [0, 0, 1, 2, 1]
    >>> table.keys_by_number().tolist()
    [7, 0, 9]
    """

    def __init__(self, dtype: type[Number]) -> None:
        self._keys: Keys
        self._numbers: NDArray[Number]
        self._keys, self._numbers = empty_slots(dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def number(self, keys: Keys) -> NDArray[Number]:
        """Return the number of each key; a new key gets the next."""
        out = np.empty(len(keys), self._numbers.dtype)
        done, self._size = _number(keys, 0, self._keys, self._numbers, self._size, out)
        while done < len(keys):
            self._keys, self._numbers = doubled(self._keys, self._numbers)
            done, self._size = _number(keys, done, self._keys, self._numbers, self._size, out)
        return out

    def keys_by_number(self) -> Keys:
        """Return all keys, number 0 first."""
        taken = self._numbers != FREE
        out = np.empty(self._size, np.uint64)
        out[self._numbers[taken]] = self._keys[taken]
        return out
