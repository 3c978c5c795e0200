"""Whole files or none: write beside the target, then put the result in its place in one step.

In: the path that a writer is asked for. Out: an open file, or a folder to fill; when the block ends well it
is on the disk and replaces the target, when it fails the target is as it was and nothing is left behind. What
a killed process has left is removed by the next that writes to the same folder. A pipe or a device such as
``/dev/stdout`` cannot be replaced and is written to as it is.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from honlearn.errors import HonlearnError, InputError
from honlearn.writing.locks import is_at, try_lock

# Drafts have names that no other program gives, so that none of its files is taken for one of ours.
DRAFT = ".honlearn-part"
_HELD, _NEW = "held", "new"


def is_draft(name: str) -> bool:
    """Return whether a file or folder of this name is a draft of ours."""
    return name.startswith(".") and name.endswith(DRAFT)


@contextmanager
def atomic_binary(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file that becomes `path` at the end."""
    with _as_input_error(path):
        there = _existing(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            with open(path, "wb") as through:
                yield through
            return
        target = Path(os.path.realpath(path))
        remove_stale_drafts(target.parent)
        file, draft = _new_draft(target)
        try:
            yield file
            file.flush()
            if there is not None:
                os.chmod(draft, stat.S_IMODE(there.st_mode))
            os.fsync(file.fileno())
            if os.name == "nt":
                # Windows moves only what is closed; elsewhere the lock is kept until the draft is no more.
                file.close()
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                draft.unlink()


@contextmanager
def atomic_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Yield a UTF-8 text file that becomes `path` at the end; line ends are written as they are.

    Bytes of a file's name that are no UTF-8 are written as JSON escapes such as ``\\udcff``.
    """
    with atomic_binary(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield text
            text.flush()
        finally:
            # The block may have failed with text that is not written; what matters is raised already.
            with suppress(OSError, ValueError):
                text.detach()


@contextmanager
def atomic_folder(path: str | os.PathLike[str], last: str | None = None) -> Iterator[Path]:
    """Yield a new folder whose files are moved to the folder `path` at the end; others there stay.

    The file called `last` is the first to go and the last to come, so that files of before and of now are
    never taken for one whole.
    """
    root = Path(path)
    with _as_input_error(path):
        is_new = not root.exists()
        root.mkdir(parents=True, exist_ok=True)
        draft = None
        try:
            remove_stale_drafts(root)
            held, draft = _new_folder_draft(root)
            try:
                yield draft / _NEW
                _sync_files(draft / _NEW)
                move_files(draft / _NEW, root, last)
            finally:
                os.close(held)
        finally:
            if draft is not None:
                shutil.rmtree(draft, ignore_errors=True)
            if is_new:
                with suppress(OSError):
                    root.rmdir()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise where the system would not let us make `path`, or write in it: before there is anything to write.

    Folders above it that are missing may still be made; the nearest one that is there decides.
    """
    with _as_input_error(path):
        target = Path(path)
        folder = target if target.is_dir() else target.parent
        while not folder.exists():
            folder = folder.parent
        allowed = os.access(folder, os.W_OK | os.X_OK)
    if not allowed:
        raise InputError(f"{path}: the folder {folder} cannot be written to; choose another")


def move_files(source: Path, folder: Path, last: str | None = None) -> None:
    """Move the files in `source` to `folder`; `last` as in :func:`atomic_folder`."""
    if last is not None:
        (folder / last).unlink(missing_ok=True)
    for path in sorted(source.iterdir(), key=lambda path: (path.name == last, path.name)):
        os.replace(path, folder / path.name)


def remove_stale_drafts(folder: str | os.PathLike[str]) -> None:
    """Remove the drafts in `folder` that nobody writes to any more: what killed processes have left."""
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if is_draft(entry.name):
                with suppress(OSError):
                    _remove_if_stale(Path(entry.path))


def _remove_if_stale(draft: Path) -> None:
    if not draft.is_dir():
        _unlink_if_unlocked(draft)
    elif (draft / _HELD).exists():
        _unlink_if_unlocked(draft / _HELD)
        if not (draft / _HELD).exists():
            shutil.rmtree(draft, ignore_errors=True)
    else:
        # Its maker may be about to lock it, and tries again if it is gone.
        draft.rmdir()


def _unlink_if_unlocked(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        if not try_lock(handle):
            return
        if os.name != "nt":
            path.unlink()
    finally:
        os.close(handle)
    if os.name == "nt":
        # What another process holds open is not removed there.
        path.unlink()


@contextmanager
def _as_input_error(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, HonlearnError):
            raise
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _existing(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return what is at `path`, or raise where that can neither be replaced nor written through."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(there.st_mode):
        raise InputError(f"{path}: is a folder; name a file")
    if stat.S_ISBLK(there.st_mode) or stat.S_ISSOCK(there.st_mode):
        kind = "a disk" if stat.S_ISBLK(there.st_mode) else "a socket"
        raise InputError(f"{path}: is {kind}, not a file; name a new or a regular file")
    if not os.access(path, os.W_OK):
        raise InputError(f"{path}: is read-only; name another file, or allow writing to it")
    return there


def _new_draft(target: Path) -> tuple[BinaryIO, Path]:
    """Return a new file beside `target`, open and locked."""
    # Names have at most 255 bytes.
    name = os.fsencode(target.name)[:100].decode("utf-8", "ignore")
    while True:
        draft = target.with_name(f".{name}.{secrets.token_hex(6)}{DRAFT}")
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | _binary(), 0o666)
        try_lock(handle)
        if is_at(handle, draft):
            return os.fdopen(handle, "w+b"), draft
        # Another process took it for a stale one before it was locked.
        os.close(handle)


def _new_folder_draft(root: Path) -> tuple[int, Path]:
    while True:
        draft = root / f".{secrets.token_hex(6)}{DRAFT}"
        draft.mkdir()
        try:
            handle = os.open(draft / _HELD, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileNotFoundError:
            continue
        try_lock(handle)
        if is_at(handle, draft / _HELD):
            (draft / _NEW).mkdir()
            return handle, draft
        os.close(handle)


def _sync_files(folder: Path) -> None:
    for path in folder.iterdir():
        with open(path, "rb+") as file:
            os.fsync(file.fileno())


def _binary() -> int:
    flag: Any = getattr(os, "O_BINARY", 0)
    return int(flag)
