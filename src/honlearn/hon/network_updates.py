"""Networks that take in more paths, on the contexts that they have, or more entities.

In: a network, and more paths or names. Out: another network. A network by itself does not hold the counts of
contexts that were not kept, so more paths add no memory to it. From counts of all paths a network is grown
anew by its rule instead (:meth:`honlearn.GramCounts.grow_by`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from honlearn.errors import InputError, listed
from honlearn.hon.build import GramCounts, count_grams
from honlearn.hon.edgelist import from_edges
from honlearn.hon.edges import Kept, build_network, context_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import SEPARATOR
from honlearn.hon.prune import Divergence
from honlearn.hon.statistics import GrowParameters
from honlearn.paths.vocabulary import Vocabulary


def add_paths(network: HigherOrderNetwork, paths: Any, **reader_options: Any) -> HigherOrderNetwork:
    """Return the network with the steps of more paths added, on the contexts that it has.

    Each step counts for the entity that it leaves and for every context of the network that it leaves, as
    when the network was grown. Entities may be new; contexts are not, so there is no new memory.

    >>> from honlearn.hon.build import grow
    >>> network = grow([["A", "C", "D"], ["B", "C", "E"]] * 5)
    >>> more = add_paths(network, [["A", "C", "F"]])
    >>> list(more.nodes), more.transition("C|A")
    (['A', 'B', 'C', 'D', 'E', 'F', 'C|A', 'C|B'], {'D': 0.8333333333333334, 'F': 0.16666666666666666})
    """
    import pandas as pd

    counts = count_grams(paths, network.max_order, **reader_options)
    added = _on_contexts_of(network, counts)
    if not added.n_edges:
        return network
    edges = pd.concat([network.to_pandas(), added.to_pandas()])
    summed = edges.groupby(["source", "target"], as_index=False, sort=False)["weight"].sum()
    return from_edges(summed["source"], summed["target"], summed["weight"], nodes=list(network.nodes))


def _on_contexts_of(network: HigherOrderNetwork, counts: GramCounts) -> HigherOrderNetwork:
    """Return the network of these counts whose contexts are those that `network` has."""
    trie, order = counts.levels, network.max_order
    codes = counts.vocabulary.codes_in(network.vocabulary)
    # −1 fills up shorter contexts, so an entity that the network does not have is another number.
    codes = np.append(np.where(codes < 0, np.int32(-2), codes), np.int32(-1))
    everything: Kept = [(np.ones(len(level), bool), np.zeros(len(level), bool)) for level in trie[1:order]]
    found = _rows(codes[context_grams(trie, everything, order)])
    sizes = np.diff(network.gram_offsets)[network.n_entities :]
    known = np.full((len(sizes), order), -1, np.int32)
    known[np.arange(order) < sizes[:, None]] = network.grams[network.n_entities :]
    there = np.isin(found, _rows(known))
    flags = np.split(there, np.cumsum([len(level) for level in trie[1:order]])[:-1]) if order > 1 else []
    kept: Kept = [(flag, np.zeros(len(flag), bool)) for flag in flags]
    # Divergences are not needed here.
    unknown = [Divergence(np.empty(0, np.int64), np.empty(0)) for _ in flags]
    return build_network(trie, counts.vocabulary, unknown, kept, GrowParameters(order, None, 1))


def _rows(codes: np.ndarray[Any, np.dtype[np.int32]]) -> np.ndarray[Any, np.dtype[np.void]]:
    """Return each row as one value that can be compared."""
    whole = np.ascontiguousarray(codes)
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()


def with_entities(network: HigherOrderNetwork, names: Iterable[str]) -> HigherOrderNetwork:
    """Return the network with these entities in it; those that it does not have get no edges.

    A grown network holds the entities that are in some edge. One that has lost all its steps to a test, or
    that is in no path, is still an entity.

    >>> from honlearn.hon.build import grow
    >>> list(with_entities(grow([["A", "C", "D"], ["B", "C", "E"]] * 5), ["BB"]).nodes)
    ['A', 'B', 'BB', 'C', 'D', 'E', 'C|A', 'C|B']
    """
    own = network.vocabulary
    new = [name for name in dict.fromkeys(names) if name not in own]
    if not new:
        return network
    wrong = [name for name in new if not name or SEPARATOR in name]
    if wrong:
        raise InputError(
            f"no names of entities: {listed(map(repr, wrong), 5)}; a name is not empty and has no "
            f"{SEPARATOR!r}"
        )
    joined = Vocabulary.from_names([*own.names, *new])
    order = joined.sorted_codes()
    # From old codes, and behind them those of the new names, to places in the order of the names.
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    moved = place[: len(own)]
    node = np.concatenate([moved, np.arange(network.n_conditional) + len(order)])
    lengths = np.zeros(len(order) + network.n_conditional, np.int64)
    lengths[node] = np.diff(network.indptr)
    sizes = np.diff(network.gram_offsets[network.n_entities :])
    return HigherOrderNetwork(
        joined.take(order),
        np.concatenate([np.arange(len(order) + 1), len(order) + np.cumsum(sizes)]),
        np.concatenate([np.arange(len(order)), moved[network.grams[network.n_entities :]]]),
        np.concatenate([[0], np.cumsum(lengths)]),
        node[network.indices],
        network.weights,
        network.statistics,
        network.parameters,
    )
