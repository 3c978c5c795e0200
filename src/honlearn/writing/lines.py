"""Lines that are added to a file: each is on the disk as a whole before the call returns, or not there.

In: a file that several processes may add to, and a line. Out: the line at its end. A disk that is full, or a
kill, leaves whole lines: a piece of one is cut off by the next writer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from honlearn.errors import InputError
from honlearn.writing.locks import try_lock

_BLOCK = 1 << 16


def append_line(path: Path, line: bytes) -> None:
    """Add a line to the file, or raise and leave it as it was."""
    try:
        with _locked(path, os.O_CREAT | os.O_APPEND) as handle:
            end = _end_of_lines(handle)
            os.ftruncate(handle, end)
            try:
                _write_all(handle, line + b"\n")
                os.fsync(handle)
            except BaseException:
                os.ftruncate(handle, end)
                raise
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}; the lines before are kept"
        ) from error


def cut(path: Path, line: bytes) -> bool:
    """Remove `line` from the end of the file, if it is still there; return whether it was."""
    with _locked(path) as handle:
        start = os.fstat(handle).st_size - len(line)
        os.lseek(handle, max(start, 0), os.SEEK_SET)
        if start < 0 or _read_all(handle, len(line)) != line:
            return False
        os.ftruncate(handle, start)
        os.fsync(handle)
        return True


@contextmanager
def _locked(path: Path, flags: int = 0) -> Iterator[int]:
    """Open the file and keep other processes out while a line is written or cut off, where the system can."""
    handle = os.open(path, os.O_RDWR | flags | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try_lock(handle, wait=True)
        yield handle
    finally:
        os.close(handle)


def _end_of_lines(handle: int) -> int:
    """Return where the last whole line ends."""
    end = os.fstat(handle).st_size
    while end:
        start = max(end - _BLOCK, 0)
        os.lseek(handle, start, os.SEEK_SET)
        place = _read_all(handle, end - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0


def _read_all(handle: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(handle, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write_all(handle: int, data: bytes) -> None:
    """Write every byte; the system may take fewer than it is given, of a full disk those that fit."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
