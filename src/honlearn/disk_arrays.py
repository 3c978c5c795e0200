"""Arrays on disk: counts, and weights of learners, that do not fit the memory that they may take.

In: arrays, one after another. Out: any slice of what was appended, read or mapped. The files have no names,
so that whatever ends the process (an error, Ctrl-C, a kill) leaves nothing behind; they lie where the system
keeps temporary files (TMPDIR).
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.sizes import shown_size

BLOCK = 1 << 20
_IN_MEMORY = ("tmpfs", "ramfs")


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

    def mapped(self) -> NDArray[Any]:
        """Return all of it, mapped: the system keeps in memory what is used. Writing changes no file."""
        if not self._size:
            return np.empty(0, self.dtype)
        try:
            memory = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise _refused(error, self._size * self.dtype.itemsize) from error
        return np.frombuffer(memory, self.dtype)

    def close(self) -> None:
        """Give the disk back; what is mapped stays until it is let go."""
        self._file.close()


def let_go(arrays: Iterable[NDArray[Any]]) -> None:
    """Let the system take back the memory of mapped arrays, which stay what they are; others stay as well.

    Pages that were read once count as memory of the process until then.
    """
    for array in arrays:
        base = _mapping(array)
        if base is not None and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


def _mapping(array: NDArray[Any]) -> mmap.mmap | None:
    """Return what an array is mapped from, None for one in memory."""
    base: object = array
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap.mmap) else None


def give_back(arrays: Iterable[NDArray[Any]]) -> None:
    """Let mapped arrays go and return freed memory to the system, between two stages of the work.

    The C library keeps what was freed between blocks that are in use, here up to a hundred megabytes. Nothing
    is done where no array is mapped.
    """
    mapped = [array for array in arrays if _mapping(array) is not None]
    let_go(mapped)
    if mapped and sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # there in glibc
        if trim is not None:
            trim(0)


def where(
    size: int, test: Callable[[slice], NDArray[np.bool_]], arrays: Iterable[NDArray[Any]]
) -> NDArray[np.int64]:
    """Return the places below `size` where a test of slices holds; between two slices `arrays` are let go.

    >>> where(5, lambda part: np.arange(5)[part] % 2 == 0, ()).tolist()
    [0, 2, 4]
    """
    arrays, found = tuple(arrays), [np.empty(0, np.int64)]
    for part in slices(size, arrays):
        found.append(np.flatnonzero(test(part)) + part.start)
    return np.concatenate(found)


def slices(size: int, arrays: Iterable[NDArray[Any]]) -> Iterator[slice]:
    """Yield slices of a walk over arrays of one `size`; mapped ones are let go after each slice."""
    arrays = tuple(arrays)
    for start in range(0, size, BLOCK):
        yield slice(start, min(start + BLOCK, size))
        let_go(arrays)


def nearby(places: NDArray[np.int64], arrays: Iterable[NDArray[Any]]) -> Iterator[slice]:
    """Yield slices of ascending places that lie near each other; mapped `arrays` are let go after each.

    The system maps sixteen pages around each that is read, so a few thousand places would be all of an array.
    """
    arrays = tuple(arrays)
    if not any(_mapping(array) is not None for array in arrays):
        yield slice(0, len(places))
        return
    last = int(places[-1]) if len(places) else -1
    cuts = np.searchsorted(places, np.arange(0, last + BLOCK + 1, BLOCK))
    for start, stop in pairwise(cuts.tolist()):
        if start < stop:
            yield slice(start, stop)
            let_go(arrays)


def gather(array: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values at ascending places.

    >>> gather(np.array([3, 1, 4]), np.array([0, 2])).tolist()
    [3, 4]
    """
    found = np.empty(len(places), array.dtype)
    for part in nearby(places, (array,)):
        found[part] = array[places[part]]
    return found


def room() -> int:
    """Return how many bytes temporary files may take beside memory: 0 where they lie in memory themselves."""
    folder = Path(tempfile.gettempdir())
    try:
        free, mounts = shutil.disk_usage(folder).free, Path("/proc/mounts").read_text()
    except OSError:
        return 0
    return 0 if _kind_of_disk(folder.resolve(), mounts) in _IN_MEMORY else free


def _kind_of_disk(folder: Path, mounts: str) -> str:
    """Return the kind of file system that a folder is on, by the system's list of what is mounted where.

    >>> _kind_of_disk(Path("/tmp/x"), "a / ext4 rw 0 0\\nb /tmp tmpfs rw 0 0\\nc /tm ext4 rw 0 0\\n")
    'tmpfs'
    """
    rows = [line.split() for line in mounts.splitlines()]
    # Of two at one place, the later one is seen.
    above = [(len(Path(row[1]).parts), place, row[2]) for place, row in enumerate(rows) if len(row) > 2]
    above = [one for one in above if folder.is_relative_to(rows[one[1]][1])]
    return max(above)[2] if above else ""


def _refused(error: OSError, written: int) -> InputError:
    folder = tempfile.gettempdir()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(
            f"{folder}: the disk is full after {shown_size(written)} in a temporary file; "
            "free some space, set TMPDIR to a folder on another disk, or allow more memory"
        )
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return InputError(
            f"{folder}: too many temporary files are open; raise the limit (ulimit -n), or allow more memory"
        )
    reason = os.strerror(error.errno) if error.errno else error
    return InputError(f"{folder}: no temporary file can be written there: {reason}; set TMPDIR to a folder")
