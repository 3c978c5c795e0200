"""What must hold for the arrays of a network, checked whenever one is made.

In: a network whose arrays were just set, perhaps from a damaged file. Out: nothing, or an error that says
which array is wrong. Compiled loops index by these arrays without looking, so nothing may get past here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError

if TYPE_CHECKING:
    from honlearn.hon.network import HigherOrderNetwork


def check_arrays(network: HigherOrderNetwork) -> None:
    """Raise an :class:`InputError` unless sizes, ranges and the order within rows are right."""
    entities, grams, indices = network.n_entities, network.grams, network.indices
    _check_offsets("gram_offsets", network.gram_offsets, len(grams))
    nodes = network.n_nodes
    if nodes < entities or not np.array_equal(network.gram_offsets[: entities + 1], np.arange(entities + 1)):
        _refuse("gram_offsets", f"the first {entities:,} nodes must be the base nodes, of one entity each")
    if not np.array_equal(grams[:entities], np.arange(entities)):
        _refuse("grams", "base node i must be entity i")
    if nodes > entities and np.diff(network.gram_offsets[entities:]).min() < 2:
        _refuse("gram_offsets", "a conditional node has at least two entities")
    _check_range("grams", grams, entities)
    _check_offsets("indptr", network.indptr, len(indices))
    if len(network.indptr) != nodes + 1:
        _refuse("indptr", f"{len(network.indptr) - 1:,} rows for {nodes:,} nodes")
    _check_range("indices", indices, nodes)
    _check_rows(network.indptr, indices)
    weights = network.weights
    if weights.shape != indices.shape:
        _refuse("weights", f"{weights.size:,} weights for {len(indices):,} edges")
    if weights.size and not (weights.min() > 0 and np.isfinite(weights.max())):
        _refuse("weights", "every weight must be a finite number above 0")
    if network.statistics is not None and len(network.statistics) != nodes - entities:
        _refuse("statistics", f"{len(network.statistics):,} rows for {nodes - entities:,} conditional nodes")


def check_canonical(network: HigherOrderNetwork) -> None:
    """Raise unless names and conditional nodes are distinct and in canonical order, and no entity is unused.

    Whoever builds a network by hand calls this in its tests: equality compares arrays, so it needs one order.
    """
    names = [name.encode() for name in network.vocabulary.names]
    if any(a >= b for a, b in pairwise(names)):
        _refuse("vocabulary", "names must be distinct and sorted by their UTF-8 bytes")
    ends, grams = network.gram_offsets.tolist(), network.grams.tolist()
    keys = [(grams[a], b - a, grams[a:b]) for a, b in pairwise(ends)]
    keys = keys[network.n_entities :]
    if any(a >= b for a, b in pairwise(keys)):
        _refuse("grams", "conditional nodes must be distinct and sorted by base, order and predecessors")
    ends_of_edges = np.concatenate([network.sources, network.indices])
    used = np.zeros(network.n_nodes, bool)
    used[ends_of_edges] = True
    if not used[network.n_entities :].all():
        _refuse("indices", "a conditional node is in no edge")
    conditional = network.grams[network.n_entities :]
    used[conditional] = True
    if not used.all():
        _refuse("vocabulary", f"entity {network.vocabulary[int(np.argmin(used))]!r} is in no edge")


def _check_offsets(name: str, offsets: NDArray[Any], size: int) -> None:
    if offsets.ndim != 1 or len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != size:
        _refuse(name, f"offsets must run from 0 to {size:,}")
    if (np.diff(offsets) < 0).any():
        _refuse(name, "offsets must not decrease")


def _check_range(name: str, values: NDArray[Any], size: int) -> None:
    if values.size and not (values.min() >= 0 and values.max() < size):
        _refuse(name, f"values from {values.min()} to {values.max()}, expected 0 to {size - 1}")


def _check_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
    if len(indices) < 2:
        return
    ascending = np.diff(indices) > 0
    starts = indptr[(indptr > 0) & (indptr < len(indices))]
    ascending[starts - 1] = True
    if not ascending.all():
        _refuse("indices", "targets must ascend within a row")


def _refuse(name: str, problem: str) -> None:
    raise InputError(f"the network's array {name!r} is not valid: {problem}")
