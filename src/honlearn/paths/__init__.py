"""Paths: files and tables in, flat integer codes with offsets, counts and a vocabulary out.

Leftmost stage of the flow. Names become integers here and nowhere else. The parts are imported on first
use, so ``import honlearn.paths`` needs neither numba nor pyarrow nor pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from honlearn.paths.options import ReaderOptions as ReaderOptions
    from honlearn.paths.paths import PathChunk as PathChunk
    from honlearn.paths.paths import Paths as Paths
    from honlearn.paths.source import as_source as as_source
    from honlearn.paths.source import read_paths as read_paths
    from honlearn.paths.source import stream_paths as stream_paths
    from honlearn.paths.stream import PathStream as PathStream
    from honlearn.paths.vocabulary import Vocabulary as Vocabulary

_HOME = {
    "PathChunk": "honlearn.paths.paths",
    "PathStream": "honlearn.paths.stream",
    "Paths": "honlearn.paths.paths",
    "ReaderOptions": "honlearn.paths.options",
    "Vocabulary": "honlearn.paths.vocabulary",
    "as_source": "honlearn.paths.source",
    "read_paths": "honlearn.paths.source",
    "stream_paths": "honlearn.paths.source",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'honlearn.paths' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
