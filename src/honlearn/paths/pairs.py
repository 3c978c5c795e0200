"""Pairs of entities as numbers, and paths without the steps between the ends of given pairs.

In: pairs of entity codes int32 [m, 2], or of names. Out: one number per pair, by which pairs are compared and
looked up; and :func:`cut_paths`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary

Pairs = NDArray[np.int32]
Keys = NDArray[np.int64]


def pair_keys(pairs: Pairs, n_entities: int, directed: bool = True) -> Keys:
    """Return one number for each pair [B, 2] of entities; without direction (u, v) and (v, u) share it."""
    u, v = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    return u * n_entities + v if directed else np.minimum(u, v) * n_entities + np.maximum(u, v)


def keyed_pairs(keys: Keys, n_entities: int) -> Pairs:
    """Return the pairs int32 [B, 2] of :func:`pair_keys`."""
    return np.stack([keys // n_entities, keys % n_entities], 1).astype(np.int32)


def among(keys: Keys, taken: Keys) -> NDArray[np.bool_]:
    """Return whether each key is one of `taken`, which ascends."""
    if not len(taken):
        return np.zeros(len(keys), bool)
    return np.asarray(taken[np.minimum(np.searchsorted(taken, keys), len(taken) - 1)] == keys)


def hidden_keys(pairs: Pairs, n_entities: int) -> Keys:
    """Return the distinct keys of pairs [m, 2] without direction, ascending: what :func:`among` looks up."""
    pairs = np.asarray(pairs, np.int32).reshape(-1, 2)
    return np.unique(pair_keys(pairs, n_entities, directed=False))


def known_pairs(vocabulary: Vocabulary, pairs: Sequence[tuple[str, str]]) -> Pairs:
    """Return the codes of named pairs, int32 [m, 2], without those that have an unknown end."""
    known = [pair for pair in pairs if pair[0] in vocabulary and pair[1] in vocabulary]
    return vocabulary.codes(end for pair in known for end in pair).reshape(-1, 2)


def cut_paths(paths: Paths, pairs: Sequence[tuple[str, str]], visits: bool = False) -> Paths:
    """Return the paths cut in two wherever they step between the entities of one of these pairs.

    Both directions are cut. The vocabulary stays as it is. In a network that is grown from what is left no
    context, count or threshold depends on a hidden step.

    A path that was cut still ends in one entity of the pair and goes on from the other: that somebody came
    to the first and left the second is there only because of the step. With `visits` both visits of a hidden
    step are taken out, with the steps to the first and from the second.

    >>> paths = Paths.from_lists([["A", "C", "D", "C", "B", "A"]], counts=[3])
    >>> list(cut_paths(paths, [("D", "C")]))
    [('A', 'C'), ('D',), ('C', 'B', 'A')]
    >>> cut = cut_paths(paths, [("D", "C")], visits=True)
    >>> list(cut), cut.counts.tolist()
    ([('A',), ('B', 'A')], [3, 3])
    """
    size = len(paths.vocabulary)
    hidden = hidden_keys(known_pairs(paths.vocabulary, pairs), size)
    steps = np.stack([paths.codes[:-1], paths.codes[1:]], 1)
    cut = among(pair_keys(steps, size, directed=False), hidden)
    # A path of no entities ends where it begins; the last one may begin behind the last entity.
    first = np.zeros(len(paths.codes) + 1, bool)
    first[paths.offsets[:-1]] = True
    first = first[:-1]
    cut &= ~first[1:]
    first[1:] |= cut
    # Of no entities at all hidden_visits still tells of one.
    kept = ~hidden_visits(cut)[: len(first)] if visits else np.ones(len(paths.codes), bool)
    # What follows a visit that was taken out begins a piece of its own.
    first[1:] |= ~kept[:-1]
    places = np.flatnonzero(first & kept)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    offsets = np.append(before[places], before[-1])
    row = np.searchsorted(paths.offsets, places, "right") - 1
    counts = None if paths.counts is None else paths.counts[row]
    return Paths(paths.codes[kept], offsets, paths.vocabulary, counts)


def hidden_visits(cut: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of n visits are an end of a hidden step, [n], for steps [n − 1] from each to the next.

    >>> hidden_visits(np.array([False, True, False, False])).tolist()
    [False, True, True, False, False]
    """
    ends = np.zeros(len(cut) + 1, bool)
    ends[:-1] |= cut
    ends[1:] |= cut
    return ends
