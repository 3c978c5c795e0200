"""Whole files or none: write beside the target, then put the result in its place in one step.

In: the path that a writer is asked for. Out: an open file; when the block ends well it replaces the target,
when it fails the target is as it was and nothing is left behind.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from honlearn.errors import InputError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` for a writer that opens files itself; it becomes `path` at the end."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        yield draft
        os.replace(draft, target)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink()


@contextmanager
def atomic_binary(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file that becomes `path` at the end."""
    with atomic_path(path) as draft, open(draft, "xb") as file:
        yield file


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """Yield a UTF-8 text file that becomes `path` at the end; line ends are written as they are."""
    with atomic_path(path) as draft, open(draft, "x", encoding="utf-8", newline="") as file:
        yield file
