"""Networks and counts without any trace of the steps between the ends of given pairs.

In: a network, or the counts of grams, and pairs of entity codes int32 [m, 2]. Out: the same without every
step between the two entities of a pair, in either direction. The tests of link prediction hide pairs so: an
edge is not all that tells of a step, for a context such as ``C|B`` exists only because of a step from B to C.

Where counts are at hand they are the better way: a network that is grown from :func:`trie_without` is the one
that is grown from paths cut at every hidden step. Where there is only a network, its contexts that contain a
hidden step go, but which of the others are nodes was decided while the hidden steps were there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.hon.dependencies import longest_suffixes
from honlearn.hon.network import HigherOrderNetwork, Weights
from honlearn.hon.trie import Level, Trie, followed_by
from honlearn.paths.pairs import Keys, Pairs, among, hidden_keys, pair_keys

# Relative rounding error that sums of fractional weights may have.
_ROUNDING = 1e-9


def trie_without(trie: Trie, pairs: Pairs) -> Trie:
    """Return the counts without every gram that contains a step between the entities of a pair.

    Paths cut at their hidden steps lose exactly the occurrences of these grams: f(g) stays or becomes 0, and
    c(g) is the sum over the extensions that are left. A path that is cut ends at the cut, so f(g) − c(g), how
    often a path ended after g, counts the cuts as ends, as it does in :func:`~honlearn.paths.pairs.cut_paths`
    followed by a count. Every entity keeps its place in the first level.
    """
    size = len(trie[0])
    hidden = hidden_keys(_checked(pairs, size), size)
    gone = np.zeros(size, bool)
    place = np.arange(size)
    levels: list[Level] = []
    for m, level in enumerate(trie, start=1):
        kept = np.flatnonzero(~gone)
        suffix = place[level.suffix[kept]] if len(level.suffix) else level.suffix
        place = np.cumsum(~gone) - 1
        reduced = replace(level, newest=level.newest[kept], count=level.count[kept], suffix=suffix)
        if m < len(trie):
            above = trie[m]
            prefix = np.repeat(np.arange(len(level)), np.diff(level.first))
            steps = np.stack([level.newest[prefix], above.newest], 1)
            gone = gone[prefix] | among(pair_keys(steps, size, directed=False), hidden)
            reduced = _with_extensions(reduced, place[prefix[~gone]], above.count[~gone])
        levels.append(reduced)
    return tuple(levels)


def _with_extensions(level: Level, prefix: NDArray[np.int64], count: NDArray[np.int64]) -> Level:
    """Return a level with the slices and sums of its extensions, given by ascending prefix."""
    first = np.searchsorted(prefix, np.arange(len(level) + 1))
    return replace(level, first=first, followed=followed_by(first, count))


def without_pairs(network: HigherOrderNetwork, pairs: Pairs) -> HigherOrderNetwork:
    """Return the network without any trace of steps between the entities of each pair, in either direction.

    - Edges between the families of a pair are gone.
    - A context that contains such a step (``C|B|A`` for the pair A, B) is gone, and so is one that has lost
      all its out-edges: a context without a next step is never a node of a grown network, so that one would
      tell that its next step is hidden. Edges to it go to its longest suffix that is left, weights added up.
    - All entities stay, perhaps without edges. The statistics of contexts, which hold frequencies of hidden
      steps, are dropped.

    In a network grown by honlearn or GrowHON the weights of a suffix count those of its contexts already, so
    the out-edges of a removed context are dropped with it. Where weights are shared out between a suffix and
    its contexts instead (flow is conserved: some context has a next step that its suffix has not, or has less
    of), they move to its longest suffix that is left, whose weights would be too small without them.

    What cannot be undone without counts: which of the other contexts are nodes was decided with the hidden
    steps in place. :meth:`GramCounts.without <honlearn.hon.build.GramCounts.without>` has no such remainder.

    Parameters
    ----------
    network
        A network of any order.
    pairs
        Codes of entities in ``network.vocabulary``, int32 [m, 2].

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "C|A", "C", "C"], ["C|A", "A", "D", "A"], [2, 2, 6, 2])
    >>> reduced = without_pairs(hon, np.array([[0, 1]]))
    >>> list(reduced.nodes), reduced.to_pandas().values.tolist()
    (['A', 'C', 'D'], [['C', 'D', 6]])
    """
    hidden = hidden_keys(_checked(pairs, network.n_entities), network.n_entities)
    ends = np.stack([network.base[network.sources], network.base[network.indices]], 1)
    visible = ~among(pair_keys(ends, network.n_entities, directed=False), hidden)
    gone = _with_hidden_step(network, hidden)
    suffix = np.arange(network.n_nodes)
    suffix[network.n_entities :] = longest_suffixes(network)
    moved = np.zeros(network.n_edges, bool)
    if gone.any() and not _is_nested(network, suffix, visible):
        moved = visible & gone[network.sources]
    shorter = _longest_left(network, suffix, gone)
    visible &= moved | ~gone[network.sources]
    source = shorter[network.sources[visible]]
    degree = np.bincount(source, minlength=network.n_nodes)
    gone |= (degree == 0) & (np.diff(network.indptr) > 0) & (network.order > 1)
    shorter = _longest_left(network, suffix, gone)
    target = shorter[network.indices[visible]]
    _limit_order(target, network.order[source] + 1, moved[visible], network.order, shorter[suffix])
    return _made(network, ~gone, source, target, network.weights[visible])


def _checked(pairs: Pairs, n_entities: int) -> Pairs:
    codes = np.asarray(pairs).reshape(-1, 2)
    if codes.size and (codes.min() < 0 or codes.max() >= n_entities):
        raise InputError(
            f"pairs: codes from {codes.min()} to {codes.max()}; give codes of entities, 0 to {n_entities - 1}"
        )
    return codes.astype(np.int32)


def _with_hidden_step(network: HigherOrderNetwork, hidden: Keys) -> NDArray[np.bool_]:
    """Return whether the gram of each node contains a hidden step, bool [N]."""
    node = np.repeat(np.arange(network.n_nodes), network.order)
    inside = np.flatnonzero(node[1:] == node[:-1])
    steps = np.stack([network.grams[inside], network.grams[inside + 1]], 1)
    gone = np.zeros(network.n_nodes, bool)
    gone[node[inside[among(pair_keys(steps, network.n_entities, directed=False), hidden)]]] = True
    return gone


def _is_nested(network: HigherOrderNetwork, suffix: NDArray[np.int64], visible: NDArray[np.bool_]) -> bool:
    """Return whether every context's next steps are among those of its longest suffix, as counts are.

    Hidden edges take no part: their weights must decide nothing.
    """
    size = network.n_entities
    keys = network.sources[visible].astype(np.int64) * size + network.base[network.indices[visible]]
    distinct, group = np.unique(keys, return_inverse=True)
    weight = np.bincount(group, network.weights[visible], len(distinct))
    contexts = slice(int(np.searchsorted(distinct, size * size)), None)
    wanted = suffix[distinct[contexts] // size] * size + distinct[contexts] % size
    at = np.minimum(np.searchsorted(distinct, wanted), max(len(distinct) - 1, 0))
    enough = weight[at] >= weight[contexts] * (1.0 - _ROUNDING)
    return bool((enough & (distinct[at] == wanted)).all())


def _longest_left(
    network: HigherOrderNetwork, suffix: NDArray[np.int64], gone: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return each node's longest suffix that is left, itself included, int64 [N]."""
    left = np.arange(network.n_nodes)
    for order in range(2, network.max_order + 1):
        these = np.flatnonzero(gone & (network.order == order))
        left[these] = left[suffix[these]]
    return left


def _limit_order(
    target: NDArray[np.int64],
    limit: NDArray[np.int32],
    moved: NDArray[np.bool_],
    order: NDArray[np.int32],
    suffix: NDArray[np.int64],
) -> None:
    """Shorten, in place, the targets of moved edges that hold more of the past than their new source has."""
    long = np.flatnonzero(moved & (order[target] > limit))
    while len(long):
        target[long] = suffix[target[long]]
        long = long[order[target[long]] > limit[long]]


def _made(
    network: HigherOrderNetwork,
    kept: NDArray[np.bool_],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    weights: Weights,
) -> HigherOrderNetwork:
    """Return the network of the kept nodes and these edges, several of the same ends added up."""
    node = np.cumsum(kept) - 1
    keys = node[source] * int(kept.sum()) + node[target]
    by = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[by], prepend=-1))
    summed = np.add.reduceat(weights[by], starts) if len(by) else weights
    edges = keys[by][starts]
    degree = np.bincount(edges // int(kept.sum()), minlength=int(kept.sum()))
    return HigherOrderNetwork(
        network.vocabulary,
        np.concatenate([[0], np.cumsum(network.order[kept], dtype=np.int64)]),
        network.grams[np.repeat(kept, network.order)],
        np.concatenate([[0], np.cumsum(degree)]),
        edges % int(kept.sum()),
        summed,
        parameters=network.parameters,
    )
