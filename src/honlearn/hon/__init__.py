"""The higher-order network: count grams, keep contexts, wire the network, hold and exchange it.

In: paths. Out: :class:`HigherOrderNetwork`. Nothing here imports torch; the builder, with its compiler, is
imported when it is first asked for, so that reading a network does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from honlearn.hon.formats import load_network
from honlearn.hon.network import HigherOrderNetwork

if TYPE_CHECKING:
    from honlearn.hon.build import GramCounts, count_grams, grow

__all__ = ["GramCounts", "HigherOrderNetwork", "count_grams", "grow", "load_network"]


def __getattr__(name: str) -> Any:
    if name in ("GramCounts", "count_grams", "grow"):
        from honlearn.hon import build

        return getattr(build, name)
    raise AttributeError(f"module 'honlearn.hon' has no attribute {name!r}")
