"""Arrays on disk, for counts that do not fit the memory that they may take.

In: arrays, one after another. Out: any slice of what was appended, read or mapped. The files have no names,
so that whatever ends the process (an error, Ctrl-C, a kill) leaves nothing behind; they lie where the system
keeps temporary files (TMPDIR).
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.sizes import shown_size

BLOCK = 1 << 20


class DiskArray:
    """A one-dimensional array that only grows, in a temporary file.

    >>> array = DiskArray(np.int64)
    >>> array.append(np.arange(3)), array.append(np.arange(3, 5)), len(array), array.read(1, 4).tolist()
    (None, None, 5, [1, 2, 3])
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        self.dtype = np.dtype(dtype)
        self._size = 0
        try:
            self._file = tempfile.TemporaryFile(prefix="honlearn-", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise _refused(error, 0) from error
        # Closed with the array, also where an error ends its use.
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._size

    def append(self, values: NDArray[Any]) -> None:
        """Write values behind those that are there; a full disk is an InputError."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        done = 0
        try:
            while done < len(data):
                done += self._file.write(data[done : done + (1 << 26)])
        except OSError as error:
            raise _refused(error, self._size * self.dtype.itemsize) from error
        self._size += len(values)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return a slice in memory of its own."""
        out = np.empty(stop - start, self.dtype)
        data, done = out.data.cast("B"), 0
        self._file.seek(start * self.dtype.itemsize)
        while done < len(data):
            got = self._file.readinto(data[done:])
            if not got:
                raise InputError("a temporary file was cut short while it was in use; run the command again")
            done += got
        self._file.seek(0, os.SEEK_END)
        return out

    def blocks(self, size: int = BLOCK) -> Iterator[NDArray[Any]]:
        """Yield all of it in slices of at most `size`."""
        for start in range(0, self._size, size):
            yield self.read(start, min(start + size, self._size))

    def mapped(self) -> NDArray[Any]:
        """Return all of it, mapped: the system keeps in memory what is used. Writing changes no file."""
        if not self._size:
            return np.empty(0, self.dtype)
        memory = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_COPY)
        return np.frombuffer(memory, self.dtype)

    def close(self) -> None:
        """Give the disk back; what is mapped stays until it is let go."""
        self._file.close()


def let_go(arrays: Iterable[NDArray[Any]]) -> None:
    """Let the system take back the memory of mapped arrays, which stay what they are; others stay as well.

    Pages that were read once count as memory of the process until then.
    """
    for array in arrays:
        base: object = array
        while isinstance(base, (np.ndarray, memoryview)):
            base = base.base if isinstance(base, np.ndarray) else base.obj
        if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


def _refused(error: OSError, written: int) -> InputError:
    folder = tempfile.gettempdir()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(
            f"{folder}: the disk is full after {shown_size(written)} of counts in a temporary file; "
            "free some space, set TMPDIR to a folder on another disk, or allow more --memory"
        )
    reason = os.strerror(error.errno) if error.errno else error
    return InputError(f"{folder}: no temporary file can be written there: {reason}; set TMPDIR to a folder")
