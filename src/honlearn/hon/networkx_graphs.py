"""A NetworkX graph → a network: for users who have a graph and no paths.

In: a Graph, DiGraph, MultiGraph or MultiDiGraph. Out: a :class:`HigherOrderNetwork`, of first order unless
labels have contexts, as those of :meth:`HigherOrderNetwork.to_networkx` have.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from honlearn.errors import InputError, ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.stored.parse import shown

if TYPE_CHECKING:
    import networkx


def from_networkx(graph: networkx.Graph, weight: str | None = "weight") -> HigherOrderNetwork:
    """Return the network of a NetworkX graph, isolated nodes included.

    Parameters
    ----------
    graph : Graph, DiGraph, MultiGraph or MultiDiGraph
        A node is called by its text; ``C|B`` is the entity C that remembers B. An edge of an undirected graph
        goes both ways. The weights of parallel edges are added up.
    weight : str or None
        The attribute of edges that holds their weight, 1 where an edge has none; None makes all of them 1.

    Examples
    --------
    >>> import networkx
    >>> hon = from_networkx(networkx.path_graph(["A", "B", "C"]))
    >>> hon.n_nodes, hon.n_edges, hon.neighbors("B")
    (3, 4, {'A': 1, 'C': 1})
    """
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed", "is_multigraph")):
        raise ParameterError(
            "The 'graph' parameter of from_networkx must be a networkx graph. "
            f"Got an object of type {type(graph).__name__} instead; for columns of labels there is from_edges"
        )
    labels = _labels(graph)
    edges: dict[tuple[str, str], Any] = {}
    for source, target, value in graph.edges(data=weight, default=1) if weight else _ones(graph):
        value = _weight(source, target, value, weight)
        both = () if graph.is_directed() or source == target else ((target, source),)
        for a, b in ((source, target), *both):
            pair = labels[a], labels[b]
            edges[pair] = edges.get(pair, 0) + value
    pairs = list(edges)

    def where(row: int) -> str:
        return f"the edge {' → '.join(map(shown, pairs[row]))}"

    return from_edges(
        [a for a, _ in pairs], [b for _, b in pairs], list(edges.values()), nodes=labels.values(), where=where
    )


def _ones(graph: networkx.Graph) -> Any:
    return ((source, target, 1) for source, target in graph.edges())


def _labels(graph: networkx.Graph) -> dict[Any, str]:
    """Return the text of each node; two nodes of one text cannot be told apart."""
    labels = {node: str(node) for node in graph.nodes}
    owner: dict[str, Any] = {}
    for node, label in labels.items():
        if label in owner:
            raise InputError(
                f"from_networkx: the nodes {shown(owner[label])} and {shown(node)} have one name, "
                f"{shown(label)}; relabel one of them, as with networkx.relabel_nodes"
            )
        owner[label] = node
    return labels


def _weight(source: Any, target: Any, value: Any, attribute: str | None) -> Any:
    if isinstance(value, Real) and not isinstance(value, bool):
        return value
    raise InputError(
        f"from_networkx: the edge {shown(source)} → {shown(target)} has {attribute}={shown(value)}; a weight "
        "is a number above 0"
    )
