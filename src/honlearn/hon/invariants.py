"""What must hold for the arrays of a network, checked whenever one is made.

In: a network whose arrays were just set, perhaps from a damaged file. Out: nothing, or an error that says
which array is wrong. Compiled loops index by these arrays without looking, so nothing may get past here.

Neighbouring values are compared, never subtracted: a difference of two int64 may wrap and look right. No
weight is below :data:`LEAST_WEIGHT` and all together are at most :data:`MOST_WEIGHT`, so that no sum of them
overflows int64, and the share that an edge has of any sum is a normal number in float32, in which models
compute.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.hon.nodes import MAX_ORDER, SEPARATOR

if TYPE_CHECKING:
    from honlearn.hon.network import HigherOrderNetwork


LEAST_WEIGHT = 2.0**-62
MOST_WEIGHT = 9.2e18


def check_arrays(network: HigherOrderNetwork) -> None:
    """Raise an :class:`InputError` unless sizes, ranges and the order within rows are right."""
    entities, grams, indices = network.n_entities, network.grams, network.indices
    check_offsets("gram_offsets", network.gram_offsets, len(grams))
    nodes = network.n_nodes
    if nodes < entities or not np.array_equal(network.gram_offsets[: entities + 1], np.arange(entities + 1)):
        _refuse("gram_offsets", f"the first {entities:,} nodes must be the base nodes, of one entity each")
    if not np.array_equal(grams[:entities], np.arange(entities)):
        _refuse("grams", "base node i must be entity i")
    sizes = np.diff(network.gram_offsets[entities:])
    if sizes.size and sizes.min() < 2:
        _refuse("gram_offsets", "a conditional node has at least two entities")
    if sizes.size and sizes.max() > MAX_ORDER:
        _refuse("gram_offsets", f"a node of {sizes.max():,} entities; there may be at most {MAX_ORDER:,}")
    _check_range("grams", grams, entities)
    check_offsets("indptr", network.indptr, len(indices))
    if len(network.indptr) != nodes + 1:
        _refuse("indptr", f"{len(network.indptr) - 1:,} rows for {nodes:,} nodes")
    _check_range("indices", indices, nodes)
    _check_rows(network.indptr, indices)
    _check_weights(network.weights, len(indices))
    if network.statistics is not None and len(network.statistics) != nodes - entities:
        _refuse("statistics", f"{len(network.statistics):,} rows for {nodes - entities:,} conditional nodes")


def check_names(data: NDArray[np.uint8], offsets: NDArray[np.int64], in_order: bool = True) -> None:
    """Raise unless these are distinct names in UTF-8, none empty and none with a separator in it.

    Those of a network are sorted (`in_order`), those of counts are in the order of their codes.
    """
    check_offsets("name_offsets", offsets, len(data))
    if (offsets[1:] == offsets[:-1]).any():
        _refuse("names", "a name is empty")
    if (data == ord(SEPARATOR)).any():
        _refuse("names", f"a name contains {SEPARATOR!r}, which separates a node from its context")
    raw = data.tobytes()
    try:
        raw.decode()
    except UnicodeDecodeError:
        _refuse("names", "names must be UTF-8")
    # The whole is UTF-8; a name is, too, unless it starts inside a character.
    if ((data[offsets[:-1]] & 0xC0) == 0x80).any():
        _refuse("name_offsets", "a name starts in the middle of a character")
    if not in_order:
        if len({raw[a:b] for a, b in pairwise(offsets.tolist())}) < len(offsets) - 1:
            _refuse("names", "names must be distinct")
    elif any(raw[a:b] >= raw[b:c] for (a, b), (_, c) in pairwise(pairwise(offsets.tolist()))):
        _refuse("names", "names must be distinct and sorted by their UTF-8 bytes")


def check_nodes(network: HigherOrderNetwork) -> None:
    """Raise unless conditional nodes are distinct and in canonical order.

    What the program itself makes is in this order; a file may hold any other. Nodes are looked up by
    bisection, families are runs of nodes, and equality compares arrays.
    """
    if not _ascending(network.gram_offsets[network.n_entities :], network.grams):
        _refuse("grams", "conditional nodes must be distinct and sorted by base, order and predecessors")


def check_canonical(network: HigherOrderNetwork) -> None:
    """Raise unless the network is in canonical order and no entity and no conditional node is unused.

    Tests call this on networks that are built by hand. Hiding edges may leave nodes without any.
    """
    check_names(network.vocabulary.data, network.vocabulary.offsets)
    check_nodes(network)
    ends_of_edges = np.concatenate([network.sources, network.indices])
    used = np.zeros(network.n_nodes, bool)
    used[ends_of_edges] = True
    if not used[network.n_entities :].all():
        _refuse("indices", "a conditional node is in no edge")
    conditional = network.grams[network.n_entities :]
    used[conditional] = True
    if not used.all():
        _refuse("vocabulary", f"entity {network.vocabulary[int(np.argmin(used))]!r} is in no edge")


def check_offsets(name: str, offsets: NDArray[Any], size: int) -> None:
    """Raise unless these offsets run from 0 to `size` and do not decrease."""
    if offsets.ndim != 1 or len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != size:
        _refuse(name, f"offsets must run from 0 to {size:,}")
    if (offsets[1:] < offsets[:-1]).any():
        _refuse(name, "offsets must not decrease")


def _check_weights(weights: NDArray[Any], edges: int) -> None:
    if weights.shape != (edges,):
        _refuse("weights", f"{weights.size:,} weights for {edges:,} edges")
    if not edges:
        return
    least, most = weights.min(), weights.max()
    if not (least > 0 and np.isfinite(most)):
        _refuse("weights", "every weight must be a finite number above 0")
    if least < LEAST_WEIGHT:
        _refuse("weights", f"a weight of {least:g}, below {LEAST_WEIGHT:.1e}; multiply all by a power of ten")
    # Summed in float64, which cannot wrap; its rounding is far smaller than the way from the limit to 2**63.
    if most > MOST_WEIGHT or weights.sum(dtype=np.float64) > MOST_WEIGHT:
        _refuse("weights", f"all weights add up to more than {MOST_WEIGHT:.1e}; divide all by a power of ten")


def _check_range(name: str, values: NDArray[Any], size: int) -> None:
    if values.size and not (values.min() >= 0 and values.max() < size):
        _refuse(name, f"values from {values.min()} to {values.max()}, expected 0 to {size - 1}")


def _check_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
    if len(indices) < 2:
        return
    ascending = indices[1:] > indices[:-1]
    starts = indptr[(indptr > 0) & (indptr < len(indices))]
    ascending[starts - 1] = True
    if not ascending.all():
        _refuse("indices", "targets must ascend within a row")


def _ascending(offsets: NDArray[np.int64], grams: NDArray[np.int32]) -> bool:
    """Return whether conditional nodes ascend by base, then length, then predecessors, newest first.

    `offsets` are those of the conditional nodes. Neighbours are compared entity by entity, as long as there
    are any that have been the same so far.
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    base = grams[starts]
    if (base[1:] < base[:-1]).any():
        return False
    tied = np.flatnonzero(base[1:] == base[:-1])
    if (sizes[tied + 1] < sizes[tied]).any():
        return False
    tied = tied[sizes[tied + 1] == sizes[tied]]
    depth = 1
    while tied.size:
        if (sizes[tied] <= depth).any():
            return False
        before, after = grams[starts[tied] + depth], grams[starts[tied + 1] + depth]
        if (after < before).any():
            return False
        tied = tied[after == before]
        depth += 1
    return True


def _refuse(name: str, problem: str) -> None:
    raise InputError(f"the network's array {name!r} is not valid: {problem}")
