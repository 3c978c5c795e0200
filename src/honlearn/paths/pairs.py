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


def cut_paths(paths: Paths, pairs: Sequence[tuple[str, str]]) -> Paths:
    """Return the paths cut in two wherever they step between the entities of one of these pairs.

    Both directions are cut. The vocabulary stays as it is. In a network that is grown from what is left no
    context, count or threshold depends on a hidden step.

    >>> cut = cut_paths(Paths.from_lists([["A", "C", "D", "C"]], counts=[3]), [("D", "C")])
    >>> list(cut), cut.counts.tolist()
    ([('A', 'C'), ('D',), ('C',)], [3, 3, 3])
    """
    size = len(paths.vocabulary)
    hidden = hidden_keys(known_pairs(paths.vocabulary, pairs), size)
    steps = np.stack([paths.codes[:-1], paths.codes[1:]], 1)
    cuts = 1 + np.flatnonzero(among(pair_keys(steps, size, directed=False), hidden))
    offsets = np.union1d(paths.offsets, cuts)
    row = np.searchsorted(paths.offsets, offsets[:-1], "right") - 1
    counts = None if paths.counts is None else paths.counts[row]
    return Paths(paths.codes, offsets, paths.vocabulary, counts)
