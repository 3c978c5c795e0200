"""A vocabulary in the making: byte strings → codes, in order of first appearance.

In: where each name starts and ends within a buffer. Out: one int32 code per name; new names are added and
checked once. The table (:mod:`honlearn.hash_table`) has 64-bit keys: a name of up to 7 bytes is its own key,
a longer one is hashed and compared, so look-ups are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.hash_table import FREE, doubled, empty_slots, find_slot, has_room, home_slot, next_slot
from honlearn.jit import eight_bytes, njit
from honlearn.mixing import GOLDEN
from honlearn.paths.options import MAX_NAME
from honlearn.paths.vocabulary import Vocabulary

SHORT = 7
_LONG = np.uint64(0xFF << 56)


class BadName(InputError):
    """The name at `position` of a batch cannot be an entity id: `reason` says why."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"name {position}: {reason}")
        self.position = position
        self.reason = reason


@njit(inline="always")
def key_of(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    """Return the key of ``data[start:end]``, never 0: length and bytes up to SHORT, else a tagged hash."""
    if end - start <= SHORT:
        key = np.uint64(end - start + 1) << np.uint64(56)
        for i in range(end - start):
            key |= np.uint64(data[start + i]) << np.uint64(8 * i)
        return key
    return hash_long(data, start, end)


@njit(inline="always")
def hash_long(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    """Return the tagged hash of a name of eight bytes or more, read by eights; the last may overlap."""
    digest = np.uint64(end - start)
    at = start
    while at < end:
        digest = (digest ^ eight_bytes(data, min(at, end - 8))) * GOLDEN
        digest ^= digest >> np.uint64(29)
        at += 8
    return digest | _LONG


@njit
def _is_name(
    code: np.uint64,
    data: NDArray[np.uint8],
    start: int,
    end: int,
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> bool:
    """Return whether ``data[start:end]``, eight bytes or more, is the name with this code."""
    first = ends[code]
    if ends[code + np.uint64(1)] - first != end - start:
        return False
    at = 0
    while at < end - start:
        here = min(at, end - start - 8)
        if eight_bytes(arena, first + here) != eight_bytes(data, start + here):
            return False
        at += 8
    return True


@njit(inline="always")
def find(
    key: np.uint64,
    data: NDArray[np.uint8],
    start: int,
    end: int,
    keys: NDArray[np.uint64],
    codes: NDArray[np.int32],
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> np.uint64:
    """Return the slot of the name, or of the empty place where it belongs."""
    slot = find_slot(home_slot(key, keys), key, keys, codes)
    if end - start > SHORT:
        while codes[slot] != FREE and not _is_name(np.uint64(codes[slot]), data, start, end, arena, ends):
            slot = find_slot(next_slot(slot, keys), key, keys, codes)
    return slot


@njit(inline="always")
def add(
    slot: np.uint64,
    key: np.uint64,
    data: NDArray[np.uint8],
    start: int,
    end: int,
    keys: NDArray[np.uint64],
    codes: NDArray[np.int32],
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
    code: int,
) -> bool:
    """Put a new name with the next `code` into an empty slot; False when there is no room."""
    used = ends[code]
    if code + 2 > len(ends) or not has_room(code, keys) or used + end - start > len(arena):
        return False
    keys[slot] = key
    codes[slot] = code
    for i in range(end - start):
        arena[used + i] = data[start + i]
    ends[code + 1] = used + end - start
    return True


@njit
def _intern_all(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    first: int,
    out: NDArray[np.int32],
    keys: NDArray[np.uint64],
    codes: NDArray[np.int32],
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
    size: int,
) -> tuple[int, int]:
    for i in range(first, len(starts)):
        key = key_of(data, starts[i], stops[i])
        slot = find(key, data, starts[i], stops[i], keys, codes, arena, ends)
        if codes[slot] == FREE:
            if not add(slot, key, data, starts[i], stops[i], keys, codes, arena, ends, size):
                return i, size
            size += 1
        out[i] = codes[slot]
    return len(starts), size


class Interner:
    """Gives each distinct name the next code; :meth:`freeze` makes the :class:`Vocabulary`.

    >>> interner = Interner()
    >>> interner.intern_names(["ATL", "ORD", "ATL"]).tolist()
    [0, 1, 0]
    >>> interner.freeze().names
    ('ATL', 'ORD')
    """

    def __init__(self, max_name: int | None = MAX_NAME) -> None:
        self.max_name = max_name
        self.size = 0
        self.keys, self.codes = empty_slots(np.int32)
        self.arena = np.empty(1 << 15, np.uint8)
        self.ends = np.zeros(1 << 11, np.int64)

    def grow(self, room: int = 0) -> None:
        """Double what is full, with room for at least `room` more bytes of names."""
        if not has_room(self.size, self.keys) or self.size + 2 > len(self.ends):
            self.keys, self.codes = doubled(self.keys, self.codes)
            self.ends = np.concatenate([self.ends, np.zeros(len(self.ends), np.int64)])
        used = int(self.ends[self.size])
        if used + room > len(self.arena) // 2:
            arena = np.empty(2 * (len(self.arena) + room), np.uint8)
            arena[:used] = self.arena[:used]
            self.arena = arena

    def intern(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the codes of the names ``data[starts[i]:ends[i]]``; :class:`BadName` on an unfit one."""
        self._check_lengths(ends - starts)
        out = np.empty(len(starts), np.int32)
        known, done = self.size, 0
        while True:
            done, self.size = _intern_all(
                data, starts, ends, done, out, self.keys, self.codes, self.arena, self.ends, self.size
            )
            if done == len(starts):
                break
            self.grow(int(ends[done] - starts[done]))
        bad = self.first_bad(known)
        if bad is not None:
            raise BadName(int(np.argmax(out == bad[0])), bad[1])
        return out

    def _check_lengths(self, lengths: NDArray[np.int64]) -> None:
        """Raise for a name that is too long, before it is copied."""
        if self.max_name is not None and len(lengths) and lengths.max() > self.max_name:
            position = int(np.argmax(lengths > self.max_name))
            raise BadName(position, too_long(int(lengths[position]), self.max_name))

    def intern_names(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return the codes of Python strings."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        edges = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(name) for name in encoded], out=edges[1:])
        return self.intern(np.frombuffer(b"".join(encoded), np.uint8), edges[:-1], edges[1:])

    def first_bad(self, known: int) -> tuple[int, str] | None:
        """Return the first code from `known` on whose name is unfit, and why; None when all are fit."""
        raw = self.arena[self.ends[known] : self.ends[self.size]].tobytes()
        edges = (self.ends[known : self.size + 1] - self.ends[known]).tolist()
        for i, (a, b) in enumerate(pairwise(edges)):
            if self.max_name is not None and b - a > self.max_name:
                return known + i, too_long(b - a, self.max_name)
            reason = unfit(raw[a:b])
            if reason:
                return known + i, reason
        return None

    def __len__(self) -> int:
        return self.size

    def freeze(self) -> Vocabulary:
        """Return the names so far as an immutable vocabulary."""
        return Vocabulary(self.arena[: self.ends[self.size]].copy(), self.ends[: self.size + 1].copy())


HOLDS_SEPARATOR = "contains '|', which separates a node from its context; replace it"


def too_long(size: int, most: int) -> str:
    """Return what is wrong with a name of `size` bytes."""
    return f"entity id of {size:,} bytes, more than {most:,}; raise max_name (--max-name) if it is one"


def unfit(name: bytes) -> str:
    """Return why these bytes cannot be an entity id, or an empty string."""
    if not name:
        return "empty entity id"
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return f"entity id {name[:40]!r} is not UTF-8 text; convert the input to UTF-8"
    if "|" in text:
        return f"entity id {text[:40]!r} {HOLDS_SEPARATOR}"
    return ""
