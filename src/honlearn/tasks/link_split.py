"""Splits for link prediction: pairs that are tested, and the network without anything that links them.

In: a network, the share of linked pairs to test and a seed. Out: a :class:`LinkSplit`: the test pairs, half
of them linked, and a network on the same nodes from which every edge between the families of a test pair is
gone, in both directions. A training sees that network and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_choice, check_real
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import (
    Keys,
    Pairs,
    draw_unlinked,
    edge_keys,
    keyed_pairs,
    linked_keys,
    pair_keys,
)
from honlearn.seeds import generator

ISOLATED = ("exclude", "keep")


@dataclass(frozen=True)
class LinkSplit:
    """Test pairs int32 [m, 2] (linked ones first), labels int64 [m], and the network that may be seen.

    `counts`: ``positives`` (linked pairs of the whole network), ``tested`` (of them held out),
    ``reversed`` (linked pairs that are neither tested nor visible, being the way back of a test pair),
    ``hidden_edges``, ``excluded`` (drawn for the test, but left visible since hiding them would have left
    an entity without any edge) and ``isolated`` (entities that hiding has left without any edge).
    """

    network: HigherOrderNetwork
    pairs: Pairs
    labels: NDArray[np.int64]
    directed: bool = True
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[tuple[str, str]]:
        """The test pairs by name."""
        known = self.network.vocabulary.names
        return [(known[u], known[v]) for u, v in self.pairs.tolist()]


def hide_pairs(network: HigherOrderNetwork, pairs: Pairs) -> HigherOrderNetwork:
    """Return the network on the same nodes without the edges between the families of any of these pairs.

    Edges of both directions go. So do the statistics of the contexts, which hold frequencies of hidden
    edges; what stays is that a context such as ``C|A`` was once kept at all.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "C|A", "C", "C"], ["C|A", "A", "D", "A"], [2, 2, 6, 2])
    >>> hide_pairs(hon, np.array([[0, 1]])).to_pandas().values.tolist()
    [['C', 'D', 6]]
    """
    hidden = np.unique(pair_keys(np.asarray(pairs, np.int32), network.n_entities, directed=False))
    kept = ~np.isin(edge_keys(network, directed=False), hidden)
    return _with_edges(network, kept)


def _with_edges(network: HigherOrderNetwork, kept: NDArray[np.bool_]) -> HigherOrderNetwork:
    before = np.concatenate([[0], np.cumsum(kept)])
    return HigherOrderNetwork(
        network.vocabulary,
        network.gram_offsets,
        network.grams,
        before[network.indptr],
        network.indices[kept],
        network.weights[kept],
        parameters=network.parameters,
    )


def split_links(
    network: HigherOrderNetwork,
    share: float = 0.1,
    seed: int = 0,
    directed: bool = True,
    isolated: str = "exclude",
) -> LinkSplit:
    """Hold out a share of the linked pairs and as many pairs that are not linked, uniformly.

    With `directed`, (u, v) and (v, u) are two pairs; hiding either hides both. A pair whose hiding would
    leave an entity without any edge is passed over and stays visible (`isolated` ``"exclude"``, counted) or
    is tested all the same, as in the paper (``"keep"``).
    """
    check_real("split_links", "share", share, 0, 0.9, open_below=True)
    check_choice("split_links", "isolated", isolated, ISOLATED)
    size = network.n_entities
    linked = linked_keys(network, directed)
    wanted = round(len(linked) * share)
    if wanted < 1 or wanted >= len(linked):
        raise InputError(
            f"a share of {share:g} of {len(linked):,} linked pairs is {wanted:,} test pairs; at least one "
            "must be tested and one left to train on"
        )
    random = generator(seed, "link split")
    partners = _Partners(network, keep_all=isolated == "keep")
    positives = partners.take(random.permutation(linked), wanted)
    if len(positives) < wanted:
        raise InputError(
            f"only {len(positives):,} of the {wanted:,} pairs to test can be hidden without leaving an "
            'entity without edges; ask for a smaller share, or pass isolated="keep"'
        )
    # Some more than wanted: the way back of one may be an entity's last edge.
    spare = draw_unlinked(random, wanted + _spare(wanted, size, linked, directed), size, linked, directed)
    negatives = partners.take(pair_keys(spare, size, directed), wanted)
    if len(negatives) < wanted:
        raise InputError(f"only {len(negatives):,} of {wanted:,} pairs without a link found; lower the share")
    pairs = keyed_pairs(np.concatenate([positives, negatives]), size)
    visible = hide_pairs(network, pairs)
    there = linked_keys(visible, directed)
    counts = {
        "positives": len(linked),
        "tested": wanted,
        "reversed": len(linked) - wanted - len(there),
        "hidden_edges": network.n_edges - visible.n_edges,
        "excluded": partners.passed_over,
        "isolated": int((partners.left == 0).sum()),
    }
    labels = np.repeat(np.array([1, 0], np.int64), wanted)
    return LinkSplit(visible, pairs, labels, directed, counts)


def _spare(wanted: int, size: int, linked: Keys, directed: bool) -> int:
    space = size * (size - 1) // (1 if directed else 2)
    return min(wanted // 4 + 16, max(space - len(linked) - wanted, 0))


class _Partners:
    """How many other entities each entity is still linked to, while pairs are taken away."""

    def __init__(self, network: HigherOrderNetwork, keep_all: bool) -> None:
        self.size, self.keep_all, self.passed_over = network.n_entities, keep_all, 0
        keys = linked_keys(network, directed=False)
        self.left = np.bincount(keyed_pairs(keys, self.size).ravel(), minlength=self.size)
        # Who had none to begin with is nobody's loss.
        self.left[self.left == 0] = len(keys) + 1
        self._visible = set(keys.tolist())

    def take(self, candidates: Keys, count: int) -> Keys:
        """Return the first `count` candidates that can be hidden, and count them as hidden."""
        taken: list[int] = []
        for key in candidates.tolist():
            if len(taken) == count:
                break
            u, v = divmod(key, self.size)
            both = min(u, v) * self.size + max(u, v)
            if both in self._visible:
                if not self.keep_all and min(self.left[u], self.left[v]) <= 1:
                    self.passed_over += 1
                    continue
                self._visible.remove(both)
                self.left[u] -= 1
                self.left[v] -= 1
            taken.append(key)
        return np.array(taken, np.int64)
