"""Signals that end a program: SIGTERM cleans up as Ctrl-C does, and a training saves before it gives way.

In: SIGINT and SIGTERM. Out: exceptions, at a moment at which they do no harm. A training with a checkpoint
holds a signal back until its next checkpoint is written; a second signal is not held back.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

TERMINATED = 128 + signal.SIGTERM
_waiting: list[int] = []
_before: dict[int, Any] = {}


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise a ``SystemExit`` with code 143 in the block, so that it cleans up."""
    if not _is_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    # Once is enough: another must not break off the cleaning up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(TERMINATED)


@contextmanager
def held_back(wanted: bool) -> Iterator[None]:
    """Hold SIGINT and SIGTERM back in the block, until :func:`give_way` or its end."""
    if not wanted or _before or not _is_main_thread():
        yield
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            _before[number] = signal.signal(number, _note)
    try:
        yield
    finally:
        _restore()
        give_way()


def is_waiting() -> bool:
    """Return whether a signal is held back: what can be saved should be saved now."""
    return bool(_waiting)


def give_way() -> None:
    """Let the signal that is held back, if there is one, do what it would have done."""
    if _waiting:
        number = _waiting[0]
        handler = _before.get(number, signal.getsignal(number))
        _restore()
        _waiting.clear()
        _deliver(number, handler)


def _note(number: int, frame: FrameType | None) -> None:
    if _waiting:
        handler = _before[number]
        _restore()
        _waiting.clear()
        _deliver(number, handler)
        return
    _waiting.append(number)
    if sys.stderr.isatty():
        # Past the buffer: the signal may have come while a bar was being written to it.
        with suppress(OSError):
            os.write(sys.stderr.fileno(), b"\nhonlearn: saving first; once more stops at once\n")


def _restore() -> None:
    while _before:
        number, handler = _before.popitem()
        signal.signal(number, handler)


def _deliver(number: int, handler: object) -> None:
    if callable(handler):
        handler(number, None)
    else:
        os.kill(os.getpid(), number)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
