"""The higher-order network: count grams, keep contexts, wire the network, hold and exchange it.

In: paths. Out: :class:`HigherOrderNetwork`. Nothing here imports torch.
"""

from __future__ import annotations

from honlearn.hon.build import GramCounts, count_grams, grow
from honlearn.hon.formats import load_network
from honlearn.hon.network import HigherOrderNetwork

__all__ = ["GramCounts", "HigherOrderNetwork", "count_grams", "grow", "load_network"]
