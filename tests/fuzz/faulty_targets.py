"""Readers that fail on purpose, one for each way to fail: with them the tests show that the fuzzer sees it.

Each reads its valid document as it should, so that only damage brings the fault out.
"""

from __future__ import annotations

import ctypes
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from fuzz.checks import expect
from fuzz.target import Target
from honlearn.errors import FormatError

_VALID = b"honest\n"


def _make(folder: Path) -> None:
    (folder / "file.bin").write_bytes(_VALID)


def _target(name: str, fault: Callable[[], object]) -> Target:
    def use(path: Path) -> None:
        if path.read_bytes() != _VALID:
            fault()

    return Target(name, _make, use, cases=3, seconds=1)


def _refuse(message: str) -> None:
    raise FormatError(message)


FAULTY = {
    target.name: target
    for target in (
        _target("crashes", lambda: ctypes.string_at(8)),
        _target("hangs", lambda: time.sleep(60)),
        _target("fills-memory", lambda: bytearray(1 << 31)),
        _target("raises", lambda: {}["key"]),
        _target("warns", lambda: warnings.warn("overflow", RuntimeWarning, stacklevel=1)),
        _target("exits", lambda: exec("raise SystemExit(0)")),
        _target("is-wrong", lambda: expect(False, "one and one is three")),
        _target("tells-nothing", lambda: _refuse("")),
        _target("refuses", lambda: _refuse("file.bin: damaged; write it again")),
    )
}
