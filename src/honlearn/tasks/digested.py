"""A file and the digest of all that it holds, from one walk through it.

In: an open file. Out: its bytes, as far as they are asked for, and the SHA-256 digest of the whole.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO

_PIECE = 1 << 16


class Digested:
    """An open file that is read from its start to its end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._sum = file, hashlib.sha256()

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill a buffer as far as there is something left, and return how much that was."""
        got: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._sum.update(buffer if got == len(buffer) else buffer[:got])
        return got

    def digest(self) -> str:
        """Return the digest of the file, of which the rest is read for it."""
        while piece := self._file.read(_PIECE):
            self._sum.update(piece)
        return self._sum.hexdigest()
