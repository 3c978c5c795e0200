"""The start and the end of a command, where Python's own housekeeping takes longer than a small input.

In: a block of imports, which makes hundreds of thousands of objects and no garbage; the end of a process.
Out: the same, without searching all objects for unused cycles, and without taking each apart at the end.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def importing() -> Iterator[None]:
    """Look for no cycles in this block, and later for none among what it made.

    Once in a process: what was not in use before a later block would never be found again.
    """
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
        gc.enable()


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """End the process, where the block exits with a code, without taking its objects apart one by one.

    All else is done before as ever: threads are waited for, what others have registered for the end is
    called, and what was printed is written. Where that fails, the process ends as others do.
    """
    codes: list[int] = []

    def leave() -> None:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            for code in codes:
                os._exit(code)

    atexit.register(leave)  # before all others, so that it is called after them
    try:
        yield
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            codes.append(end.code or 0)
        raise
