"""The full, filtered ranking of links: where does the true target of a source stand among all entities?

In: a function that scores pairs of codes, the tested links and all known ones. Out: one rank per tested link.
Other known links of the source, trained on or tested, are no candidates, nor is the source itself; every
other entity is, up to :data:`CANDIDATES` entities, above which a fixed list of so many is drawn once. Pairs
that tie take the middle. (Bordes et al. 2013, "Translating embeddings for modeling multi-relational data".)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.experiments.link_metrics import middle_ranks
from honlearn.paths.pairs import Keys, Pairs, keyed_pairs
from honlearn.seeds import generator

CANDIDATES = 20_000
HITS = (10, 50)
# Pairs that are scored in one call.
_BLOCK = 1 << 18
Score = Callable[[Pairs], NDArray[Any]]
Ranks = NDArray[np.float64]


def ranking_scores(ranks: Ranks | None) -> dict[str, float | None]:
    """Return mean reciprocal rank and the shares of ranks up to 10 and 50; None where there are no ranks.

    >>> ranking_scores(np.array([1.0, 4.0, 40.0]))["filtered_hits_at_10"]
    0.6666666666666666
    """
    found = None if ranks is None else float((1.0 / ranks).mean())
    scores: dict[str, float | None] = {"filtered_mrr": found}
    for k in HITS:
        scores[f"filtered_hits_at_{k}"] = None if ranks is None else float((ranks <= k).mean())
    return scores


def candidate_entities(n_entities: int, seed: int) -> NDArray[np.int32]:
    """Return the codes of all entities, or a fixed list of them where there are too many, ascending."""
    if n_entities <= CANDIDATES:
        return np.arange(n_entities, dtype=np.int32)
    drawn = generator(seed, "link candidates").permutation(n_entities)[:CANDIDATES]
    return np.sort(drawn).astype(np.int32)


def filtered_ranks(
    score: Score, links: Pairs, known: Keys, candidates: NDArray[np.int32], n_entities: int, directed: bool
) -> Ranks:
    """Return the rank of the target of each tested link [P], or without direction of either end [2 P].

    `known` are the keys of all known links, tested ones among them; `candidates` ascend.

    >>> points = np.array([0.5, 0.9, 0.2, 0.5])
    >>> rank = lambda pairs: points[pairs[:, 1]]
    >>> links, known = np.array([[0, 3]]), np.array([3])  # of four entities; 0 → 3 is the only link
    >>> filtered_ranks(rank, links, known, np.arange(4, dtype=np.int32), 4, True).tolist()
    [2.0]
    """
    asked = links if directed else np.concatenate([links, links[:, ::-1]])
    partners = _partners(known, n_entities, directed)
    ranks = np.empty(len(asked))
    for batch in _batches(asked, partners, candidates):
        scored = np.asarray(score(np.concatenate([pairs for _, pairs in batch])), np.float64)
        done = 0
        for rows, pairs in batch:
            own, others = np.split(scored[done : done + len(pairs)], [len(rows)])
            ranks[rows] = middle_ranks(own, np.sort(others))
            done += len(pairs)
    return ranks


def _partners(known: Keys, n_entities: int, directed: bool) -> Callable[[int], NDArray[np.int32]]:
    """Return the function that gives the entities that a source is known to be linked to."""
    pairs = keyed_pairs(known, n_entities)
    pairs = pairs if directed else np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    first = np.searchsorted(pairs[:, 0], np.arange(n_entities + 1))
    return lambda source: pairs[first[source] : first[source + 1], 1]


def _batches(
    asked: Pairs, partners: Callable[[int], NDArray[np.int32]], candidates: NDArray[np.int32]
) -> Iterator[list[tuple[NDArray[np.intp], Pairs]]]:
    """Yield, for some sources at a time, the rows of each and its pairs: true targets, then the others."""
    order = np.argsort(asked[:, 0], kind="stable")
    starts = np.flatnonzero(np.diff(asked[order, 0], prepend=-1))
    batch: list[tuple[NDArray[np.intp], Pairs]] = []
    size = 0
    for rows in np.split(order, starts[1:]):
        source = int(asked[rows[0], 0])
        others = np.setdiff1d(candidates, np.append(partners(source), np.int32(source)))
        targets = np.concatenate([asked[rows, 1], others]).astype(np.int32)
        batch.append((rows, np.stack([np.full(len(targets), source, np.int32), targets], 1)))
        size += len(targets)
        if size >= _BLOCK:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def pair_scorer(estimator: Any, names: tuple[str, ...]) -> Score | None:
    """Return how a fitted estimator scores pairs of codes; None where it cannot score all of them in time."""
    if not getattr(estimator, "scores_all_pairs", True):
        return None
    if hasattr(estimator, "_codes_proba"):
        return estimator._codes_proba  # type: ignore[no-any-return]
    return lambda pairs: np.asarray(
        estimator.predict_proba([(names[u], names[v]) for u, v in pairs.tolist()])
    )[:, 1]
