"""Locks on files and folders, which the system releases when their holder ends, however it ends.

In: an open file, or a folder that a long command writes to. Out: whether it is ours; where a folder is not,
an error that names who holds it. Linux and macOS lock with ``fcntl``, Windows with ``msvcrt``; on a file
system without locks the process that the note in the folder names is looked for.
"""

from __future__ import annotations

import datetime
import errno
import importlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from honlearn.errors import InputError

LOCK_FILE = ".honlearn-lock"
# What a file system that has no locks answers.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
# Windows keeps others from reading what is locked, so the byte that is locked lies beyond all content.
_FAR = 1 << 40
_ATTEMPTS = 100
_held: set[str] = set()


class BusyError(InputError):
    """Another process writes to the folder."""


def try_lock(handle: int, *, wait: bool = False) -> bool | None:
    """Lock an open file for its owner alone; return False if another has it, None if nobody can tell.

    With `wait` it returns when the other has let go.
    """
    fcntl, msvcrt = _module("fcntl"), _module("msvcrt")
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        elif msvcrt is not None:
            _lock_far_byte(msvcrt, handle, wait)
        else:
            return None
    except OSError as error:
        return None if error.errno in _NO_LOCKS else False
    return True


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _lock_far_byte(msvcrt: Any, handle: int, wait: bool) -> None:
    place = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, _FAR, os.SEEK_SET)
    try:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return
            except OSError:
                # LK_LOCK gives up after ten seconds.
                if not wait:
                    raise
    finally:
        os.lseek(handle, place, os.SEEK_SET)


def is_at(handle: int, path: str | os.PathLike[str]) -> bool:
    """Return whether an open file is still the one at `path`: another process may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def locked_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from writing to `folder` in the block, or raise a :class:`BusyError`.

    The folder is made if it is missing, and removed again if nothing was put into it. A process that has it
    already may take it again.
    """
    root = Path(os.path.realpath(folder))
    if str(root) in _held:
        yield
        return
    if root.exists() and not root.is_dir():
        raise InputError(f"{folder}: there is a file of this name; name a folder")
    is_new = not root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = _acquire(root / LOCK_FILE, folder)
    except OSError as error:
        if is_new:
            with suppress(OSError):
                root.rmdir()
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from error
    _held.add(str(root))
    try:
        yield
    finally:
        _held.discard(str(root))
        _release(root / LOCK_FILE, handle)
        if is_new:
            with suppress(OSError):
                root.rmdir()


def _acquire(path: Path, folder: str | os.PathLike[str]) -> int:
    for _ in range(_ATTEMPTS):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        locked = try_lock(handle)
        note = _read_note(handle)
        if locked is False or (locked is None and _is_alive(note)):
            os.close(handle)
            raise BusyError(
                f"{folder}: {_described(note)} is writing to it; wait until that has ended, or name another "
                "folder"
            )
        # The process that had it before removes it, perhaps after we have opened it.
        if is_at(handle, path):
            try:
                _write_note(handle)
            except OSError:
                # A full disk: nothing is left of the attempt.
                _release(path, handle)
                raise
            return handle
        os.close(handle)
    raise InputError(f"{path}: cannot be locked: it is removed again and again")


def _release(path: Path, handle: int) -> None:
    """Remove the file and let go of it; Windows removes only what is closed."""
    if os.name == "nt":
        os.close(handle)
    with suppress(OSError):
        path.unlink()
    if os.name != "nt":
        os.close(handle)


def _write_note(handle: int) -> None:
    since = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
    note = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, json.dumps(note).encode())


def _read_note(handle: int) -> dict[str, Any]:
    """Return what the holder has written about itself; nothing where that is not readable (yet)."""
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        note = json.loads(os.read(handle, 1000))
    except (ValueError, OSError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def _described(note: dict[str, Any]) -> str:
    if not note:
        return "another process"
    return f"process {note.get('pid')} on {note.get('host')}, since {note.get('since')},"


def _is_alive(note: dict[str, Any]) -> bool:
    """Return whether the process of a note runs on this machine; one of another machine is thought gone."""
    pid = note.get("pid")
    if note.get("host") != socket.gethostname() or not isinstance(pid, int) or pid in (0, os.getpid()):
        return False
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True
