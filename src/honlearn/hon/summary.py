"""The size of a network and how alike its neighbours are: the columns of the paper's Table 1.

In: a network and, where there are any, the classes of its entities. Out: a table of one row, and the
homophily of networks and nodes.

The paper defines the homophily of a node as the fraction of its neighbours with the same class and reports an
average for each graph. The published figures (Wiki 0.366 and 0.375, Air 0.351) are the fraction of *edges*
whose two ends have the same class, each edge once whatever its weight, self-loops included, a conditional
node taking the class of its entity. That is what ``average="edges"`` gives; the mean over nodes of the
fraction among out-neighbours, ``average="nodes"``, gives 0.378 and 0.393 on Wiki.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_choice
from honlearn.hon.network import HigherOrderNetwork
from honlearn.labels import labelled_texts, none_known, read_labels, table_pairs

if TYPE_CHECKING:
    import pandas

    # A mapping or series from node to class, a pair (nodes, classes), or a CSV file.
    NodeClasses = (
        Mapping[Any, Any]
        | pandas.Series[Any]
        | tuple[Iterable[object], Iterable[object]]
        | str
        | PathLike[str]
    )


def summary(network: HigherOrderNetwork, labels: NodeClasses | None = None) -> pandas.DataFrame:
    """Return one row with k, |V1|, |E1|, |Vk|, |Ek| and, given labels, classes, H(G1) and H(Gk).

    k is the order that the network was grown with, else that of its longest node. |E1| counts the distinct
    pairs of entities. `labels` is a mapping from entity to class, a pair (nodes, classes) or a CSV file.
    """
    import pandas as pd

    first = network.first_order()
    grown = network.parameters
    row: dict[str, int | float] = {
        "k": network.max_order if grown is None else grown.order,
        "|V1|": network.n_entities,
        "|E1|": first.n_edges,
        "|Vk|": network.n_nodes,
        "|Ek|": network.n_edges,
    }
    if labels is not None:
        known = as_mapping(labels)
        classes = entity_classes(network, known)
        row["classes"] = len(np.unique(classes[classes >= 0]))
        row["H(G1)"] = homophily(first, known)
        row["H(Gk)"] = homophily(network, known)
    return pd.DataFrame([row])


def homophily(network: HigherOrderNetwork, labels: NodeClasses, average: str = "edges") -> float:
    """Return the fraction of edges whose ends have the same class; ``"nodes"``: the mean over nodes.

    Edges with an end that has no class do not count. NaN where no edge counts.
    """
    check_choice("homophily", "average", average, ("edges", "nodes"))
    if average == "nodes":
        values = node_homophily(network, labels)
        values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else float("nan")
    same, counted = _agreement(network, labels)
    return float(same.sum() / counted.sum()) if counted.any() else float("nan")


def node_homophily(network: HigherOrderNetwork, labels: NodeClasses) -> NDArray[np.float64]:
    """Return the fraction of each node's out-neighbours with its class [N], NaN where none has a class."""
    same, counted = _agreement(network, labels)
    total = np.bincount(network.sources[counted], minlength=network.n_nodes)
    alike = np.bincount(network.sources[same], minlength=network.n_nodes)
    return np.where(total > 0, alike / np.maximum(total, 1), np.nan)


def entity_classes(network: HigherOrderNetwork, labels: NodeClasses) -> NDArray[np.int64]:
    """Return the class of each entity as a number [V], −1 for none; other nodes' labels are skipped."""
    known = as_mapping(labels)
    numbers = {name: number for number, name in enumerate(sorted(set(known.values())))}
    classes = [numbers[known[name]] if name in known else -1 for name in network.vocabulary.names]
    if network.n_entities and max(classes) < 0:
        raise none_known(known, network.vocabulary.names)
    return np.array(classes, np.int64)


def as_mapping(labels: object) -> dict[str, str]:
    """Return labels given as a mapping, a pair (nodes, classes), a table or a CSV file, as a dictionary.

    A node whose class is missing (None, NaN, empty) has none.
    """
    if isinstance(labels, (str, PathLike)):
        labels = read_labels(labels)
    if hasattr(labels, "columns"):
        return dict(labelled_texts(table_pairs(labels)))
    if isinstance(labels, Mapping) or hasattr(labels, "items"):
        return dict(labelled_texts(labels.items()))
    if not isinstance(labels, tuple) or len(labels) != 2:
        raise InputError(
            f"labels must be a mapping from node to class, a pair (nodes, classes) or a CSV file; "
            f"got {type(labels).__name__}"
        )
    nodes, classes = (list(column) for column in labels)
    if len(nodes) != len(classes):
        raise InputError(f"{len(nodes):,} nodes but {len(classes):,} classes; give one class per node")
    return dict(labelled_texts(zip(nodes, classes, strict=True)))


def _agreement(
    network: HigherOrderNetwork, labels: NodeClasses
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for each edge whether both ends have one class, and whether both have a class [E]."""
    classes = entity_classes(network, labels)[network.base]
    source, target = classes[network.sources], classes[network.indices]
    counted = (source >= 0) & (target >= 0)
    return counted & (source == target), counted
