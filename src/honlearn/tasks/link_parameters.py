"""From pairs of names and labels to what the models take, each checked with its own message.

In: pairs of names, labels, and the name of the estimator that messages use. Out: pairs of codes and labelled
examples.
"""

from __future__ import annotations

from collections.abc import Sized

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.errors import InputError, listed
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import Pairs, count_unlinked, keyed_pairs, linked_keys, pair_keys
from honlearn.seeds import generator
from honlearn.tasks.inputs import Labels, NamePairs


def pair_codes(owner: str, network: HigherOrderNetwork, pairs: NamePairs, what: str) -> Pairs:
    """Return pairs of names [n, 2] as entity codes int32 [n, 2], or raise a clear error."""
    values = pairs.to_numpy() if hasattr(pairs, "to_numpy") else pairs
    rows = list(values)
    wrong = next((i for i, row in enumerate(rows) if not _is_pair(row)), None)
    if wrong is not None:
        raise InputError(
            f"{owner}.{what} takes pairs of node names [n, 2]; row {wrong} is {rows[wrong]!r}, not a pair"
        )
    codes = network.vocabulary.codes(name for row in rows for name in row).reshape(-1, 2)
    same = np.flatnonzero(codes[:, 0] == codes[:, 1])
    if same.size:
        named = listed((repr(network.vocabulary[int(codes[i, 0])]) for i in same), 5)
        raise InputError(
            f"{owner}.{what}: {same.size:,} pairs have equal ends ({named}); a pair is two different nodes"
        )
    return codes


def _is_pair(row: object) -> bool:
    return not isinstance(row, (str, bytes)) and isinstance(row, Sized) and len(row) == 2


def in_order(pairs: Pairs, directed: bool) -> Pairs:
    """Return the pairs as they are, or without direction with the smaller code first."""
    return pairs if directed else np.sort(pairs, axis=1)


class NewPairs:
    """The pairs of an entity with every other that it has no edge to yet; `links` are looked up once."""

    def __init__(self, network: HigherOrderNetwork, directed: bool) -> None:
        self.size = network.n_entities
        links = keyed_pairs(linked_keys(network, directed), self.size)
        both = links if directed else np.concatenate([links, links[:, ::-1]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        self._partners, self._first = both[:, 1], np.searchsorted(both[:, 0], np.arange(self.size + 1))

    def allowed(self, entities: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which others each entity has no edge to yet, [S, V]."""
        new = np.ones((len(entities), self.size), bool)
        for row, entity in zip(new, entities.tolist(), strict=True):
            row[self._partners[self._first[entity] : self._first[entity + 1]]] = False
            row[entity] = False
        return new

    def of(self, entity: int) -> Pairs:
        """Return the new pairs of an entity, int32 [n, 2]."""
        others = np.flatnonzero(self.allowed(np.array([entity], np.int32))[0]).astype(np.int32)
        return np.stack([np.full(len(others), entity, np.int32), others], 1)


def new_pairs(network: HigherOrderNetwork, entity: int, directed: bool) -> Pairs:
    """Return the pairs of an entity with every other that it has no edge to yet, int32 [n, 2]."""
    return NewPairs(network, directed).of(entity)


def labelled_pairs(
    owner: str, network: HigherOrderNetwork, pairs: NamePairs, y: Labels | None, directed: bool
) -> PairExamples:
    """Return examples from pairs of names and labels 1 and 0, each pair once, or raise a clear error."""
    codes = in_order(pair_codes(owner, network, pairs, "fit"), directed)
    labels = _binary(y, len(codes))
    keys = pair_keys(codes, network.n_entities, directed)
    distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)
    least, most = np.ones(len(distinct), np.int64), np.zeros(len(distinct), np.int64)
    np.minimum.at(least, place, labels)
    np.maximum.at(most, place, labels)
    torn = np.flatnonzero(least != most)
    if torn.size:
        names = network.vocabulary
        shown = listed((f"({names[int(u)]!r}, {names[int(v)]!r})" for u, v in codes[first[torn]]), 3)
        raise InputError(
            f"{torn.size:,} pairs are labelled 1 and 0 at once: {shown}; give each pair one label"
        )
    first = np.sort(first)
    codes, labels = codes[first], labels[first]
    if len(np.unique(labels)) < 2:
        raise InputError("fit needs linked pairs (1) and pairs that are not (0); only one kind was given")
    return PairExamples(codes, labels, np.ones(len(codes), np.float32))


def _binary(y: object, count: int) -> NDArray[np.int64]:
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.shape != (count,):
        raise InputError(f"{count:,} pairs but labels of shape {values.shape}; give one label a pair")
    # Not by np.unique, which compares what may have no order, such as None with a number.
    strange = dict.fromkeys(repr(value) for value in values.tolist() if value not in (0, 1))
    if strange:
        raise InputError(f"labels of pairs are 1 (linked) and 0 (not), got {listed(strange, 5)}")
    return values.astype(np.int64)


def training_pairs(
    owner: str,
    network: HigherOrderNetwork,
    pairs: NamePairs | None,
    y: Labels | None,
    exclude: NamePairs | None,
    directed: bool,
    seed: int,
) -> tuple[PairExamples, Unlinked | None]:
    """Return the pairs to train on, and where new unlinked ones may come from (None for pairs of the user).

    Without `pairs`: every linked pair, and as many that are not. Pairs in `exclude` are neither.
    """
    if pairs is None and y is not None:
        raise InputError(f"{owner}.fit: labels without pairs; pass fit(pairs, y), or fit() for own pairs")
    if pairs is not None and exclude is not None:
        raise InputError(f"{owner}.fit: 'exclude' is for fit() alone; leave those pairs out of X instead")
    if pairs is not None:
        return labelled_pairs(owner, network, pairs, y, directed), None
    linked = linked_keys(network, directed)
    held = np.empty((0, 2), np.int32) if exclude is None else pair_codes(owner, network, exclude, "fit")
    # The way back of a pair that is held out is hidden too: it may be linked, so it is no example either.
    out = pair_keys(np.concatenate([held, held[:, ::-1]]), network.n_entities, directed)
    unlinked = Unlinked(network.n_entities, np.union1d(linked, out), directed)
    positives = keyed_pairs(np.setdiff1d(linked, out), network.n_entities)
    return own_pairs(owner, positives, unlinked, seed), unlinked


def own_pairs(owner: str, positives: Pairs, unlinked: Unlinked, seed: int) -> PairExamples:
    """Return all linked pairs and as many that are not (or as many as there are), in that order."""
    free = count_unlinked(unlinked.n_entities, unlinked.taken, unlinked.directed)
    if not len(positives) or not free:
        what = "no two entities are linked" if not len(positives) else "every two entities are linked"
        raise InputError(f"{owner}.fit: {what}, so there is nothing to learn links from")
    nobody = np.empty((0, 2), np.int32)
    count = min(len(positives), free)
    negatives = unlinked.draw(generator(seed, "negatives", "first"), count, nobody)
    labels = np.repeat(np.array([1, 0], np.int64), [len(positives), count])
    return PairExamples(
        np.concatenate([positives, negatives]).astype(np.int32), labels, np.ones(len(labels), np.float32)
    )
