"""Recommended links and their evidence: common neighbours, lags, supporting paths.

In: what predicts links, nodes, the network and the paths. Out: a table. The evidence is read from the data,
for a person to judge by; it is no part of the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.pair_inference import PairInference
from honlearn.errors import InputError, check_integer, check_real
from honlearn.hon.false_discovery import link_q_values
from honlearn.paths.paths import Paths
from honlearn.sampling.common_neighbors import Common, CommonNeighbors
from honlearn.sampling.lags import LAGS, Lags
from honlearn.sampling.pairs import Pairs, pair_keys
from honlearn.tasks.estimator import disagreement
from honlearn.tasks.link_parameters import NewPairs, in_order
from honlearn.tasks.pair_calibration import Calibration

if TYPE_CHECKING:
    import pandas

# Names and paths that are shown for each pair.
SHOWN = 3
# Entities of each node that are scored, unless the caller says: networks up to this size are scored whole.
CANDIDATES = 1000
# Pairs that are scored at once.
_AT_ONCE = 1 << 20


class Suggested(NamedTuple):
    """How many suggestions of each node are asked for, up to which false discovery rate, out of how many.

    `candidates` is how many entities of each node are scored, those that the count model ranks first; None
    scores all.
    """

    top: int = 10
    max_fdr: float | None = None
    candidates: int | None = None

    def checked(self, owner: str, unlinked: NDArray[np.float32]) -> Suggested:
        """Return what is asked for, with `top` candidates at least; raise for what cannot be or be known."""
        check_integer(f"{owner}.recommend", "top", self.top, 1)
        most = self.candidates
        if most is not None:
            most = max(check_integer(f"{owner}.recommend", "candidates", most, 1), self.top)
        if self.max_fdr is None:
            return self._replace(candidates=most)
        check_real(f"{owner}.recommend", "max_fdr", self.max_fdr, 0, 1)
        if not len(unlinked):
            raise InputError(
                f"{owner}.recommend: max_fdr needs unlinked pairs that were held back in the fit, and there "
                "are none; train with a validation_fraction above 0 on pairs of which some are not linked"
            )
        return self._replace(candidates=most)


def recommended(
    inference: PairInference,
    nodes: NDArray[np.int32],
    asked: Suggested,
    directed: bool,
    calibration: Calibration,
    unlinked: NDArray[np.float32],
    paths: Paths | None,
) -> pandas.DataFrame:
    """Return the best new neighbours of each node, by node and best first; for columns see ``recommend``."""
    import pandas as pd

    network = inference.pair_sampler.network
    chosen, scores, sizes = _best(inference, nodes, asked, directed)
    rates = list_q_values(scores, sizes, unlinked)
    if asked.max_fdr is not None:
        kept = rates <= asked.max_fdr
        chosen, scores, rates = chosen[kept], scores[kept], rates[kept]
    names = network.vocabulary.names
    table: dict[str, Any] = {
        "node": [names[u] for u in chosen[:, 0].tolist()],
        "neighbor": [names[v] for v in chosen[:, 1].tolist()],
        "probability": calibration(scores),
        "q_value": rates,
        "disagreement": np.zeros(0),
    }
    if len(chosen):
        table["disagreement"] = disagreement(inference.member_proba(in_order(chosen, directed)))
    table |= neighbor_columns(CommonNeighbors(network, directed).of(chosen), names)
    lags = None if inference.view is None else inference.view.lags
    table |= lag_columns(chosen, lags)
    if paths is not None:
        table["paths"] = supporting_paths(chosen, paths)
    return pd.DataFrame(table)


class ListSize(NamedTuple):
    """How many suggestions a node has, and out of how many candidates."""

    suggested: int
    candidates: int


def _best(
    inference: PairInference, nodes: NDArray[np.int32], asked: Suggested, directed: bool
) -> tuple[Pairs, NDArray[np.float32], list[ListSize]]:
    """Return the best new pairs of each node [n, 2], node by node, their scores [n], and how many."""
    network, top = inference.pair_sampler.network, asked.top
    pairs, scores = [np.empty((0, 2), np.int32)], [np.empty(0, np.float32)]
    sizes: list[ListSize] = []
    new = NewPairs(network, directed)
    step = max(1, _AT_ONCE // max(network.n_entities, 1))
    for start in range(0, len(nodes), step):
        sources = nodes[start : start + step]
        allowed = new.allowed(sources)
        sizes += [ListSize(min(top, count), count) for count in allowed.sum(1).tolist()]
        some, place = inference.shortlist(sources, allowed, asked.candidates)
        if not len(some):
            continue
        probability = inference.link_proba(in_order(some, directed))
        best = best_of_each(place, probability, top)
        pairs.append(some[best])
        scores.append(probability[best])
    return np.concatenate(pairs), np.concatenate(scores), sizes


def list_q_values(
    scores: NDArray[np.float32], sizes: Sequence[ListSize], unlinked: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the q-value of each suggestion within the list of its node, NaN without unlinked pairs, [n].

    >>> list_q_values(np.array([0.9, 0.2]), [ListSize(2, 10)], np.linspace(0.0, 0.5, 99)).round(2).tolist()
    [0.1, 1.0]
    """
    rates = np.full(len(scores), np.nan)
    start = 0
    for size in sizes if len(unlinked) else ():
        some = slice(start, start + size.suggested)
        rates[some] = link_q_values(scores[some], unlinked, size.candidates)
        start += size.suggested
    return rates


def neighbor_columns(common: Common, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return how many common neighbours each pair has, and the names of those with the fewest links."""
    shown = []
    for start, end in zip(common.indptr[:-1], common.indptr[1:], strict=True):
        order = np.argsort(-common.weights[start:end], kind="stable")[:SHOWN]
        shown.append([names[int(entity)] for entity in common.entities[start:end][order]])
    return {"n_common": np.diff(common.indptr).tolist(), "common_neighbors": shown}


def lag_columns(pairs: Pairs, lags: Lags | None) -> dict[str, list[int]]:
    """Return how often v comes 2, 3 and 4 steps after u in the paths; no columns where there are none."""
    if lags is None:
        return {}
    if not len(pairs):
        return {f"lag_{lag}": [] for lag in LAGS}
    u, v = pairs.T
    return {
        f"lag_{lag}": np.asarray(matrix[u, v]).ravel().astype(np.int64).tolist()
        for lag, matrix in zip(LAGS, lags, strict=True)
    }


def supporting_paths(pairs: Pairs, paths: Paths) -> list[list[str]]:
    """Return for each pair (u, v) the commonest pieces of paths from u to v, up to four steps long.

    `paths` have the codes of the network.

    >>> found = Paths.from_lists([["A", "B", "C"], ["A", "B", "C"], ["A", "C"]])
    >>> supporting_paths(np.array([[0, 2]], np.int32), found)
    [['A → B → C (2)']]
    """
    size, codes = len(paths.vocabulary), paths.codes
    wanted = np.unique(pair_keys(pairs, size))
    row = np.repeat(np.arange(len(paths.offsets) - 1), np.diff(paths.offsets))
    counts = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
    pieces: dict[int, dict[tuple[int, ...], int]] = {}
    for lag in LAGS:
        ends = np.stack([codes[:-lag], codes[lag:]], 1) if len(codes) > lag else np.empty((0, 2), np.int32)
        places = np.flatnonzero(row[:-lag] == row[lag:]) if len(ends) else np.empty(0, np.int64)
        keys = pair_keys(ends[places], size)
        asked = np.isin(keys, wanted)
        places, keys = places[asked], keys[asked]
        windows, first, same = np.unique(
            paths.codes[places[:, None] + np.arange(lag + 1)], axis=0, return_index=True, return_inverse=True
        )
        total = np.bincount(same.ravel(), counts[row[places]], len(windows))
        for window, key, count in zip(windows.tolist(), keys[first].tolist(), total.tolist(), strict=True):
            pieces.setdefault(key, {})[tuple(window)] = int(count)
    names = paths.vocabulary.names
    out = []
    for key in pair_keys(pairs, size).tolist():
        best = sorted(pieces.get(key, {}).items(), key=lambda one: (-one[1], len(one[0]), one[0]))[:SHOWN]
        out.append([f"{' → '.join(names[code] for code in piece)} ({count:,})" for piece, count in best])
    return out


def best_of_each(
    sources: NDArray[np.integer[Any]], scores: NDArray[np.floating[Any]], top: int
) -> NDArray[np.int64]:
    """Return the places of the `top` best scores of each source, source by source, best first.

    >>> best_of_each(np.array([0, 0, 0, 1]), np.array([0.1, 0.9, 0.5, 0.2]), 2).tolist()
    [1, 2, 3]
    """
    order = np.lexsort((-scores, sources))
    first = np.flatnonzero(np.diff(sources[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return np.asarray(order[place < top], np.int64)
