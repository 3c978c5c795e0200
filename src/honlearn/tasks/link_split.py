"""Splits for link prediction: pairs that are tested, and the network without anything that tells of them.

In: a network, the share of linked pairs to test, which unlinked ones, and a seed. Out: a :class:`LinkSplit`:
the test pairs and a network on the same entities in which no step between the ends of a test pair, linked or
not, has left a trace. A training sees that network and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_choice, check_real
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.without_pairs import without_pairs
from honlearn.sampling.negatives import draw_by_degree, link_degrees
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
# What is hidden of a test pair: every trace of a step between its ends, or the edges between their families.
PROTOCOLS = ("strict", "paper")
# How the unlinked test pairs are drawn, and the kind of each test pair.
NEGATIVES = ("uniform", "degree", "both")
LINKED, UNIFORM, DEGREE = 0, 1, 2
KINDS = {"uniform": UNIFORM, "degree": DEGREE}


@dataclass(frozen=True)
class LinkSplit:
    """Test pairs, what each of them is, and the network that may be seen.

    pairs: int32 [m, 2], linked ones first. labels: 1 for linked, else 0, int64 [m]. kinds: :data:`LINKED`, or
    how an unlinked pair was drawn, :data:`UNIFORM` or :data:`DEGREE`, int8 [m]; a pair may be among both.

    `counts`: ``positives`` (linked pairs of the whole network), ``tested`` (of them held out),
    ``reversed`` (linked pairs that are neither tested nor visible, being the way back of a test pair),
    ``hidden_edges`` and ``hidden_contexts`` (by how many the visible network has less), ``excluded`` (drawn
    for the test, but left visible since hiding them would have left an entity without any edge) and
    ``isolated`` (entities that hiding has left without any edge).
    """

    network: HigherOrderNetwork
    pairs: Pairs
    labels: NDArray[np.int64]
    kinds: NDArray[np.int8]
    directed: bool = True
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[tuple[str, str]]:
        """The test pairs by name."""
        known = self.network.vocabulary.names
        return [(known[u], known[v]) for u, v in self.pairs.tolist()]

    @property
    def negatives(self) -> tuple[str, ...]:
        """The kinds of unlinked pairs that are tested, of ``"uniform"`` and ``"degree"``."""
        return tuple(name for name, kind in KINDS.items() if (self.kinds == kind).any())

    def part(self, negatives: str) -> NDArray[np.intp]:
        """Return the places of the linked test pairs and of the unlinked ones of this kind."""
        return np.flatnonzero((self.kinds == LINKED) | (self.kinds == KINDS[negatives]))


def hide_pairs(network: HigherOrderNetwork, pairs: Pairs) -> HigherOrderNetwork:
    """Return the network on the same nodes without the edges between the families of any of these pairs.

    Edges of both directions go. So do the statistics of the contexts, which hold frequencies of hidden
    edges; what stays is that a context such as ``C|A`` was once kept at all, which tells of a step from A to
    C. The paper hides links so; :func:`~honlearn.hon.without_pairs.without_pairs` leaves no such trace.

    >>> from honlearn.hon.edgelist import from_edges
    >>> hon = from_edges(["A", "C|A", "C", "C"], ["C|A", "A", "D", "A"], [2, 2, 6, 2])
    >>> hide_pairs(hon, np.array([[0, 1]])).to_pandas().values.tolist()
    [['C', 'D', 6]]
    """
    hidden = np.unique(pair_keys(np.asarray(pairs, np.int32), network.n_entities, directed=False))
    kept = ~np.isin(edge_keys(network, directed=False), hidden)
    return with_edges(network, kept)


def with_edges(network: HigherOrderNetwork, kept: NDArray[np.bool_]) -> HigherOrderNetwork:
    """Return the network on the same nodes with some of its edges, bool [E], and without statistics."""
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
    negatives: str = "uniform",
    protocol: str = "strict",
) -> LinkSplit:
    """Hold out a share of the linked pairs and as many pairs that are not linked.

    Parameters
    ----------
    network
        The whole network.
    share
        Share of the linked pairs that is tested.
    seed
        Another seed holds out other pairs.
    directed
        Whether (u, v) and (v, u) are two pairs; hiding either hides both.
    isolated
        A pair whose hiding would leave an entity without any edge is passed over and stays visible
        (``"exclude"``, counted) or is tested all the same, as in the paper (``"keep"``).
    negatives
        Unlinked pairs are drawn ``"uniform"``, each end by its ``"degree"`` (of the whole network), or
        ``"both"``: as many of either kind as there are linked ones.
    protocol
        What is hidden of every test pair: ``"strict"``, contexts that contain such a step as well as edges;
        ``"paper"``, edges between the families of its ends alone, which leaks and makes scores optimistic.
    """
    check_real("split_links", "share", share, 0, 0.9, open_below=True)
    check_choice("split_links", "isolated", isolated, ISOLATED)
    check_choice("split_links", "negatives", negatives, NEGATIVES)
    check_choice("split_links", "protocol", protocol, PROTOCOLS)
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
    drawn = [positives]
    spare = _spare(wanted, size, linked, directed)
    for kind in KINDS if negatives == "both" else (negatives,):
        random = random if kind == "uniform" else generator(seed, "link split", kind)
        # Some more than wanted: the way back of one may be an entity's last edge.
        found = unlinked_pairs(kind, random, wanted, spare, linked, size, directed)
        taken = partners.take(pair_keys(found, size, directed), wanted)
        if len(taken) < wanted:
            raise InputError(
                f"only {len(taken):,} of {wanted:,} pairs without a link found ({kind}); lower the share"
            )
        drawn.append(taken)
    return _made(network, linked, drawn, negatives, protocol, partners, directed)


def unlinked_pairs(
    kind: str,
    random: np.random.Generator,
    wanted: int,
    spare: int,
    linked: Keys,
    n_entities: int,
    directed: bool,
) -> Pairs:
    """Return `wanted` and some `spare` unlinked pairs of a kind, ``"uniform"`` or ``"degree"``."""
    if kind == "uniform":
        return draw_unlinked(random, wanted + spare, n_entities, linked, directed)
    found = draw_by_degree(
        random, wanted + spare, link_degrees(linked, n_entities, directed), linked, directed
    )
    if len(found) < wanted:
        raise InputError(
            f"{wanted:,} unlinked pairs whose ends have links are needed, but there are only {len(found):,}; "
            "ask for a smaller share, or for uniform negatives"
        )
    return found


def _made(
    network: HigherOrderNetwork,
    linked: Keys,
    drawn: list[Keys],
    negatives: str,
    protocol: str,
    partners: _Partners,
    directed: bool,
) -> LinkSplit:
    """Return the split of these keys: linked ones, then those of each kind of negatives."""
    pairs = keyed_pairs(np.concatenate(drawn), network.n_entities)
    visible = (hide_pairs if protocol == "paper" else without_pairs)(network, pairs)
    wanted = len(drawn[0])
    counts = {
        "positives": len(linked),
        "tested": wanted,
        "reversed": len(linked) - wanted - len(linked_keys(visible, directed)),
        "hidden_edges": network.n_edges - visible.n_edges,
        "hidden_contexts": network.n_nodes - visible.n_nodes,
        "excluded": partners.passed_over,
        "isolated": partners.isolated,
    }
    order = [LINKED, *(KINDS.values() if negatives == "both" else [KINDS[negatives]])]
    kinds = np.repeat(np.array(order, np.int8), wanted)
    return LinkSplit(visible, pairs, (kinds == LINKED).astype(np.int64), kinds, directed, counts)


def _spare(wanted: int, size: int, linked: Keys, directed: bool) -> int:
    space = size * (size - 1) // (1 if directed else 2)
    return min(wanted // 4 + 16, max(space - len(linked) - wanted, 0))


class _Partners:
    """How many other entities each entity is still linked to, while pairs are taken away."""

    def __init__(self, network: HigherOrderNetwork, keep_all: bool) -> None:
        self.size, self.keep_all, self.passed_over = network.n_entities, keep_all, 0
        keys = linked_keys(network, directed=False)
        self.left = np.bincount(keyed_pairs(keys, self.size).ravel(), minlength=self.size)
        self._linked = self.left > 0
        self._visible = set(keys.tolist())

    @property
    def isolated(self) -> int:
        """How many entities have no partner left; those that had none to begin with do not count."""
        return int((self._linked & (self.left == 0)).sum())

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
