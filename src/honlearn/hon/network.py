"""The higher-order network: what the builder and the readers make and everything to the right works on.

In: a vocabulary, the gram of each node, and weighted edges as CSR, all in canonical order. Out: one
immutable value with views by node, family, neighbourhood and table. Integers inside; names only at the
methods that take or give them. Heavier views live in files of their own and are imported on use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import UnknownNodeError, check_choice, did_you_mean, listed
from honlearn.hon.network_views import NetworkViews
from honlearn.hon.nodes import SEPARATOR, NodeLabels
from honlearn.hon.statistics import ContextStatistics, GrowParameters
from honlearn.paths.paths import as_whole
from honlearn.paths.vocabulary import Vocabulary

Array = TypeVar("Array", bound=NDArray[Any])
Weights = NDArray[np.int64] | NDArray[np.float64]


class HigherOrderNetwork(NetworkViews):
    """A weighted, directed graph whose nodes are entities and entities in a context; immutable.

    Nodes 0 … n_entities − 1 are the base nodes (node = entity code, in the order of the names' UTF-8
    bytes); then come the conditional nodes by base, order and predecessors. ``grams[gram_offsets[i]:
    gram_offsets[i + 1]]`` are the entities of node i, newest first: ``C|B|A`` is [C, B, A]. Edges are CSR
    rows with ascending targets. The arrays are taken over and made read-only. Networks are made by
    :func:`honlearn.grow`, :func:`honlearn.from_edges` and :func:`honlearn.load_network`.

    Parameters
    ----------
    vocabulary : Vocabulary
        The names of the entities, in the order of their codes.
    gram_offsets : array of int64 [N + 1]
        Where the entities of each node start in `grams`.
    grams : array of int32
        The entities of all nodes, one node after another, newest entity first.
    indptr : array of int64 [N + 1]
        Where the edges of each node start in `indices`.
    indices : array of int32 [E]
        The targets of the edges.
    weights : array of int64 or float64 [E]
        The weights of the edges, above 0.
    statistics : ContextStatistics, optional
        How often each context was seen and the evidence for it, where paths were counted.
    parameters : GrowParameters, optional
        The rule by which contexts were kept.

    Examples
    --------
    >>> from honlearn.hon.edgelist import from_edges
    >>> source, target = ["A", "B", "C|A", "C|B", "C", "C"], ["C|A", "C|B", "D", "E", "D", "E"]
    >>> hon = from_edges(source, target, [2, 1, 2, 1, 2, 1])
    >>> hon
    HigherOrderNetwork(5 entities, 7 nodes up to order 2, 6 edges)
    >>> hon.family("C")
    ('C', 'C|A', 'C|B')
    >>> hon.transition("C|A"), hon.neighbors("A")
    ({'D': 1.0}, {'C|A': 2})
    """

    vocabulary: Vocabulary
    gram_offsets: NDArray[np.int64]
    grams: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: Weights
    statistics: ContextStatistics | None
    parameters: GrowParameters | None

    def __init__(
        self,
        vocabulary: Vocabulary,
        gram_offsets: NDArray[np.int64],
        grams: NDArray[np.int32],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: Weights,
        statistics: ContextStatistics | None = None,
        parameters: GrowParameters | None = None,
    ) -> None:
        kind = np.float64 if np.asarray(weights).dtype.kind == "f" else np.int64
        arrays: dict[str, NDArray[Any]] = {
            "gram_offsets": as_whole("gram_offsets", gram_offsets, np.int64),
            "grams": as_whole("grams", grams, np.int32),
            "indptr": as_whole("indptr", indptr, np.int64),
            "indices": as_whole("indices", indices, np.int32),
            "weights": np.ascontiguousarray(weights, kind),
        }
        for array in arrays.values():
            array.flags.writeable = False
        self.__dict__.update(arrays, vocabulary=vocabulary, statistics=statistics, parameters=parameters)
        from honlearn.hon.invariants import check_arrays

        check_arrays(self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a HigherOrderNetwork is immutable; {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a HigherOrderNetwork is immutable; {name!r} cannot be deleted")

    # --- sizes -----------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes, ``|V_k|``."""
        return len(self.gram_offsets) - 1

    @property
    def n_entities(self) -> int:
        """Number of base nodes, ``|V_1|``."""
        return len(self.vocabulary)

    @property
    def n_conditional(self) -> int:
        """Number of conditional nodes."""
        return self.n_nodes - self.n_entities

    @property
    def n_edges(self) -> int:
        """Number of edges, ``|E_k|``."""
        return len(self.indices)

    @property
    def max_order(self) -> int:
        """Entities in the longest node; 1 for a first-order network."""
        return int(self.order.max(initial=1))

    # --- nodes and families ----------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> NodeLabels:
        """The labels of the nodes, built on use."""
        return NodeLabels(self.vocabulary, self.gram_offsets, self.grams)

    @cached_property
    def base(self) -> NDArray[np.int32]:
        """The entity that each node stands for, int32 [N]."""
        return _frozen(self.grams[self.gram_offsets[:-1]])

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The number of entities in each node, 1 for a base node, int32 [N]."""
        return _frozen(np.diff(self.gram_offsets).astype(np.int32))

    def index(self, label: object) -> int:
        """Return the number of the node with this label.

        Parameters
        ----------
        label : object
            An entity, or a context such as ``"C|A"``; what is no text is looked up by its text, 7.0 as 7.
        """
        text, parts = str(label), _entities(label)
        missing = next((str(part) for part in parts if part not in self.vocabulary), None)
        if missing is not None:
            hint = did_you_mean(missing, self.vocabulary.names)
            raise UnknownNodeError(f"no node {text!r}: no entity {missing!r} among {self.n_entities:,}{hint}")
        gram = [self.vocabulary.index(part) for part in parts]
        node = self._find(gram)
        if node < 0:
            family = self.family(parts[0])
            raise UnknownNodeError(
                f"no node {text!r}; the family of {parts[0]!r} is {listed(family, 5)}"
                f"{did_you_mean(text, family)}"
            )
        return node

    def _find(self, gram: list[int]) -> int:
        """Return the node with these entities (newest first), or −1, by binary search in its family."""
        if len(gram) == 1:
            return gram[0]
        low, high = self._conditional_range(gram[0])
        stop, wanted = high, (len(gram), gram)
        while low < high:
            middle = (low + high) // 2
            if self._rank(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < stop and self._rank(low) == wanted else -1

    def _rank(self, node: int) -> tuple[int, list[int]]:
        a, b = int(self.gram_offsets[node]), int(self.gram_offsets[node + 1])
        return b - a, self.grams[a:b].tolist()

    def _conditional_range(self, entity: int) -> tuple[int, int]:
        # Family u takes family_indptr[u] … family_indptr[u + 1]: its base node, then a run of nodes.
        shift = self.n_entities - entity
        return int(self.family_indptr[entity]) + shift, int(self.family_indptr[entity + 1]) + shift - 1

    def __contains__(self, label: object) -> bool:
        parts = _entities(label)
        known = all(part in self.vocabulary for part in parts)
        return known and self._find([self.vocabulary.index(part) for part in parts]) >= 0

    @cached_property
    def family_indptr(self) -> NDArray[np.int64]:
        """Where each family starts in :attr:`family_indices`, int64 [n_entities + 1]."""
        sizes = np.bincount(self.base, minlength=self.n_entities)
        return _frozen(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    @cached_property
    def family_indices(self) -> NDArray[np.int32]:
        """The nodes by family Ω_u, a partition of all nodes; the base node is the first of its family."""
        return _frozen(np.argsort(self.base, kind="stable").astype(np.int32))

    def family(self, label: object) -> tuple[str, ...]:
        """Return the labels of the family that an entity or node belongs to, base node first.

        Parameters
        ----------
        label : object
            An entity, or any node of its family.
        """
        entity = self.vocabulary.index(_entities(label)[0])
        low, high = self._conditional_range(entity)
        return (self.nodes[entity], *self.nodes[low:high])

    def relative_probabilities(self) -> NDArray[np.float64]:
        """Return the probability of each node within its family by Eq. 3, float64 [N].

        P(u') is the weighted out-degree of u' over that of the family: a node without out-edges is never
        drawn. Where no relative has an out-edge, the base node stands for the family.
        """
        weight = self.out_weight.astype(np.float64)
        total = np.bincount(self.base, weights=weight, minlength=self.n_entities)
        probability = weight / np.where(total > 0, total, 1.0)[self.base]
        probability[: self.n_entities][total == 0] = 1.0
        return probability

    def relatives(self, label: object) -> dict[str, float]:
        """Return the relatives of an entity or node, base node first, with their probabilities by Eq. 3.

        Parameters
        ----------
        label : object
            An entity, or any node of its family.
        """
        entity = self.vocabulary.index(_entities(label)[0])
        members = self.family_indices[self.family_indptr[entity] : self.family_indptr[entity + 1]]
        weight = self.out_weight[members].astype(np.float64)
        if weight.sum() == 0:
            weight[0] = 1.0
        return dict(zip(self.family(label), (weight / weight.sum()).tolist(), strict=True))

    # --- edges -----------------------------------------------------------------------------------------

    @cached_property
    def sources(self) -> NDArray[np.int32]:
        """The source of each edge, int32 [E]; :attr:`indices` are the targets."""
        return _frozen(np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.indptr)))

    @cached_property
    def _in_edges(self) -> NDArray[np.int64]:
        return _frozen(np.argsort(self.indices, kind="stable"))

    @cached_property
    def in_indptr(self) -> NDArray[np.int64]:
        """Where the in-edges of each node start in :attr:`in_indices`, int64 [N + 1]."""
        degree = np.bincount(self.indices, minlength=self.n_nodes)
        return _frozen(np.concatenate([[0], np.cumsum(degree)]).astype(np.int64))

    @cached_property
    def in_indices(self) -> NDArray[np.int32]:
        """The sources of the edges into each node, ascending within a node, int32 [E]."""
        return _frozen(self.sources[self._in_edges])

    @cached_property
    def in_weights(self) -> Weights:
        """The weights of the edges into each node, aligned with :attr:`in_indices` [E]."""
        return _frozen(self.weights[self._in_edges])

    @cached_property
    def out_weight(self) -> Weights:
        """The weighted out-degree of each node [N]."""
        return _frozen(_row_sums(self.indptr, self.weights))

    @cached_property
    def in_weight(self) -> Weights:
        """The weighted in-degree of each node [N]."""
        return _frozen(_row_sums(self.in_indptr, self.in_weights))

    def neighbors(self, label: object, direction: str = "out") -> dict[str, int | float]:
        """Return the neighbours of a node, each with the weight of the edge.

        Parameters
        ----------
        label : object
            An entity or a context such as ``"C|A"``.
        direction : {"out", "in"}, default "out"
            Whether the targets of its edges are returned, or the sources of the edges that lead to it.
        """
        check_choice("neighbors", "direction", direction, ("out", "in"))
        node = self.index(label)
        out = direction == "out"
        indptr = self.indptr if out else self.in_indptr
        row = slice(int(indptr[node]), int(indptr[node + 1]))
        nodes, weights = (self.indices, self.weights) if out else (self.in_indices, self.in_weights)
        return {self.nodes[n]: w for n, w in zip(nodes[row].tolist(), weights[row].tolist(), strict=True)}

    def transition(self, label: object, *, collapse: bool = False) -> dict[str, float]:
        """Return the probability of each next node, π_k(u' → v) = w(u', v) / outdeg(u'); empty for a sink.

        Parameters
        ----------
        label : object
            An entity or a context such as ``"C|A"``.
        collapse : bool, default False
            Whether targets that stand for the same entity are added up: the probability of each next entity.
        """
        probability: dict[str, float] = {}
        neighbors = self.neighbors(label)
        total = sum(neighbors.values())
        for name, weight in neighbors.items():
            key = name.split(SEPARATOR)[0] if collapse else name
            probability[key] = probability.get(key, 0.0) + weight / total
        return probability

    # --- views that live in files of their own ---------------------------------------------------------

    def first_order(self) -> HigherOrderNetwork:
        """Return G_1: the rows of the base nodes with each target collapsed to its entity."""
        from honlearn.hon.first_order import first_order

        return first_order(self)

    # --- a value ---------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same labels, edges and weights; how they were grown does not count."""
        if not isinstance(other, HigherOrderNetwork):
            return NotImplemented
        names = ("gram_offsets", "grams", "indptr", "indices", "weights")
        return self is other or (
            all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
            and self.vocabulary == other.vocabulary
        )

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> HigherOrderNetwork:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> HigherOrderNetwork:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.gram_offsets, self.grams, self.indptr, self.indices, self.weights)
        return HigherOrderNetwork, (self.vocabulary, *arrays, self.statistics, self.parameters)

    def __repr__(self) -> str:
        nodes = f"{self.n_nodes:,} nodes up to order {self.max_order}"
        return f"HigherOrderNetwork({self.n_entities:,} entities, {nodes}, {self.n_edges:,} edges)"

    def _repr_html_(self) -> str:
        from honlearn.hon.html import network_html

        return network_html(self)


def _entities(label: object) -> Sequence[object]:
    """Return the entities of a label, newest first; a number is one entity, which the vocabulary knows."""
    return str(label).split(SEPARATOR) if not isinstance(label, (float, np.floating)) else [label]


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _row_sums(indptr: NDArray[np.int64], weights: Weights) -> Weights:
    """Return the sum of each CSR row, in the weights' own type: exact for integers."""
    if weights.dtype == np.int64:
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(weights)])
        return np.asarray(ends[indptr[1:]] - ends[indptr[:-1]], np.int64)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.bincount(rows, weights=weights, minlength=len(indptr) - 1)
