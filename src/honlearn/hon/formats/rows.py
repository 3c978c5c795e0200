"""The edges of a network as plain Python values, some at a time: what every writer of text goes through.

In: a network. Out: lists of (source, target, weight), in node order, so that a file is written in a few
large pieces and the edges are never all in memory as Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator

from honlearn.hon.network import HigherOrderNetwork

_CHUNK = 1 << 16


def edge_rows(network: HigherOrderNetwork) -> Iterator[list[tuple[int, int, int | float]]]:
    """Yield the edges in lists of at most 2^16, nodes as numbers."""
    for start in range(0, network.n_edges, _CHUNK):
        part = slice(start, start + _CHUNK)
        columns = (network.sources[part], network.indices[part], network.weights[part])
        yield list(zip(*(column.tolist() for column in columns), strict=True))
