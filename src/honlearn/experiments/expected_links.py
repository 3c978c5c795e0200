"""Links to expect: pairs without a link that a fitted model of links finds most probable.

In: a fitted estimator and the network whose links are known. Out: pairs, the most probable first, with their
probabilities. Only pairs that two-step walks join are scored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.results.metrics import disagreement

# Edges of an entity that lead on to candidates, the heaviest.
HEAVIEST = 50
# Pairs that are scored for a page or a table, and those that it keeps.
CANDIDATES, KEPT = 5000, 200


class ExpectedLinks(NamedTuple):
    """Pairs without a link [n], the most probable first, and their probabilities [n]."""

    pairs: list[tuple[str, str]]
    probability: NDArray[np.float64]

    def disagreement(self, estimator: Any) -> NDArray[np.float64] | None:
        """Return how far members of an estimator disagree on each pair [n]; None without members."""
        if not self.pairs or not hasattr(estimator, "member_proba"):
            return None
        return disagreement(np.asarray(estimator.member_proba(self.pairs)))


def expected_links(
    estimator: Any, network: HigherOrderNetwork, candidates: int = CANDIDATES, kept: int = KEPT
) -> ExpectedLinks:
    """Return the most probable of the pairs without a link that most two-step walks join.

    Pairs of entities that the estimator does not know are left out.
    """
    known = getattr(estimator, "network_", estimator.network).vocabulary
    pairs = [pair for pair in link_candidates(network, candidates) if all(name in known for name in pair)]
    if not pairs:
        return ExpectedLinks([], np.zeros(0))
    probability = np.asarray(estimator.predict_proba(pairs))[:, 1]
    best = np.argsort(-probability, kind="stable")[:kept]
    return ExpectedLinks([pairs[i] for i in best], probability[best])


def link_candidates(network: HigherOrderNetwork, most: int) -> list[tuple[str, str]]:
    """Return pairs of entities without a link that most two-step walks join, likeliest first.

    Only the heaviest edges of each entity lead on, so that the product stays small in dense networks.

    >>> from honlearn.hon.edgelist import from_edges
    >>> link_candidates(from_edges(["A", "B", "B"], ["B", "C", "D"], [4, 3, 1]), 5)
    [('A', 'C'), ('A', 'D')]
    """
    from scipy.sparse import csr_array

    first = network.first_order()
    size, weights = first.n_entities, first.weights.astype(np.float64)
    rank = np.lexsort((-weights, first.sources))
    place = np.arange(len(rank)) - first.indptr[:-1][first.sources[rank]]
    heavy = rank[place < HEAVIEST]
    ends = (first.sources[heavy], first.indices[heavy])
    total = np.maximum(first.out_weight.astype(np.float64), 1e-300)
    flow = csr_array((weights[heavy], ends), shape=(size, size))
    step = csr_array((weights[heavy] / total[ends[0]], ends), shape=(size, size))
    walks = (flow @ step).tocoo()
    keys = walks.row.astype(np.int64) * size + walks.col
    linked = first.sources.astype(np.int64) * size + first.indices
    new = (walks.row != walks.col) & ~np.isin(keys, linked)
    best = np.flatnonzero(new)[np.lexsort((keys[new], -walks.data[new]))][:most]
    names = first.vocabulary.names
    found = zip(walks.row[best].tolist(), walks.col[best].tolist(), strict=True)
    return [(names[u], names[v]) for u, v in found]
