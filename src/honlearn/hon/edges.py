"""Wiring the kept contexts: trie + which contexts are kept → the canonical higher-order network.

In: the counts of all grams (:mod:`honlearn.hon.trie`) and flags of contexts (:mod:`honlearn.hon.prune`). Out:
:class:`HigherOrderNetwork` with the statistics of its contexts, the last step of growing one. Sources are
every entity and every kept context g; for each x seen after g there is one edge of weight f(g + x) to the
longest kept suffix of g + x, else to x. Nodes and edges then take the canonical order of
:class:`HigherOrderNetwork`, so the network is the same whatever order the paths came in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import gather, nearby, slices
from honlearn.hon.evidence import Evidence
from honlearn.hon.keys import sort_and_sum
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.prune import Divergence, thresholds
from honlearn.hon.statistics import EVIDENCE, ContextStatistics, GrowParameters
from honlearn.hon.trie import Trie, end_stage, seek
from honlearn.jit import njit
from honlearn.paths.arrange import sort_each
from honlearn.paths.vocabulary import Vocabulary

Kept = list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]


@njit
def _wire(
    sources: NDArray[np.int64],
    rows: NDArray[np.int32],
    first: NDArray[np.int64],
    count: NDArray[np.int64],
    target: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.int64],
) -> None:
    """Write the rows of sources whose extensions g + x are no longer than k: `target` knows each of them."""
    for s in range(len(sources)):
        at = indptr[rows[s]]
        for i in range(first[sources[s]], first[sources[s] + 1]):
            indices[at] = target[i]
            weights[at] = count[i]
            at += 1


@njit
def _wire_longest(
    sources: NDArray[np.int64],
    rows: NDArray[np.int32],
    first: NDArray[np.int64],
    suffix: NDArray[np.int64],
    newest: NDArray[np.int32],
    count: NDArray[np.int64],
    below_first: NDArray[np.int64],
    below_newest: NDArray[np.int32],
    target: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.int64],
) -> None:
    """Write the rows of sources of k entities: the target of g + x is that of suffix(g) + x."""
    for s in range(len(sources)):
        g = sources[s]
        at = indptr[rows[s]]
        place, high = below_first[suffix[g]], below_first[suffix[g] + 1]
        for i in range(first[g], first[g + 1]):
            place = seek(below_newest, place, high, newest[i])
            indices[at] = target[place]
            weights[at] = count[i]
            at += 1


def _rows(
    trie: Trie, kept: Kept, order: int, node: NDArray[np.int32], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return the out-CSR; `node` gives the final number of every entity and then of every kept context."""
    sources = [np.flatnonzero(trie[0].followed)] + [np.flatnonzero(flags) for flags, _ in kept]
    numbers = np.split(node, np.cumsum([len(trie[0]), *map(len, sources[1:])])[:-1])
    numbers[0] = numbers[0][sources[0]]
    lengths = np.zeros(nodes + 1, np.int64)
    for level, source, number in zip(trie[:order], sources, numbers, strict=True):
        lengths[number + 1] = gather(level.first, source + 1) - gather(level.first, source)
    indptr = np.cumsum(lengths)
    indices, weights = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int64)
    # target[i]: the node of the longest kept suffix of gram i of the level at hand, itself included.
    target = node[: len(trie[0])]
    for m in range(1, order + 1):
        level, extensions, source, number = trie[m - 1], trie[m], sources[m - 1], numbers[m - 1]
        if m < order or order == 1:
            target = _targets(target, extensions.newest if order == 1 else extensions.suffix)
            if m < order:
                target[sources[m]] = numbers[m]
        # Few entities have many extensions, so these decide how far a slice goes.
        used = (*vars(level).values(), *vars(extensions).values())
        for part in nearby(gather(level.first, source), used):
            if m < order or order == 1:
                _wire(
                    source[part], number[part], level.first, extensions.count,
                    target, indptr, indices, weights,
                )  # fmt: skip
            else:
                _wire_longest(
                    source[part], number[part], level.first, level.suffix, extensions.newest,
                    extensions.count, trie[m - 2].first, level.newest, target, indptr, indices, weights,
                )  # fmt: skip
    sort_each(weights, indices, indptr)
    return indptr, indices, weights


def _targets(target: NDArray[np.int32], grams: NDArray[Any]) -> NDArray[np.int32]:
    """Return the targets of these grams, slice by slice of an array that may lie on disk."""
    found = np.empty(len(grams), np.int32)
    for part in slices(len(grams), (grams,)):
        found[part] = target[grams[part]]
    return found


def context_grams(trie: Trie, kept: Kept, order: int) -> NDArray[np.int32]:
    """Return the entities of every kept context, newest first, as rows of `order` codes filled up with −1."""
    blocks = [np.empty((0, order), np.int32)]
    for m in range(2, order + 1):
        at = np.flatnonzero(kept[m - 2][0])
        block = np.full((len(at), order), -1, np.int32)
        for j in range(m):
            block[:, j] = gather(trie[m - 1 - j].newest, at)
            if j + 1 < m:
                at = trie[m - 2 - j].prefix(at)
        blocks.append(block)
    return np.concatenate(blocks)


def arrange(grams: NDArray[np.int32], lengths: NDArray[np.int64], entities: int) -> NDArray[np.int64]:
    """Return the canonical order of the contexts: by base, then length, then predecessors, newest first."""
    order, bits = grams.shape[1], entities.bit_length()
    if order * bits + order.bit_length() > 64:
        return np.lexsort([*grams[:, :0:-1].T, lengths, grams[:, 0]])
    # One is added to the codes, so that a predecessor that is not there (−1) sorts first.
    keys = (grams[:, 0].astype(np.uint64) << np.uint64(order.bit_length())) | lengths.astype(np.uint64)
    for j in range(1, order):
        keys = (keys << np.uint64(bits)) | (grams[:, j] + 1).astype(np.uint64)
    return sort_and_sum(keys, np.arange(len(grams)), order * bits + order.bit_length())[1]


def build_network(
    trie: Trie,
    vocabulary: Vocabulary,
    divergence: list[Divergence],
    kept: Kept,
    parameters: GrowParameters,
    evidence: Evidence | None = None,
) -> HigherOrderNetwork:
    """Return the network of the kept contexts, in canonical order."""
    order = parameters.order
    end_stage(trie)
    used = trie[0].followed > 0
    for part in slices(len(trie[1]), (trie[1].newest,)):
        used[trie[1].newest[part]] = True
    by_name = vocabulary.sorted_codes()
    by_name = by_name[used[by_name]]
    rank = np.full(len(vocabulary) + 1, -1, np.int32)
    rank[by_name] = np.arange(len(by_name))
    grams = rank[context_grams(trie, kept, order)]
    end_stage(trie)
    lengths = np.count_nonzero(grams >= 0, axis=1)
    arranged = arrange(grams, lengths, len(by_name))
    node = np.empty(len(vocabulary) + len(grams), np.int32)
    node[: len(vocabulary)] = rank[:-1]
    node[len(vocabulary) + arranged] = len(by_name) + np.arange(len(grams))
    indptr, indices, weights = _rows(trie, kept, order, node, len(by_name) + len(grams))
    end_stage(trie)
    grams, lengths = grams[arranged], lengths[arranged]
    return HigherOrderNetwork(
        vocabulary.take(by_name),
        np.concatenate([np.arange(len(by_name) + 1), len(by_name) + np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([np.arange(len(by_name)), grams[grams >= 0]]).astype(np.int32),
        indptr,
        indices,
        weights,
        _statistics(
            trie, divergence, kept, parameters, evidence, node[len(vocabulary) :] - np.int32(len(by_name))
        ),
        parameters,
    )


def _statistics(
    trie: Trie,
    divergence: list[Divergence],
    kept: Kept,
    parameters: GrowParameters,
    evidence: Evidence | None,
    places: NDArray[np.int32],
) -> ContextStatistics:
    """Return frequency, divergence, threshold and evidence of the kept contexts, each at its place."""
    frequency, by_extension = np.empty(len(places), np.int64), np.empty(len(places), bool)
    diverges, limit = np.empty(len(places)), np.empty(len(places))
    found = None if evidence is None else {name: np.empty(len(places)) for name in EVIDENCE}
    done = 0
    for m in range(2, parameters.order + 1):
        flags, extended = kept[m - 2]
        contexts = np.flatnonzero(flags)
        count = gather(trie[m - 1].count, contexts)
        here = places[done : done + len(count)]
        done += len(count)
        frequency[here] = count
        limit[here] = thresholds(count, m, parameters.tau)
        diverges[here] = divergence[m - 2].of(contexts)
        by_extension[here] = extended[contexts]
        if found is not None and evidence is not None:
            for name, score in zip(EVIDENCE, ("p", "q", "ln_bf"), strict=True):
                found[name][here] = evidence.levels[m - 2].at(contexts, score)
    return ContextStatistics(frequency, diverges, limit, by_extension, **(found or {}))
