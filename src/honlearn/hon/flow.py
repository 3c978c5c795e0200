"""Where walkers are found in the long run: PageRank and visit rates of nodes and of entities.

In: a network. Out: a pandas table, one row per entity (``by="entity"``: its nodes added up) or one per node
(``by="node"``), greatest first. A walker at node u' moves on by the shares of its out-edges,
π_k(u' → v) = w(u', v) / outdeg(u'); what it does now and then instead is what the two measures differ in. A
walker that starts anew has no past, so it starts at a base node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import HonlearnError, InputError, ParameterError, check_choice, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.jit import njit

if TYPE_CHECKING:
    import pandas


def pagerank(
    network: HigherOrderNetwork,
    damping: float = 0.85,
    *,
    by: str = "entity",
    tolerance: float = 1e-10,
    max_iterations: int = 10_000,
) -> pandas.DataFrame:
    """Return the PageRank of each entity, or node, by power iteration over all nodes.

    p = damping · (Pᵀ p + s v) + (1 − damping) · v, where P holds the shares π_k, s is the part of p at nodes
    without out-edges, and v is teleportation: to all base nodes alike, so that every entity has the same
    share of it, however many contexts it has. For a network of first order this is Brin and Page's measure.

    Parameters
    ----------
    damping : float, 0 ≤ damping < 1
        The probability to follow an edge rather than to teleport.
    by : ``"entity"`` (columns entity, pagerank) or ``"node"`` (node, entity, order, pagerank)
    tolerance : float
        The iteration ends when p changes by less than this in all (the sum of absolute changes).
    max_iterations : int
        More are an error.

    >>> from honlearn.hon.edgelist import from_edges
    >>> pagerank(from_edges(["A", "B", "C"], ["C", "C", "A"])).round(3).values.tolist()
    [['C', 0.486], ['A', 0.464], ['B', 0.05]]
    """
    teleport = np.zeros(network.n_nodes)
    teleport[: network.n_entities] = 1.0 / max(network.n_entities, 1)
    stay = _stationary(network, "pagerank", damping, teleport, tolerance, max_iterations)
    return node_table(network, {"pagerank": stay}, by, "pagerank")


def visits(
    network: HigherOrderNetwork,
    damping: float = 0.85,
    *,
    by: str = "entity",
    tolerance: float = 1e-10,
    max_iterations: int = 10_000,
) -> pandas.DataFrame:
    """Return the share of visits that each entity, or node, gets along edges in the long run.

    Walkers that start anew do so as an observed step does, at base nodes in proportion to their weighted
    out-degree, and that jump is not recorded; nor is the one from a node without out-edges (Lambiotte and
    Rosvall, 2012). With p as in :func:`pagerank` but for that v, the visits are Pᵀ p, scaled to a sum of 1.
    They depend on `damping` far less than PageRank does: where every edge has an equal edge back, visits are
    the weighted degrees, whatever `damping` is. Parameters are those of :func:`pagerank`.

    >>> from honlearn.hon.edgelist import from_edges
    >>> ring = from_edges(["A", "B", "B", "C"], ["B", "A", "C", "B"], [1, 1, 2, 2])
    >>> visits(ring).round(3).values.tolist()
    [['B', 0.5], ['C', 0.333], ['A', 0.167]]
    """
    weight = network.out_weight[: network.n_entities].astype(np.float64)
    if not weight.sum():
        raise InputError("visits: no base node has an out-edge, so nobody walks; give a network with edges")
    teleport = np.zeros(network.n_nodes)
    teleport[: network.n_entities] = weight / weight.sum()
    stay = _stationary(network, "visits", damping, teleport, tolerance, max_iterations)
    along = np.zeros(network.n_nodes)
    _push(network.indptr, network.indices, _shares(network), stay, along)
    return node_table(network, {"visits": along / along.sum()}, by, "visits")


def node_table(
    network: HigherOrderNetwork, values: dict[str, NDArray[Any]], by: str, owner: str
) -> pandas.DataFrame:
    """Return a table of values [N] that add up over the nodes of an entity, greatest of the first on top.

    `owner` is the function that a message names.
    """
    import pandas as pd

    check_choice(owner, "by", by, ("entity", "node"))
    if by == "entity":
        size, base = network.n_entities, network.base
        columns: dict[str, Any] = {"entity": list(network.vocabulary.names)}
        columns |= {name: np.bincount(base, value, minlength=size) for name, value in values.items()}
    else:
        entities = np.asarray(network.vocabulary.names, object)[network.base]
        columns = {"node": list(network.nodes), "entity": entities, "order": network.order, **values}
    first = next(iter(values))
    rank = np.argsort(-columns[first], kind="stable")
    return pd.DataFrame(columns).iloc[rank].reset_index(drop=True)


def _shares(network: HigherOrderNetwork) -> NDArray[np.float64]:
    """Return π_k of each edge [E]."""
    total = network.out_weight.astype(np.float64)
    return network.weights / np.repeat(total, np.diff(network.indptr))


def _stationary(
    network: HigherOrderNetwork,
    owner: str,
    damping: float,
    teleport: NDArray[np.float64],
    tolerance: float,
    max_iterations: int,
) -> NDArray[np.float64]:
    """Return p = damping · (Pᵀ p + s v) + (1 − damping) · v for teleportation v [N], float64 [N]."""
    for name, value, most in (("damping", damping, 1.0), ("tolerance", tolerance, np.inf)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < most:
            raise ParameterError(
                f"The {name!r} parameter of {owner} must be a number, at least 0 and below {most:g}. "
                f"Got {value!r} instead."
            )
    check_integer(owner, "max_iterations", max_iterations, 1)
    if not network.n_nodes:
        raise InputError(f"{owner}: the network has no nodes")
    shares, sinks = _shares(network), np.flatnonzero(np.diff(network.indptr) == 0)
    now = teleport.copy()
    for _ in range(max_iterations):
        after = np.zeros(network.n_nodes)
        _push(network.indptr, network.indices, shares, now, after)
        after *= damping
        after += (1.0 - damping + damping * now[sinks].sum()) * teleport
        after /= after.sum()
        change = np.abs(after - now).sum()
        now = after
        # Sums of n numbers are not more exact than that, whatever was asked for.
        if change <= max(tolerance, 1e-16 * network.n_nodes):
            return now
    raise HonlearnError(
        f"{owner}: after {max_iterations:,} iterations the last change was {change:.1e}, more than "
        f"tolerance={tolerance:g}; raise max_iterations or tolerance, or lower damping"
    )


@njit
def _push(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    shares: NDArray[np.float64],
    now: NDArray[np.float64],
    after: NDArray[np.float64],
) -> None:
    """Add Pᵀ `now` to `after`, edge by edge in their order."""
    for node in range(len(indptr) - 1):
        amount = now[node]
        if amount != 0.0:
            for edge in range(indptr[node], indptr[node + 1]):
                after[indices[edge]] += amount * shares[edge]
