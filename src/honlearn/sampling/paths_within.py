"""The paths of a network as far as the network has their steps.

In: paths and a network. Out: the paths in the codes of the network, cut at every step that it does not have.
"""

from __future__ import annotations

import numpy as np

from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.sampling.pairs import edge_keys, pair_keys


def paths_within(paths: Paths, network: HigherOrderNetwork) -> Paths:
    """Return the paths in the codes of the network, cut at every step that the network does not have.

    So a link that was taken out of the network for a test is not learnt from the paths instead.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "B"], ["B", "C"], [1, 1])
    >>> list(paths_within(Paths.from_lists([["A", "B", "C", "A", "Z"]]), hon))
    [('A', 'B', 'C'), ('A',)]
    """
    codes = paths.vocabulary.codes_in(network.vocabulary)[paths.codes]
    steps = np.stack([codes[:-1], codes[1:]], 1)
    there = np.isin(pair_keys(steps, network.n_entities), edge_keys(network)) & (steps >= 0).all(1)
    starts = np.union1d(paths.offsets[:-1], 1 + np.flatnonzero(~there))
    starts = starts[starts < len(codes)]
    row = np.searchsorted(paths.offsets, starts, "right") - 1
    # What is unknown stands alone by now, and is left out.
    kept, inside = codes[starts] >= 0, codes >= 0
    before = np.concatenate([[0], np.cumsum(inside)])
    offsets = np.append(before[starts[kept]], before[-1])
    counts = None if paths.counts is None else paths.counts[row[kept]]
    return Paths(codes[inside], offsets, network.vocabulary, counts)
